//! The ledger of messages, from the record: what was due, sent, read by the server, delivered, lost; and whether the load was sustained.

use std::{fmt::Write, path::Path};

use measure::accumulator::Tally;
use record::{
    Run,
    units::{count, time},
};
use session::Outcome;

/// What the driver has told, of a whole run.
pub(crate) fn told(run: &Run) -> Tally {
    let mut all = Tally::default();
    for (_, part) in run.door_parts() {
        all.merge(part);
    }
    all
}

/// Whether the server has accepted no connection at all.
#[must_use]
pub fn nobody_came_in(run: &Run) -> bool {
    let told = told(run);
    told.counters.get("connected") == Some(&0)
}

/// Writes the summary with the ledger in it.
pub fn write_json(path: &Path, outcome: &Outcome<'_>) -> Result<(), String> {
    let mut json = serde_json::to_value(outcome.summary).map_err(|e| e.to_string())?;
    json["mqtt"] = serde_json::json!(told(outcome.run).counters);
    std::fs::write(path, format!("{json:#}\n"))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Whether every client of the run has told its counts: neither is it one part of several, nor was a process lost.
pub(crate) fn is_whole(run: &Run) -> bool {
    run.manifest.share.is_none()
        && run.missing.is_empty()
        && run.nodes_lost().is_empty()
        && run.lost().next().is_none()
}

/// What a ledger of some of the clients is one of; nothing of a whole one.
fn partial(run: &Run) -> &'static str {
    if is_whole(run) {
        ""
    } else if run.manifest.share.is_some() {
        "clients: those of this part; what was lost on the way between parts is told of the whole, by `loadline merge`\n"
    } else {
        "clients: those of processes that came to their end; those of a process that was lost are in no line of this ledger, and no other took them over\n"
    }
}

/// What delivery times between processes hang on, where there are several.
fn clocks(run: &Run) -> Option<String> {
    (run.manifest.processes.unwrap_or(1) > 1).then(|| {
        let worst = run.nodes.iter().map(|node| node.offset_error_ns).max();
        let known = match worst.unwrap_or(0) {
            0 => "and nobody has measured how well they agree".to_owned(),
            ns => format!("known within {}", time(2 * ns)),
        };
        format!(
            "delivery times: from one process to another they hang on the clocks of both, {known}"
        )
    })
}

/// The ledger in lines.
#[must_use]
pub fn ledger(run: &Run) -> String {
    let told = told(run);
    if told.is_empty() {
        return "messages: nothing was told, the run did not come to its end\n".to_owned();
    }
    let of = |name: &str| told.counters.get(name).copied().unwrap_or(0);
    let mut out = partial(run).to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "connections: {} accepted ({} of them again), {} refused, {} broken",
        count(of("connected")),
        count(of("reconnected")),
        count(of("refused")),
        count(of("broken")),
    );
    if of("planned") > of("due") {
        let _ = writeln!(
            out,
            "messages: {} planned, {} of them never due: the run ended before",
            count(of("planned")),
            count(of("planned") - of("due")),
        );
    }
    if of("due") > 0 {
        let _ = writeln!(
            out,
            "messages: {} due = {} sent + {} not sent; {} certainly read by the server, {} turned down, {} unknown",
            count(of("due")),
            count(of("sent")),
            count(of("unsent")),
            count(of("confirmed")),
            count(of("turned_down")),
            count(of("unknown")),
        );
        if of("resent") > 0 {
            let _ = writeln!(
                out,
                "sent again behind a lost connection: {}",
                count(of("resent"))
            );
        }
        if is_whole(run) {
            let _ = writeln!(out, "{}", verdict(&told));
        }
    }
    if of("expected") > 0 || of("received") > 0 {
        out.push_str(&deliveries(run, &told));
    }
    for (name, words) in [
        ("foreign", "messages without a stamp of this run"),
        ("filters_refused", "filters refused"),
        ("stray", "acknowledgements of nothing that was under way"),
    ] {
        if of(name) > 0 {
            let _ = writeln!(out, "{}: {}", words, count(of(name)));
        }
    }
    out
}

/// What came of what was to be delivered.
fn deliveries(run: &Run, told: &Tally) -> String {
    let of = |name: &str| told.counters.get(name).copied().unwrap_or(0);
    let (expected, received) = (of("expected"), of("received"));
    let came = format!(
        "{} duplicates, {} out of order",
        count(of("again")),
        count(of("late"))
    );
    let mut out = if is_whole(run) {
        format!(
            "deliveries: {} expected, {} received, {} lost, {came}\n",
            count(expected),
            count(received),
            count(expected.saturating_sub(received)),
        )
    } else {
        format!(
            "deliveries: {} received, {came}; how many were lost cannot be told of some of the clients\n",
            count(received)
        )
    };
    if let Some(line) = clocks(run) {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Whether what was due has reached the server.
fn verdict(told: &Tally) -> String {
    let of = |name: &str| told.counters.get(name).copied().unwrap_or(0);
    let blocked_s = of("blocked_ns") as f64 / 1e9;
    if of("behind") == 0 && of("unsent") == 0 {
        return "load: sustained, every message was read by the server at the latest 1s behind the load".to_owned();
    }
    if of("connected") == 0 {
        return "load: not sent, no connection was accepted".to_owned();
    }
    format!(
        "load: throttled by the target: {} messages were not read by the server 1s behind the load (sockets took nothing for {blocked_s:.1}s, summed over connections)",
        count(of("behind").max(of("unsent"))),
    )
}
