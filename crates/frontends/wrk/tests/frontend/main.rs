#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use frontend_wrk::print::{Spectrum, WrkReport};
use measure::accumulator::{Tally, ValueCounts};

const RATE_LATENCY: &str =
    include_str!("../../../../audit/tests/audit/golden/wrk2-rate-latency.txt");
const SHORT: &str =
    include_str!("../../../../audit/tests/audit/golden/wrk2-short-10s-no-calibration.txt");
const UNCORRECTED: &str =
    include_str!("../../../../audit/tests/audit/golden/wrk2-rate-u-latency.txt");

fn part(paced: bool, latency: &[(u64, u64)], rate: &[(u64, u64)]) -> Tally {
    let mut part = Tally::default();
    for (name, value) in [
        ("paced", u64::from(paced)),
        ("threads", 12),
        ("connections", 12),
        ("duration_ns", 60_000_000_000),
        ("timeout_ns", 2_000_000_000),
        ("latency", 1),
    ] {
        part.firsts.insert(format!("settings.{name}"), value);
    }
    part.counts
        .insert("latency".into(), ValueCounts::from_pairs(latency.to_vec()));
    part.counts
        .insert("rate".into(), ValueCounts::from_pairs(rate.to_vec()));
    part
}

#[test]
fn a_whole_report() {
    let mut part = part(
        false,
        &[(400, 60), (500, 30), (900, 10)],
        &[(2000, 3), (2200, 3)],
    );
    for (name, n) in [
        ("requests", 100),
        ("bytes", 25_000_000),
        ("errors.status", 7),
        ("errors.timeout", 2),
    ] {
        part.counters.insert(name.into(), n);
    }
    let report = WrkReport::from_part(part, 60_001_000_000, "http://localhost:4000");
    assert_eq!(
        report.replay(),
        "Running 1m test @ http://localhost:4000
  12 threads and 12 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   480.00us  147.71us   0.90ms   90.00%
    Req/Sec     2.10k   109.54     2.20k   100.00%
  Latency Distribution
     50%  400.00us
     75%  500.00us
     90%    0.90ms
     99%    0.90ms
  100 requests in 1.00m, 23.84MB read
  Socket errors: connect 0, read 0, write 0, timeout 2
  Non-2xx or 3xx responses: 7
Requests/sec:      1.67
Transfer/sec:    406.89KB
"
    );
    assert_eq!(report.moved_p99(), None);
    let nothing = WrkReport::from_part(part_of_nothing(), 1_000_000_000, "http://h/").text();
    assert!(
        nothing.contains("    Latency     0.00us    0.00us   0.00us    -nan%\n"),
        "{nothing}"
    );
    assert!(
        nothing.contains("    Req/Sec     0.00      0.00     0.00      -nan%\n"),
        "{nothing}"
    );
}

fn part_of_nothing() -> Tally {
    part(false, &[], &[])
}

#[test]
fn correction_is_reported_if_p99_moved() {
    let mut stalled = part(false, &[(100, 19_900), (1_000_000, 12)], &[]);
    stalled.counters.insert("requests".into(), 19_912);
    let report = WrkReport::from_part(stalled, 14_000_000_000, "http://h/");
    let (measured, rendered) = report.moved_p99().expect("it moved");
    assert_eq!(measured, 100);
    assert!(rendered > 10_000, "{rendered}");
}

fn table(text: &str) -> (Vec<&str>, ValueCounts) {
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.contains("TotalCount"))
        .skip(2)
        .take_while(|line| !line.starts_with('#'))
        .collect();
    let (mut pairs, mut before) = (Vec::new(), 0);
    for line in &lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ms: f64 = words[0].parse().unwrap();
        let seen: u64 = words[2].parse().unwrap();
        let high = (ms * 1000.0).round() as u64;
        let low = if high < 2048 { high } else { high - 1 };
        if seen > before {
            pairs.push((low, seen - before));
            before = seen;
        }
    }
    (lines, ValueCounts::from_pairs(pairs))
}

#[test]
fn the_spectrum_is_hdr_histograms() {
    let second = UNCORRECTED
        .split_once("Uncorrected Latency")
        .map(|(_, rest)| rest)
        .expect("two spectra");
    for golden in [RATE_LATENCY, SHORT, UNCORRECTED, second] {
        let (lines, cells) = table(golden);
        assert!(lines.len() > 40);
        let text = Spectrum::new(cells).text("Recorded Latency");
        assert_eq!(table(&text).0, lines);
        for line in golden
            .lines()
            .filter(|line| line.starts_with("100.000%") || line.starts_with(" 50.000%"))
            .take(2)
        {
            assert!(text.contains(line), "{line} of\n{text}");
        }
        let max = golden
            .lines()
            .find(|line| line.starts_with("#[Max"))
            .expect("a footer");
        assert!(text.contains(max), "{max} of\n{text}");
        assert!(text.contains("#[Buckets =           27, SubBuckets     =         2048]\n----"));
    }
}
