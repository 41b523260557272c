//! Finds criteria, before the run, that the planned number of samples cannot decide.

use measure::confidence;
use plan::{
    Criterion, Plan,
    criteria::{Metric, SpanFilter, Stat, fits},
    profile::Profile,
    units::SECOND,
};
use record::units;

/// Returns a note for each criterion on a percentile that cannot pass for lack of samples, with the
/// required number. Returns nothing if the number of samples is unknown before the run.
#[must_use]
pub fn notes(plan: &Plan, profile: &Profile) -> Vec<String> {
    let notes = plan.policy.criteria.iter().filter_map(|criterion| {
        let Metric::Time(span, Stat::Quantile(q)) = criterion.metric else {
            return None;
        };
        let needed = confidence::needed(q);
        let planned = planned(profile, criterion, span)?;
        (q < 1.0 && planned.samples < needed as f64).then(|| note(criterion, &planned, needed))
    });
    notes.collect()
}

struct PlannedSamples {
    samples: f64,
    length_ns: u64,
}

fn note(criterion: &Criterion, planned: &PlannedSamples, needed: u64) -> String {
    let about = planned.samples.round() as u64;
    let text = format!(
        "`{}` needs at least {} samples to pass, and the plan has about {}",
        criterion.text,
        units::count(needed),
        units::count(about)
    );
    if about == 0 {
        return format!("{text}: send more requests");
    }
    let seconds = planned.length_ns as f64 / SECOND as f64 * needed as f64 / planned.samples;
    let length = units::duration(seconds.ceil() as u64 * SECOND);
    let what = match &criterion.phase {
        Some(phase) => format!("let phase {phase} last"),
        None => "run".to_owned(),
    };
    format!("{text}: {what} for {length} at this rate, or send more requests")
}

/// Returns the number of samples that the plan produces. `None` if it is unknown.
fn planned(profile: &Profile, criterion: &Criterion, span: SpanFilter) -> Option<PlannedSamples> {
    if criterion.steady || !profile.is_known {
        return None;
    }
    if !profile.workloads.is_empty() {
        // Only the total arrivals of all workloads are known, and not what each of them requests.
        return None;
    }
    let phase = |name: &String| profile.phases.iter().find(|phase| phase.name == *name);
    let (arrivals, requests, length_ns) = match &criterion.phase {
        Some(name) => {
            let phase = phase(name)?;
            let length_ns = phase.end_ns - phase.start_ns;
            (phase.arrivals as f64, phase.requests, length_ns)
        }
        None => (profile.arrivals? as f64, profile.requests?, profile.end_ns),
    };
    let samples = match (span, &criterion.of) {
        // The number of streamed responses and of their events is unknown.
        (span, _) if span.is_of_streams() => return None,
        (SpanFilter::Transaction, _) => return None,
        (SpanFilter::Iteration, None) => arrivals,
        (SpanFilter::Iteration, Some(of)) => {
            let rows = profile.scenarios.iter();
            arrivals * share(rows.map(|row| (row.name.as_str(), row.share)), of)?
        }
        (_, None) => requests,
        (_, Some(of)) => {
            let at = profile
                .requests_per_second
                .iter()
                .position(|rate| *rate > 0.0)?;
            let all = profile.requests_per_second[at];
            let rows = profile.endpoints.iter();
            let rows = rows.map(|row| (row.name.as_str(), row.per_second[at] / all));
            requests * share(rows, of)?
        }
    };
    Some(PlannedSamples { samples, length_ns })
}

/// Returns the share of all rows that match a pattern. `None` if none matches.
fn share<'a>(rows: impl Iterator<Item = (&'a str, f64)>, of: &str) -> Option<f64> {
    let mut fitting = rows.filter(|(name, _)| fits(of, name)).peekable();
    fitting.peek()?;
    Some(fitting.map(|(_, share)| share).sum())
}
