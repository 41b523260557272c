use proptest::prelude::*;

use super::{
    change::{
        Direction, caught, contradictions, figures, last, named, named_in, printed, with,
        with_at_least,
    },
    random::Rng,
    wrk_print::{Run, run, wrk, wrk2},
};

fn random(seed: u64) -> Run {
    run(&mut Rng(seed))
}

/// Returns the uncertainty that rounding causes in `count / time = rate`.
fn rounding(text: &str, names: [&str; 3]) -> f64 {
    let share = |name: &str| {
        let figure = last(text, name);
        (figure.range.high - figure.range.low) / figure.value
    };
    names.into_iter().map(share).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn consistent_runs_pass(seed: u64) {
        let run = random(seed);
        for text in [wrk(&run), wrk2(&run)] {
            prop_assert_eq!(contradictions(&text), Vec::<String>::new(), "{}", text);
        }
    }

    #[test]
    fn changed_counts_rates_and_times_are_named(seed: u64, up: bool) {
        let run = random(seed);
        let direction = if up { Direction::Up } else { Direction::Down };
        for text in [wrk(&run), wrk2(&run)] {
            let open = rounding(&text, ["requests", "run time", "Requests/sec"]);
            for name in ["requests", "run time", "Requests/sec"] {
                caught(&text, &last(&text, name), direction, 1.0, open).map_err(TestCaseError::fail)?;
            }
            let open = rounding(&text, ["read", "run time", "Transfer/sec"]);
            for name in ["read", "Transfer/sec"] {
                caught(&text, &last(&text, name), direction, 1.0, open).map_err(TestCaseError::fail)?;
            }
            let rate = last(&text, "Req/Sec Avg");
            caught(&text, &rate, direction, 1.0, 0.22).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn percentiles_out_of_order_are_named(seed: u64, which: prop::sample::Index) {
        let run = random(seed);
        for text in [wrk(&run), wrk2(&run)] {
            let all = figures(&text);
            let latency: Vec<_> = all.iter().filter(|f| f.name.starts_with("Latency ") && f.name.ends_with('%')).collect();
            if latency.len() < 2 {
                continue;
            }
            let i = which.index(latency.len() - 1);
            let unit = printed(&text, latency[i]) / latency[i].value;
            let above = latency[i + 1].range.high * unit * 1.03 + 0.02;
            named_in(&with_at_least(&text, latency[i], above), latency[i]).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn means_that_connections_or_percentiles_do_not_allow_are_named(seed: u64) {
        let run = random(seed);
        let text = wrk(&run);
        let mean = last(&text, "Latency Avg");
        let unit = printed(&text, &mean) / mean.value;
        let allowed = run.connections as f64 / run.rate();
        let above = allowed * unit * 1.03 + 0.02;
        named_in(&with_at_least(&text, &mean, above), &mean).map_err(TestCaseError::fail)?;
        let max = last(&text, "Latency Max");
        let above = max.range.high * unit * 1.03 + 0.02;
        named_in(&with_at_least(&text, &mean, above), &mean).map_err(TestCaseError::fail)?;
        let connections = last(&text, "connections");
        let few = (mean.range.low * run.rate() / 1.03).floor();
        if few >= 1.0 {
            named_in(&with(&text, &connections, few), &connections).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn figures_of_a_spectrum_are_bound(seed: u64, which: prop::sample::Index, up: bool) {
        let mut run = random(seed);
        run.with_percentiles = true;
        let text = wrk2(&run);
        let direction = if up { Direction::Up } else { Direction::Down };
        let twice: Vec<_> = ["Latency Mean", "Latency StdDeviation", "Latency Max", "Latency 50.000%", "Latency 100.000%"]
            .iter()
            .filter_map(|name| named(&text, name).into_iter().next())
            .collect();
        let figure = &twice[which.index(twice.len())];
        let open = (figure.range.high - figure.range.low) / figure.value;
        let more = open + 0.011 + 1.2e-6 / figure.value;
        caught(&text, figure, direction, 6.0, more).map_err(TestCaseError::fail)?;
        let count = named(&text, "Latency Total count").into_iter().next().unwrap();
        caught(&text, &count, direction, 1.0, 0.0).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn impossible_counts_and_deviations_are_named(seed: u64) {
        let run = random(seed);
        let text = wrk(&run);
        if let Some(bad) = named(&text, "Non-2xx or 3xx responses").pop() {
            named_in(&with(&text, &bad, run.requests as f64 + 1.0), &bad).map_err(TestCaseError::fail)?;
        }
        let threads = last(&text, "threads");
        named_in(&with(&text, &threads, run.connections as f64 + 1.0), &threads).map_err(TestCaseError::fail)?;
        let stdev = last(&text, "Latency Stdev");
        let (mean, max) = (last(&text, "Latency Avg").range, last(&text, "Latency Max").range);
        let most = ((max.high - mean.low).max(0.0) * mean.high).sqrt();
        let unit = printed(&text, &stdev) / stdev.value.max(1e-9);
        let n = (run.requests as f64).max(2.0);
        let above = most * (n / (n - 1.0)).sqrt() * unit * 1.03 + 0.02;
        if stdev.value > 0.0 {
            named_in(&with_at_least(&text, &stdev, above), &stdev).map_err(TestCaseError::fail)?;
        }
    }
}

#[test]
fn missing_timeouts_of_a_table_are_reported() {
    let text = include_str!("golden/wrk-latency.txt").replace(
        "Requests/sec",
        "  Socket errors: connect 0, read 0, write 0, timeout 12\nRequests/sec",
    );
    let audit = super::change::audit(&text);
    let found = audit
        .findings
        .iter()
        .find(|f| f.relation == "time-outs")
        .unwrap();
    assert!(
        found.text.contains("Latency Max 3.75 ms, below the default time-out of 2.00 s, but 12 requests reached wrk's time-out"),
        "{}",
        found.text
    );
}
