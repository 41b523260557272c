//! Conclusions about stop rules and criteria. The headline uses the same sentences.

use crate::{
    summary::{Conclusion, Summary, Tone},
    verdict::{Judged, Judgement},
};
use record::units;

const TOLD: usize = 3;

pub(super) fn stopped(summary: &Summary) -> Option<Conclusion> {
    let text = stop_sentence(summary)?;
    Some(Conclusion::new(
        "stopped",
        Tone::Bad,
        text,
        &["run.stopped.at_ns"],
    ))
}

pub(super) fn stop_sentence(summary: &Summary) -> Option<String> {
    let by = summary.run.stopped.as_ref()?;
    Some(format!(
        "Stopped after {} by the stop rule {}.",
        units::duration(by.at_ns),
        by.text
    ))
}

pub(super) fn failed(summary: &Summary) -> Option<Conclusion> {
    // The load generator may have caused the other failures of an INVALID measurement.
    let counts = |judged: &Judged| !summary.is_invalid() || judged.is_robust == Some(true);
    let all = summary.criteria.iter().enumerate();
    let failed = all.filter(|(_, judged)| judged.judgement == Judgement::Fail && counts(judged));
    let text = sentence(
        failed.clone().map(|(_, judged)| judged),
        summary.criteria.len(),
    )?;
    let figures: Vec<String> = failed
        .take(TOLD)
        .map(|(at, judged)| {
            let key = judged.measured.as_ref().map_or("text", |_| "measured");
            format!("criteria.{at}.{key}")
        })
        .collect();
    let figures: Vec<&str> = figures.iter().map(String::as_str).collect();
    Some(Conclusion::new("criteria", Tone::Bad, text, &figures))
}

pub(super) fn failed_sentence(criteria: &[Judged]) -> Option<String> {
    let failed = criteria
        .iter()
        .filter(|judged| judged.judgement == Judgement::Fail);
    sentence(failed, criteria.len())
}

fn sentence<'a>(failed: impl Iterator<Item = &'a Judged>, all: usize) -> Option<String> {
    let failed: Vec<&Judged> = failed.collect();
    let subject = match (failed.len(), all) {
        (0, _) => return None,
        (1, 1) => "The criterion".to_owned(),
        (n, all) => format!("{n} of {all} criteria"),
    };
    let reported = failed.iter().take(TOLD).map(|judged| {
        let measured = judged.measured.as_deref().unwrap_or("nothing");
        format!("{}, measured {measured}", judged.text)
    });
    let mut reported: Vec<String> = reported.collect();
    let more = failed.len() - reported.len();
    if more > 0 {
        reported.push(format!("and {more} more"));
    }
    Some(format!("{subject} failed: {}.", reported.join("; ")))
}
