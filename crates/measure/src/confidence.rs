//! Confidence intervals of percentiles from order statistics. They assume no distribution and use
//! an effective sample size.
//!
//! Requests of a load test are correlated, because a slow moment slows many of them down. The
//! effective sample size is therefore the number of samples divided by a variance inflation factor:
//! the variance of the exceedances per time window, relative to that of independent samples.

use std::collections::BTreeMap;

use crate::{
    Histogram, Packed,
    histogram::rank_of,
    summary::{KindTimes, Quantile},
};

const MOST_WINDOWS: usize = 300;
/// Maximum width of a merged window, in seconds. A power of two.
const WIDEST: u32 = 32;
/// Maximum number of times that merging windows halves the resolution of their histograms, which
/// limits memory.
const HALVINGS: u32 = 2;
const LAGS: usize = 2;
const ENOUGH_WINDOWS: usize = 60;

/// The samples of consecutive time windows, by phase.
#[derive(Debug, Clone, Default)]
pub struct Windows {
    list: BTreeMap<(u64, u32), SampleWindow>,
    doubled: u32,
}

/// A packed distribution, which saves memory because there is one for each window and label.
#[derive(Debug, Clone, Default)]
struct SampleWindow {
    answered: Packed,
    unanswered: u64,
}

impl SampleWindow {
    fn add(&mut self, answered: &Histogram, unanswered: u64, halvings: u32) {
        self.answered = if self.answered.count() == 0 {
            Packed::coarse(answered, halvings)
        } else {
            let mut both = answered.clone();
            self.answered.add_to(&mut both);
            Packed::coarse(&both, halvings)
        };
        self.unanswered += unanswered;
    }
}

/// The number of samples in a window, and the number of them that exceed a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowCount {
    /// Index of the window.
    pub number: u64,
    /// Number of samples.
    pub samples: f64,
    /// Number of samples above the value.
    pub exceedances: f64,
}

impl Windows {
    /// Adds the counts of one phase in one wall-clock second. Counts of several processes in the
    /// same second share a window.
    pub fn push(&mut self, second: u64, phase: u32, answered: &Histogram, unanswered: u64) {
        let number = second >> self.doubled;
        let window = self.list.entry((number, phase)).or_default();
        window.add(answered, unanswered, self.doubled.min(HALVINGS));
        while self.list.len() > MOST_WINDOWS && self.doubled < WIDEST {
            self.join();
        }
    }

    fn join(&mut self) {
        self.doubled += 1;
        for ((number, phase), window) in std::mem::take(&mut self.list) {
            let mut answered = Histogram::default();
            window.answered.add_to(&mut answered);
            let joined = self.list.entry((number / 2, phase)).or_default();
            joined.add(&answered, window.unanswered, self.doubled.min(HALVINGS));
        }
    }

    /// Returns the windows between two wall-clock seconds.
    #[must_use]
    pub fn within(&self, from: u64, to: u64) -> Windows {
        let first = from.div_ceil(1 << self.doubled);
        let end = to >> self.doubled;
        let within = self.list.range((first, 0)..(end.max(first), 0));
        Windows {
            list: within.map(|(key, window)| (*key, window.clone())).collect(),
            doubled: self.doubled,
        }
    }

    /// Counts the samples, and those above `x`, in each window that has samples of these phases.
    #[must_use]
    pub fn counted(&self, x: u64, phases: Option<&[u32]>) -> Vec<WindowCount> {
        let mut counted: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for ((number, phase), window) in &self.list {
            if phases.is_some_and(|phases| !phases.contains(phase)) {
                continue;
            }
            let (n, over) = counted.entry(*number).or_default();
            *n += window.answered.count() + window.unanswered;
            *over += window.answered.above(x) + window.unanswered;
        }
        let counted = counted.into_iter().filter(|(_, (n, _))| *n > 0);
        counted
            .map(|(number, (n, over))| WindowCount {
                number,
                samples: n as f64,
                exceedances: over as f64,
            })
            .collect()
    }

    /// Returns the variance inflation factor: the variance of exceedances of `x` relative to that
    /// of independent samples, at least 1.
    ///
    /// `phases` selects the phases to use, because a change of load between phases must not count
    /// as correlation.
    #[must_use]
    pub fn inflation(&self, x: u64, phases: Option<&[u32]>) -> f64 {
        let counted = self.counted(x, phases).into_iter();
        let counted: Vec<(f64, f64)> = counted
            .map(|window| (window.samples, window.exceedances))
            .collect();
        inflation_of(&counted)
    }

    /// Returns a variance inflation factor that is unlikely to be too small: the larger of the
    /// factors for the measured quantile `x` and for the bound.
    ///
    /// A slow mode may come in bursts that do not show at the quantile. The excess over 1 is
    /// counted twice, because a run that happens to be quiet underestimates the correlation. This
    /// keeps false passes of a busy queue near 1 % for runs of at least a minute.
    #[must_use]
    pub fn conservative_inflation(&self, x: u64, bound: u64, phases: Option<&[u32]>) -> f64 {
        let seen = self.inflation(x, phases).max(self.inflation(bound, phases));
        1.0 + 2.0 * (seen - 1.0)
    }

    /// Returns whether there are too few windows for a reliable variance inflation factor.
    #[must_use]
    pub fn is_rough(&self) -> bool {
        self.counted(u64::MAX, None).len() < ENOUGH_WINDOWS
    }
}

/// Returns the variance of exceedances relative to that of independent samples, at least 1.
/// `counted` contains the pairs (samples, exceedances) of consecutive windows.
#[must_use]
pub fn inflation_of(counted: &[(f64, f64)]) -> f64 {
    let windows = counted.len();
    if windows < 2 {
        return 1.0;
    }
    let (n, over) = counted
        .iter()
        .fold((0.0, 0.0), |(n, over), (a, b)| (n + a, over + b));
    // If no sample or every sample exceeds the bound, correlation cannot be estimated.
    if over == 0.0 || over == n {
        return 1.0;
    }
    // Compare with the observed share. Buckets are 0.1 % wide, and equal values would look
    // correlated.
    let share = over / n;
    let d: Vec<f64> = counted.iter().map(|(n, over)| over - share * n).collect();
    let covariance = |lag: usize| {
        d.iter()
            .zip(&d[lag.min(d.len())..])
            .map(|(a, b)| a * b)
            .sum::<f64>()
            / windows as f64
    };
    let weight = |lag: usize| 1.0 - lag as f64 / (LAGS + 1) as f64;
    let variance = covariance(0)
        + 2.0
            * (1..=LAGS)
                .map(|lag| weight(lag) * covariance(lag))
                .sum::<f64>();
    let independent = share * (1.0 - share) * n / windows as f64;
    let phi = (variance / independent).max(1.0);
    if windows < ENOUGH_WINDOWS {
        // Few windows underestimate correlation, so widen the excess over 1.
        1.0 + (phi - 1.0) * widening(windows)
    } else {
        phi
    }
}

/// Returns whether the quantile of each part of the run is far from the bound: at most half of it,
/// or at least twice as large. If so, a drift of the samples does not count as correlation.
///
/// If only a few samples may exceed the bound, all samples must be on the same side of it, because
/// those few may come in bursts. Returns `false` with fewer than two parts.
#[must_use]
pub fn is_far(parts: &[KindTimes], q: f64, bound: u64) -> bool {
    let halves = halves(parts);
    let sides: Vec<Option<Standing>> = halves.iter().map(|half| side(half, q, bound)).collect();
    sides.len() == 2 && sides[0].is_some() && sides[0] == sides[1]
}

/// Does the test of [`is_far`] for all samples together.
#[must_use]
pub fn is_far_from(samples: &KindTimes, q: f64, bound: u64) -> bool {
    side(samples, q, bound).is_some()
}

/// Returns whether the bound is farther from all samples than twice their spread. If so, a drift
/// among nearly constant times does not count as correlation.
///
/// The spread ignores, at each end, half of the share of samples beyond the quantile. All samples
/// must be on the same side of the bound.
#[must_use]
pub fn is_separated(samples: &KindTimes, q: f64, bound: u64) -> bool {
    const TIMES: u64 = 2;
    let outermost = (1.0 - q.max(1.0 - q)) / 2.0;
    let (Quantile::Ns(low), Quantile::Ns(high)) = (
        samples.quantile(outermost),
        samples.quantile(1.0 - outermost),
    ) else {
        return false;
    };
    let differ = TIMES * high.saturating_sub(low);
    (none_above(samples, bound) && bound.saturating_sub(high) > differ)
        || (none_below(samples, bound) && low.saturating_sub(bound) > differ)
}

fn none_above(samples: &KindTimes, bound: u64) -> bool {
    samples.unanswered.count() == 0 && samples.answered.max().is_none_or(|max| max <= bound)
}

fn none_below(samples: &KindTimes, bound: u64) -> bool {
    samples.answered.min().is_none_or(|min| min > bound)
}

/// Returns on which side of the bound all samples are. `None` if they are not far from it.
fn side(samples: &KindTimes, q: f64, bound: u64) -> Option<Standing> {
    const FAR: u64 = 2;
    const COMMON: f64 = 0.9;
    let is_common = q <= COMMON;
    match samples.quantile(q) {
        Quantile::Ns(x) if x <= bound / FAR => {
            (is_common || none_above(samples, bound)).then_some(Standing::Below)
        }
        Quantile::Ns(x) if x / FAR < bound => None,
        Quantile::Empty => None,
        Quantile::Ns(_) | Quantile::NoAnswer(_) => {
            (is_common || none_below(samples, bound)).then_some(Standing::Above)
        }
    }
}

fn halves(parts: &[KindTimes]) -> Vec<KindTimes> {
    let all: u64 = parts.iter().map(KindTimes::count).sum();
    let mut halves = [KindTimes::default(), KindTimes::default()];
    let mut before = 0;
    for part in parts {
        let half = &mut halves[usize::from(2 * before >= all)];
        half.answered.add(&part.answered);
        half.unanswered.add(&part.unanswered);
        before += part.count();
    }
    let filled = halves.into_iter().filter(|half| half.count() > 0);
    filled.collect()
}

/// Returns the squared ratio of Student's quantile to the normal quantile. It corrects a variance
/// that was estimated from few windows.
fn widening(windows: usize) -> f64 {
    let freedom = (windows - 1) as f64;
    // Hill's expansion of the 97.5 % quantile, exact to 1 % from three degrees of freedom on.
    let z: f64 = 1.96;
    let t = z
        + (z.powi(3) + z) / (4.0 * freedom)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom * freedom);
    (t / z).powi(2)
}

/// The 95 % confidence interval of a percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower bound in nanoseconds, or the smallest sample if `has_low` is false.
    pub low_ns: u64,
    /// Whether there are enough samples for a lower bound.
    pub has_low: bool,
    /// Upper bound in nanoseconds. `None` if there are too few samples.
    pub high_ns: Option<u64>,
    /// Effective number of independent samples.
    pub effective: f64,
    /// Whether there are too few windows for a reliable variance inflation factor.
    pub rough: bool,
}

/// Probability beyond each end of a 95 % interval.
const TAIL: f64 = 0.025;

/// Returns the 95 % confidence interval of the quantile `q`. The `unanswered` samples are not in
/// the histogram and rank above all its values.
#[must_use]
pub fn interval(
    answered: &Histogram,
    unanswered: u64,
    windows: &Windows,
    q: f64,
) -> Option<Interval> {
    let n = answered.count() + unanswered;
    let x = answered.at_rank(rank_of(q, n)?)?;
    let effective = n as f64 / windows.inflation(x, None);
    let (least, most) = ranks(effective, 1.0 - q, TAIL);
    // The k-th largest effective sample is the (k × n / effective)-th largest real sample.
    let at = |k: f64| {
        answered.at_rank((n as f64 - k * n as f64 / effective + 1.0).clamp(1.0, n as f64) as u64)
    };
    Some(Interval {
        low_ns: at(most).unwrap_or(x).min(x),
        has_low: 1.0 - at_most(effective, 1.0 - q, most - 1.0) <= TAIL,
        high_ns: if least > 0.0 {
            at(least).map(|high| high.max(x))
        } else {
            None
        },
        effective,
        rough: windows.is_rough(),
    })
}

/// The result of a percentile criterion, if it is decided with 99 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The true quantile is below the limit.
    Below,
    /// The true quantile is above the limit.
    Above,
    /// There are not enough samples to decide.
    Open,
}

/// Decides whether the true quantile `q` is below a limit, given that `over` of `n` samples exceed
/// the limit.
#[must_use]
pub fn standing(n: u64, over: u64, inflation: f64, q: f64) -> Standing {
    const DOUBT: f64 = 0.01;
    let (effective, over) = (n as f64 / inflation, over as f64 / inflation);
    let p = 1.0 - q;
    if at_most(effective, p, over.floor()) <= DOUBT {
        Standing::Below
    } else if 1.0 - at_most(effective, p, over.ceil() - 1.0) <= DOUBT {
        Standing::Above
    } else {
        Standing::Open
    }
}

/// Returns the number of samples that is enough to decide the criterion if all of them are below
/// the limit.
#[must_use]
pub fn needed(q: f64) -> u64 {
    (0.01f64.ln() / q.ln()).ceil() as u64
}

/// Returns the range of the exceedance count of Binomial(n, p). The count is outside with a
/// probability of `tail` on each side.
///
/// The upper bound of the quantile is the `.0`-th largest sample (0 means that there is none). The
/// lower bound is the `.1`-th largest.
fn ranks(n: f64, p: f64, tail: f64) -> (f64, f64) {
    let (mut low, mut high) = (0.0, (n * p).ceil());
    let (mut floor, mut ceiling) = (0.0, (n * p).ceil());
    while floor <= ceiling {
        let middle: f64 = ((floor + ceiling) / 2.0f64).floor();
        if middle == 0.0 || at_most(n, p, middle - 1.0) <= tail {
            low = middle;
            floor = middle + 1.0;
        } else {
            ceiling = middle - 1.0;
        }
    }
    let (mut floor, mut ceiling) = (high.max(1.0), n.ceil().max(1.0));
    while floor <= ceiling {
        let middle: f64 = ((floor + ceiling) / 2.0f64).floor();
        if 1.0 - at_most(n, p, middle - 1.0) <= tail {
            high = middle;
            ceiling = middle - 1.0;
        } else {
            floor = middle + 1.0;
        }
    }
    (low, high)
}

/// Returns P(X ≤ k) of Binomial(n, p) for any real n. Uses the normal approximation if the
/// expectation exceeds 1,000.
fn at_most(n: f64, p: f64, k: f64) -> f64 {
    if k < 0.0 {
        return 0.0;
    }
    if k >= n {
        return 1.0;
    }
    let (mean, variance) = (n * p, n * p * (1.0 - p));
    if mean > 1000.0 && n - mean > 1000.0 {
        return normal((k + 0.5 - mean) / variance.sqrt());
    }
    // Each term is a multiple of the previous term. Logarithms avoid underflow.
    let mut log_term = n * (1.0 - p).ln();
    let mut sum = log_term.exp();
    let mut i = 0.0;
    while i < k {
        log_term += ((n - i) / (i + 1.0) * p / (1.0 - p)).ln();
        sum += log_term.exp();
        i += 1.0;
    }
    sum.min(1.0)
}

/// Returns the cumulative distribution function of the normal distribution (Abramowitz and Stegun
/// 26.2.17), exact to 7.5e-8.
fn normal(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * series;
    if z > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
#[path = "confidence_tests.rs"]
mod tests;
