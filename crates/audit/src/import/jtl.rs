//! JMeter's results (JTL), a line or an element per sample: CSV with its head, or XML. A sampler's own parts (redirects, embedded
//! resources, what a transaction holds) are in the sample that they are parts of, as JMeter's own dashboard has it.

use super::{
    artillery::MS,
    csv::Table,
    figure::Place,
    lines::Word,
    model::{PrintedReport, Tool},
    moments,
    samples::{self, Sample},
    tags::{self, Tag},
};

/// What JMeter says of a transaction that is a line of its own, beside those of its samplers.
const TRANSACTION: &str = "Number of samples in transaction";

/// Whether a head is that of such a table.
#[must_use]
pub fn is(table: &Table) -> bool {
    table.has(&["timestamp", "elapsed", "label", "success"])
}

/// Whether a text is such XML.
#[must_use]
pub fn is_xml(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with('<')
        && start.get(..600.min(start.len())).is_some_and(|_| {
            let head: String = start.chars().take(600).collect();
            head.contains("<testResults")
        })
}

/// The report of a table.
#[must_use]
pub fn read(table: &Table) -> Vec<PrintedReport> {
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
    ]
    .map(column);
    let mut reading = Reading::default();
    for record in &table.records {
        let field = |at: usize| {
            let word: Option<Word<'_>> = columns[at].and_then(|column| record.field(column));
            word.map_or("", |word| word.text)
        };
        reading.take(&Raw {
            moment: field(0),
            elapsed: field(1),
            label: field(2),
            code: field(3),
            message: field(4),
            success: field(5),
            bytes: field(6),
            why: field(7),
            place: record.place(),
        });
    }
    reading.end()
}

/// The report of XML.
#[must_use]
pub fn read_xml(text: &str) -> Vec<PrintedReport> {
    let mut reading = Reading::default();
    // Where samples lie in samples, the outermost has them all.
    let mut depth = 0u32;
    tags::each(text, |tag: &Tag<'_>| {
        if !matches!(tag.name, "httpSample" | "sample") {
            return;
        }
        if tag.closes {
            depth = depth.saturating_sub(1);
            return;
        }
        if depth == 0 {
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
                why: "",
                place: tag.place,
            });
        }
        if !tag.is_empty {
            depth += 1;
        }
    });
    reading.end()
}

/// A sample as it is written.
struct Raw<'a> {
    moment: &'a str,
    elapsed: &'a str,
    label: &'a str,
    code: &'a str,
    message: &'a str,
    success: &'a str,
    bytes: &'a str,
    why: &'a str,
    place: Place,
}

#[derive(Default)]
struct Reading {
    samples: Vec<Sample>,
    transactions: u64,
    torn: u64,
}

impl Reading {
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
                "samples of transactions, which are in no figure, as those of their samplers are",
                self.transactions,
            );
            remark(
                "samples that cannot be read, and are in no figure",
                self.torn,
            );
        }
        report.into_iter().collect()
    }
}

fn sample(raw: &Raw<'_>) -> Option<Sample> {
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
    let why = || {
        // An assertion says more than the status of an answer that came.
        let texts = [raw.why, raw.message, raw.code];
        let text = texts.into_iter().find(|text| !text.is_empty());
        let text = text
            .and_then(|text| text.lines().next())
            .unwrap_or("failed");
        match code {
            Some(code) if raw.why.is_empty() => format!("status {code}"),
            _ => text.to_owned(),
        }
    };
    Some(Sample {
        label: raw.label.to_owned(),
        began_s: number(raw.moment)
            .map(|ms| ms * MS)
            .or_else(|| moments::rfc3339(raw.moment)),
        took_s: number(raw.elapsed)? * MS,
        code,
        failed: (!is_good).then(why),
        bytes: number(raw.bytes),
        place: raw.place,
    })
}
