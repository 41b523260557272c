use proptest::prelude::*;

use super::{
    artillery_print::{Run, json, run, text},
    change::{
        Direction, caught, contradictions, last, named, named_in, printed, with, with_at_least,
    },
    random::Rng,
};

fn random(seed: u64) -> Run {
    run(&mut Rng(seed))
}

const COUNTS: [&str; 4] = [
    "http.codes.200",
    "http.responses",
    "http.requests",
    "vusers.created",
];
const HISTOGRAMS: [&str; 2] = ["http.response_time", "vusers.session_length"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn consistent_runs_pass(seed: u64) {
        let run = random(seed);
        for text in [text(&run, true), text(&run, false), json(&run)] {
            prop_assert_eq!(contradictions(&text), Vec::<String>::new(), "{}", text);
        }
    }

    #[test]
    fn changed_counts_are_named(seed: u64, up: bool, with_periods: bool) {
        let run = random(seed);
        let direction = if up { Direction::Up } else { Direction::Down };
        for text in [text(&run, with_periods), json(&run)] {
            for name in COUNTS {
                caught(&text, &last(&text, name), direction, 1.0, 0.0).map_err(TestCaseError::fail)?;
            }
            let scenario = last(&text, "vusers.created_by_name.scenario 0");
            caught(&text, &scenario, direction, 1.0, 0.0).map_err(TestCaseError::fail)?;
            for name in ["vusers.completed", "errors.ECONNREFUSED"] {
                if let Some(figure) = named(&text, name).pop() {
                    caught(&text, &figure, direction, 1.0, 0.0).map_err(TestCaseError::fail)?;
                }
            }
        }
    }

    #[test]
    fn changed_counts_of_periods_are_named(seed: u64, up: bool, which: prop::sample::Index) {
        let run = random(seed);
        let direction = if up { Direction::Up } else { Direction::Down };
        for text in [text(&run, true), json(&run)] {
            for name in COUNTS {
                let figures = named(&text, name);
                let figure = &figures[which.index(figures.len())];
                caught(&text, figure, direction, 1.0, 0.0).map_err(TestCaseError::fail)?;
            }
        }
    }

    /// Checks that the audit finds a rate that is too low for the duration, or too high even with
    /// five idle seconds.
    #[test]
    fn changed_rates_are_named(seed: u64) {
        let run = random(seed);
        let text = text(&run, false);
        let rate = last(&text, "http.request_rate");
        let requests = run.summary.get("http.requests") as f64;
        let total = run.total_s as f64;
        let low = (requests / (total + 1.0) * 0.979 - 1.5).floor();
        if low >= 0.0 {
            named_in(&with(&text, &rate, low), &rate).map_err(TestCaseError::fail)?;
        }
        let high = (requests / (total - 5.0).max(1.0) * 1.021 + 1.5).ceil();
        named_in(&with(&text, &rate, high), &rate).map_err(TestCaseError::fail)?;
        let time = last(&text, "Total time");
        if time.text.contains("minute") || total < 6.0 {
            return Ok(());
        }
        let longer = requests / (printed(&text, &rate) - 0.5).max(0.1) * 1.03 + 6.0;
        named_in(&with(&text, &time, longer.ceil()), &time).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn rates_of_periods_that_no_width_allows_are_named(seed: u64, which: prop::sample::Index) {
        let run = random(seed);
        for text in [text(&run, true), json(&run)] {
            let rates = named(&text, "http.request_rate");
            let i = which.index(run.periods.len());
            let rate = if text.starts_with('{') { &rates[i + 1] } else { &rates[i] };
            let low = printed(&text, rate) * 0.97 - 2.0;
            if low >= 0.0 {
                named_in(&with(&text, rate, low.floor()), rate).map_err(TestCaseError::fail)?;
            }
        }
    }

    #[test]
    fn times_out_of_order_are_named(seed: u64, which: prop::sample::Index) {
        let run = random(seed);
        for text in [text(&run, false), json(&run)] {
            for histogram in HISTOGRAMS {
                let figure = |key: &str| named(&text, &format!("{histogram} {key}")).into_iter().next();
                let order: Vec<_> = ["min", "median", "p95", "p99"].iter().filter_map(|key| figure(key)).collect();
                let Some(max) = figure("max") else { continue };
                let i = which.index(order.len());
                let next = order.get(i + 1).map_or(printed(&text, &max), |next| printed(&text, next));
                let above = next * 1.032 + 0.3;
                named_in(&with_at_least(&text, &order[i], above), &order[i]).map_err(TestCaseError::fail)?;
                let last = printed(&text, &order[order.len() - 1]);
                let below = (last * 0.968 - 0.3).floor();
                if below >= 0.0 {
                    named_in(&with(&text, &max, below), &max).map_err(TestCaseError::fail)?;
                }
                let mean = figure("mean").unwrap();
                let above = printed(&text, &max) * 1.021 + 0.2;
                named_in(&with_at_least(&text, &mean, above), &mean).map_err(TestCaseError::fail)?;
            }
        }
    }
}
