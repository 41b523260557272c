use proptest::prelude::*;

use super::{
    change::{
        Direction, caught, contradictions, figures, last, named, named_in, printed, with,
        with_at_least,
    },
    locust_history::history,
    locust_print::{Run, csv, markdown, run, terminal},
    random::Rng,
};

fn random(seed: u64) -> Run {
    run(&mut Rng(seed))
}

fn direction(up: bool) -> Direction {
    if up { Direction::Up } else { Direction::Down }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn consistent_runs_pass(seed: u64) {
        let run = random(seed);
        let history = history(&mut Rng(seed));
        for text in [csv(&run), terminal(&run), markdown(&run), history] {
            prop_assert_eq!(contradictions(&text), Vec::<String>::new(), "{}", text);
        }
    }

    #[test]
    fn changed_counts_are_named(seed: u64, up: bool, which: prop::sample::Index) {
        let run = random(seed);
        for text in [csv(&run), terminal(&run)] {
            let counts: Vec<_> = figures(&text)
                .into_iter()
                .filter(|f| f.name.ends_with("request count") || f.name.ends_with("failure count") || f.name.contains('#'))
                .filter(|f| !f.name.ends_with("share"))
                .collect();
            let figure = &counts[which.index(counts.len())];
            caught(&text, figure, direction(up), 1.0, 0.0).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn changed_rates_are_named(seed: u64, up: bool, which: prop::sample::Index) {
        let run = random(seed);
        for text in [csv(&run), terminal(&run)] {
            let rates: Vec<_> = figures(&text)
                .into_iter()
                .filter(|f| f.name.ends_with("req/s") || f.name.ends_with("requests/s"))
                .collect();
            let figure = &rates[which.index(rates.len())];
            let digits = 0.011 / printed(&text, figure).max(0.01);
            caught(&text, figure, direction(up), 2.0 * run.rows.len() as f64, digits).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn changed_totals_of_times_are_named(seed: u64, up: bool) {
        let run = random(seed);
        for (text, names) in [
            (csv(&run), ["Aggregated average response time", "Aggregated min response time", "Aggregated max response time"]),
            (terminal(&run), ["Aggregated Avg", "Aggregated Min", "Aggregated Max"]),
        ] {
            for name in names {
                caught(&text, &last(&text, name), direction(up), 2.0, 0.0).map_err(TestCaseError::fail)?;
            }
        }
        let sizes = csv(&run);
        let size = last(&sizes, "Aggregated average content size");
        if size.value > 0.0 {
            caught(&sizes, &size, direction(up), 2.0, 0.0).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn changed_percentiles_are_named(seed: u64, which: prop::sample::Index) {
        let run = random(seed);
        for text in [csv(&run), terminal(&run)] {
            let percents: Vec<_> = figures(&text).into_iter().filter(|f| f.name.ends_with('%')).collect();
            let i = which.index(percents.len());
            let (figure, name) = (&percents[i], &percents[i].name);
            let row = name.rsplit_once(' ').unwrap().0;
            let next = percents.get(i + 1).filter(|next| next.name.rsplit_once(' ').unwrap().0 == row);
            let most = run.all().max();
            let above = next.map_or(most * 1.1 + 1.0, |next| printed(&text, next)) * 1.021 + 1.0;
            named_in(&with_at_least(&text, figure, above), figure).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn more_in_flight_than_users_is_named(seed: u64) {
        let run = random(seed);
        for text in [terminal(&run), markdown(&run)] {
            let users = last(&text, "users");
            let rates: Vec<_> = figures(&text).into_iter().filter(|f| f.name.ends_with("/ s") || f.name.ends_with("req/s")).collect();
            let is_exact = rates.iter().all(|rate| rate.range.low > 0.98 * rate.value);
            let few = (run.level() * 0.9).floor() - 1.0;
            if is_exact && few >= 1.0 && run.all().mean() > 100.0 && run.rows.iter().all(|row| row.times.mean() > 100.0) {
                named_in(&with(&text, &users, few), &users).map_err(TestCaseError::fail)?;
            }
        }
    }

    #[test]
    fn sums_that_go_back_are_named(seed: u64, which: prop::sample::Index) {
        let text = history(&mut Rng(seed));
        let counts = named(&text, "Aggregated total request count");
        let Some(i) = counts.len().checked_sub(1).filter(|n| *n > 0).map(|n| which.index(n)) else {
            return Ok(());
        };
        let above = printed(&text, &counts[i + 1]) + 1.0;
        named_in(&with(&text, &counts[i], above), &counts[i]).map_err(TestCaseError::fail)?;
        let moments = named(&text, "timestamp");
        let above = printed(&text, &moments[i + 1]) + 1.0;
        named_in(&with(&text, &moments[i], above), &moments[i]).map_err(TestCaseError::fail)?;
    }
}
