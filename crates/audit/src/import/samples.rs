//! Statistics of files that contain every request. A percentile requires ten samples beyond it.

use std::collections::BTreeMap;

use super::{
    figure::{Position, PrintedFigure, Range},
    model::{Failures, LatencyStats, PrintedReport, PrintedRow, ReportedSpan, Tool},
};

const SHARES: [f64; 6] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999];
const BEYOND: usize = 10;
const PERIOD_S: f64 = 10.0;
const MOST_ROWS: usize = 200;

#[derive(Debug, Clone)]
pub struct RequestSample {
    pub label: String,
    pub began_s: Option<f64>,
    pub took_s: f64,
    pub code: Option<u16>,
    pub failed: Option<String>,
    pub bytes: Option<f64>,
    pub place: Position,
}

#[must_use]
pub fn report(tool: Tool, title: &str, samples: &[RequestSample]) -> Option<PrintedReport> {
    let first = samples.first()?;
    let mut report = PrintedReport::new(tool, title, first.place);
    let all: Vec<&RequestSample> = samples.iter().collect();
    report.all = row("", &all);
    let mut by_label: BTreeMap<&str, Vec<&RequestSample>> = BTreeMap::new();
    for sample in samples {
        by_label.entry(&sample.label).or_default().push(sample);
    }
    if by_label.len() > MOST_ROWS {
        report.remarks.push(format!(
            "{} names; only the first {MOST_ROWS} have a row",
            by_label.len()
        ));
        report.cover = super::model::Cover::Some;
    }
    let rows = by_label.iter().take(MOST_ROWS);
    report.rows = rows.map(|(label, samples)| row(label, samples)).collect();
    let bytes: Option<f64> = samples.iter().map(|sample| sample.bytes).sum();
    report.bytes = bytes.map(|bytes| whole_number("bytes", bytes, first.place));
    over_time(&mut report, &all, tool);
    Some(report)
}

fn over_time(report: &mut PrintedReport, all: &[&RequestSample], tool: Tool) {
    let moments: Option<Vec<f64>> = all.iter().map(|sample| sample.began_s).collect();
    let Some(moments) = moments else { return };
    let began_s = moments.iter().copied().fold(f64::INFINITY, f64::min);
    let ends = all.iter().zip(&moments);
    let ended_s = ends
        .map(|(sample, began)| began + sample.took_s)
        .fold(began_s, f64::max);
    report.began_s = Some(began_s);
    report.ended_s = Some(ended_s);
    let seconds = time(
        "from the first request to the last answer",
        ended_s - began_s,
        report.place,
    );
    report.span = Some(ReportedSpan {
        seconds: PrintedFigure {
            // Times as doubles have a precision of a quarter of a microsecond.
            range: seconds.range.widened(0.0, 1e-6),
            ..seconds
        },
        idle_s: 0.0,
        least_s: 0.0,
        rate_is: None,
    });
    let mut periods: BTreeMap<u32, Vec<&RequestSample>> = BTreeMap::new();
    for (sample, began) in all.iter().zip(&moments) {
        let number = ((began - began_s) / PERIOD_S).min(100_000.0) as u32;
        periods.entry(number).or_default().push(sample);
    }
    report.periods = periods
        .into_iter()
        .map(|(number, samples)| {
            let place = samples.first().map_or(report.place, |first| first.place);
            let mut period = PrintedReport::new(tool, "period", place);
            period.is_period = true;
            period.began_s = Some(began_s + f64::from(number) * PERIOD_S);
            period.all = row("", &samples);
            period
        })
        .collect();
}

fn row(name: &str, samples: &[&RequestSample]) -> PrintedRow {
    let place = samples
        .first()
        .map_or(Position::default(), |first| first.place);
    let mut row = PrintedRow::new(name, place);
    let count = |name: &str, n: usize| whole_number(name, n as f64, place);
    row.requests = Some(count("requests", samples.len()));
    let failed = samples.iter().filter(|sample| sample.failed.is_some());
    row.failures = Some(count("failures", failed.count()));
    let mut codes: BTreeMap<u16, usize> = BTreeMap::new();
    let mut errors: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    for sample in samples {
        if let Some(code) = sample.code {
            *codes.entry(code).or_default() += 1;
        }
        if let Some(reason) = &sample.failed {
            *errors.entry((reason, sample.code.is_none())).or_default() += 1;
        }
    }
    let codes = codes.into_iter();
    row.codes = codes.map(|(code, n)| count(&code.to_string(), n)).collect();
    let errors = errors.into_iter();
    row.errors = errors
        .map(|((reason, unanswered), n)| Failures {
            count: count(reason, n),
            unanswered: Some(unanswered),
        })
        .collect();
    let bytes: Option<f64> = samples.iter().map(|sample| sample.bytes).sum();
    row.mean_bytes = bytes.map(|bytes| PrintedFigure {
        value: bytes / samples.len().max(1) as f64,
        ..whole_number("mean bytes", bytes / samples.len().max(1) as f64, place)
    });
    row.latency = Some(latency(samples, place));
    row
}

fn latency(samples: &[&RequestSample], place: Position) -> LatencyStats {
    let mut times: Vec<f64> = samples.iter().map(|sample| sample.took_s).collect();
    times.sort_by(f64::total_cmp);
    let n = times.len();
    let reported = SHARES.into_iter().filter_map(|share| {
        let rank = (share * n as f64).ceil().max(1.0) as usize;
        let is_one = n >= rank + BEYOND;
        let value = times.get(rank - 1).filter(|_| is_one)?;
        Some((share, time(&format!("p{}", share * 100.0), *value, place)))
    });
    let mean = times.iter().sum::<f64>() / n.max(1) as f64;
    LatencyStats {
        name: "time".to_owned(),
        count: Some(whole_number("samples", n as f64, place)),
        min: times.first().map(|least| time("least", *least, place)),
        mean: Some(time("mean", mean, place)),
        max: times.last().map(|most| time("greatest", *most, place)),
        percentiles: reported.collect(),
        ..LatencyStats::default()
    }
}

pub fn whole_number(name: &str, value: f64, place: Position) -> PrintedFigure {
    PrintedFigure {
        name: name.to_owned(),
        text: format!("{value:.0}"),
        unit: "",
        place,
        value,
        range: Range::exactly(value).widened(1e-9, 0.0),
    }
}

pub fn time(name: &str, seconds: f64, place: Position) -> PrintedFigure {
    PrintedFigure {
        name: name.to_owned(),
        text: format!("{:.0}", seconds * 1e9),
        unit: "ns",
        place,
        value: seconds,
        range: Range::exactly(seconds).widened(1e-9, 1e-9),
    }
}
