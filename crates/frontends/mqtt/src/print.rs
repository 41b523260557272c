//! The message ledger, computed from the record: due, sent, confirmed, delivered and lost messages,
//! and whether the load was sustained.

use std::{fmt::Write, path::Path};

use measure::accumulator::Tally;
use mqtt_driver::counts::PROGRESS;
use plan::criteria::{MessageFate, Metric};
use record::{
    Run,
    units::{count, time},
};
use session::RunOutcome;

pub(crate) fn tally(run: &Run) -> Tally {
    let mut all = Tally::default();
    for (_, part) in run.frontend_parts() {
        all.merge(part);
    }
    all.counters
        .retain(|name, _| !PROGRESS.contains(&name.as_str()));
    all
}

#[must_use]
pub fn nobody_came_in(run: &Run) -> bool {
    let reported = tally(run);
    reported.counters.get("connected") == Some(&0)
}

pub fn write_json(path: &Path, outcome: &RunOutcome<'_>) -> Result<(), String> {
    let mut json = serde_json::to_value(outcome.summary).map_err(|e| e.to_string())?;
    json["mqtt"] = serde_json::json!(tally(outcome.run).counters);
    std::fs::write(path, format!("{json:#}\n"))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Returns whether all clients have reported: the run is not a part, and no node was lost.
pub(crate) fn is_whole(run: &Run) -> bool {
    run.manifest.share.is_none()
        && run.missing.is_empty()
        && run.nodes_lost().is_empty()
        && run.lost().next().is_none()
}

fn partial(run: &Run) -> &'static str {
    if is_whole(run) {
        ""
    } else if run.manifest.share.is_some() {
        "clients: this part only; `loadline merge` also reports messages lost between parts\n"
    } else {
        "clients: only those of processes that finished; clients of a lost process were not taken over and are not included\n"
    }
}

fn clocks(run: &Run) -> Option<String> {
    (run.manifest.processes.unwrap_or(1) > 1).then(|| {
        let worst = run.nodes.iter().map(|node| node.offset_error_ns).max();
        let known = match worst.unwrap_or(0) {
            0 => "and the clock difference was not measured".to_owned(),
            ns => format!("known within {}", time(2 * ns)),
        };
        format!("delivery times: between processes they depend on both clocks, {known}")
    })
}

const NO_COUNTS: &str = "messages: no counts, because the run did not finish\n";

/// Returns the ledger, one sentence per line.
#[must_use]
pub fn ledger(run: &Run) -> String {
    let reported = tally(run);
    if reported.is_empty() {
        return NO_COUNTS.to_owned();
    }
    let mut out = messages(run, &reported);
    if of_subscribers(&reported) {
        out.push_str(&report::deliveries::text(&reported, is_whole(run)));
        out.push('\n');
    }
    out.push_str(&remarks(run, &reported));
    out
}

/// Returns the ledger without the sentence about deliveries.
pub(crate) fn ledger_without_deliveries(run: &Run) -> String {
    let reported = tally(run);
    if reported.is_empty() {
        return NO_COUNTS.to_owned();
    }
    messages(run, &reported) + &remarks(run, &reported)
}

fn of_subscribers(reported: &Tally) -> bool {
    let of = |name: &str| reported.counters.get(name).copied().unwrap_or(0);
    of("expected") > 0 || of("received") > 0
}

/// Returns the sentences about connections and publications.
fn messages(run: &Run, reported: &Tally) -> String {
    let of = |name: &str| reported.counters.get(name).copied().unwrap_or(0);
    let mut out = partial(run).to_owned();
    let _ = writeln!(
        out,
        "connections: {} accepted ({} of them reconnects), {} refused, {} broken",
        count(of("connected")),
        count(of("reconnected")),
        count(of("refused")),
        count(of("broken")),
    );
    out.push_str(&never_due(reported));
    if of("due") > 0 {
        let _ = writeln!(
            out,
            "messages: {} due = {} sent + {} not sent; {} confirmed by the server, {} refused, {} unknown",
            count(of("due")),
            count(of("sent")),
            count(of("unsent")),
            count(of("confirmed").saturating_sub(of("turned_down"))),
            count(of("turned_down")),
            count(of("unknown")),
        );
        if of("resent") > 0 {
            let _ = writeln!(
                out,
                "resent after a lost connection: {}",
                count(of("resent"))
            );
        }
        if of("incomplete") > 0 {
            let _ = writeln!(
                out,
                "QoS 2 interrupted: the server had received {} of the messages read (PUBREC) when their session was lost; it is unknown whether it forwards them",
                count(of("incomplete"))
            );
        }
        if is_whole(run) {
            let _ = writeln!(out, "{}", verdict(reported));
        }
    }
    out
}

/// Returns the sentences about the remaining counts.
fn remarks(run: &Run, reported: &Tally) -> String {
    let of = |name: &str| reported.counters.get(name).copied().unwrap_or(0);
    let mut out = String::new();
    if let Some(line) = clocks(run).filter(|_| of_subscribers(reported)) {
        out.push_str(&line);
        out.push('\n');
    }
    for (name, words) in [
        ("foreign", "messages without a header of this run"),
        ("filters_refused", "filters refused"),
        ("stray", "acknowledgements that match no message in flight"),
    ] {
        if of(name) > 0 {
            let _ = writeln!(out, "{}: {}", words, count(of(name)));
        }
    }
    if let Some(line) = unchecked(run, reported).filter(|_| is_whole(run)) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn never_due(reported: &Tally) -> String {
    let of = |name: &str| reported.counters.get(name).copied().unwrap_or(0);
    let mut out = String::new();
    let never_due = of("planned").saturating_sub(of("due"));
    let left_out = of("held").min(never_due);
    if left_out > 0 {
        let _ = writeln!(
            out,
            "messages: {} planned, {} omitted because not all subscriptions were answered yet",
            count(of("planned")),
            count(left_out),
        );
    }
    if never_due > left_out {
        let _ = writeln!(
            out,
            "messages: {} planned, {} never due because the run ended first",
            count(of("planned")),
            count(never_due - left_out),
        );
    }
    if of("unanswered_subscriptions") > 0 {
        let _ = writeln!(
            out,
            "subscriptions still unanswered when publishing started: {}",
            count(of("unanswered_subscriptions")),
        );
    }
    out
}

fn verdict(reported: &Tally) -> String {
    let of = |name: &str| reported.counters.get(name).copied().unwrap_or(0);
    let (due, in_time) = (of("due"), of("in_time"));
    let read = of("confirmed") - of("turned_down").min(of("confirmed"));
    if in_time == due {
        return "load: sustained; the server had read every message 1s after the load".to_owned();
    }
    if of("connected") == 0 {
        return "load: not sent, because no connection was accepted".to_owned();
    }
    let rest = format!(
        "{} due, {} confirmed by then and {} later; {} refused, {} unknown, {} not sent",
        count(due),
        count(in_time),
        count(read.saturating_sub(in_time)),
        count(of("turned_down")),
        count(of("unknown")),
        count(of("unsent")),
    );
    if of("unconfirmed") > 0 {
        let blocked_s = of("blocked_ns") as f64 / 1e9;
        return format!(
            "load: throttled by the target: {} messages had no answer 1s after the load (sockets accepted no data for {blocked_s:.1}s, summed over connections); {rest}",
            count(of("unconfirmed")),
        );
    }
    format!("load: not sustained 1s after the load: {rest}")
}

fn unchecked(run: &Run, reported: &Tally) -> Option<String> {
    let of = |name: &str| reported.counters.get(name).copied().unwrap_or(0);
    // Stop rules count as checks too. The manifest contains their conditions.
    let conditions = run.manifest.criteria.iter().chain(&run.manifest.stop);
    let checked: Vec<Metric> = conditions
        .filter_map(|text| Some(plan::criteria::parse_criterion(text).ok()?.metric))
        .collect();
    let lost = of("expected").saturating_sub(of("received"));
    let certain = lost.saturating_sub(of("expected_of_unknown"));
    let all = [
        (certain, Metric::Messages(MessageFate::Lost), "lost"),
        (
            of("again"),
            Metric::Messages(MessageFate::Duplicates),
            "duplicates",
        ),
        (
            of("unknown"),
            Metric::Messages(MessageFate::Unknown),
            "unknown",
        ),
        (of("unsent"), Metric::Unsent, "unsent"),
    ];
    let open = all
        .into_iter()
        .filter(|(n, metric, _)| *n > 0 && !checked.contains(metric));
    let open: Vec<(u64, Metric, &str)> = open.collect();
    let first = open.first()?.2;
    let words: Vec<String> = open
        .iter()
        .map(|(n, _, name)| format!("{} {name}", count(*n)))
        .collect();
    Some(format!(
        "not checked: {}; use a criterion to decide whether that is a failure, for example --check '{first} < 0.1%'",
        words.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(counts: &[(&str, u64)]) -> String {
        let mut reported = Tally::default();
        let counts = counts.iter();
        reported
            .counters
            .extend(counts.map(|(name, value)| ((*name).to_owned(), *value)));
        verdict(&reported)
    }

    #[test]
    fn sustained_is_said_of_messages_that_were_all_read_in_time() {
        let all = [
            ("connected", 5),
            ("due", 750),
            ("sent", 750),
            ("confirmed", 750),
            ("in_time", 750),
        ];
        assert!(joined(&all).starts_with("load: sustained; "));
    }

    #[test]
    fn messages_of_unknown_fate_are_not_sustained() {
        let reset = joined(&[
            ("connected", 5),
            ("due", 750),
            ("sent", 750),
            ("unknown", 750),
        ]);
        assert!(reset.starts_with("load: not sustained"), "{reset}");
        assert!(reset.contains(
            "750 due, 0 confirmed by then and 0 later; 0 refused, 750 unknown, 0 not sent"
        ));
    }

    #[test]
    fn refused_messages_are_not_sustained() {
        let refused = joined(&[
            ("connected", 1),
            ("due", 10),
            ("sent", 10),
            ("confirmed", 10),
            ("turned_down", 10),
        ]);
        assert!(
            refused.contains("0 confirmed by then and 0 later; 10 refused"),
            "{refused}"
        );
    }

    #[test]
    fn a_load_that_is_read_later_was_throttled() {
        let slow = joined(&[
            ("connected", 1),
            ("due", 100),
            ("sent", 100),
            ("confirmed", 100),
            ("in_time", 30),
            ("unconfirmed", 70),
        ]);
        assert!(
            slow.starts_with("load: throttled by the target: 70 messages had no answer"),
            "{slow}"
        );
        assert!(slow.contains("30 confirmed by then and 70 later"), "{slow}");
    }
}
