//! Advice after a run. Each sentence is based on findings and states its reason.

use super::brief::is_cut_short;
use crate::{
    saturation::{self, Reached, THREADS},
    summary::Summary,
    verdict::Judgement,
};
use record::{RunState, units};

/// Returns the advice, most important first. Returns nothing during a run, or for the results of
/// other tools.
#[must_use]
pub fn advice(summary: &Summary) -> Vec<String> {
    let run = &summary.run;
    if run.imported_from.is_some() || run.state == RunState::Running && run.record_ends_ns.is_none()
    {
        return Vec::new();
    }
    if let Some(cause) = &run.unrecorded {
        return vec![format!(
            "Free space for the record and repeat the run: it was ended by {cause}."
        )];
    }
    if summary.requests.issued == 0 {
        return vec!["Check the load of the plan and repeat the run: nothing was sent.".to_owned()];
    }
    if summary.requests.are_all_unanswered() {
        return vec![unanswered(summary)];
    }
    let mut texts = Vec::new();
    texts.extend(invalid(summary));
    if is_cut_short(summary) {
        texts.push(format!(
            "Repeat the whole run before you decide: it ended after {}.",
            units::time(run.elapsed_ns)
        ));
    }
    if !texts.is_empty() {
        return texts;
    }
    match summary.verdict.criteria {
        _ if has_failed(summary) => failed(summary),
        Some(Judgement::Inconclusive) => inconclusive(summary),
        Some(_) => vec![
            "Accept this load: all criteria hold. To find the highest load, use `loadline find`."
                .to_owned(),
        ],
        None => vec![
            "Add criteria, for example `p95 < 500ms` and `errors < 1%`: without them, a run fails only if all requests fail."
                .to_owned(),
        ],
    }
}

/// Returns advice on how to remove this limit.
#[must_use]
pub fn remedy(reached: &Reached) -> String {
    let Reached {
        resource, source, ..
    } = reached;
    let remedy = match (resource.as_str(), &reached.held_by) {
        (THREADS, Some(holder)) => format!(
            "Shorten the time that requests wait for {holder}, or enlarge the thread pool ({source})"
        ),
        (THREADS, None) => format!("Enlarge the thread pool ({source})"),
        (saturation::CPU, _) => {
            format!("Add CPU or instances ({source}), or reduce the work of each request")
        }
        (saturation::QUOTA, _) => format!("Raise the CPU quota ({source})"),
        (saturation::EVENT_LOOP, _) => {
            format!("Move long computations off the event loop ({source}), or add instances")
        }
        (saturation::HEAP, _) => {
            format!("Enlarge the heap ({source}), or reduce what requests allocate")
        }
        (saturation::STREAMS, _) => {
            "Use more connections, or find out why the server allows so few streams".to_owned()
        }
        _ => format!("Raise the limit of the {resource} ({source}), or hold it for less time"),
    };
    format!("{remedy}: {}", evidence(reached))
}

fn evidence(reached: &Reached) -> String {
    let instances = match reached.all_instances {
        0 | 1 => String::new(),
        all => format!(" on {} of {all} instances", reached.instances),
    };
    let rate = reached.issued_per_second.map_or_else(String::new, |rate| {
        format!(" with {} requests/s", units::rate(rate))
    });
    let cause = reached.cause.as_ref();
    let cause = cause.map_or_else(String::new, |cause| format!(", {cause}"));
    format!(
        "it was at its limit{instances} after {}{rate}{cause}.",
        units::duration(saturation::to_second(reached.at_ns))
    )
}

fn unanswered(summary: &Summary) -> String {
    let most = summary.errors.first();
    let cause = most.map_or_else(String::new, |row| {
        format!(" (most often: {}, {})", row.reason, units::times(row.count))
    });
    format!("Check the address and whether the service runs: no request was answered{cause}.")
}

fn invalid(summary: &Summary) -> Option<String> {
    // The verdict's sentence states the reasons.
    summary.is_invalid().then(|| {
        "Repeat the run with a load generator that keeps up, on a less busy machine or on several."
            .to_owned()
    })
}

fn has_failed(summary: &Summary) -> bool {
    let stopped = summary.run.stopped.as_ref();
    summary.verdict.criteria == Some(Judgement::Fail) || stopped.is_some_and(|by| !by.passes)
}

fn failed(summary: &Summary) -> Vec<String> {
    let mut texts = causes(summary);
    texts.push(
        "Then repeat the run, or find the load that holds now with `loadline find`.".to_owned(),
    );
    texts
}

/// Returns the next steps after a failed run: changes to make, or questions to investigate.
#[must_use]
pub fn causes(summary: &Summary) -> Vec<String> {
    let mut texts = Vec::new();
    let saturation = summary.saturation.as_ref();
    let first = saturation.and_then(|found| found.reached.get(found.first?));
    texts.extend(first.map(remedy));
    if let Some(most) = summary.errors.first() {
        texts.push(format!(
            "Find the cause of the most frequent error: {}, {}.",
            most.reason,
            units::times(most.count)
        ));
    }
    if texts.is_empty() {
        texts.extend(slowest(summary));
    }
    if first.is_none() {
        texts.push(match saturation {
            None => "Measure the service during the next run (`--server`), to see which resource is the limit.".to_owned(),
            Some(_) => "Measure more resources of the service, because none with a known limit explains the failure.".to_owned(),
        });
    }
    texts
}

fn slowest(summary: &Summary) -> Option<String> {
    let conclusions = summary.conclusions.iter();
    let slowest = conclusions.clone().find(|one| one.kind == "slowest")?;
    Some(format!("Start with the slowest endpoint. {}", slowest.text))
}

fn inconclusive(summary: &Summary) -> Vec<String> {
    let unsure = summary.criteria.iter();
    let unsure = unsure.filter(|judged| judged.judgement == Judgement::Inconclusive);
    let texts = unsure.map(|judged| {
        let reason = judged.reason.as_deref().unwrap_or("nothing was measured");
        format!(
            "Repeat the run so that `{}` can be decided: {reason}.",
            judged.text
        )
    });
    texts.collect()
}
