//! No text makes the reader or the auditor fail.

use audit::{as_run, check, import};
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
    include_str!("../../../doors/artillery/tests/golden/loop-capture.json"),
    include_str!("../../../doors/artillery/tests/golden/loop-capture.out.txt"),
];

fn read(text: &str) {
    if let Ok(import) = import::read(text) {
        let audit = check::of(&import);
        assert!(audit.figures > 0);
        let _ = audit.text();
        // A refusal is as good as a run.
        let _ = as_run::of(&[("any".to_owned(), import)]);
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

proptest! {
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
