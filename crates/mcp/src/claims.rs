//! Sentences that may and that must not be claimed about a run.

use analysis::summary::{Behaviour, Summary};
use plan::units::MINUTE;
use record::{Model, units};

use crate::figures;

const MOST: usize = 5;

/// Returns the conclusions of the report, beginning with the most important.
pub(crate) fn may_claim(summary: &Summary) -> Vec<String> {
    let key = summary.verdict.key_conclusions.iter();
    let key = key.filter_map(|index| summary.conclusions.get(*index));
    let mut sentences: Vec<String> = Vec::new();
    for conclusion in key.chain(&summary.conclusions) {
        let is_foreign =
            conclusion.kind == "saturation" || has_foreign_text(summary, &conclusion.text);
        if !is_foreign && !sentences.contains(&conclusion.text) {
            sentences.push(conclusion.text.clone());
        }
    }
    sentences.truncate(MOST);
    sentences
}

/// Returns whether a sentence contains names of metrics or resources that the service chose.
pub(crate) fn has_foreign_text(summary: &Summary, sentence: &str) -> bool {
    let reached = summary.saturation.iter().flat_map(|found| &found.reached);
    let mut names = reached.flat_map(|one| {
        let names = [Some(&one.metric), one.cause.as_ref(), one.held_by.as_ref()];
        names.into_iter().flatten().chain([&one.resource])
    });
    names.any(|name| sentence.contains(name.as_str()))
}

/// Returns at most five sentences that the run does not support.
pub(crate) fn must_not_claim(summary: &Summary) -> Vec<String> {
    if summary.is_invalid() {
        return vec![
            "any latency, throughput or capacity: the measurement is INVALID".to_owned(),
            "that the service is slow or fast: the load generator disturbed the times".to_owned(),
            "that a criterion fails or passes, except for those under `holds_anyway`".to_owned(),
        ];
    }
    let mut sentences = Vec::new();
    if summary.run.model == Model::Open {
        let peak = summary.phases.iter().map(|phase| phase.per_second);
        let peak = peak.fold(summary.all.per_second, f64::max);
        sentences.push(format!(
            "that the service handles more than {} requests/s: no higher rate was sent",
            units::rate(peak)
        ));
    } else if summary.run.model == Model::Mixed {
        sentences.push(
            "a capacity in requests/s: part of the load was a number of users, who wait for slow responses"
                .to_owned(),
        );
    } else {
        sentences.push(
            "response times at a given arrival rate: the load was a number of users, who wait for slow responses"
                .to_owned(),
        );
    }
    sentences.push("that another version is faster or slower: this is one run".to_owned());
    if summary.headline_stats().is_some_and(figures::is_p99_a_hint) {
        sentences.push("the p99 as a result: there are too few samples".to_owned());
    }
    let behaviour = summary.steady.as_ref().map(|steady| steady.behaviour);
    if behaviour.is_some_and(|behaviour| behaviour != Behaviour::Steady) {
        sentences.push(
            "that the figures stay the same in a longer run: no steady state was found".to_owned(),
        );
    } else if summary.run.elapsed_ns < MINUTE {
        sentences.push(format!(
            "that the figures stay the same in a longer run: this run lasted {}",
            units::duration(summary.run.elapsed_ns)
        ));
    }
    if !summary.lost.is_empty() {
        sentences.push("the total load: a process was lost".to_owned());
    }
    sentences.truncate(MOST);
    sentences
}
