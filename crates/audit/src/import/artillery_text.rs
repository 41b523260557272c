//! Reads Artillery's console output. Also accepts excerpts without indentation or dots.

use std::collections::BTreeSet;

use super::{
    artillery,
    figure::{Position, PrintedFigure, Range},
    lines::{NumberedLine, Word},
    model::{LatencyStats, PrintedReport, ReportedSpan, Tool},
    number::{self, Rounding},
};

const ROOTS: [&str; 7] = [
    "http.",
    "vusers.",
    "errors.",
    "plugins.",
    "websocket.",
    "socketio.",
    "apdex.",
];

#[must_use]
pub fn read(lines: &[NumberedLine]) -> Vec<PrintedReport> {
    let mut reader = ReportReader::default();
    for line in lines {
        reader.line(line);
    }
    reader.finish()
}

#[derive(Default)]
struct ReportReader {
    reports: Vec<PrintedReport>,
    periods: Vec<PrintedReport>,
    current: Option<PrintedReport>,
    seen: BTreeSet<String>,
    histogram: Option<LatencyStats>,
    total: Option<ReportedSpan>,
}

impl ReportReader {
    fn line(&mut self, line: &NumberedLine) {
        let text = line.text.trim();
        if let Some(at) = text
            .find("Total time:")
            .filter(|_| text.contains("All VUs"))
        {
            self.end();
            self.total = total_time(line, at);
        } else if let Some(at) = text.find("Summary report @") {
            self.begin(line, &text[at..]);
        } else if let Some(at) = text.find("Metrics for period to:") {
            self.begin(line, &text[at..]);
            if let Some(report) = &mut self.current {
                report.is_period = true;
                report.span = width(line).map(artillery::span);
            }
        } else {
            self.metric(line);
        }
    }

    fn begin(&mut self, line: &NumberedLine, title: &str) {
        self.end();
        let mut report = PrintedReport::new(Tool::Artillery, title, line.place());
        report.span = self.total.take().filter(|_| title.starts_with("Summary"));
        self.current = Some(report);
        self.seen.clear();
    }

    fn end(&mut self) {
        self.end_histogram();
        let Some(mut report) = self.current.take() else {
            return;
        };
        artillery::counts_of_histograms(&mut report);
        if report.counters.is_empty() && report.all.rate.is_none() {
            return;
        }
        if report.is_period {
            self.periods.push(report);
        } else {
            report.periods = std::mem::take(&mut self.periods);
            self.reports.push(report);
        }
    }

    fn metric(&mut self, line: &NumberedLine) {
        let Some((name, value)) = split(line) else {
            return;
        };
        let statistic = artillery::percentile(name).is_some()
            || artillery::statistic(&mut LatencyStats::default(), name).is_some();
        match value {
            None => {
                self.end_histogram();
                self.histogram = Some(LatencyStats {
                    name: name.to_owned(),
                    ..LatencyStats::default()
                });
            }
            Some(value) if statistic => self.statistic(name, value),
            Some(value) if is_metric(name) || line.text.contains("....") => {
                self.count(line, name, value);
            }
            _ => {}
        }
    }

    fn statistic(&mut self, name: &str, value: Word<'_>) {
        let Some(histogram) = &mut self.histogram else {
            return;
        };
        let label = format!("{} {name}", histogram.name);
        let times = histogram.name.contains("_time") || histogram.name.contains("session_length");
        let Some(mut figure) = time(label, value) else {
            return;
        };
        if times {
            figure.unit = "ms";
        }
        if let Some(share) = artillery::percentile(name) {
            histogram.percentiles.push((share, figure));
        } else if let Some(place) = artillery::statistic(histogram, name) {
            *place = Some(figure);
        }
    }

    fn count(&mut self, line: &NumberedLine, name: &str, value: Word<'_>) {
        self.end_histogram();
        let is_rate = value.text.ends_with("/sec");
        let rounding = if is_rate {
            Rounding::Nearest
        } else {
            Rounding::Exact
        };
        let Some(figure) = number::figure(name, value.text, value.place, rounding, |unit| {
            matches!(unit, "" | "/sec").then_some(1.0)
        }) else {
            return;
        };
        // A repeated metric starts a new block.
        if self.current.is_none() || !self.seen.insert(name.to_owned()) {
            let first = Position {
                line: line.number,
                column: 1,
            };
            self.end();
            self.current = Some(PrintedReport::new(Tool::Artillery, "metrics", first));
            self.seen = BTreeSet::from([name.to_owned()]);
        }
        if let Some(report) = &mut self.current {
            if is_rate && name != "http.request_rate" {
                return;
            }
            artillery::count(report, name, figure);
        }
    }

    fn end_histogram(&mut self) {
        if let (Some(histogram), Some(report)) = (self.histogram.take(), &mut self.current) {
            let is_empty = histogram.max.is_none() && histogram.percentiles.is_empty();
            if !is_empty {
                artillery::histogram(report, histogram);
            }
        }
    }

    fn finish(mut self) -> Vec<PrintedReport> {
        self.end();
        self.reports.append(&mut self.periods);
        self.reports
    }
}

fn is_metric(name: &str) -> bool {
    ROOTS.iter().any(|root| name.starts_with(root))
}

/// Splits a line such as `http.requests: ...... 166000`.
fn split(line: &NumberedLine) -> Option<(&str, Option<Word<'_>>)> {
    let text = line.text.trim();
    if let Some(name) = text.strip_suffix(':') {
        return Some((name, None));
    }
    let value = *line.words().last()?;
    let before = text.strip_suffix(value.text)?;
    let name = before
        .trim_end_matches(|c: char| c == '.' || c == '…' || c.is_whitespace())
        .strip_suffix(':')?;
    Some((name, Some(value)))
}

fn time(name: String, value: Word<'_>) -> Option<PrintedFigure> {
    number::figure(name, value.text, value.place, Rounding::To(0.1), |unit| {
        unit.is_empty().then_some(artillery::MS)
    })
}

/// Parses a duration such as `Total time: 5 minutes, 15 seconds`, which Artillery rounds down.
fn total_time(line: &NumberedLine, at: usize) -> Option<ReportedSpan> {
    let text = &line.text.trim()[at..];
    let mut seconds = None;
    let words: Vec<&str> = text.split_whitespace().skip(2).collect();
    for pair in words.chunks(2) {
        let [n, unit] = pair else { break };
        let unit = unit.trim_end_matches([',', '.']).trim_end_matches('s');
        let length = match unit {
            "day" => 86_400,
            "hour" => 3_600,
            "minute" => 60,
            "second" => 1,
            _ => break,
        };
        let n: u64 = n.parse().ok()?;
        seconds = Some(n.checked_mul(length)?.checked_add(seconds.unwrap_or(0))?);
    }
    let value = seconds? as f64;
    let length = text.split_once(':')?.1.trim();
    let before = line.text.find(length)?;
    Some(artillery::span(PrintedFigure {
        name: "Total time".into(),
        text: length.to_owned(),
        unit: "",
        place: Position {
            line: line.number,
            column: line.text[..before].chars().count() + 1,
        },
        value,
        range: Range {
            low: value,
            high: value + 1.0,
        },
    }))
}

fn width(line: &NumberedLine) -> Option<PrintedFigure> {
    let words = line.words();
    let at = words.iter().position(|word| word.text == "(width:")?;
    let word = words.get(at + 1)?;
    let text = word.text.strip_suffix(')')?;
    number::figure("width", text, word.place, Rounding::Nearest, |unit| {
        (unit == "s").then_some(1.0)
    })
}
