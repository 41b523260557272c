//! Text of a summary for the terminal, without colours and within a given width.

mod campaign;
mod compare;
mod custom;
mod deliveries;
mod facts;
mod find;
mod ledgers;
mod list;
mod progress;
mod screen;
mod screen_model;
mod streams;
mod table;
mod text;
mod trend;
mod trial;
mod verdict_line;

use crate::{mocks, nodes, printable};

use record::{
    FirstError, RunState,
    units::{self, count},
};

use analysis::{
    summary::{Confidence, ErrorRow, LevelStats, Stats, Summary},
    verdict::{Judged, Judgement},
};
use plan::work::DEFAULT;
use text::cut;

pub(crate) use text::wrap;

pub use campaign::{campaign_in, campaign_text};
pub use compare::comparison_in;
pub use find::found_in;
pub use list::list_in;
pub use progress::progress_line;
pub use screen::{StyledLine, TextStyle, plain, screen};
pub use screen_model::{Busy, ScreenModel};
pub use text::Columns;
pub use trend::trend_in;
pub use trial::{is_through, trial_in};
pub use verdict_line::verdict_line;

/// How much of a summary to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The verdict, totals, table, errors and notes, which fit on one screen.
    Brief,
    /// All figures, including service times, intervals, definitions and the load generator's own
    /// figures.
    Full,
}

impl Detail {
    /// Returns the level of detail for the flag `--verbose`.
    #[must_use]
    pub fn of(is_verbose: bool) -> Detail {
        if is_verbose {
            Detail::Full
        } else {
            Detail::Brief
        }
    }
}

/// Renders a summary with all details, without colours.
#[must_use]
pub fn summary_text(summary: &Summary) -> String {
    summary_in(summary, Columns::MOST, Detail::Full)
}

/// Renders a summary.
#[must_use]
pub fn summary_in(summary: &Summary, columns: Columns, detail: Detail) -> String {
    let summary = &*printable::names(summary);
    let mut blocks = vec![identity(summary, columns)];
    if !summary.criteria.is_empty() {
        blocks.push(criteria_in(&summary.criteria, columns));
    }
    blocks.extend(Some(ledgers::render(summary, columns)).filter(|ledgers| !ledgers.is_empty()));
    blocks.push(table::render(summary, columns, detail));
    if summary.all.stream.is_some() || !summary.goodput.is_empty() {
        blocks.push(streams::render(summary, columns, detail));
    }
    if !summary.custom.is_empty() {
        blocks.push(custom::render(summary, columns, detail));
    }
    if detail == Detail::Full {
        blocks.extend(Some(levels(summary, columns)).filter(|facts| !facts.is_empty()));
    }
    if !summary.errors.is_empty() {
        blocks.push(errors(summary, columns));
    }
    let of_protocols = [
        facts::http2(summary, columns, detail),
        facts::websocket(summary, columns),
        facts::socketio(summary, columns),
        facts::traces(summary, columns, detail),
        deliveries::render(summary, columns),
    ];
    blocks.extend(of_protocols.into_iter().filter(|block| !block.is_empty()));
    let steady = summary.steady.as_ref().filter(|steady| steady.is_news());
    if let Some(steady) = steady.filter(|_| !summary.is_generators()) {
        blocks.push(wrap(&steady.sentence, 2, columns));
    }
    let saturation = summary.saturation.as_ref();
    if let Some(saturation) = saturation.filter(|saturation| !saturation.reached.is_empty()) {
        blocks.push(wrap(&saturation.sentence, 2, columns));
    }
    if !summary.nodes.is_empty() {
        let reported = nodes::lines(&summary.nodes);
        let reported: Vec<String> = reported.iter().map(|one| wrap(one, 2, columns)).collect();
        blocks.push(reported.join("\n"));
    }
    if !summary.mocks.is_empty() {
        let reported = mocks::sentences(&summary.mocks);
        let reported: Vec<String> = reported.iter().map(|one| wrap(one, 2, columns)).collect();
        blocks.push(reported.join("\n"));
    }
    if !summary.notes.is_empty() {
        let notes = summary
            .notes
            .iter()
            .map(|note| wrap(&format!("Note: {note}"), 6, columns));
        blocks.push(notes.collect::<Vec<_>>().join("\n"));
    }
    if let Some(stopped) = &summary.run.stopped {
        let line = format!(
            "stopped after {} by the stop rule {}",
            units::duration(stopped.at_ns),
            stopped.text
        );
        blocks.push(wrap(&line, 2, columns));
    }
    // After a run that passes, no action is urgent.
    if summary.exit_code != 0 && !summary.verdict.advice.is_empty() {
        let advice = summary.verdict.advice.iter();
        let advice: Vec<String> = advice
            .map(|text| wrap(&format!("What to do: {text}"), 2, columns))
            .collect();
        blocks.push(advice.join("\n"));
    }
    if let Some(measurement) = &summary.measurement {
        blocks.push(wrap(&measurement.line(), 2, columns));
    }
    if let Some(cause) = &summary.run.unrecorded {
        blocks.push(wrap(
            &format!("COULD NOT RUN: the run was cut short by {cause}"),
            2,
            columns,
        ));
    }
    blocks.join("\n\n") + "\n"
}

#[must_use]
pub fn ledgers_text(summary: &Summary) -> String {
    ledgers::render(summary, Columns::MOST)
}

fn identity(summary: &Summary, columns: Columns) -> String {
    let run = &summary.run;
    let when = run.started_utc.replace('T', " ");
    let when = when.split('.').next().unwrap_or_default();
    let state = match run.state {
        _ if run.record_ends_ns.is_some() => "",
        RunState::Complete => "",
        RunState::Running => " · not finished",
        RunState::Interrupted => " · ended early",
    };
    let cut = run.record_ends_ns.map_or_else(String::new, |ns| {
        format!(" · the record ends at {}", units::duration(ns))
    });
    // The name of a plan without a test file is the URL, so do not repeat it.
    let what = if run.target.is_empty() || run.name.starts_with(&run.target) {
        run.name.clone()
    } else {
        format!("{} → {}", run.name, run.target)
    };
    let when = if run.started_wall_ns > 0 {
        format!(" · {when} UTC")
    } else {
        String::new()
    };
    let http = run
        .http
        .as_ref()
        .map_or_else(String::new, |http| format!(" · {http}"));
    wrap(
        &format!("{what} · {}{http}{when}{state}{cut}", run.load),
        2,
        columns,
    )
}

#[must_use]
pub fn criteria(criteria: &[Judged]) -> String {
    criteria_in(criteria, Columns::MOST)
}

fn criteria_in(criteria: &[Judged], columns: Columns) -> String {
    let text_width = criteria
        .iter()
        .map(|judged| judged.text.chars().count())
        .max()
        .unwrap_or(0)
        .min(columns.count() / 2 - 4);
    let line = |judged: &Judged| {
        let verdict = match judged.judgement {
            Judgement::Pass => "PASS",
            Judgement::Fail => "FAIL",
            Judgement::Inconclusive => "INCONCLUSIVE",
        };
        let mut line = format!("{verdict:<12}  {:<text_width$}", judged.text);
        if let Some(measured) = &judged.measured {
            line.push_str(&format!("  measured {measured}"));
        }
        let decided = judged.judgement != Judgement::Inconclusive;
        if let Some(distance) = judged.distance().filter(|_| decided) {
            line.push_str(&format!(", {distance}"));
        }
        if let Some(reason) = &judged.reason {
            line.push_str(&format!("  ({reason})"));
        }
        wrap(line.trim_end(), 14, columns)
    };
    criteria.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn confidence(summary: &Summary) -> Vec<String> {
    let whole = summary.iterations.iter().map(|row| row.count).sum::<u64>();
    let of_requests = whole == 0 || whole == summary.all.count;
    let wanted = summary
        .confidence
        .iter()
        .filter(|c| (c.time != "iteration") == of_requests);
    let line = |c: &Confidence| {
        let interval = match c.high_ns {
            Some(high) => units::time_interval(c.low_ns, "to", high, c.ns),
            None => format!("{} to ?", units::time(c.low_ns)),
        };
        let rough = if c.approximate { ", rough" } else { "" };
        let name = if of_requests || c.label == DEFAULT {
            c.time.as_str()
        } else {
            c.label.as_str()
        };
        format!(
            "95 %       {name} {} {}: {interval} ({} samples, effectively {}{rough})",
            c.percentile,
            units::time(c.ns),
            count(c.samples),
            count(c.effective as u64)
        )
    };
    wanted.map(line).collect()
}

fn levels(summary: &Summary, columns: Columns) -> String {
    let mut lines = Vec::new();
    let stats = |name: &str, stats: &Option<Stats>| {
        stats.as_ref().map(|stats| {
            format!(
                "{name:<10} p50 {}, p99 {}, max {}",
                stats.p50, stats.p99, stats.max
            )
        })
    };
    lines.extend(confidence(summary));
    lines.extend(stats("Lateness", &summary.lateness).map(|line| line + " (the generator's)"));
    lines.extend(stats("Wait", &summary.wait).map(|line| line + " (for a connection)"));
    let level = |level: LevelStats| {
        format!(
            "mean {}, max {}",
            units::decimal((level.mean * 100.0).round() / 100.0),
            count(level.max)
        )
    };
    let own = summary.run.imported_from.is_none();
    lines.extend(own.then(|| {
        format!(
            "In flight  {}; {} connection{} opened",
            level(summary.in_flight),
            count(summary.connections_opened),
            if summary.connections_opened == 1 {
                ""
            } else {
                "s"
            }
        )
    }));
    lines.extend(own.then(|| {
        format!(
            "Bytes      {} out, {} in",
            units::bytes(summary.all.bytes_out),
            units::bytes(summary.all.bytes_in)
        )
    }));
    if !summary.all.codes.is_empty() {
        let codes: Vec<String> = summary
            .all
            .codes
            .iter()
            .map(|(code, n)| format!("{code} × {}", count(*n)))
            .collect();
        lines.push(format!("Codes      {}", codes.join(", ")));
    }
    lines
        .iter()
        .map(|line| wrap(line, 11, columns))
        .collect::<Vec<_>>()
        .join("\n")
}

fn news<'a>(detail: &'a str, label: &str, reason: &str) -> &'a str {
    let line = detail.lines().next().unwrap_or_default();
    let rest = line.strip_prefix(label);
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with([' ', ':']));
    let rest = rest.unwrap_or(line);
    let rest = rest.strip_suffix(reason).unwrap_or(rest);
    rest.trim_matches([' ', ':'])
}

pub(crate) fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let head: String = line.chars().take(most.saturating_sub(1)).collect();
    head + "…"
}

const INDENT: usize = 6;
const ELSEWHERE: usize = 3;

fn errors(summary: &Summary, columns: Columns) -> String {
    let label = |id| {
        let mut rows = summary.rows();
        let row = rows.find(|row| row.id == id);
        row.map_or("?", |row| row.text.as_str())
    };
    let line = |row: &ErrorRow| {
        let mut text = format!("{} × {}", count(row.count), row.reason);
        if let Some(first) = &row.first {
            text.push_str(&format!(
                ", first at {} in {}",
                units::time(first.done_ns),
                cut(label(first.label), 40)
            ));
            let detail = news(&first.detail, label(first.label), &row.reason);
            if !detail.is_empty() {
                text.push_str(&format!(": {detail}"));
            }
        }
        let mut lines = vec![cut(&format!("  {text}"), columns.count())];
        let below = |text: &str| {
            let line = one_line(text, columns.count() - INDENT);
            format!("{:INDENT$}{line}", "")
        };
        let answered = |first: &FirstError| {
            let body = first.body.as_ref()?.replace("\\n", " ");
            Some(below(&format!("answered {body}")))
        };
        lines.extend(row.first.as_ref().and_then(answered));
        let trace = row.first.as_ref().and_then(|first| first.trace.as_ref());
        lines.extend(trace.map(|ids| below(&format!("trace {}", ids.trace_id))));
        let elsewhere = row.by_label.iter().filter_map(|part| part.first.as_ref());
        let elsewhere: Vec<&FirstError> = elsewhere
            .filter(|first| !first.mismatches.is_empty() && Some(*first) != row.first.as_ref())
            .collect();
        for first in elsewhere.iter().take(ELSEWHERE) {
            let found = first.mismatches.join("; ");
            lines.push(below(&format!(
                "in {}: {found}",
                cut(label(first.label), 40)
            )));
            lines.extend(answered(first));
        }
        let more = elsewhere.len().saturating_sub(ELSEWHERE);
        if more > 0 {
            lines.push(below(&format!(
                "and {} more (see the report)",
                count(more as u64)
            )));
        }
        lines.join("\n")
    };
    let rendered = summary.errors.iter().take(20).map(line);
    let more = summary.errors.len().saturating_sub(20);
    let more = (more > 0).then(|| format!("  and {more} more kinds of errors (see the record)"));
    ["Errors".to_owned()]
        .into_iter()
        .chain(rendered)
        .chain(more)
        .collect::<Vec<_>>()
        .join("\n")
}
