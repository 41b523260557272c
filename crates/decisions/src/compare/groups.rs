//! Comparison of groups of runs with one value per run, by median difference, rank-sum interval,
//! and Holm's adjusted p-values.

use plan::mutant::{self, Mutant};
use statistics::{Tails, adjusted, hodges_lehmann, mann_whitney};

use super::{
    Change, CompareConfig, Compared, FigureOutcome, FigureUnit, Side, Subject, judge, text,
};

pub(super) fn compare_groups(
    baseline: &Side,
    candidate: &Side,
    subjects: &[Subject],
    config: &CompareConfig,
) -> Vec<Compared> {
    let mut all: Vec<Compared> = subjects
        .iter()
        .map(|subject| compared(baseline, candidate, subject, config))
        .collect();
    let among_all = |all: &mut [Compared], p: fn(&mut Change) -> &mut Option<f64>| {
        let known = all.iter_mut().filter_map(|one| one.change.as_mut());
        let known: Vec<&mut f64> = known.filter_map(|change| p(change).as_mut()).collect();
        let values: Vec<f64> = known.iter().map(|p| **p).collect();
        for (p, counted) in known.into_iter().zip(adjusted(&values)) {
            *p = counted;
        }
    };
    among_all(&mut all, |change| &mut change.p);
    among_all(&mut all, |change| &mut change.p_beyond_margin);
    for one in &mut all {
        if let Some(change) = &one.change {
            one.outcome = judge::outcome(one.unit, change, config);
            one.text = text::judged(one, config);
        }
    }
    all
}

fn compared(
    baseline: &Side,
    candidate: &Side,
    subject: &Subject,
    config: &CompareConfig,
) -> Compared {
    let values = |side: &Side| -> Vec<Option<f64>> {
        let runs = side.runs.iter();
        runs.map(|entrant| subject.value(entrant)).collect()
    };
    let mut compared = Compared {
        subject: subject.text.clone(),
        unit: subject.unit(),
        baseline: values(baseline),
        candidate: values(candidate),
        change: None,
        outcome: FigureOutcome::Inconclusive,
        text: String::new(),
    };
    compared.change = change(
        compared.unit,
        &compared.baseline,
        &compared.candidate,
        config,
    );
    if compared.change.is_none() {
        compared.text = text::unknown(subject, baseline, candidate);
    }
    compared
}

#[must_use]
pub fn one_figure(
    unit: FigureUnit,
    baseline: &[f64],
    candidate: &[f64],
    config: &CompareConfig,
) -> Option<(Change, FigureOutcome)> {
    let known = |values: &[f64]| -> Vec<Option<f64>> { values.iter().copied().map(Some).collect() };
    let change = change(unit, &known(baseline), &known(candidate), config)?;
    let outcome = judge::outcome(unit, &change, config);
    Some((change, outcome))
}

pub(super) fn change(
    unit: FigureUnit,
    baseline: &[Option<f64>],
    candidate: &[Option<f64>],
    config: &CompareConfig,
) -> Option<Change> {
    let values = || baseline.iter().chain(candidate);
    if unit != FigureUnit::Share && values().all(|value| *value == Some(0.0)) {
        // A tool with coarse times reports whole milliseconds, which may be 0.
        let zeros = [baseline, candidate].map(|side| vec![Some(0.0); side.len()]);
        return change(FigureUnit::Share, &zeros[0], &zeros[1], config);
    }
    let known = |values: &[Option<f64>]| -> Option<Vec<f64>> {
        let values = values.iter().copied();
        values.map(|value| scale(unit, value?)).collect()
    };
    let (mut first, mut second) = (known(baseline)?, known(candidate)?);
    if mutant::is(Mutant::RunsCountedOften) {
        (first, second) = (first.repeat(4), second.repeat(4));
    }
    let shift = hodges_lehmann(&first, &second, config.confidence)?;
    let margin = match unit {
        FigureUnit::Nanoseconds => config.margin.ln_1p(),
        FigureUnit::PerSecond => (-config.margin).ln_1p(),
        FigureUnit::Share => config.error_margin,
    };
    let at_margin: Vec<f64> = first.iter().map(|value| value + margin).collect();
    let beyond = mann_whitney(&at_margin, &second)?;
    let Tails { lower, upper } = beyond;
    let tail = if unit == FigureUnit::PerSecond {
        lower
    } else {
        upper
    };
    // With too few runs, no p-value can be small, so the interval decides.
    let is_enough = shift.confidence >= config.confidence;
    let p_value = |p: f64| is_enough.then_some(p);
    Some(Change {
        estimate: unscale(unit, shift.estimate),
        interval: Some((unscale(unit, shift.low), unscale(unit, shift.high))),
        confidence: shift.confidence,
        p: p_value(mann_whitney(&first, &second)?.two_sided()),
        p_beyond_margin: p_value((2.0 * tail).min(1.0)),
    })
}

/// Returns logarithms of times and rates, and unchanged shares. `None` if the logarithm does not
/// exist.
fn scale(unit: FigureUnit, value: f64) -> Option<f64> {
    match unit {
        FigureUnit::Share => Some(value),
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => (value > 0.0).then(|| value.ln()),
    }
}

pub(super) fn unscale(unit: FigureUnit, distance: f64) -> f64 {
    match unit {
        FigureUnit::Share => distance,
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => distance.exp_m1(),
    }
}

#[cfg(test)]
mod tests {
    use plan::rng::{Purpose, Rng};

    use super::*;

    const ASKED: CompareConfig = CompareConfig {
        subjects: Vec::new(),
        margin: 0.05,
        error_margin: 0.001,
        confidence: crate::compare::CONFIDENCE,
        anyway: Vec::new(),
        hint_decides: false,
    };

    fn runs(random: &mut Rng, n: usize, mean: f64, variation: f64) -> Vec<Option<f64>> {
        let mut run = || {
            let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            Some(mean * (1.0 + variation * normal))
        };
        (0..n).map(|_| run()).collect()
    }

    fn judged(first: &[Option<f64>], second: &[Option<f64>]) -> (Change, FigureOutcome) {
        let change = change(FigureUnit::Nanoseconds, first, second, &ASKED).unwrap();
        let outcome = judge::outcome(FigureUnit::Nanoseconds, &change, &ASKED);
        (change, outcome)
    }

    #[test]
    fn equal_runs_rarely_differ() {
        let mut random = Rng::keyed(1, Purpose::Resampling, 0, 0);
        let (mut alarms, mut regressions, mut held) = (0, 0, 0);
        for _ in 0..2000 {
            let (first, second) = (
                runs(&mut random, 5, 1e6, 0.02),
                runs(&mut random, 5, 1e6, 0.02),
            );
            let (change, outcome) = judged(&first, &second);
            alarms += usize::from(change.p.unwrap() <= 0.05);
            regressions += usize::from(outcome == FigureOutcome::Regressed);
            let (low, high) = change.interval.unwrap();
            held += usize::from(low <= 0.0 && 0.0 <= high);
        }
        // The exact rate is 1 in 31.5 comparisons. A rate of 5 % would give 100 in 2000.
        assert!((40..=100).contains(&alarms), "{alarms} of 2000");
        assert_eq!(regressions, 0);
        assert!(held >= 1900, "{held} of 2000");
    }

    #[test]
    fn five_percent_more_is_seen_over_a_variation_of_two() {
        let mut random = Rng::keyed(2, Purpose::Resampling, 0, 0);
        let seen = (0..1000).filter(|_| {
            let (first, second) = (
                runs(&mut random, 5, 1e6, 0.02),
                runs(&mut random, 5, 1.05e6, 0.02),
            );
            let (change, _) = judged(&first, &second);
            change.p.unwrap() <= 0.05 && change.interval.unwrap().0 > 0.0
        });
        let seen = seen.count();
        assert!(seen >= 800, "{seen} of 1000");
    }

    #[test]
    fn much_more_is_a_regression_and_the_same_is_none() {
        let mut random = Rng::keyed(3, Purpose::Resampling, 0, 0);
        let (mut found, mut excluded) = (0, 0);
        for _ in 0..500 {
            let base = runs(&mut random, 5, 1e6, 0.01);
            let worse = runs(&mut random, 5, 1.1e6, 0.01);
            let same = runs(&mut random, 5, 1e6, 0.01);
            found += usize::from(judged(&base, &worse).1 == FigureOutcome::Regressed);
            excluded += usize::from(judged(&base, &same).1 == FigureOutcome::NoRegression);
        }
        assert!(found >= 475, "{found} of 500");
        assert!(excluded >= 475, "{excluded} of 500");
    }

    #[test]
    fn paused_run_is_not_a_regression() {
        let mut random = Rng::keyed(4, Purpose::Resampling, 0, 0);
        for _ in 0..200 {
            let first = runs(&mut random, 5, 1e8, 0.02);
            let mut second = runs(&mut random, 5, 1e8, 0.02);
            second[2] = Some(3e10);
            assert_ne!(judged(&first, &second).1, FigureOutcome::Regressed);
        }
    }

    #[test]
    fn less_of_a_rate_is_worse_and_more_is_not() {
        let rates = |by: f64| -> Vec<Option<f64>> {
            (0..5).map(|i| Some(by * (1000.0 + f64::from(i)))).collect()
        };
        let of = |second: &[Option<f64>]| {
            let change = change(FigureUnit::PerSecond, &rates(1.0), second, &ASKED).unwrap();
            judge::outcome(FigureUnit::PerSecond, &change, &ASKED)
        };
        assert_eq!(of(&rates(0.8)), FigureOutcome::Regressed);
        assert_eq!(of(&rates(1.2)), FigureOutcome::Improved);
        assert_eq!(of(&rates(0.999)), FigureOutcome::NoRegression);
    }

    #[test]
    fn shares_of_errors_are_compared_by_their_difference() {
        let none = vec![Some(0.0); 5];
        let some = vec![Some(0.02); 5];
        let change =
            |second: &[Option<f64>]| change(FigureUnit::Share, &none, second, &ASKED).unwrap();
        assert_eq!(
            judge::outcome(FigureUnit::Share, &change(&none), &ASKED),
            FigureOutcome::NoRegression
        );
        assert_eq!(
            judge::outcome(FigureUnit::Share, &change(&some), &ASKED),
            FigureOutcome::Regressed
        );
    }

    #[test]
    fn what_is_not_known_of_a_run_is_compared_with_nothing() {
        let mut random = Rng::keyed(5, Purpose::Resampling, 0, 0);
        let first = runs(&mut random, 5, 1e6, 0.01);
        let mut second = first.clone();
        second[4] = None;
        assert_eq!(
            change(FigureUnit::Nanoseconds, &first, &second, &ASKED),
            None
        );
    }
}
