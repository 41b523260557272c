//! Searches for the highest level (rate or number of users) at which all criteria are met. The next
//! step is a pure function of the previous probes.
//!
//! The search doubles the level until a probe fails, and then narrows the bracket. Finally, it
//! probes near the estimate in random order until the estimate is precise enough.

mod drift;
mod evidence;

use measure::confidence::{Standing, inflation_of, standing};
use plan::rng::{Purpose, Rng};
use statistics::{Crossing, crossing};

use drift::Drift;

const UP: f64 = 2.0;
const DOWN: f64 = 4.0;
const NEAR: f64 = 1.25;
const OF_EACH_SIDE: usize = 3;
const CLOSEST: f64 = 0.01;
const FARTHEST: f64 = 0.05;
const DISTURBED: usize = 4;
const A_FEW: f64 = 20.0;
const QUICK: (f64, f64) = (2.0, 5.0);
const PLAINLY: f64 = 5.0;

#[derive(Debug, Clone, PartialEq)]
pub struct SearchConfig {
    pub from: f64,
    pub least: f64,
    pub most: Option<f64>,
    /// Maximum half-width of the interval, relative to the estimate.
    pub precision: f64,
    pub budget_s: f64,
    pub probe_s: f64,
    pub settle_s: f64,
    pub whole: bool,
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeReason {
    Up,
    Down,
    Between,
    Near,
    /// The level passed before, but later results contradict this.
    Again,
}

impl ProbeReason {
    /// Returns whether the probe runs for its full length unless it clearly fails.
    #[must_use]
    pub fn is_long(self) -> bool {
        matches!(self, ProbeReason::Near | ProbeReason::Again)
    }

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ProbeReason::Up => "everything had held",
            ProbeReason::Down => "nothing had held",
            ProbeReason::Between => "between",
            ProbeReason::Near => "near the load line",
            ProbeReason::Again => "repeated, because it held earlier",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub level: f64,
    pub reason: ProbeReason,
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ViolationTally {
    pub allowed: f64,
    pub seconds: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProbeResult {
    pub level: f64,
    pub reason: ProbeReason,
    pub spent_s: f64,
    pub tallies: Vec<ViolationTally>,
    pub grows: Option<bool>,
    /// Responses per second. `None` if this is unknown or the search varies the number of users.
    pub answered: Option<f64>,
    pub invalid: Option<InvalidProbe>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidProbe {
    Limited,
    Disturbed,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SearchStep {
    Probe(Probe),
    End(SearchEnd),
}

#[derive(Debug, Clone, PartialEq)]
pub enum SearchEnd {
    Found(Crossing),
    NotEvenLowest,
    HoldsToMost,
    GeneratorLimited,
    GeneratorDisturbed,
    Drifts(f64),
    OutOfBudget,
}

impl ViolationTally {
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let (n, over) = self.sums();
        (n > 0.0).then(|| over / n)
    }

    fn sums(&self) -> (f64, f64) {
        let sum = |(n, over), (more, beyond): &(f64, f64)| (n + more, over + beyond);
        self.seconds.iter().fold((0.0, 0.0), sum)
    }

    /// Returns whether the criterion is met or violated, with 99 % confidence.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.beyond(self.allowed)
    }

    fn as_plain_as_it_is(&self) -> f64 {
        if self.fails_plainly() {
            self.plain()
        } else {
            0.0
        }
    }

    fn plain(&self) -> f64 {
        const SURE: f64 = 4.6;
        let share = (self.allowed * PLAINLY).min(0.9);
        let beyond = share * (share / self.allowed).ln();
        let within = (1.0 - share) * ((1.0 - share) / (1.0 - self.allowed)).ln();
        SURE / (beyond + within)
    }

    /// Returns whether the tally counts samples instead of a single condition.
    fn is_of_shares(&self) -> bool {
        self.sums().0 > 1.0
    }

    #[must_use]
    pub fn fails_plainly(&self) -> bool {
        self.beyond((PLAINLY * self.allowed).min(0.9)) == Standing::Above
    }

    fn beyond(&self, allowed: f64) -> Standing {
        let (n, over) = self.sums();
        let doubted = 1.0 + 2.0 * (inflation_of(&self.seconds) - 1.0);
        standing(n as u64, over as u64, doubted, 1.0 - allowed)
    }
}

impl ProbeResult {
    /// Returns whether all criteria were met. A quick probe fails only if chance cannot explain the
    /// violations.
    #[must_use]
    pub fn holds(&self) -> bool {
        let fails = |tally: &ViolationTally| {
            let (n, over) = tally.sums();
            let may = n * tally.allowed;
            let chance = if self.reason.is_long() {
                0.0
            } else {
                // With few samples, a failure can never be ruled out.
                (1.0 + 2.0 * may.sqrt()).min((n - may) / 2.0)
            };
            over > may + chance
        };
        self.grows != Some(true) && !self.tallies.iter().any(fails)
    }
}

/// Returns the seed of a probe. If all probes had the same seed, the interval would be too narrow.
#[must_use]
pub fn probe_seed(seed: u64, number: usize) -> u64 {
    Rng::keyed(seed, Purpose::Resampling, 13, number as u64).below(1 << 48)
}

#[must_use]
pub fn next(config: &SearchConfig, probes: &[ProbeResult]) -> SearchStep {
    let whole = counting(probes);
    let spent: f64 = probes.iter().map(|probe| probe.spent_s).sum();
    if limited(config, probes) {
        return SearchStep::End(match ended(config, &whole) {
            SearchEnd::OutOfBudget => SearchEnd::GeneratorLimited,
            end => end,
        });
    }
    let last = probes.iter().rev().take(DISTURBED);
    let disturbed = last.filter(|probe| probe.invalid == Some(InvalidProbe::Disturbed));
    if disturbed.count() == DISTURBED {
        return SearchStep::End(match ended(config, &whole) {
            SearchEnd::OutOfBudget => SearchEnd::GeneratorDisturbed,
            end => end,
        });
    }
    let probe = |level: f64, reason: ProbeReason, seconds: f64| {
        let level = config.fitted(level);
        let is_over = spent + config.settle_s + seconds > config.budget_s;
        if is_over && !probes.is_empty() {
            SearchStep::End(ended(config, &whole))
        } else {
            SearchStep::Probe(Probe {
                level,
                reason,
                seconds,
            })
        }
    };
    let quick = |level: f64| config.probe_s.min((A_FEW / level).clamp(QUICK.0, QUICK.1));
    match bracket(&whole) {
        (None, None) => probe(config.from, ProbeReason::Up, quick(config.from)),
        (Some(held), None) if config.most.is_some_and(|most| held >= most) => {
            SearchStep::End(SearchEnd::HoldsToMost)
        }
        (Some(held), None) => probe(held * UP, ProbeReason::Up, quick(held * UP)),
        // Retry the level, because a cold service or a disturbance may have caused the failure.
        (None, Some(failed)) if whole.len() == 1 => probe(failed, ProbeReason::Down, quick(failed)),
        (None, Some(failed)) if failed <= config.least => SearchStep::End(SearchEnd::NotEvenLowest),
        (None, Some(failed)) => probe(failed / DOWN, ProbeReason::Down, quick(failed / DOWN)),
        (Some(held), Some(failed)) if failed / held > NEAR && config.is_between(held, failed) => {
            let level = (held * failed).sqrt();
            probe(
                level,
                ProbeReason::Between,
                config.probe_s.min(2.0 * quick(level)),
            )
        }
        (Some(held), Some(failed)) => {
            match drift::drift(&whole, (held * failed).sqrt().ln()) {
                Drift::Sure(by) => return SearchStep::End(SearchEnd::Drifts(by)),
                Drift::Suspected { level, .. } => {
                    return probe(level, ProbeReason::Again, config.probe_s);
                }
                Drift::None | Drift::Likely(_) => {}
            }
            match near(config, &whole) {
                Some(level) => probe(level, ProbeReason::Near, config.probe_s),
                None => SearchStep::End(ended(config, &whole)),
            }
        }
    }
}

#[must_use]
pub fn known(probes: &[ProbeResult]) -> Option<Crossing> {
    let whole = counting(probes);
    crossed(&whole).filter(|found| is_measured(&whole, found))
}

#[must_use]
pub fn spent(config: &SearchConfig, probes: &[ProbeResult]) -> SearchEnd {
    ended(config, &counting(probes))
}

#[must_use]
pub fn ends(probes: &[ProbeResult]) -> (Option<f64>, Option<f64>) {
    bracket(&counting(probes))
}

fn counting(probes: &[ProbeResult]) -> Vec<&ProbeResult> {
    let counts = |probe: &&ProbeResult| probe.invalid.is_none();
    probes.iter().filter(counts).collect()
}

impl SearchConfig {
    fn fitted(&self, level: f64) -> f64 {
        let level = level
            .max(self.least)
            .min(self.most.unwrap_or(f64::INFINITY));
        if self.whole {
            level.round().max(1.0)
        } else {
            level
        }
    }

    fn is_between(&self, held: f64, failed: f64) -> bool {
        !self.whole || failed - held > 1.5
    }
}

/// Returns the highest level that passed and the lowest level that failed. Ignores quick probes
/// that others contradict.
fn bracket(whole: &[&ProbeResult]) -> (Option<f64>, Option<f64>) {
    const CONTRADICTED: usize = 2;
    let is_chance = |number: usize| {
        let look = whole[number];
        let others = |is_other: &dyn Fn(f64) -> bool| {
            let of = whole.iter().filter(|other| other.holds() != look.holds());
            of.filter(|other| is_other(other.level)).count()
        };
        let mut later = whole[number + 1..].iter();
        !look.reason.is_long()
            && if look.holds() {
                others(&|level| level < look.level) >= CONTRADICTED
            } else {
                later.any(|other| other.level == look.level && other.holds())
                    || others(&|level| level > look.level) >= CONTRADICTED
            }
    };
    let levels = |holds: bool| {
        let of = (0..whole.len()).filter(move |number| whole[*number].holds() == holds);
        of.filter(|number| !is_chance(*number))
            .map(|number| whole[number].level)
    };
    let failed = levels(false).min_by(f64::total_cmp);
    let held = levels(true).max_by(f64::total_cmp);
    (held, failed)
}

/// Returns whether probes near the estimate both passed and failed, and at least two of them were
/// long.
fn is_measured(whole: &[&ProbeResult], found: &Crossing) -> bool {
    /// Maximum distance of a probe from the estimate, as a difference of logarithms. `CLOSE` is the
    /// maximum for long probes.
    const NEAR_IT: f64 = 0.3;
    const CLOSE: f64 = 0.12;
    const LEAST: usize = 2;
    let estimate = found.estimate();
    let within = |probe: &ProbeResult, reach: f64| (probe.level.ln() - estimate).abs() < reach;
    let near = |holds: bool| {
        let mut of = whole.iter().filter(|probe| probe.holds() == holds);
        of.any(|probe| within(probe, NEAR_IT))
    };
    let long = whole.iter().filter(|probe| probe.reason.is_long());
    near(true) && near(false) && long.filter(|probe| within(probe, CLOSE)).count() >= LEAST
}

fn limited(config: &SearchConfig, probes: &[ProbeResult]) -> bool {
    let [.., before, last] = probes else {
        return false;
    };
    [before, last]
        .iter()
        .all(|probe| probe.invalid == Some(InvalidProbe::Limited))
        && config.fitted(last.level) <= config.fitted(before.level) * 1.1
}

fn near(config: &SearchConfig, whole: &[&ProbeResult]) -> Option<f64> {
    let found = crossed(whole)?;
    let (low, high) = found.interval();
    let estimate = found.estimate();
    let nears: Vec<f64> = whole
        .iter()
        .filter(|probe| probe.reason.is_long())
        .map(|probe| probe.level.ln())
        .collect();
    let above = nears.iter().filter(|at| **at > estimate).count();
    let below = nears.len() - above;
    let half = (high - low) / 2.0;
    let wanted = config.precision.max(if config.whole {
        0.5 / estimate.exp()
    } else {
        0.0
    });
    if half <= wanted && above.min(below) >= OF_EACH_SIDE && is_measured(whole, &found) {
        return None;
    }
    // Probes come in pairs, one above and one below the estimate, in random order. The side with
    // fewer probes comes first.
    let pair = (nears.len() / 2) as u64;
    let above_first = Rng::keyed(config.seed, Purpose::Resampling, 11, pair).unit() < 0.5;
    let from_above = match above.cmp(&below) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => above_first,
    };
    let away = (half / 2.0).clamp(CLOSEST, FARTHEST);
    let away = if config.whole {
        away.max(0.5 / estimate.exp())
    } else {
        away
    };
    Some(
        (if from_above {
            estimate + away
        } else {
            estimate - away
        })
        .exp(),
    )
}

fn ended(config: &SearchConfig, whole: &[&ProbeResult]) -> SearchEnd {
    let (Some(held), Some(failed)) = bracket(whole) else {
        return SearchEnd::OutOfBudget;
    };
    let drifts = drift::drift(whole, (held * failed).sqrt().ln()).at_the_end();
    if let Some(by) = drifts {
        return SearchEnd::Drifts(by);
    }
    if failed / held > NEAR && config.is_between(held, failed) {
        return SearchEnd::OutOfBudget;
    }
    let found = crossed(whole).filter(|found| is_measured(whole, found));
    found.map_or(SearchEnd::OutOfBudget, SearchEnd::Found)
}

fn crossed(whole: &[&ProbeResult]) -> Option<Crossing> {
    let (held, failed) = bracket(whole);
    let (held, failed) = (held?.ln(), failed?.ln());
    let capacity = capacity(whole);
    let mut around = (held + failed) / 2.0;
    let mut found = None;
    for _ in 0..4 {
        let crossing = crossing(&evidence::bounds(whole, around), around)?;
        let crossing = match capacity {
            Some((rate, deviation)) => crossing.capped(rate, deviation),
            None => crossing,
        };
        let estimate = crossing.estimate();
        found = Some(crossing);
        let to = estimate.clamp(held.min(failed), held.max(failed));
        if (to - around).abs() < 0.003 {
            break;
        }
        around = to;
    }
    found
}

/// Returns the logarithm of the capacity, with its standard deviation. `None` if no backlog grew.
fn capacity(whole: &[&ProbeResult]) -> Option<(f64, f64)> {
    const SATURATED: f64 = 0.99;
    /// A passed level refutes this rate if the level is higher by this factor.
    const MORE: f64 = 1.05;
    let (mut answers, mut seconds) = (0.0, 0.0);
    for probe in whole.iter().filter(|probe| probe.grows == Some(true)) {
        let counted = probe.tallies.first()?.seconds.len() as f64;
        let answered = probe
            .answered
            .filter(|rate| *rate < SATURATED * probe.level);
        let Some(rate) = answered else { continue };
        answers += rate * counted;
        seconds += counted;
    }
    let rate = answers / seconds;
    let bears_more = whole
        .iter()
        .any(|probe| probe.reason.is_long() && probe.holds() && probe.level > MORE * rate);
    (answers > 0.0 && !bears_more).then(|| (rate.ln(), 1.0 / answers.sqrt()))
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
