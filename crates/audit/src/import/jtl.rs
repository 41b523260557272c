//! Reads results of JMeter (JTL) as CSV or XML.
//!
//! Nested samples are part of their parent. Only the samples of a transaction count.

use std::collections::HashMap;

use super::{
    artillery::MS,
    csv::{CsvRecord, CsvTable},
    figure::Position,
    lines::Word,
    model::{PrintedReport, Tool},
    moments,
    samples::{self, RequestSample},
    tags::{self, Tag},
};

const TRANSACTION: &str = "Number of samples in transaction";

#[must_use]
pub fn is(table: &CsvTable) -> bool {
    table.has(&["timestamp", "elapsed", "label", "success"])
}

#[must_use]
pub fn unreadable(line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    let separator = [('\t', "tabs"), (';', "semicolons"), ('|', "vertical bars")]
        .into_iter()
        .find(|(separator, _)| lower.starts_with(&format!("timestamp{separator}elapsed")));
    if let Some((_, name)) = separator {
        return Some(format!(
            "these are JMeter results separated by {name}: write them with jmeter.save.saveservice.default_delimiter=, or replace the {name} by commas"
        ));
    }
    let mut fields = line.split([',', ';', '\t']);
    let is_number = |field: Option<&str>, digits: std::ops::RangeInclusive<usize>| {
        field.is_some_and(|field| {
            digits.contains(&field.len()) && field.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let has_times = is_number(fields.next(), 13..=13) && is_number(fields.next(), 1..=9);
    (has_times && fields.any(|field| matches!(field, "true" | "false"))).then(|| {
        "these JMeter results have no header line: write them with jmeter.save.saveservice.print_field_names=true, or add the line timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,…"
            .to_owned()
    })
}

#[must_use]
pub fn is_xml(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with('<')
        && start.get(..600.min(start.len())).is_some_and(|_| {
            let head: String = start.chars().take(600).collect();
            head.contains("<testResults")
        })
}

#[must_use]
pub fn read(table: &CsvTable) -> Vec<PrintedReport> {
    let column = |name: &str| table.column(name);
    let columns = [
        "timestamp",
        "elapsed",
        "label",
        "responsecode",
        "responsemessage",
        "success",
        "bytes",
        "failuremessage",
        "threadname",
    ]
    .map(column);
    let field = |record: &CsvRecord, at: usize| -> String {
        let word: Option<Word<'_>> = columns[at].and_then(|column| record.field(column));
        word.map_or("", |word| word.text).to_owned()
    };
    let mut reading = JtlContent::default();
    let parents = Parents::from_records(table.records.iter().map(|record| {
        let [moment, elapsed, label, thread] = [0, 1, 2, 8].map(|at| field(record, at));
        (moment, elapsed, label, thread)
    }));
    for record in &table.records {
        let field = |at: usize| field(record, at);
        let (moment, elapsed, label) = (field(0), field(1), field(2));
        if parents.have(&moment, &elapsed, &label, &field(8)) {
            reading.parts += 1;
            continue;
        }
        reading.take(&Raw {
            moment: &moment,
            elapsed: &elapsed,
            label: &label,
            code: &field(3),
            message: &field(4),
            success: &field(5),
            bytes: &field(6),
            reason: &field(7),
            place: record.place(),
        });
    }
    reading.end()
}

#[must_use]
pub fn read_xml(text: &str) -> Vec<PrintedReport> {
    let mut reading = JtlContent::default();
    // Whether the nested samples of each open element count as part of the element.
    let mut open: Vec<bool> = Vec::new();
    tags::each(text, |tag: &Tag<'_>| {
        if !matches!(tag.name, "httpSample" | "sample") {
            return;
        }
        if tag.closes {
            open.pop();
            return;
        }
        let is_part = open.contains(&true);
        let is_transaction = tag.attribute("rm").starts_with(TRANSACTION);
        if !is_part {
            let of = |name: &str| tag.attribute(name);
            let [moment, elapsed, label, code, message, success, bytes] =
                ["ts", "t", "lb", "rc", "rm", "s", "by"].map(of);
            reading.take(&Raw {
                moment: &moment,
                elapsed: &elapsed,
                label: &label,
                code: &code,
                message: &message,
                success: &success,
                bytes: &bytes,
                reason: "",
                place: tag.place,
            });
        }
        if !tag.is_empty {
            open.push(!is_transaction);
        }
    });
    reading.end()
}

struct Raw<'a> {
    moment: &'a str,
    elapsed: &'a str,
    label: &'a str,
    code: &'a str,
    message: &'a str,
    success: &'a str,
    bytes: &'a str,
    reason: &'a str,
    place: Position,
}

/// Samples by label and thread, with their first and last milliseconds.
struct Parents {
    times: HashMap<(String, String), Vec<(f64, f64)>>,
}

impl Parents {
    fn from_records(records: impl Iterator<Item = (String, String, String, String)>) -> Parents {
        let mut times: HashMap<_, Vec<(f64, f64)>> = HashMap::new();
        for (moment, elapsed, label, thread) in records {
            if let Some(time) = Parents::time(&moment, &elapsed) {
                times.entry((label, thread)).or_default().push(time);
            }
        }
        for times in times.values_mut() {
            times.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Parents { times }
    }

    fn time(moment: &str, elapsed: &str) -> Option<(f64, f64)> {
        let moment: f64 = moment.parse().ok()?;
        Some((moment, moment + elapsed.parse::<f64>().ok()?))
    }

    fn have(&self, moment: &str, elapsed: &str, label: &str, thread: &str) -> bool {
        let Some((parent, number)) = label.rsplit_once('-') else {
            return false;
        };
        if thread.is_empty() || number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            return false;
        }
        let key = (parent.to_owned(), thread.to_owned());
        let (Some((from, to)), Some(times)) =
            (Parents::time(moment, elapsed), self.times.get(&key))
        else {
            return false;
        };
        // A thread runs samples one after another, so only the last earlier sample can contain this
        // one.
        let after = times.partition_point(|(start, _)| *start <= from);
        after.checked_sub(1).is_some_and(|last| to <= times[last].1)
    }
}

#[derive(Default)]
struct JtlContent {
    samples: Vec<RequestSample>,
    transactions: u64,
    parts: u64,
    torn: u64,
}

impl JtlContent {
    fn take(&mut self, raw: &Raw<'_>) {
        if raw.message.starts_with(TRANSACTION) {
            self.transactions += 1;
            return;
        }
        match sample(raw) {
            Some(sample) => self.samples.push(sample),
            None => self.torn += 1,
        }
    }

    fn end(self) -> Vec<PrintedReport> {
        let mut report = samples::report(Tool::JMeter, "results", &self.samples);
        if let Some(report) = &mut report {
            let mut remark = |what: &str, n: u64| {
                if n > 0 {
                    report.remarks.push(format!("{what}: {n}"));
                }
            };
            remark(
                "transactions, which are not counted because their samples are counted",
                self.transactions,
            );
            remark(
                "parts of samples (redirects), which are counted as part of their sample",
                self.parts,
            );
            remark(
                "samples that cannot be read and are excluded from all figures",
                self.torn,
            );
        }
        report.into_iter().collect()
    }
}

fn sample(raw: &Raw<'_>) -> Option<RequestSample> {
    let number = |text: &str| {
        text.parse::<f64>()
            .ok()
            .filter(|n| n.is_finite() && *n >= 0.0)
    };
    let code = raw
        .code
        .parse::<u16>()
        .ok()
        .filter(|code| (100..1000).contains(code));
    let is_good = match raw.success {
        "true" => true,
        "false" => false,
        _ => return None,
    };
    let reason = || {
        let texts = [raw.reason, raw.message, raw.code];
        let text = texts.into_iter().find(|text| !text.is_empty());
        let text = text
            .and_then(|text| text.lines().next())
            .unwrap_or("failed");
        match code {
            Some(code) if raw.reason.is_empty() => format!("status {code}"),
            _ => text.to_owned(),
        }
    };
    Some(RequestSample {
        label: raw.label.to_owned(),
        began_s: number(raw.moment)
            .map(|ms| ms * MS)
            .or_else(|| moments::rfc3339(raw.moment)),
        took_s: number(raw.elapsed)? * MS,
        code,
        failed: (!is_good).then(reason),
        bytes: number(raw.bytes),
        place: raw.place,
    })
}
