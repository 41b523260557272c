//! Stop rules. A rule fires when its condition has been true for its whole window, and no second
//! with enough samples contradicts it.

mod guard;
mod probing;
mod rule_window;
mod server_rules;

use std::collections::VecDeque;

use measure::{Interval, Slot, TimeKind};
use plan::{
    Load, Plan, StopRule,
    criteria::{MessageFate, Metric, SpanFilter, Stat},
};
use record::{LabelTotals, Run, units};

use analysis::{
    figures::Sampled,
    verdict::{Subject, bound, kind_of},
};
use probing::Probing;
use rule_window::RuleWindow;

#[derive(Debug)]
pub struct StopRules {
    rules: Vec<WatchedRule>,
    load: Load,
    probing: Option<Probing>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FiredRule {
    pub rule: StopRule,
    pub text: String,
    pub measured: String,
}

#[derive(Debug)]
struct WatchedRule {
    rule: StopRule,
    is_guard: bool,
    seconds: VecDeque<RuleWindow>,
    from_ns: u64,
}

impl StopRules {
    /// Creates an empty set, for parts of a run. The conductor evaluates the rules for the whole
    /// run.
    #[must_use]
    pub fn none() -> StopRules {
        StopRules {
            rules: Vec::new(),
            load: Load::Once,
            probing: None,
        }
    }

    #[must_use]
    pub fn from_plan(plan: &Plan) -> StopRules {
        let guard = plan.policy.guard.then(|| guard::rule(&plan.load)).flatten();
        let own = plan.policy.stop.iter().cloned();
        let own = own.map(|rule| WatchedRule::new(rule, false));
        let guard = guard.map(|rule| WatchedRule::new(rule, true));
        StopRules {
            rules: own.chain(guard).collect(),
            load: plan.load.clone(),
            probing: Probing::from_plan(plan),
        }
    }

    pub fn load_changed(&mut self, load: Load) {
        self.load = load;
    }

    /// Evaluates a finished interval, which `run` already includes. Returns the first rule that
    /// fires.
    pub fn look(&mut self, interval: &Interval, run: &Run) -> Option<FiredRule> {
        let mut fired = None;
        for watched in &mut self.rules {
            let measured = watched.look(interval, run);
            let rises = || guard::goes_up(&self.load, interval.span.to_ns, watched.rule.for_ns);
            if let Some(measured) = measured.filter(|_| !watched.is_guard || rises()) {
                fired.get_or_insert_with(|| watched.fired(measured));
            }
        }
        let found = self.probing.as_mut();
        fired.or_else(|| found?.look(interval, run))
    }
}

fn so_far(interval: &Interval, what: &str) -> u64 {
    let counters = &interval.frontend.counters;
    counters
        .get(&format!("so_far_{what}"))
        .copied()
        .unwrap_or(0)
}

impl WatchedRule {
    fn new(rule: StopRule, is_guard: bool) -> WatchedRule {
        WatchedRule {
            rule,
            is_guard,
            seconds: VecDeque::new(),
            from_ns: 0,
        }
    }

    fn look(&mut self, interval: &Interval, run: &Run) -> Option<String> {
        let Some(subject) = self.subject(interval, run) else {
            self.seconds.clear();
            self.from_ns = interval.span.to_ns;
            return None;
        };
        if matches!(self.rule.when.metric, Metric::Server(..)) {
            return server_rules::held(&self.rule, run, self.from_ns, interval.span.to_ns);
        }
        self.seconds.push_back(self.seen(interval, &subject));
        let mut ns: u64 = self.seconds.iter().map(|seen| seen.ns).sum();
        while let Some(oldest) = self.seconds.front()
            && ns - oldest.ns >= self.rule.for_ns
        {
            ns -= oldest.ns;
            self.seconds.pop_front();
        }
        if ns < self.rule.for_ns {
            return None;
        }
        let when = &self.rule.when;
        let all = self
            .seconds
            .iter()
            .fold(RuleWindow::default(), |all, seen| all.and(*seen));
        let held = all.holds(when) == Some(true)
            && !self.seconds.iter().any(|seen| seen.contradicts(when))
            && !self.is_a_burst();
        held.then(|| all.describe(when))
    }

    /// Returns whether the condition is true only because of a burst: the other seconds, taken
    /// together, contradict it.
    fn is_a_burst(&self) -> bool {
        let when = &self.rule.when;
        if !rule_window::is_counted(when) {
            return false;
        }
        let mut seconds: Vec<RuleWindow> = self.seconds.iter().map(|seen| seen.alone()).collect();
        seconds.sort_by(|one, other| one.share().total_cmp(&other.share()));
        if !rule_window::is_upward(when.op) {
            seconds.reverse();
        }
        let mut together = RuleWindow::default();
        seconds.iter().any(|seen| {
            together = together.and(*seen);
            together.contradicts(when)
        })
    }

    fn subject(&self, interval: &Interval, run: &Run) -> Option<Subject> {
        let subject = Subject::from_criterion(run, &self.rule.when).ok()?;
        let of_phase = subject.phases.as_ref();
        let is_now = of_phase.is_none_or(|phases| phases.contains(&interval.phase));
        is_now.then_some(subject)
    }

    fn seen(&self, interval: &Interval, subject: &Subject) -> RuleWindow {
        let ns = interval.span.to_ns.saturating_sub(interval.span.from_ns);
        let figures = &interval.run;
        let counted = |n, over| RuleWindow {
            n,
            over,
            ..RuleWindow::default()
        };
        let window = match &self.rule.when.metric {
            Metric::Time(span, stat) => self.times(interval, subject, *span, *stat),
            Metric::LatenessP99 => {
                let late = Sampled::from_totals(
                    &LabelTotals::from_slot(&slot(interval, subject)),
                    TimeKind::Lateness,
                );
                let bound_ns = bound(&self.rule.when) as u64;
                counted(late.count(), late.above(bound_ns))
            }
            Metric::Errors => {
                let slot = slot(interval, subject);
                let wrong = slot.counters.errors();
                counted(slot.counters.ended(), wrong)
            }
            Metric::Rate => counted(slot(interval, subject).counters.ended(), 0),
            Metric::InFlight => {
                let level = figures.in_flight;
                RuleWindow {
                    n: level.samples,
                    sum: level.sum as f64,
                    ..RuleWindow::default()
                }
            }
            Metric::Unsent => {
                let taken = figures.started + figures.skipped;
                let never_sent = so_far(interval, "unsent");
                counted(figures.due, figures.due.saturating_sub(taken) + never_sent)
            }
            Metric::Messages(fate) => {
                let received = so_far(interval, "received");
                let missing = so_far(interval, "missing");
                let (n, over) = match fate {
                    MessageFate::Lost => (received + missing, missing),
                    MessageFate::Duplicates => (received, so_far(interval, "again")),
                    MessageFate::Unknown => (so_far(interval, "due"), so_far(interval, "unknown")),
                };
                counted(n, over)
            }
            Metric::Server(..) | Metric::Custom(..) | Metric::TokenRate | Metric::Goodput(_) => {
                RuleWindow::default()
            }
        };
        RuleWindow { ns, ..window }
    }

    fn times(
        &self,
        interval: &Interval,
        subject: &Subject,
        span: SpanFilter,
        stat: Stat,
    ) -> RuleWindow {
        let times = Sampled::from_totals(
            &LabelTotals::from_slot(&slot(interval, subject)),
            kind_of(span),
        );
        if stat == Stat::Mean {
            let answered = times.count() - times.unanswered();
            let sum = times.mean_ns().unwrap_or_default() * answered as f64;
            return RuleWindow {
                n: answered,
                sum,
                ..RuleWindow::default()
            };
        }
        let bound_ns = bound(&self.rule.when) as u64;
        let ages = interval.in_flight_ages.iter();
        let late = ages
            // It is unknown whether a request in flight has already received its first event.
            .filter(|(id, _)| subject.has_label(**id) && !span.is_of_streams())
            .map(|(_, ages)| ages.above(bound_ns));
        RuleWindow {
            n: times.count(),
            over: times.above(bound_ns),
            late: late.sum(),
            ..RuleWindow::default()
        }
    }

    fn fired(&self, measured: String) -> FiredRule {
        let rule = self.rule.clone();
        let text = if self.is_guard {
            guard::TEXT.to_owned()
        } else {
            format!("{} for {}", rule.when.text, units::duration(rule.for_ns))
        };
        FiredRule {
            rule,
            text,
            measured,
        }
    }
}

fn slot(interval: &Interval, subject: &Subject) -> Slot {
    let mut sum = Slot::default();
    for ((id, phase), slot) in &interval.slots {
        if subject.has_label(*id) && subject.has_phase(*phase) {
            sum.add(slot);
        }
    }
    sum
}

#[cfg(test)]
mod tests;
