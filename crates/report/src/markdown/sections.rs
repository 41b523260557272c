//! The sections of `report.md`, in order. A section without content is empty.

use super::table::{MarkdownTable, escaped};
use crate::{about, console};
use analysis::{
    summary::{Conclusion, Confidence, ErrorRow, Figure, Summary, Tone},
    verdict::{Judged, Judgement},
};
use plan::about::About;
use record::{
    Manifest, RunState,
    units::{self, count},
};

pub(super) fn rates_are(summary: &Summary) -> String {
    format!(
        "Achieved rates are averages over {}, from the start to the last completion or the end of the load. Rates of a phase are averages over the length of the phase. The last phase continues to the last completion.",
        units::time(summary.run.elapsed_ns)
    )
}

pub(super) fn section(title: &str, body: &str) -> String {
    if body.trim().is_empty() {
        return String::new();
    }
    format!("## {title}\n\n{}", body.trim_end())
}

fn word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Pass => "PASS",
        Judgement::Fail => "FAIL",
        Judgement::Inconclusive => "INCONCLUSIVE",
    }
}

pub fn head(summary: &Summary) -> String {
    let run = &summary.run;
    let mut words = Vec::new();
    words.extend(
        summary
            .verdict
            .criteria
            .map(|judgement| format!("**{}**", word(judgement))),
    );
    words.extend(
        summary
            .measurement
            .as_ref()
            .map(|m| format!("measurement **{}**", m.verdict)),
    );
    words.extend(match run.state {
        RunState::Complete => None,
        RunState::Running if run.record_ends_ns.is_some() => None,
        RunState::Running => Some("**not finished**".to_owned()),
        RunState::Interrupted => Some(format!(
            "**ended early** by {}",
            escaped(run.ended_by.as_deref().unwrap_or("a signal"))
        )),
    });
    words.extend(
        run.record_ends_ns
            .map(|ns| format!("**the record ends at {}**", units::duration(ns))),
    );
    let mut table = MarkdownTable::new(&["", "", "<"]);
    let key_figures = summary.verdict.key_figures.iter();
    for figure in key_figures.chain(&summary.verdict.figures) {
        table.row([
            figure.name.clone(),
            figure.value.clone(),
            figure.note.clone().unwrap_or_default(),
        ]);
    }
    let when = run.started_utc.replace('T', " ");
    let when = when.split('.').next().unwrap_or_default();
    let what = [
        (!run.target.is_empty()).then(|| escaped(&run.target)),
        (run.started_wall_ns > 0).then(|| format!("{when} UTC")),
        (run.elapsed_ns > 0).then(|| units::time(run.elapsed_ns)),
        run.http.as_deref().map(escaped),
    ];
    let what: Vec<String> = what.into_iter().flatten().collect();
    let verdict = if words.is_empty() {
        String::new()
    } else {
        format!("{} – ", words.join(" · "))
    };
    let figures = if table.is_empty() {
        String::new()
    } else {
        table.to_string()
    };
    let key_conclusions = summary.verdict.key_conclusions.iter();
    let key_conclusions = key_conclusions.filter_map(|at| summary.conclusions.get(*at));
    let blocks = [
        format!("# Load test: {}", escaped(&run.name)),
        escaped(&summary.verdict.question),
        format!("{verdict}{}", escaped(&summary.verdict.sentence)),
        advice(summary),
        what.join(" · "),
        figures.trim_end().to_owned(),
        key_conclusions
            .map(concluded)
            .collect::<String>()
            .trim_end()
            .to_owned(),
    ];
    let blocks: Vec<String> = blocks
        .into_iter()
        .filter(|block| !block.is_empty())
        .collect();
    blocks.join("\n\n")
}

fn advice(summary: &Summary) -> String {
    let advice = summary.verdict.advice.iter();
    let mut lines: Vec<String> = advice.map(|text| format!("- {}", escaped(text))).collect();
    if !lines.is_empty() {
        lines.insert(0, "What to do:\n".to_owned());
    }
    if !summary.verdict.certainty.is_empty() {
        lines.push(format!(
            "\nCertainty: {}",
            escaped(&summary.verdict.certainty)
        ));
    }
    lines.join("\n").trim().to_owned()
}

pub fn criteria(summary: &Summary) -> String {
    let mut table = MarkdownTable::new(&[
        "Criterion",
        "<Verdict",
        "Measured",
        "Margin",
        "First violated",
    ]);
    for judged in &summary.criteria {
        table.row([
            judged.text.clone(),
            word(judged.judgement).to_owned(),
            judged.measured.clone().unwrap_or_else(|| "–".into()),
            margin(judged),
            judged
                .first_violation_ns
                .map_or_else(|| "–".into(), units::moment),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    let reasons = summary.criteria.iter().filter_map(|judged| {
        let reason = judged.reason.as_ref()?;
        Some(format!(
            "\n- {}: {}",
            escaped(&judged.text),
            escaped(reason)
        ))
    });
    section(
        "Criteria",
        &format!("{table}{}", reasons.collect::<String>()),
    )
}

fn margin(judged: &Judged) -> String {
    let decided = judged.judgement != Judgement::Inconclusive;
    let distance = judged.distance().filter(|_| decided);
    distance.unwrap_or_else(|| "–".into())
}

pub(super) const JUDGED: &str = " *";
pub(super) const MARK: &str = "\\* marks a figure that a criterion judges.";

fn mark_of(summary: &Summary, path: &str) -> &'static str {
    let mut criteria = summary.criteria.iter();
    let is_judged = criteria.any(|judged| judged.figure.as_deref() == Some(path));
    if is_judged { JUDGED } else { "" }
}

pub(super) fn figure(figure: Option<&Figure>) -> String {
    figure.map_or_else(|| "–".into(), ToString::to_string)
}

pub fn latency(summary: &Summary) -> String {
    let line = |c: &Confidence| {
        let interval = match c.high_ns {
            Some(high) => units::time_interval(c.low_ns, "and", high, c.ns),
            None => format!("{} and an unknown value", units::time(c.low_ns)),
        };
        let rough = if c.approximate {
            "; less than a minute was measured, so the interval is rough"
        } else {
            ""
        };
        format!(
            "- {} of the {} time of {}: {}, with 95 % confidence between {interval} ({} samples{rough})\n",
            c.percentile,
            c.time,
            escaped(&c.label),
            units::time(c.ns),
            count(c.samples),
        )
    };
    let lines: String = summary.confidence.iter().map(line).collect();
    let is_own = summary.requests.issued > 0 && summary.run.imported_from.is_none();
    let how_sure = match lines.trim_end() {
        _ if summary.is_invalid() => "",
        "" if is_own => "Too few samples for confidence intervals of percentiles.",
        lines => lines,
    };
    let steady = summary.steady.as_ref();
    let steady = steady.filter(|_| !summary.is_generators());
    let steady = steady.map_or_else(String::new, |steady| escaped(&steady.sentence).to_string());
    let parts = [steady.as_str(), how_sure].into_iter();
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    section("Latency", &parts.join("\n\n"))
}

const EXCERPT: usize = 200;

pub fn errors(summary: &Summary) -> String {
    let label = |id: &u16| {
        let rows = summary.labels.iter().find(|row| row.id == *id);
        rows.map_or_else(|| id.to_string(), |row| row.text.clone())
    };
    let mut table = MarkdownTable::new(&[
        "Cause",
        "Count",
        "Of all requests",
        "<Under",
        "First seen",
        "Last seen",
        "<Sample",
    ]);
    for row in &summary.errors {
        let under: Vec<String> = row.labels.iter().take(3).map(label).collect();
        let more = row.labels.len().saturating_sub(under.len());
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        table.row([
            row.reason.clone(),
            count(row.count),
            row.share.map_or_else(|| "–".into(), units::share),
            under.join(", ") + &more,
            row.first
                .as_ref()
                .map_or_else(|| "–".into(), |first| units::moment(first.done_ns)),
            row.last_ns.map_or_else(|| "–".into(), units::moment),
            row.first.as_ref().map_or_else(String::new, |first| {
                first.detail.lines().next().unwrap_or_default().to_owned()
            }),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    let samples: Vec<String> = summary.errors.iter().filter_map(sample).collect();
    let samples = if samples.is_empty() {
        String::new()
    } else {
        format!("{}\n", samples.concat())
    };
    section("Errors", &format!("{table}{samples}"))
}

fn sample(row: &ErrorRow) -> Option<String> {
    let first = row.first.as_ref()?;
    let answered = first
        .body
        .as_deref()
        .map(|body| format!("answered {}", console::one_line(body, EXCERPT)));
    let trace = first.trace.as_ref();
    let trace = trace.map(|ids| format!("trace {}", ids.trace_id));
    let parts = first.mismatches.iter().cloned().chain(answered);
    let parts: Vec<String> = parts.chain(trace).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "\n- {}",
            escaped(&format!("{}: {}", row.reason, parts.join("; ")))
        )
    })
}

pub fn concurrency(summary: &Summary) -> String {
    if summary.requests.issued == 0 || summary.run.imported_from.is_some() {
        return String::new();
    }
    let mut text = format!(
        "Requests in flight: {} on average, {}{} at most. {} connections were opened for {} requests.",
        units::decimal((summary.in_flight.mean * 100.0).round() / 100.0),
        count(summary.in_flight.max),
        escaped(mark_of(summary, "/in_flight/max")),
        count(summary.connections_opened),
        count(summary.all.count),
    );
    if let Some(off) = summary.measurement.as_ref().and_then(|m| m.littles_law) {
        text.push_str(&format!(
            " Little's law (rate × time) agrees within {}.",
            units::share(off.max(0.001))
        ));
    }
    let mut table = MarkdownTable::new(&["", "p50", "p99", "max"]);
    for (name, stats) in [
        ("wait for a connection", &summary.wait),
        ("TCP connect", &summary.connect),
        ("TLS handshake", &summary.tls),
    ] {
        if let Some(stats) = stats {
            table.row([
                name.to_owned(),
                stats.p50.to_string(),
                stats.p99.to_string(),
                stats.max.to_string(),
            ]);
        }
    }
    let table = if table.is_empty() {
        String::new()
    } else {
        format!("\n\n{table}")
    };
    section("Concurrency", &(text + &table))
}

pub fn generator(summary: &Summary) -> String {
    let Some(m) = &summary.measurement else {
        return String::new();
    };
    let mut text = format!("{}.", escaped(&m.line()));
    if let Some(lateness) = &summary.lateness {
        text.push_str(&format!(
            " Arrivals started {} late at the median, {}{} late at p99, {} late at most.",
            lateness.p50,
            lateness.p99,
            escaped(mark_of(summary, "/lateness/p99")),
            lateness.max
        ));
    }
    section("Are these results reliable?", &text)
}

pub fn conclusions(summary: &Summary) -> String {
    let lines = summary.conclusions.iter().map(concluded);
    section("Conclusions", &lines.collect::<String>())
}

fn concluded(conclusion: &Conclusion) -> String {
    let sign = match conclusion.tone {
        Tone::Good => "✓",
        Tone::Neutral => "·",
        Tone::Bad => "✗",
    };
    format!("- {sign} {}\n", escaped(&conclusion.text))
}

pub fn assumptions(summary: &Summary) -> String {
    let lines = summary.assumptions.iter().chain(&summary.notes);
    section(
        "Assumptions and notes",
        &lines
            .map(|line| format!("- {}\n", escaped(line)))
            .collect::<String>(),
    )
}

pub fn about(about: Option<&About>) -> String {
    let Some(about) = about else {
        return String::new();
    };
    let mut blocks: Vec<String> = about.objective.iter().map(|text| escaped(text)).collect();
    let rows = about::rows(about);
    if !rows.is_empty() {
        let mut table = MarkdownTable::new(&["", "<"]);
        for (name, text, _) in rows {
            table.row([name, text]);
        }
        blocks.push(table.to_string());
    }
    blocks.join("\n\n")
}

pub fn provenance(summary: &Summary, manifest: &Manifest) -> String {
    let host = &manifest.host;
    let mut lines = vec![
        ("command", manifest.command.join(" ")),
        (
            "tool",
            format!("{} {}", manifest.tool.name, manifest.tool.version),
        ),
        ("started", summary.run.started_utc.clone()),
    ];
    lines.extend(summary.run.seed.map(|seed| ("seed", seed.to_string())));
    lines.extend(summary.run.workers.map(|n| ("workers", n.to_string())));
    if summary.run.imported_from.is_some() {
        lines.retain(|(name, _)| matches!(*name, "tool" | "started"));
    }
    let machine = [
        host.name.clone(),
        host.cpu.clone(),
        host.cpus.map(|n| format!("{n} CPUs")),
        host.memory_bytes.map(units::bytes),
        host.kernel.clone(),
    ];
    let machine: Vec<String> = machine.into_iter().flatten().collect();
    if !machine.is_empty() {
        lines.push(("machine", machine.join(" · ")));
    }
    lines.extend(manifest.git.clone().map(|git| ("git", git)));
    for file in &manifest.files {
        let hash = file.sha256.as_deref().unwrap_or("not read");
        lines.push((
            "file",
            format!("{} ({} bytes, sha256 {hash})", file.path, file.bytes),
        ));
    }
    lines.extend(summary.record.clone().map(|record| ("record", record)));
    let mut table = MarkdownTable::new(&["", "<"]);
    for (name, text) in lines {
        table.row([name.to_owned(), text]);
    }
    section("Provenance of this report", &table.to_string())
}
