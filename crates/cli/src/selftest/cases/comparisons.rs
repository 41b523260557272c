//! Tests the rate of false positives and the detection rate of comparisons, with simulated groups
//! of runs.

use decisions::compare::{
    CONFIDENCE, Change, CompareConfig, FigureOutcome, FigureUnit, one_figure,
};
use plan::rng::{Purpose, Rng};
use statistics::outliers;

use super::super::{Assertion, Depth};

const COMPARISONS: u64 = 100;
const RUNS: usize = 5;
const VARIATION: f64 = 0.02;
const USUAL_NS: f64 = 1e8;
const PAUSED_NS: f64 = 3e10;
const ASKED: CompareConfig = CompareConfig {
    subjects: Vec::new(),
    margin: 0.05,
    error_margin: 0.001,
    confidence: CONFIDENCE,
    anyway: Vec::new(),
    hint_decides: false,
};

pub fn comparisons(_: Depth) -> Result<Vec<Assertion>, String> {
    let (mut alarms, mut seen, mut regressions, mut named) = (0, 0, 0, 0);
    for seed in 0..COMPARISONS {
        let mut random = Rng::keyed(seed, Purpose::Resampling, 16, 0);
        let base = runs(&mut random, USUAL_NS);
        let same = runs(&mut random, USUAL_NS);
        let more = runs(&mut random, 1.05 * USUAL_NS);
        alarms += usize::from(is_different(&compared(&base, &same)?.0));
        let (change, _) = compared(&base, &more)?;
        seen += usize::from(is_different(&change) && change.estimate > 0.0);
        let mut paused = same;
        paused[2] = PAUSED_NS;
        regressions += usize::from(compared(&base, &paused)?.1 == FigureOutcome::Regressed);
        let logarithms: Vec<f64> = paused.iter().map(|value| value.ln()).collect();
        named += u64::from(outliers(&logarithms).contains(&2));
    }
    Ok(vec![
        Assertion {
            what: format!("{RUNS} runs differ from {RUNS} equal ones"),
            expected: format!("≤ 10 of {COMPARISONS}"),
            measured: alarms.to_string(),
            holds: alarms <= 10,
        },
        Assertion {
            what: "5 % more detected, with 2 % between runs".into(),
            expected: format!("≥ 80 of {COMPARISONS}"),
            measured: seen.to_string(),
            holds: seen >= 80,
        },
        Assertion::same("one run paused for 30 s: regressions", 0, regressions),
        Assertion::same("one run paused for 30 s: named", COMPARISONS, named),
    ])
}

fn compared(baseline: &[f64], candidate: &[f64]) -> Result<(Change, FigureOutcome), String> {
    one_figure(FigureUnit::Nanoseconds, baseline, candidate, &ASKED)
        .ok_or_else(|| "figures that are known could not be compared".to_owned())
}

fn is_different(change: &Change) -> bool {
    change.p.is_some_and(|p| p <= 1.0 - CONFIDENCE)
}

fn runs(random: &mut Rng, mean: f64) -> Vec<f64> {
    let mut run = || {
        let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        mean * (1.0 + VARIATION * normal)
    };
    (0..RUNS).map(|_| run()).collect()
}
