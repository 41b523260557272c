//! The row of a stage: its verdict with the reasons, and its figures.

use analysis::{figures, page::Page, summary::Summary, verdict::Judgement};
use record::units;

use super::{
    FinishedStage, Identity, StageOutcome, StageRow, StageVerdict, judged, links, stage_tables,
};

const UTC: &str = "%Y-%m-%dT%H:%M:%SZ";

pub(super) fn row(stage: &FinishedStage<'_>, identity: &Identity) -> StageRow {
    let mut row = StageRow {
        name: stage.name.to_owned(),
        load: stage.load.to_owned(),
        target: stage.target.map(ToOwned::to_owned),
        against: stage.against,
        verdict: StageVerdict::NotRun,
        reason: String::new(),
        criteria: Vec::new(),
        planned: stage.planned.cloned(),
        requests_per_second: None,
        busiest_phase_per_second: None,
        requests: None,
        error_share: None,
        is_unanswered: false,
        time: None,
        percentiles: [None, None, None],
        elapsed_ns: None,
        from_ns: None,
        from_utc: None,
        to_utc: None,
        from_local: None,
        to_local: None,
        report: None,
        saturation: None,
        mocks: Vec::new(),
        cool_down: stage.cool_down.cloned(),
        requests_by_endpoint: Vec::new(),
        failures: Vec::new(),
        server: Vec::new(),
        server_changes: Vec::new(),
        links: Vec::new(),
        notes: stage.notes.map(ToOwned::to_owned),
    };
    match &stage.outcome {
        StageOutcome::NotRun => {}
        StageOutcome::Unfinished => {
            row.verdict = StageVerdict::Unfinished;
            "it was stopped before it finished".clone_into(&mut row.reason);
        }
        StageOutcome::CouldNotRun(reason) => {
            row.verdict = StageVerdict::CouldNotRun;
            (*reason).clone_into(&mut row.reason);
        }
        StageOutcome::Ran { page, code, report } => {
            let summary = &page.summary;
            row.verdict = judged(summary, *code);
            row.reason = reason(summary, row.verdict, *code);
            row.criteria.clone_from(&summary.criteria);
            row.requests_per_second = Some(load_rate(page, summary.all.count));
            row.busiest_phase_per_second = busiest_phase(page);
            row.requests = Some(summary.all.count);
            let requests = &summary.requests;
            row.is_unanswered = requests.issued > 0 && requests.are_all_unanswered();
            row.error_share = summary.all.error_share;
            row.time = Some(summary.headline_name());
            row.percentiles = percentiles(summary);
            row.elapsed_ns = Some(summary.run.elapsed_ns);
            row.saturation = summary.saturation.clone();
            row.mocks.clone_from(&summary.mocks);
            row.requests_by_endpoint = stage_tables::endpoints(page);
            row.failures = stage_tables::failures(summary);
            row.server = stage_tables::server(summary);
            let from = summary.run.started_wall_ns;
            row.from_ns = from.checked_sub(identity.started_wall_ns);
            let to = from + summary.run.elapsed_ns;
            row.from_utc = Some(record::utc(from, UTC));
            row.to_utc = Some(record::utc(to, UTC));
            row.from_local = identity.local(from);
            row.to_local = identity.local(to);
            let checked_ns = stage.cool_down.map_or(0, |check| check.probed_until_ns);
            row.links = links::links(&identity.content.dashboards, from, to + checked_ns);
            row.report = Some((*report).to_owned());
        }
    }
    row
}

/// Returns when the load ended, in nanoseconds from the start: as planned, or at a stop rule.
fn load_end_ns(page: &Page) -> u64 {
    let run = &page.summary.run;
    let ends = [
        page.manifest.load.known_end_ns(),
        run.stopped.as_ref().map(|stopped| stopped.at_ns),
    ];
    let ends = ends.into_iter().flatten();
    ends.chain([run.elapsed_ns]).min().unwrap_or(run.elapsed_ns)
}

/// Converts a count to requests per second of the load. The time from the end of the load to the
/// last completion does not count.
pub(super) fn load_rate(page: &Page, count: u64) -> f64 {
    figures::per_second(count, load_end_ns(page))
}

fn busiest_phase(page: &Page) -> Option<f64> {
    let load_end_ns = load_end_ns(page);
    let phases = &page.summary.phases;
    let rates = phases.iter().map(|phase| {
        let end_ns = phase.end_ns.min(load_end_ns);
        figures::per_second(phase.requests, end_ns.saturating_sub(phase.start_ns))
    });
    let has_several = phases.len() > 1;
    rates.max_by(f64::total_cmp).filter(|_| has_several)
}

fn percentiles(summary: &Summary) -> [Option<String>; 3] {
    let stats = summary.headline_stats();
    let text = |figure: Option<&analysis::summary::Figure>| figure.map(|figure| figure.value());
    [
        text(stats.map(|stats| &stats.p50)),
        text(stats.map(|stats| &stats.p95)),
        text(stats.map(|stats| &stats.p99)),
    ]
}

fn reason(summary: &Summary, verdict: StageVerdict, code: u8) -> String {
    if let Some(reason) = &summary.run.unrecorded {
        return format!("it was ended by {reason}");
    }
    if let Some(stopped) = &summary.run.stopped {
        return format!(
            "stopped after {}: {}",
            units::time(stopped.at_ns),
            stopped.text
        );
    }
    let wanted = match verdict {
        StageVerdict::Fail => Judgement::Fail,
        StageVerdict::Inconclusive => Judgement::Inconclusive,
        StageVerdict::Invalid => {
            let reasons = summary.measurement.iter().flat_map(|m| &m.reasons);
            return reasons.cloned().collect::<Vec<_>>().join("; ");
        }
        StageVerdict::Unfinished => return "it was stopped before it finished".to_owned(),
        _ => return String::new(),
    };
    let judged = summary
        .criteria
        .iter()
        .filter(|judged| judged.judgement == wanted);
    let texts: Vec<String> = judged
        .map(|judged| {
            let measured = judged.measured.as_deref();
            measured.map_or_else(
                || judged.text.clone(),
                |measured| format!("{} (measured {measured})", judged.text),
            )
        })
        .collect();
    if code == 3 {
        return summary.requests.none_answered();
    }
    if texts.is_empty() {
        return format!("the external tool exited with {code}");
    }
    let verb = if wanted == Judgement::Fail {
        "does not hold"
    } else {
        "cannot be decided"
    };
    format!("{} {verb}", texts.join(", "))
}
