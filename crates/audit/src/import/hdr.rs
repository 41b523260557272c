//! Reads HdrHistogram interval logs. Values are assumed to be in nanoseconds.

use std::{collections::BTreeMap, io::Read};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::{Histogram, serialization::Deserializer};

use super::{
    figure::Position,
    model::{Blur, Cover, LatencyStats, PrintedReport, PrintedRow, ReportedSpan, Tool},
    samples::{time, whole_number},
};

const NS: f64 = 1e-9;
const SHARES: [f64; 6] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999];
const BEYOND: f64 = 10.0;
const MOST_TAGS: usize = 200;
const LONGEST_S: f64 = 1e7;

const PLAIN: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
const COMPRESSED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
const HEAD: usize = 40;
const MOST_VALUES: u64 = 1 << 40;
const MOST_BYTES: u64 = 32 << 20;

#[must_use]
pub fn is(text: &str) -> bool {
    let mut lines = text.lines().take(20);
    lines.any(|line| {
        line.contains("\"Interval_Compressed_Histogram\"")
            || line.starts_with("#[Histogram log format")
    })
}

#[must_use]
pub fn read(text: &str) -> Vec<PrintedReport> {
    let mut tags: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    let (mut torn, mut from_s, mut to_s) = (0u64, f64::INFINITY, 0.0f64);
    let mut began_s = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with(['#', '"']) {
            began_s = began_s.or_else(|| moment(line));
            continue;
        }
        let Some(interval) = interval(line) else {
            torn += 1;
            continue;
        };
        from_s = from_s.min(interval.from_s);
        to_s = to_s.max(interval.from_s + interval.length_s);
        add(&mut tags, interval.tag, &interval.histogram);
    }
    let mut report = PrintedReport::new(Tool::Hdr, "log", Position { line: 1, column: 1 });
    let all = match tags.remove("") {
        Some(untagged) => Some(untagged),
        None => sum(&tags),
    };
    let Some(all) = all else { return Vec::new() };
    if !tags.is_empty() && tags.values().map(Histogram::len).sum::<u64>() == all.len() {
        report.remarks.push(
            "the first row combines all tags of the log, which may measure different things"
                .to_owned(),
        );
    }
    report.cover = Cover::Some;
    report.all = row("", &all, 1);
    let rows = tags.iter().take(MOST_TAGS).zip(2..);
    report.rows = rows
        .map(|((tag, histogram), line)| row(tag, histogram, line))
        .collect();
    report.began_s = began_s.filter(|began| *began > 0.0);
    if to_s > from_s && to_s - from_s < LONGEST_S {
        report.span = Some(ReportedSpan {
            seconds: time("intervals", to_s - from_s, Position { line: 0, column: 1 }),
            idle_s: 0.0,
            least_s: 0.0,
            rate_is: None,
        });
    }
    report.remarks.push(
        "a histogram log contains only times, no failures; the times are assumed to be in \
        nanoseconds"
            .to_owned(),
    );
    if torn > 0 {
        report.remarks.push(format!(
            "unreadable lines, excluded from all figures: {torn}"
        ));
    }
    vec![report]
}

struct Interval {
    tag: String,
    from_s: f64,
    length_s: f64,
    histogram: Histogram<u64>,
}

fn interval(line: &str) -> Option<Interval> {
    let (tag, line) = match line.strip_prefix("Tag=") {
        Some(tagged) => tagged.split_once(',')?,
        None => ("", line),
    };
    let mut fields = line.split(',').map(str::trim);
    let mut seconds = || {
        let s: f64 = fields.next()?.parse().ok()?;
        s.is_finite().then_some(s)
    };
    let (from_s, length_s, _max) = (seconds()?, seconds()?, seconds()?);
    let bytes = STANDARD.decode(fields.next()?).ok()?;
    let histogram: Histogram<u64> = Deserializer::new()
        .deserialize(&mut sound(&bytes)?.as_slice())
        .ok()?;
    // Sums of larger counts would overflow.
    let counts = histogram.iter_recorded().map(|cell| cell.count_at_value());
    let count = counts.fold(0u64, u64::saturating_add);
    (count <= MOST_VALUES).then_some(())?;
    Some(Interval {
        tag: tag.to_owned(),
        from_s,
        length_s: length_s.max(0.0),
        histogram,
    })
}

fn sound(bytes: &[u8]) -> Option<Vec<u8>> {
    let begins = bytes.first_chunk::<4>()?;
    let plain = match *begins {
        PLAIN => bytes.to_vec(),
        COMPRESSED => {
            let mut plain = Vec::new();
            let packed = ZlibDecoder::new(bytes.get(8..)?).take(MOST_BYTES);
            let _ = { packed }.read_to_end(&mut plain);
            plain
        }
        _ => return None,
    };
    let length = u32::from_be_bytes(*plain.get(4..)?.first_chunk()?);
    let counts = plain.get(HEAD..)?.get(..usize::try_from(length).ok()?)?;
    are_numbers(counts).then_some(plain)
}

/// Returns whether all counts can be read. Runs of zeros are stored as negative numbers, and the
/// minimum integer cannot be negated.
fn are_numbers(mut counts: &[u8]) -> bool {
    const LEAST: [u8; 9] = [0xff; 9];
    while !counts.is_empty() {
        if counts.starts_with(&LEAST) {
            return false;
        }
        let long = counts.iter().take(8).take_while(|b| **b >= 0x80).count();
        counts = counts.get(long + 1..).unwrap_or_default();
    }
    true
}

fn moment(line: &str) -> Option<f64> {
    let text = line.strip_prefix("#[StartTime: ")?;
    text.split_whitespace().next()?.parse().ok()
}

fn add(tags: &mut BTreeMap<String, Histogram<u64>>, tag: String, histogram: &Histogram<u64>) {
    match tags.get_mut(&tag) {
        Some(known) => merge(known, histogram),
        None => {
            let mut own = histogram.clone();
            own.auto(true);
            tags.insert(tag, own);
        }
    }
}

fn merge(into: &mut Histogram<u64>, other: &Histogram<u64>) {
    // A histogram that resizes automatically accepts all values.
    let _ = into.add(other);
}

fn sum(tags: &BTreeMap<String, Histogram<u64>>) -> Option<Histogram<u64>> {
    let mut tags = tags.values();
    let mut all = tags.next()?.clone();
    tags.for_each(|histogram| merge(&mut all, histogram));
    Some(all)
}

fn row(name: &str, histogram: &Histogram<u64>, line: usize) -> PrintedRow {
    let place = Position { line, column: 1 };
    let mut row = PrintedRow::new(name, place);
    let n = histogram.len() as f64;
    let count = whole_number("samples", n, place);
    let at = |share: f64| histogram.value_at_quantile(share) as f64 * NS;
    let reported = SHARES
        .into_iter()
        .filter(|share| n * (1.0 - share) >= BEYOND);
    row.requests = Some(count.clone());
    row.latency = Some(LatencyStats {
        name: "time".to_owned(),
        count: Some(count),
        min: Some(time("least", histogram.min() as f64 * NS, place)),
        mean: Some(time("mean", histogram.mean() * NS, place)),
        max: Some(time("greatest", histogram.max() as f64 * NS, place)),
        percentiles: reported
            .map(|share| {
                (
                    share,
                    time(&format!("p{}", share * 100.0), at(share), place),
                )
            })
            .collect(),
        blur: Blur {
            share: 10f64.powi(-i32::from(histogram.sigfig())),
            ..Blur::default()
        },
        ..LatencyStats::default()
    });
    row
}
