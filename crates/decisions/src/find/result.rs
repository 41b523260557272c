//! Result of a search: figures, text, and one row per probe.

use record::units;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::Crossing;

use super::{
    overload,
    probe_row::ProbeRow,
    search::{self, ProbeReason, ProbeResult, SearchEnd},
    sweep::{self, Scaling},
};

const POINTS: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    Rate,
    Users,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Found,
    /// The lowest level already fails.
    FailsAtLowest,
    /// The highest allowed level passes.
    HoldsToMost,
    GeneratorLimited,
    /// Other work kept the load generator's machine busy.
    GeneratorDisturbed,
    Drifts,
    /// The budget was used up before there was a result.
    OutOfBudget,
    Died,
    Interrupted,
    /// A probe could not run, or the service never responded.
    CouldNotRun,
    /// A sweep over numbers of users finished, without a search.
    Swept,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    pub schema: u32,
    pub test: String,
    /// Target of the search, if it was given separately.
    pub target: Option<String>,
    pub started_utc: String,
    pub varied: Over,
    pub slos: Vec<String>,
    pub ending: Ending,
    pub estimate: Option<f64>,
    pub interval: Option<(f64, f64)>,
    /// Relative change of the load line during the search. `None` unless this change ended the
    /// search.
    #[serde(default)]
    pub drift: Option<f64>,
    pub last_pass: Option<f64>,
    pub first_fail: Option<f64>,
    pub duration_s: f64,
    pub sentence: String,
    /// Behaviour above the load line. `None` if no level failed.
    pub overload: Option<String>,
    /// Scalability of the service. Set only by a sweep over numbers of users.
    #[serde(default)]
    pub scaling: Option<Scaling>,
    pub notes: Vec<String>,
    pub probes: Vec<ProbeRow>,
    /// Pairs of a level and the probability that all criteria are met at this level.
    pub probabilities: Vec<(f64, f64)>,
    pub exit_code: u8,
}

impl Over {
    #[must_use]
    pub fn level(self, level: f64) -> String {
        match self {
            Over::Rate => format!("{}/s", units::rate(level)),
            Over::Users if level.round() == 1.0 => "1 user".to_owned(),
            Over::Users => format!("{} users", units::count(level.round() as u64)),
        }
    }

    fn bare(self, level: f64) -> String {
        match self {
            Over::Rate => units::rate(level),
            Over::Users => units::count(level.round() as u64),
        }
    }
}

impl SearchResult {
    pub fn end(&mut self, end: &SearchEnd, probes: &[ProbeResult]) {
        let ending = match end {
            SearchEnd::Found(_) => Ending::Found,
            SearchEnd::NotEvenLowest => Ending::FailsAtLowest,
            SearchEnd::HoldsToMost => Ending::HoldsToMost,
            SearchEnd::GeneratorLimited => Ending::GeneratorLimited,
            SearchEnd::GeneratorDisturbed => Ending::GeneratorDisturbed,
            SearchEnd::Drifts(by) => {
                self.forget();
                self.drift = Some(by.exp() - 1.0);
                self.set_ending(Ending::Drifts, probes);
                return;
            }
            SearchEnd::OutOfBudget => Ending::OutOfBudget,
        };
        self.forget();
        if let SearchEnd::Found(crossing) = end {
            self.answered(crossing);
        }
        self.set_ending(ending, probes);
    }

    /// Sets the result of an interrupted search. Also called after each probe, because the process
    /// may be killed later.
    pub fn interrupted(&mut self, probes: &[ProbeResult]) {
        self.forget();
        if let Some(crossing) = search::known(probes) {
            self.answered(&crossing);
        }
        self.set_ending(Ending::Interrupted, probes);
    }

    pub fn died(&mut self, probes: &[ProbeResult]) {
        self.forget();
        self.set_ending(Ending::Died, probes);
    }

    pub fn could_not_go_on(&mut self, error: &str, probes: &[ProbeResult]) {
        self.forget();
        self.set_ending(Ending::CouldNotRun, probes);
        self.sentence = format!("no result: {error}{}", self.held());
    }

    /// Adds the levels of a sweep as pairs of users and throughput.
    pub fn swept(&mut self, levels: &[(f64, f64)], seed: u64) {
        self.scaling = sweep::scaling(levels, seed);
        self.ending = Ending::Swept;
        self.sentence = match &self.scaling {
            Some(scaling) => scaling.describe(levels),
            None => format!(
                "only {} of the {} required numbers of users were measured, so scaling is unknown",
                levels.len(),
                statistics::LEAST_LEVELS
            ),
        };
        self.exit_code = if self.scaling.is_some() { 0 } else { 5 };
    }

    fn forget(&mut self) {
        (self.estimate, self.interval, self.drift) = (None, None, None);
        self.probabilities.clear();
    }

    fn answered(&mut self, crossing: &Crossing) {
        let level = |at: f64| {
            let level = at.exp();
            if self.varied == Over::Users {
                level.floor().max(1.0)
            } else {
                level
            }
        };
        let (low, high) = crossing.interval();
        self.estimate = Some(level(crossing.estimate()));
        self.interval = Some((level(low), level(high)));
        let (from, to) = (crossing.at(0.001), crossing.at(0.999));
        let place = |i: usize| from + (to - from) * i as f64 / POINTS as f64;
        self.probabilities = (0..=POINTS)
            .map(|i| (place(i).exp(), crossing.holds(place(i))))
            .collect();
    }

    fn set_ending(&mut self, ending: Ending, probes: &[ProbeResult]) {
        self.ending = ending;
        (self.last_pass, self.first_fail) = search::ends(probes);
        // Overload is not meaningful for a changing service.
        self.overload = self.above_it().filter(|_| ending != Ending::Drifts);
        self.exit_code = match self.ending {
            Ending::Found | Ending::HoldsToMost => 0,
            Ending::FailsAtLowest => 1,
            Ending::CouldNotRun => 3,
            Ending::GeneratorLimited | Ending::GeneratorDisturbed => 4,
            Ending::OutOfBudget
            | Ending::Drifts
            | Ending::Died
            | Ending::Interrupted
            | Ending::Swept => 5,
        };
        self.sentence = self.in_words();
    }

    fn in_words(&self) -> String {
        let held = self.held();
        match self.ending {
            Ending::Found => self.so_far(),
            Ending::FailsAtLowest => {
                let failing = self.failed().min_by(|a, b| a.level.total_cmp(&b.level));
                let lowest = failing
                    .map(|row| format!("{}: {}", self.varied.level(row.level), self.failing(row)));
                format!("fails even at {}", lowest.unwrap_or_default())
            }
            Ending::HoldsToMost => format!(
                "{}: all criteria hold there, and --max allows no higher load",
                self.so_far()
            ),
            Ending::GeneratorLimited if self.last_pass.is_some() => format!(
                "{}, generator-limited: this machine cannot send more load",
                self.so_far()
            ),
            Ending::GeneratorLimited => {
                "unknown: this machine cannot send even the lowest load as planned".to_owned()
            }
            Ending::GeneratorDisturbed => format!(
                "no result: other work kept this machine busy, so nothing could be measured (measurement INVALID){held}"
            ),
            Ending::Drifts => self.drifts(),
            Ending::OutOfBudget => format!("no result within the budget: {}", self.so_far()),
            Ending::Died => {
                let at = self.probes.last().map(|row| self.varied.level(row.level));
                format!(
                    "no result: the service stopped responding after {}; the search ended{held}",
                    at.unwrap_or_default()
                )
            }
            Ending::Interrupted => format!("interrupted: {}", self.so_far()),
            Ending::Swept | Ending::CouldNotRun => String::new(),
        }
    }

    fn drifts(&self) -> String {
        let again = self
            .probes
            .iter()
            .filter(|row| row.reason == ProbeReason::Again);
        let mut failed = again.filter(|row| row.invalid.is_none() && !row.holds);
        let word = match self.drift {
            Some(by) if by > 0.0 => "faster",
            _ => "slower",
        };
        let contradiction = failed.next_back().map_or_else(String::new, |row| {
            let answered = row.answered.map_or_else(String::new, |rate| {
                format!(" and answered {}/s", units::rate(rate))
            });
            format!(
                ": {} held first, but failed later{answered}",
                self.varied.level(row.level)
            )
        });
        format!(
            "no result: the service is not stable. It became {word} during the search{contradiction}"
        )
    }

    fn so_far(&self) -> String {
        let level = |level: f64| self.varied.level(level);
        match (self.estimate, self.last_pass, self.first_fail) {
            (Some(estimate), ..) => format!("{} {}", level(estimate), self.precision()),
            (None, Some(pass), Some(fail)) => format!(
                "somewhere between {} and {}",
                level(pass.min(fail)),
                level(pass.max(fail))
            ),
            (None, Some(pass), None) => format!("at least {}", level(pass)),
            (None, None, Some(fail)) => format!("below {}", level(fail)),
            (None, None, None) => "nothing is known".to_owned(),
        }
    }

    fn held(&self) -> String {
        let held = |level| format!("; everything held at {}", self.varied.level(level));
        self.last_pass.map_or_else(String::new, held)
    }

    fn failed(&self) -> impl Iterator<Item = &ProbeRow> {
        let fails = |row: &&ProbeRow| row.invalid.is_none() && !row.holds;
        self.probes.iter().filter(fails)
    }

    fn precision(&self) -> String {
        let bare = |level: f64| self.varied.bare(level);
        let mut parts = Vec::new();
        if let Some((low, high)) = self.interval {
            parts.push(format!("95 %: {} to {}", bare(low), bare(high)));
        }
        let ends = [
            ("last pass", self.last_pass),
            ("first fail", self.first_fail),
        ];
        let ends = ends
            .iter()
            .filter_map(|(name, level)| Some(format!("{name} {}", bare((*level)?))));
        parts.push(ends.collect::<Vec<_>>().join(", "));
        let n = self.probes.len();
        parts.push(format!(
            "{}, {n} probe{}",
            units::duration((self.duration_s.round() * 1e9) as u64),
            if n == 1 { "" } else { "s" }
        ));
        format!("({})", parts.join("; "))
    }

    fn failing(&self, row: &ProbeRow) -> String {
        let slos = self.slos.iter().zip(&row.measured).zip(&row.beyond);
        let failing = slos.filter_map(|((slo, measured), beyond)| {
            let criterion = plan::criteria::parse_criterion(slo).ok()?;
            let allowed = super::allowed(&criterion).unwrap_or(0.5);
            let fails = beyond.is_some_and(|beyond| beyond > allowed);
            let measured = measured.as_deref().unwrap_or("not measured");
            fails.then(|| format!("`{slo}` is {measured}"))
        });
        let failing: Vec<String> = failing.chain(row.overload()).collect();
        if failing.is_empty() {
            "something failed".to_owned()
        } else {
            failing.join(", ")
        }
    }

    /// Describes how the service behaves above the load line. `None` if there is neither an
    /// estimate nor a level that passed, or if no probe at or above it failed.
    fn above_it(&self) -> Option<String> {
        let from = self.estimate.or(self.last_pass)?;
        let mut rows: Vec<&ProbeRow> = self.failed().filter(|row| row.level >= from).collect();
        rows.sort_by(|a, b| a.level.total_cmp(&b.level));
        let nearest = rows.first()?;
        let (level, fails) = (self.varied.level(nearest.level), self.failing(nearest));
        let holds = |row: &&ProbeRow| row.invalid.is_none() && row.holds;
        let held: Vec<&ProbeRow> = self.probes.iter().filter(holds).collect();
        overload::describe(&rows, &held, &self.slos, &level, &fails)
    }
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
