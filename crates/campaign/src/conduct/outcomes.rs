//! Exit code of a campaign, and descriptions of how its stages ended.

use analysis::summary::Summary;
use decisions::campaign::{CoolDown, StageRow, StageVerdict, mended};
use record::{Run, RunState, units};
use session::exit;

use crate::process::StageExit;

/// Returns the exit code of a campaign.
pub(super) fn code(rows: &[StageRow]) -> u8 {
    let any = |options: StageVerdict| rows.iter().any(|row| row.verdict == options);
    let mut failed = rows.iter().enumerate();
    let fails = failed
        .any(|(number, row)| row.verdict == StageVerdict::Fail && mended(rows, number).is_none());
    let mut cool_downs = rows.iter().filter_map(|row| row.cool_down.as_ref());
    let not_back = cool_downs.clone().any(CoolDown::is_not_back);
    let unmeasured = cool_downs.any(|cool_down| cool_down.unmeasured.is_some());
    let is_unanswered = rows.iter().any(|row| row.is_unanswered);
    if any(StageVerdict::CouldNotRun) || any(StageVerdict::Unfinished) || is_unanswered {
        exit::COULD_NOT_RUN
    } else if any(StageVerdict::Invalid) {
        exit::INVALID
    } else if fails || not_back {
        exit::FAIL
    } else if any(StageVerdict::Inconclusive) || unmeasured {
        exit::INCONCLUSIVE
    } else {
        exit::PASS
    }
}

/// Returns whether Loadline itself failed. The exit code alone is not enough, because it also
/// stands for "no response".
pub(super) fn has_failed(ran: &StageExit) -> bool {
    let run = || ran.record.as_deref().and_then(|dir| Run::open(dir).ok());
    ran.code == exit::COULD_NOT_RUN
        && run().is_some_and(|run| {
            let Summary { run, requests, .. } = audit::page(&run).summary;
            // If the disk is full, the end of a run may be missing from the record.
            let is_torn = run.state == RunState::Running;
            run.unrecorded.is_some() || is_torn || requests.ok + requests.failed > 0
        })
}

pub(super) fn why_not(ran: &StageExit) -> String {
    let last = ran
        .messages
        .iter()
        .rev()
        .find(|line| !line.trim().is_empty());
    let words = last.map(|line| line.trim_start_matches("loadline: ").to_owned());
    words.unwrap_or_else(|| format!("it left no record, exit code {}", ran.code))
}

pub(super) fn describe(row: &StageRow) -> String {
    let figures = [
        row.requests_per_second
            .map(|rate| format!("{} requests/s", units::rate(rate))),
        row.percentiles[1]
            .as_ref()
            .filter(|p95| *p95 != "–")
            .map(|p95| format!("p95 {p95}")),
        row.error_share
            .map(|share| format!("errors {}", units::share(share))),
    ];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    let reason = if row.reason.is_empty() {
        String::new()
    } else {
        format!(" – {}", row.reason)
    };
    format!("{} {}{reason}", row.verdict.word(), figures.join(", "))
}

pub(super) fn folder_name(number: usize, name: &str) -> String {
    let plain = name.chars().map(|c| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    });
    let plain: String = plain.take(40).collect();
    format!("{}-{plain}", number + 1)
}
