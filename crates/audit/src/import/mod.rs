//! Reads output of other tools. The content determines which reader is used. Readers report
//! positions and rounding, and never panic on any text.

mod artillery;
mod artillery_json;
mod artillery_text;
pub mod csv;
pub mod figure;
mod fortio;
mod hdr;
mod json;
mod jtl;
mod k6;
mod latency;
mod lines;
mod loadline;
mod locust;
mod locust_csv;
mod locust_markdown;
mod locust_table;
pub mod model;
mod moments;
mod number;
mod oha;
mod samples;
mod tags;
mod vegeta;
mod walk;
mod wrk;
mod wrk2;

pub use figure::{Position, PrintedFigure, Range};
pub use model::{PrintedReport, Tool};
pub use walk::figures;

use locust_csv::CsvKind;

pub const ACCEPTED: &str = "Artillery's console output or its -o JSON; the output of wrk or wrk2; Locust's CSV files, or its tables of requests, percentiles and errors (also in Markdown); k6's JSON summary; JMeter's results (JTL) as XML or as CSV with a header; Vegeta's report or results as JSON; oha's or Fortio's JSON; an HdrHistogram log (.hlog); a Loadline run's folder or its summary.json";

#[derive(Debug, Clone)]
pub struct Import {
    pub format: String,
    pub needs_columns: bool,
    pub reports: Vec<PrintedReport>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    pub reason: Option<String>,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(reason) = &self.reason {
            write!(f, "{reason}; ")?;
        }
        write!(f, "unknown format, expected one of: {ACCEPTED}")
    }
}

impl std::error::Error for Unknown {}

pub fn read(text: &str) -> Result<Import, Unknown> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('{') {
        if vegeta::are_results(text) {
            return known("Vegeta's results", true, vegeta::read_results(text));
        }
        return of_json(text);
    }
    if jtl::is_xml(text) {
        return known("JMeter's results (XML)", true, jtl::read_xml(text));
    }
    if hdr::is(text) {
        return known("an HdrHistogram log", true, hdr::read(text));
    }
    let table = csv::CsvTable::read(first_line(text));
    if jtl::is(&table) {
        let reports = jtl::read(&csv::CsvTable::read(text));
        return known("JMeter's results (CSV)", true, reports);
    }
    if let Some(kind) = CsvKind::from_table(&table) {
        let report = locust_csv::read(&csv::CsvTable::read(text), kind);
        return known("Locust's CSV", true, vec![report]);
    }
    if let Some(reason) = jtl::unreadable(first_line(text)) {
        return Err(Unknown {
            reason: Some(reason),
        });
    }
    of_lines(text)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn of_json(text: &str) -> Result<Import, Unknown> {
    let unknown = |reason: String| Unknown {
        reason: Some(reason),
    };
    let root = json::parse(text).map_err(|place| {
        unknown(format!(
            "line {}, column {}: this is not JSON",
            place.line, place.column
        ))
    })?;
    if artillery_json::is(&root) {
        known("Artillery's JSON", true, artillery_json::read(&root))
    } else if loadline::is(&root) {
        known("Loadline's summary", true, loadline::read(&root))
    } else if vegeta::is(&root) {
        known("Vegeta's report", true, vegeta::read(&root))
    } else if oha::is(&root) {
        known("oha's JSON", true, oha::read(&root))
    } else if fortio::is(&root) {
        known("Fortio's JSON", true, fortio::read(&root))
    } else if k6::is(&root) {
        known("k6's summary", true, k6::read(&root))
    } else {
        Err(unknown("this JSON is not a report of a known tool".into()))
    }
}

fn of_lines(text: &str) -> Result<Import, Unknown> {
    let lines = lines::number(text);
    let mut names: Vec<&str> = Vec::new();
    let mut all: Vec<PrintedReport> = Vec::new();
    let mut take = |name: Option<&'static str>, mut reports: Vec<PrintedReport>| {
        for report in &reports {
            let name = name.unwrap_or(report.tool.name());
            if !names.contains(&name) {
                names.push(name);
            }
        }
        all.append(&mut reports);
    };
    take(None, artillery_text::read(&lines));
    take(None, wrk::read(&lines));
    take(None, locust_table::read(&lines));
    take(None, locust_markdown::read(&lines));
    all.sort_by_key(|report| report.place);
    known(&names.join(", "), false, all)
}

fn known(
    format: &str,
    needs_columns: bool,
    reports: Vec<PrintedReport>,
) -> Result<Import, Unknown> {
    if figures(&reports).is_empty() {
        return Err(Unknown { reason: None });
    }
    Ok(Import {
        format: format.to_owned(),
        needs_columns,
        reports,
    })
}
