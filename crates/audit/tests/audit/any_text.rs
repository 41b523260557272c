use audit::{as_run, check, import};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;

const PIECES: [&str; 19] = [
    include_str!("golden/wrk-latency.txt"),
    include_str!("golden/wrk2-rate-u-latency.txt"),
    include_str!("golden/run_stats.csv"),
    include_str!("golden/run_stats_history.csv"),
    include_str!("golden/locust-stderr.txt"),
    include_str!("golden/k6-data.json"),
    include_str!("golden/k6-export.json"),
    include_str!("golden/vegeta-report.json"),
    include_str!("golden/vegeta-results.json"),
    include_str!("golden/fortio.json"),
    include_str!("golden/oha.json"),
    include_str!("golden/jmeter.csv"),
    include_str!("golden/jmeter.xml"),
    include_str!("golden/tagged.hlog"),
    include_str!("published/medplum.txt"),
    include_str!("published/shortener.md"),
    include_str!("published/pepeunit.txt"),
    include_str!("../../../frontends/artillery/tests/golden/loop-capture.json"),
    include_str!("../../../frontends/artillery/tests/golden/loop-capture.out.txt"),
];

fn read(text: &str) {
    if let Ok(import) = import::read(text) {
        let audit = check::audit(&import);
        assert!(audit.figures > 0);
        let _ = audit.text();
        let _ = as_run::page(&[("any".to_owned(), import)]);
    }
}

#[test]
fn of_absurd_figures() {
    for text in [
        "| Name | # Requests | Requests / s |\n|-|-|-|\n| a | 99999999999999999999 | 0.0000001 |\n| b | 1 | 1 |\n",
        "1 requests in 99999999999999999999h, 1B read\nRunning 1s test @ x\n  99999999999999999999 requests in 1.00us, 9PB read\nRequests/sec: 1\n",
        "Metrics for period to: x (width: 99999999999999999999s)\nhttp.requests: ... 9\nhttp.request_rate: ... 5/sec\n",
    ] {
        read(text);
    }
}

#[test]
fn of_figures_that_no_counter_holds() {
    for piece in PIECES {
        for (every, first) in [(1, 0), (5, 0), (5, 1), (5, 2), (5, 3), (5, 4)] {
            let mut number = 0;
            let mut text = String::new();
            for part in piece.split_inclusive(|c: char| !c.is_ascii_digit()) {
                let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
                let digits = part.len() - rest.len();
                number += usize::from(digits > 0);
                let is_one = digits > 0 && number % every == first;
                text.push_str(if is_one {
                    "18000000000000000000"
                } else {
                    &part[..digits]
                });
                text.push_str(rest);
            }
            read(&text);
        }
    }
}

fn histograms() -> Vec<(&'static str, Vec<u8>)> {
    let lines = include_str!("golden/tagged.hlog").lines();
    lines
        .filter(|line| line.starts_with("Tag="))
        .map(|line| {
            let (head, text) = line.rsplit_once(',').unwrap();
            (head, STANDARD.decode(text).unwrap())
        })
        .collect()
}

fn plain(digits: u8, high: u64, counts: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x1c, 0x84, 0x93, 0x13];
    bytes.extend((counts.len() as u32).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 0, 0, 0, digits]);
    bytes.extend(1u64.to_be_bytes());
    bytes.extend(high.to_be_bytes());
    bytes.extend(1f64.to_be_bytes());
    bytes.extend(counts);
    bytes
}

fn log(head: &str, bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    format!("#[Histogram log format version 1.3]\n{head},{text}\n{head},{text}\n")
}

#[test]
fn malformed_histograms_are_rejected() {
    let head = "Tag=a,0.0,1.0,1.0";
    assert!(import::read(&log(head, &plain(3, 1 << 40, &[2, 4, 2]))).is_ok());
    for counts in [
        &[0xff; 9][..],
        &[2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
    ] {
        read(&log(head, &plain(3, 1 << 40, counts)));
    }
    let mut long = plain(3, 1 << 40, &[2, 4, 2]);
    long[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    read(&log(head, &long));
}

proptest! {
    #[test]
    fn of_histograms_with_bits_turned(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let all = histograms();
        let (head, mut bytes) = all[which.index(all.len())].clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read(&log(head, &bytes));
    }

    #[test]
    fn of_histograms_with_any_counts(
        digits in 0..7u8,
        high in prop_oneof![any::<u64>(), 0..1_000_000u64, Just(u64::MAX)],
        counts in prop::collection::vec(prop_oneof![Just(0xff), any::<u8>()], 0..60),
    ) {
        read(&log("Tag=a,0.0,1.0,1.0", &plain(digits, high, &counts)));
    }

    #[test]
    fn of_any_characters(text in ".{0,300}") {
        read(&text);
    }

    #[test]
    fn of_lines_of_tables_mixed_and_cut(
        picks in prop::collection::vec((0..PIECES.len(), any::<prop::sample::Index>(), 0..120usize), 1..40),
        joint in prop::sample::select(vec!["\n", " ", "\r\n", "\n\n", "|"]),
    ) {
        let line = |(piece, index, length): &(usize, prop::sample::Index, usize)| {
            let lines: Vec<&str> = PIECES[*piece].lines().collect();
            lines[index.index(lines.len())].chars().take(*length).collect::<String>()
        };
        read(&picks.iter().map(line).collect::<Vec<_>>().join(joint));
    }

    #[test]
    fn of_tables_with_bytes_replaced(
        piece in 0..PIECES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec!['0', '9', '.', ',', '-', '|', '"', '{', '\n', ' ', 'e', '%', 'µ'])), 1..12),
        length in any::<prop::sample::Index>(),
    ) {
        let mut chars: Vec<char> = PIECES[piece].chars().collect();
        for (index, c) in changes {
            let at = index.index(chars.len());
            chars[at] = c;
        }
        chars.truncate(length.index(chars.len()) + 1);
        read(&chars.into_iter().collect::<String>());
    }
}
