//! The search for the highest level of load - a rate, or a number of users - at which everything that is asked for holds: which level is
//! tried next, and what is known when it ends. A pure function of what the probes so far have seen; who carries them out is another's
//! affair, and how long they take is told.
//!
//! First up, twice as high each time, until something does not hold; then between what held and what did not; then around the level that
//! looks right, from above and from below in an order that nobody knows before, until the answer is as narrow as was asked for.

mod drift;
mod evidence;

use measure::confidence::{Standing, inflation_of, standing};
use plan::rng::{Purpose, Rng};
use statistics::{Crossing, crossing};

use drift::Drift;

/// On the way up each level is so many times the one before.
const UP: f64 = 2.0;
/// On the way down a level is the one before by so much.
const DOWN: f64 = 4.0;
/// What held and what did not are near each other when the one is less than so many times the other.
const NEAR: f64 = 1.25;
/// Probes around the answer come from above and from below, so many of each at least.
const OF_EACH_SIDE: usize = 3;
/// They are so far from it, as a share: as far as it is uncertain, within these.
const CLOSEST: f64 = 0.01;
const FARTHEST: f64 = 0.05;
/// So many probes in a row that something else on the generator's machine spoilt are enough.
const DISTURBED: usize = 4;
/// So many arrivals tell whether a level is plainly too high.
const A_FEW: f64 = 20.0;
/// The longest and the shortest of the probes that only ask where to look, in seconds.
const QUICK: (f64, f64) = (2.0, 5.0);
/// Where so many times more lie beyond a bound than may, it fails plainly.
const PLAINLY: f64 = 5.0;

/// What is searched, and with what.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchConfig {
    /// The first level.
    pub from: f64,
    /// The lowest that is tried.
    pub least: f64,
    /// The highest.
    pub most: Option<f64>,
    /// Half of the answer's interval is to be no larger than this share of it.
    pub precision: f64,
    /// The probing may take so many seconds.
    pub budget_s: f64,
    /// The longest probe, in seconds.
    pub probe_s: f64,
    /// For so long each probe's load goes on before it counts.
    pub settle_s: f64,
    /// Levels are whole numbers.
    pub whole: bool,
    /// Decides the order of what comes from above and from below.
    pub seed: u64,
}

/// Why a level is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeReason {
    /// Nothing has failed yet.
    Up,
    /// Nothing has held yet.
    Down,
    /// It lies between what held and what did not.
    Between,
    /// It lies near the answer.
    Near,
    /// It held before, and what was seen since then contradicts it.
    Again,
}

impl ProbeReason {
    /// Whether the probe goes on for its whole length unless it fails plainly: such probes say how near the answer is.
    #[must_use]
    pub fn is_long(self) -> bool {
        matches!(self, ProbeReason::Near | ProbeReason::Again)
    }

    /// In words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ProbeReason::Up => "everything had held",
            ProbeReason::Down => "nothing had held",
            ProbeReason::Between => "between",
            ProbeReason::Near => "near the load line",
            ProbeReason::Again => "it had held before",
        }
    }
}

/// The next probe.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The level.
    pub level: f64,
    /// Why this one.
    pub why: ProbeReason,
    /// The longest that it takes, without settling.
    pub seconds: f64,
}

/// What a probe counted for one of the bounds, in consecutive seconds: samples, and those beyond it.
#[derive(Debug, Clone, PartialEq)]
pub struct ViolationTally {
    /// Such a share may lie beyond.
    pub allowed: f64,
    /// Second by second.
    pub seconds: Vec<(f64, f64)>,
}

/// A probe that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeResult {
    /// Its level.
    pub level: f64,
    /// Why it was tried.
    pub why: ProbeReason,
    /// What it took of the budget, settling and draining with it.
    pub spent_s: f64,
    /// By bound.
    pub tallies: Vec<ViolationTally>,
    /// Whether a backlog grew in it; none where that cannot be said.
    pub grows: Option<bool>,
    /// Answers per second; `None` where that is not known, and of users.
    pub answered: Option<f64>,
    /// Why it does not count, if so.
    pub spoilt: Option<InvalidProbe>,
}

/// What spoilt a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidProbe {
    /// The generator could not send as much as planned.
    Limited,
    /// It was held up by something else on its machine: it may go better another time.
    Disturbed,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchStep {
    /// A probe.
    Probe(Probe),
    /// Nothing.
    End(SearchEnd),
}

/// How the search ended.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchEnd {
    /// With an answer.
    Found(Crossing),
    /// Not even the lowest level holds.
    NotEvenLowest,
    /// The highest level that may be tried holds.
    HoldsToMost,
    /// The generator cannot do more than what held.
    GeneratorLimited,
    /// The generator's machine is busy with something else, again and again.
    GeneratorDisturbed,
    /// The service changes while it is searched: its load line moved by this, in logarithms.
    Drifts(f64),
    /// The budget is spent, and what held and what did not are still far from each other, or there is nothing of one of them.
    OutOfBudget,
}

impl ViolationTally {
    /// The share that lies beyond.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let (n, over) = self.sums();
        (n > 0.0).then(|| over / n)
    }

    fn sums(&self) -> (f64, f64) {
        let sum = |(n, over), (more, beyond): &(f64, f64)| (n + more, over + beyond);
        self.seconds.iter().fold((0.0, 0.0), sum)
    }

    /// Whether the bound holds, with 99 % confidence.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.beyond(self.allowed)
    }

    /// Of an overload hardly any samples are independent, and yet it is plain: as many as say that it fails plainly. None where it does not.
    fn as_plain_as_it_is(&self) -> f64 {
        if self.fails_plainly() {
            self.plain()
        } else {
            0.0
        }
    }

    /// So many independent samples are as sure as one is of what fails plainly.
    fn plain(&self) -> f64 {
        /// Once in a hundred, as a logarithm.
        const SURE: f64 = 4.6;
        let share = (self.allowed * PLAINLY).min(0.9);
        let beyond = share * (share / self.allowed).ln();
        let within = (1.0 - share) * ((1.0 - share) / (1.0 - self.allowed)).ln();
        SURE / (beyond + within)
    }

    /// Whether samples were counted, rather than one look at a condition that is no question of shares.
    fn is_of_shares(&self) -> bool {
        self.sums().0 > 1.0
    }

    /// Whether it fails so plainly that there is no need to go on.
    #[must_use]
    pub fn fails_plainly(&self) -> bool {
        self.beyond((PLAINLY * self.allowed).min(0.9)) == Standing::Above
    }

    fn beyond(&self, allowed: f64) -> Standing {
        let (n, over) = self.sums();
        // In a stretch that was quiet by luck both what lies beyond and how it hangs together come out too low.
        let doubted = 1.0 + 2.0 * (inflation_of(&self.seconds) - 1.0);
        standing(n as u64, over as u64, doubted, 1.0 - allowed)
    }
}

impl ProbeResult {
    /// Whether everything held, as far as was seen. A quick look says that something does not only where it is no chance of a few.
    #[must_use]
    pub fn holds(&self) -> bool {
        let fails = |tally: &ViolationTally| {
            let (n, over) = tally.sums();
            let may = n * tally.allowed;
            let chance = if self.why.is_long() {
                0.0
            } else {
                // Of a few samples, or of the one look of a condition that is no question of shares, at most what leaves a failure possible.
                (1.0 + 2.0 * may.sqrt()).min((n - may) / 2.0)
            };
            over > may + chance
        };
        self.grows != Some(true) && !self.tallies.iter().any(fails)
    }
}

/// The seed of the probe of this number. Random arrivals of one seed have the same pattern at every rate: probes that share a seed are
/// not independent, and the interval would be too narrow.
#[must_use]
pub fn probe_seed(seed: u64, number: usize) -> u64 {
    Rng::keyed(seed, Purpose::Resampling, 13, number as u64).below(1 << 48)
}

/// What comes next after these.
#[must_use]
pub fn next(asked: &SearchConfig, probes: &[ProbeResult]) -> SearchStep {
    let whole = counting(probes);
    let spent: f64 = probes.iter().map(|probe| probe.spent_s).sum();
    if limited(asked, probes) {
        return SearchStep::End(match ended(asked, &whole) {
            SearchEnd::OutOfBudget => SearchEnd::GeneratorLimited,
            end => end,
        });
    }
    let last = probes.iter().rev().take(DISTURBED);
    let disturbed = last.filter(|probe| probe.spoilt == Some(InvalidProbe::Disturbed));
    if disturbed.count() == DISTURBED {
        return SearchStep::End(match ended(asked, &whole) {
            SearchEnd::OutOfBudget => SearchEnd::GeneratorDisturbed,
            end => end,
        });
    }
    let probe = |level: f64, why: ProbeReason, seconds: f64| {
        let level = asked.fitted(level);
        let is_over = spent + asked.settle_s + seconds > asked.budget_s;
        if is_over && !probes.is_empty() {
            SearchStep::End(ended(asked, &whole))
        } else {
            SearchStep::Probe(Probe {
                level,
                why,
                seconds,
            })
        }
    };
    let quick = |level: f64| asked.probe_s.min((A_FEW / level).clamp(QUICK.0, QUICK.1));
    match bracket(&whole) {
        (None, None) => probe(asked.from, ProbeReason::Up, quick(asked.from)),
        (Some(held), None) if asked.most.is_some_and(|most| held >= most) => {
            SearchStep::End(SearchEnd::HoldsToMost)
        }
        (Some(held), None) => probe(held * UP, ProbeReason::Up, quick(held * UP)),
        // A service that was cold, or a moment that was bad, is asked once more before anything is made of it.
        (None, Some(failed)) if whole.len() == 1 => probe(failed, ProbeReason::Down, quick(failed)),
        (None, Some(failed)) if failed <= asked.least => SearchStep::End(SearchEnd::NotEvenLowest),
        (None, Some(failed)) => probe(failed / DOWN, ProbeReason::Down, quick(failed / DOWN)),
        (Some(held), Some(failed)) if failed / held > NEAR && asked.is_between(held, failed) => {
            let level = (held * failed).sqrt();
            probe(
                level,
                ProbeReason::Between,
                asked.probe_s.min(2.0 * quick(level)),
            )
        }
        (Some(held), Some(failed)) => {
            match drift::drift(&whole, (held * failed).sqrt().ln()) {
                Drift::Sure(by) => return SearchStep::End(SearchEnd::Drifts(by)),
                Drift::Suspected { level, .. } => {
                    return probe(level, ProbeReason::Again, asked.probe_s);
                }
                Drift::None | Drift::Likely(_) => {}
            }
            match near(asked, &whole) {
                Some(level) => probe(level, ProbeReason::Near, asked.probe_s),
                None => SearchStep::End(ended(asked, &whole)),
            }
        }
    }
}

/// What is known of the answer; `None` before enough was measured near it.
#[must_use]
pub fn known(probes: &[ProbeResult]) -> Option<Crossing> {
    let whole = counting(probes);
    crossed(&whole).filter(|found| is_measured(&whole, found))
}

/// How it ends where nothing is left of the budget.
#[must_use]
pub fn spent(asked: &SearchConfig, probes: &[ProbeResult]) -> SearchEnd {
    ended(asked, &counting(probes))
}

/// The highest level at which everything held, and the lowest at which something did not.
#[must_use]
pub fn ends(probes: &[ProbeResult]) -> (Option<f64>, Option<f64>) {
    bracket(&counting(probes))
}

fn counting(probes: &[ProbeResult]) -> Vec<&ProbeResult> {
    let counts = |probe: &&ProbeResult| probe.spoilt.is_none();
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

    /// Whether there is a level between two.
    fn is_between(&self, held: f64, failed: f64) -> bool {
        !self.whole || failed - held > 1.5
    }
}

/// The highest level that held, and the lowest that did not. A quick look that others contradict was chance: a failure where the same level held
/// later, or two that are higher; and what held where two that are lower did not.
fn bracket(whole: &[&ProbeResult]) -> (Option<f64>, Option<f64>) {
    const CONTRADICTED: usize = 2;
    let is_chance = |number: usize| {
        let look = whole[number];
        let others = |is_other: &dyn Fn(f64) -> bool| {
            let of = whole.iter().filter(|other| other.holds() != look.holds());
            of.filter(|other| is_other(other.level)).count()
        };
        let mut later = whole[number + 1..].iter();
        !look.why.is_long()
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

/// Whether enough was measured near the answer: something that failed and something that held, and more than one long probe. An answer
/// without them would be about levels that were never tried, with an interval that rests on the curve alone.
fn is_measured(whole: &[&ProbeResult], found: &Crossing) -> bool {
    /// In logarithms: of any probe, and of long ones.
    const NEAR_IT: f64 = 0.3;
    const CLOSE: f64 = 0.12;
    const LEAST: usize = 2;
    let estimate = found.estimate();
    let within = |probe: &ProbeResult, reach: f64| (probe.level.ln() - estimate).abs() < reach;
    let near = |holds: bool| {
        let mut of = whole.iter().filter(|probe| probe.holds() == holds);
        of.any(|probe| within(probe, NEAR_IT))
    };
    let long = whole.iter().filter(|probe| probe.why.is_long());
    near(true) && near(false) && long.filter(|probe| within(probe, CLOSE)).count() >= LEAST
}

/// Whether the last two probes were more than the generator could send, at the same level or nearly.
fn limited(asked: &SearchConfig, probes: &[ProbeResult]) -> bool {
    let [.., before, last] = probes else {
        return false;
    };
    [before, last]
        .iter()
        .all(|probe| probe.spoilt == Some(InvalidProbe::Limited))
        && asked.fitted(last.level) <= asked.fitted(before.level) * 1.1
}

/// The next level near the answer; none when it is known well enough.
fn near(asked: &SearchConfig, whole: &[&ProbeResult]) -> Option<f64> {
    let found = crossed(whole)?;
    let (low, high) = found.interval();
    let estimate = found.estimate();
    let nears: Vec<f64> = whole
        .iter()
        .filter(|probe| probe.why.is_long())
        .map(|probe| probe.level.ln())
        .collect();
    let above = nears.iter().filter(|at| **at > estimate).count();
    let below = nears.len() - above;
    let half = (high - low) / 2.0;
    let wanted = asked.precision.max(if asked.whole {
        0.5 / estimate.exp()
    } else {
        0.0
    });
    if half <= wanted && above.min(below) >= OF_EACH_SIDE && is_measured(whole, &found) {
        return None;
    }
    // In pairs, one from above and one from below; the seed says which comes first. What there is too little of comes first of all.
    let pair = (nears.len() / 2) as u64;
    let above_first = Rng::keyed(asked.seed, Purpose::Resampling, 11, pair).unit() < 0.5;
    let from_above = match above.cmp(&below) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => above_first,
    };
    let away = (half / 2.0).clamp(CLOSEST, FARTHEST);
    let away = if asked.whole {
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

/// How it ends with what is known.
fn ended(asked: &SearchConfig, whole: &[&ProbeResult]) -> SearchEnd {
    let (Some(held), Some(failed)) = bracket(whole) else {
        return SearchEnd::OutOfBudget;
    };
    let drifts = drift::drift(whole, (held * failed).sqrt().ln()).at_the_end();
    if let Some(by) = drifts {
        return SearchEnd::Drifts(by);
    }
    if failed / held > NEAR && asked.is_between(held, failed) {
        return SearchEnd::OutOfBudget;
    }
    let found = crossed(whole).filter(|found| is_measured(whole, found));
    found.map_or(SearchEnd::OutOfBudget, SearchEnd::Found)
}

/// Where the share beyond the bounds crosses what is allowed, but not above what an overloaded service answers.
fn crossed(whole: &[&ProbeResult]) -> Option<Crossing> {
    let (held, failed) = bracket(whole);
    let (held, failed) = (held?.ln(), failed?.ln());
    let capacity = capacity(whole);
    let mut around = (held + failed) / 2.0;
    let mut found = None;
    // What counts depends on where it is looked for, and it is looked for where something was seen.
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

/// The rate that the service answers while its backlog grows, as a logarithm with its standard deviation: it cannot bear more. `None`
/// where no backlog grew, or where it bears more than it answers when overloaded.
fn capacity(whole: &[&ProbeResult]) -> Option<(f64, f64)> {
    /// A service that is overloaded answers less than this share of what arrives.
    const SATURATED: f64 = 0.99;
    /// It bears more where a level held that is higher than what it answers by this factor; less than that takes longer than a probe.
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
        .any(|probe| probe.why.is_long() && probe.holds() && probe.level > MORE * rate);
    (answers > 0.0 && !bears_more).then(|| (rate.ln(), 1.0 / answers.sqrt()))
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
