//! Ends a probe as soon as its result is certain.

use measure::{Interval, confidence::Standing};
use plan::{Criterion, Plan, StopRule, criteria::Ending};
use record::Run;

use super::{FiredRule, WatchedRule, rule_window::RuleWindow};
use crate::find::{ViolationTally, allowed};

const LEAST: usize = 3;

#[derive(Debug)]
pub(super) struct Probing {
    ends: plan::Probing,
    watched: Vec<WatchedRule>,
}

impl Probing {
    pub fn from_plan(plan: &Plan) -> Option<Probing> {
        let watched = |criterion: &Criterion| {
            WatchedRule::new(
                StopRule {
                    when: criterion.clone(),
                    for_ns: 0,
                    ends: Ending::Fail,
                },
                false,
            )
        };
        Some(Probing {
            ends: plan
                .policy
                .probing
                .filter(|probing| *probing != plan::Probing::AtItsEnd)?,
            watched: plan.policy.criteria.iter().map(watched).collect(),
        })
    }

    pub fn look(&mut self, interval: &Interval, run: &Run) -> Option<FiredRule> {
        for watched in &mut self.watched {
            let subject = watched.subject(interval, run);
            if let Some(subject) = subject.filter(|_| allowed(&watched.rule.when).is_some()) {
                let seen = watched.seen(interval, &subject);
                watched.seconds.push_back(seen);
            }
        }
        let tallies = self
            .watched
            .iter()
            .map(|watched| Some((watched, tally(watched)?)));
        let tallies: Vec<Option<(&WatchedRule, ViolationTally)>> = tallies.collect();
        let known = || tallies.iter().flatten();
        let fails = |tally: &ViolationTally| match self.ends {
            plan::Probing::UntilDecided => tally.standing() == Standing::Above,
            plan::Probing::UntilPlain => tally.fails_plainly(),
            plan::Probing::AtItsEnd => false,
        };
        if let Some((watched, tally)) = known().find(|(_, tally)| fails(tally)) {
            return Some(fired(watched, tally, Ending::Fail));
        }
        let holds = self.ends == plan::Probing::UntilDecided
            && tallies.iter().all(Option::is_some)
            && known().all(|(_, tally)| tally.standing() == Standing::Below);
        let first = known().next().filter(|_| holds);
        first.map(|(watched, tally)| fired(watched, tally, Ending::Pass))
    }
}

fn tally(watched: &WatchedRule) -> Option<ViolationTally> {
    let last = watched.seconds.len().checked_sub(1)?;
    let counted = |(number, seen): (usize, &RuleWindow)| {
        // Add late requests only in the last second, so that each of them counts once.
        let seen = if number == last { seen.alone() } else { *seen };
        (seen.n as f64, seen.over as f64)
    };
    (watched.seconds.len() >= LEAST).then_some(ViolationTally {
        allowed: allowed(&watched.rule.when)?,
        seconds: watched.seconds.iter().enumerate().map(counted).collect(),
    })
}

fn fired(watched: &WatchedRule, tally: &ViolationTally, ends: Ending) -> FiredRule {
    let share = tally.share().unwrap_or_default();
    FiredRule {
        rule: StopRule {
            ends,
            ..watched.rule.clone()
        },
        text: format!("{}: decided", watched.rule.when.text),
        measured: format!(
            "{} are beyond the bound, {} are allowed",
            record::units::share(share),
            record::units::share(tally.allowed)
        ),
    }
}
