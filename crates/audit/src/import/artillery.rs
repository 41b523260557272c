//! Meaning and precision of Artillery's metrics in console output and JSON.

use super::{
    figure::PrintedFigure,
    model::{
        Blur, Cover, Failures, LatencyStats, PrintedReport, PrintedRow, ReportedSpan, Sessions,
    },
};

/// Explains why Artillery's rate is not requests divided by time.
const RATE_IS: &str =
    "Artillery's rate is the mean of the rates of its periods, not requests divided by time";

const IDLE_S: f64 = 5.0;

/// Precision of Artillery's figures: its sketch has an error of 1 %, and values have one decimal.
const BLUR: Blur = Blur {
    share: 0.01,
    amount_s: 0.000_1,
    ranks_gaps: true,
    two_digits: false,
};

const UNANSWERED: [&str; 6] = [
    "ECONNREFUSED",
    "ENOTFOUND",
    "EAI_AGAIN",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "EADDRNOTAVAIL",
];

pub const MS: f64 = 1e-3;

#[must_use]
pub fn span(seconds: PrintedFigure) -> ReportedSpan {
    ReportedSpan {
        seconds,
        idle_s: IDLE_S,
        least_s: 1.0,
        rate_is: Some(RATE_IS),
    }
}

pub fn count(report: &mut PrintedReport, name: &str, figure: PrintedFigure) {
    if name.ends_with("request_rate") {
        if name == "http.request_rate" {
            report.all.rate = Some(figure);
        }
        return;
    }
    report.counters.push(figure.clone());
    let sessions = &mut report.sessions;
    let all = &mut report.all;
    match name {
        "http.requests" => all.requests = Some(figure),
        "http.responses" => all.responses = Some(figure),
        "http.downloaded_bytes" => report.bytes = Some(figure),
        "vusers.created" => sessions.created = Some(figure),
        "vusers.completed" => sessions.completed = Some(figure),
        "vusers.failed" => sessions.failed = Some(figure),
        _ => {
            if name.starts_with("vusers.created_by_name.") {
                sessions.by_name.push(figure);
            } else if name.starts_with("http.codes.") {
                all.codes.push(figure);
            } else if let Some(error) = name.strip_prefix("errors.") {
                all.errors.push(Failures {
                    count: figure,
                    unanswered: UNANSWERED.contains(&error).then_some(true),
                });
            } else if let Some((endpoint, _)) =
                endpoint(name).and_then(|n| n.rsplit_once(".codes."))
            {
                row(report, endpoint, &figure).codes.push(figure);
            }
        }
    }
}

pub fn histogram(report: &mut PrintedReport, mut latency: LatencyStats) {
    latency.blur = BLUR;
    let name = latency.name.clone();
    if name == "vusers.session_length" {
        report.sessions.length = Some(latency);
    } else if name == "http.response_time" {
        report.all.latency = Some(latency);
    } else if let Some(class) = name.strip_prefix("http.response_time.") {
        if let (Some(digit), true) = (class.chars().next(), class.ends_with("xx")) {
            report.all.by_class.push((digit, latency));
        }
    } else if let Some(endpoint) = endpoint(&name).and_then(|n| n.strip_prefix("response_time.")) {
        let Some(some) = latency.max.clone().or_else(|| latency.min.clone()) else {
            return;
        };
        row(report, endpoint, &some).latency = Some(latency);
    }
}

/// Fills in the histogram counts that the console output omits.
pub fn counts_of_histograms(report: &mut PrintedReport) {
    if let (Some(latency), Some(n)) = (&mut report.all.latency, &report.all.responses) {
        latency.count.get_or_insert_with(|| n.clone());
    }
    let Sessions {
        completed, length, ..
    } = &mut report.sessions;
    if let (Some(latency), Some(n)) = (length, completed) {
        latency.count.get_or_insert_with(|| n.clone());
    }
}

fn endpoint(name: &str) -> Option<&str> {
    name.strip_prefix("plugins.metrics-by-endpoint.")
}

fn row<'a>(
    report: &'a mut PrintedReport,
    name: &str,
    figure: &PrintedFigure,
) -> &'a mut PrintedRow {
    // Artillery prints endpoints only if the plugin `metrics-by-endpoint` is used.
    report.cover = Cover::Some;
    let known = report.rows.iter().position(|row| row.name == name);
    let index = known.unwrap_or_else(|| {
        report.rows.push(PrintedRow::new(name, figure.place));
        report.rows.len() - 1
    });
    &mut report.rows[index]
}

#[must_use]
pub fn statistic<'a>(
    latency: &'a mut LatencyStats,
    name: &str,
) -> Option<&'a mut Option<PrintedFigure>> {
    Some(match name {
        "min" => &mut latency.min,
        "max" => &mut latency.max,
        "mean" => &mut latency.mean,
        "count" => &mut latency.count,
        _ => return None,
    })
}

#[must_use]
pub fn percentile(name: &str) -> Option<f64> {
    Some(match name {
        "p50" | "median" => 0.5,
        "p75" => 0.75,
        "p90" => 0.9,
        "p95" => 0.95,
        "p99" => 0.99,
        "p999" => 0.999,
        _ => return None,
    })
}
