//! What a stop rule has seen of one second, or of several together: as much as its condition needs, and no more. Whether it holds, and
//! whether a second by itself speaks against it. It knows no run; what is measured beside the load is another's.

use measure::{
    confidence::{Standing, standing},
    histogram::rank_of,
};
use plan::{
    Criterion,
    criteria::{MessageFate, Metric, Op, Stat},
    units::{Quantity, SECOND},
};

use analysis::verdict::bound;

/// Fewer samples decide no percentile, no mean and no share.
pub(super) const ENOUGH: u64 = 20;
/// Standard deviations by which a second's number of answers must lie beyond a rate to speak against it.
const DEVIATIONS: f64 = 3.0;

/// What was seen of a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct RuleWindow {
    /// How long.
    pub ns: u64,
    /// Samples: of a time, those that ended; of a share, what it is a share of; of a level, looks at it.
    pub n: u64,
    /// Of them, above the bound of a time, or what the share is of.
    pub over: u64,
    /// Requests still under way at its end for longer than the bound of a time: whatever they will take, it is more.
    pub late: u64,
    /// Their sum, where a mean is asked for.
    pub sum: f64,
}

impl RuleWindow {
    /// With what came behind it. Who was late at the end of what came before has ended since, or is late still.
    pub fn and(self, next: RuleWindow) -> RuleWindow {
        RuleWindow {
            ns: self.ns + next.ns,
            n: self.n + next.n,
            over: self.over + next.over,
            late: next.late,
            sum: self.sum + next.sum,
        }
    }

    /// A second without those before and behind it: who was late at its end is one of its samples.
    pub fn alone(self) -> RuleWindow {
        let (n, over) = self.with_late();
        RuleWindow {
            n,
            over,
            late: 0,
            ..self
        }
    }

    /// Which share of its samples is above the bound; nothing seen is nothing above.
    pub fn share(&self) -> f64 {
        self.over as f64 / self.n.max(1) as f64
    }

    fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / self.n as f64)
    }

    fn per_second(&self) -> f64 {
        self.n as f64 * SECOND as f64 / self.ns.max(1) as f64
    }

    /// Samples, and those above the bound, with who is late.
    fn with_late(&self) -> (u64, u64) {
        (self.n + self.late, self.over + self.late)
    }

    /// Whether the condition holds over all of it; none where there is too little to say.
    pub fn holds(&self, when: &Criterion) -> Option<bool> {
        let compared = |value: f64| Some(when.op.holds(value, bound(when)));
        match &when.metric {
            Metric::Time(_, Stat::Mean) => {
                self.mean().filter(|_| self.n >= ENOUGH).and_then(compared)
            }
            Metric::Time(_, stat) => self.quantile(*stat, when.op),
            Metric::LatenessP99 => self.quantile(Stat::Quantile(0.99), when.op),
            Metric::Errors | Metric::Unsent | Metric::Messages(_) => match when.value {
                Quantity::Share(_) if self.n >= ENOUGH => {
                    compared(self.over as f64 / self.n as f64)
                }
                Quantity::Share(_) => None,
                _ => compared(self.over as f64),
            },
            Metric::Rate => compared(self.per_second()),
            Metric::InFlight => self.mean().and_then(compared),
            Metric::Server(..) => None,
        }
    }

    /// On which side of the bound a quantile is: counting decides it, without a value.
    fn quantile(&self, stat: Stat, op: Op) -> Option<bool> {
        let (n, over) = self.with_late();
        let (q, enough) = match stat {
            Stat::Quantile(q) => (q, ENOUGH),
            _ => (1.0, 1),
        };
        let rank = rank_of(q, n).filter(|_| n >= enough)?;
        let above = n - over < rank;
        Some(above == is_upward(op))
    }

    /// Whether this second by itself says that the condition does not hold: samples with 99 % confidence, levels plainly. Where it holds
    /// only over all, because one second of it was bad, it has not held for all of that time.
    pub fn contradicts(&self, when: &Criterion) -> bool {
        let (n, over) = self.with_late();
        let against = if is_upward(when.op) {
            Standing::Below
        } else {
            Standing::Above
        };
        let stands = |n, over, q| standing(n, over, 1.0, q) == against;
        match (&when.metric, when.value) {
            (Metric::Time(_, Stat::Quantile(q)), _) => stands(n, over, *q),
            (Metric::LatenessP99, _) => stands(n, over, 0.99),
            (Metric::Errors, Quantity::Share(share)) => stands(self.n, self.over, 1.0 - share),
            // A number of errors is one over the whole window.
            (Metric::Errors | Metric::Unsent | Metric::Messages(_), _)
                if !matches!(when.value, Quantity::Share(_)) =>
            {
                false
            }
            (Metric::Rate, _) => self.is_plainly_beyond(when),
            (Metric::InFlight, _) => self.holds(when) != Some(true),
            _ => self.holds(when) == Some(false),
        }
    }

    /// Whether more or fewer came than a Poisson process of the bound's rate would have.
    fn is_plainly_beyond(&self, when: &Criterion) -> bool {
        let expected = bound(when) * self.ns as f64 / SECOND as f64;
        let off = DEVIATIONS * expected.sqrt();
        if is_upward(when.op) {
            (self.n as f64) < expected - off
        } else {
            self.n as f64 > expected + off
        }
    }

    /// What was seen, in words.
    pub fn describe(&self, when: &Criterion) -> String {
        use record::units::{count, figure, rate, time};
        let (n, over) = self.with_late();
        let of_all = |what: &str| format!("{} of {} requests {what}", count(over), count(n));
        match &when.metric {
            Metric::Time(_, Stat::Mean) => {
                let mean = self.mean().unwrap_or_default().round() as u64;
                format!("the mean of {} was {}", count(self.n), time(mean))
            }
            Metric::Time(plan::criteria::SpanFilter::Iteration, _) => {
                format!("{} of {} iterations took longer", count(over), count(n))
            }
            Metric::Time(plan::criteria::SpanFilter::Transaction, _) => {
                format!("{} of {} transactions took longer", count(over), count(n))
            }
            Metric::Time(..) => of_all("took longer"),
            Metric::LatenessP99 => of_all("were later"),
            Metric::Errors => of_all("failed or had no answer"),
            Metric::Unsent => format!(
                "{} of {} due arrivals were not started",
                count(over),
                count(n)
            ),
            Metric::Messages(MessageFate::Lost) => {
                format!("{} of {} deliveries were missing", count(over), count(n))
            }
            Metric::Messages(MessageFate::Duplicates) => {
                format!(
                    "{} deliveries were repeated, {} came",
                    count(over),
                    count(n)
                )
            }
            Metric::Messages(MessageFate::Unknown) => {
                format!(
                    "{} messages became unknown, {} were due",
                    count(over),
                    count(n)
                )
            }
            Metric::Rate => format!("it was {}/s", rate(self.per_second())),
            Metric::InFlight => format!("it was {}", figure(self.mean().unwrap_or_default(), "")),
            Metric::Server(..) => String::new(),
        }
    }
}

/// Whether samples decide it by being counted: a percentile, or a share.
pub(super) fn is_counted(when: &Criterion) -> bool {
    match &when.metric {
        Metric::Time(_, stat) => matches!(stat, Stat::Quantile(_)),
        Metric::LatenessP99 => true,
        Metric::Errors => matches!(when.value, Quantity::Share(_)),
        _ => false,
    }
}

pub(super) fn is_upward(op: Op) -> bool {
    matches!(op, Op::Greater | Op::GreaterOrEqual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn when(text: &str) -> Criterion {
        plan::criteria::parse_criterion(text).unwrap()
    }

    fn samples(n: u64, over: u64) -> RuleWindow {
        RuleWindow {
            ns: SECOND,
            n,
            over,
            ..RuleWindow::default()
        }
    }

    #[test]
    fn a_percentile_is_decided_by_counting() {
        let slow = when("p95 > 2s");
        assert_eq!(samples(100, 5).holds(&slow), Some(false));
        assert_eq!(samples(100, 6).holds(&slow), Some(true));
        assert_eq!(samples(19, 19).holds(&slow), None);
        // Nothing ends any more, and what is under way has been so for longer than that.
        let stuck = RuleWindow {
            late: 20,
            ..samples(0, 0)
        };
        assert_eq!(stuck.holds(&slow), Some(true));
        let fast = when("p95 < 2s");
        assert_eq!(samples(100, 5).holds(&fast), Some(true));
        assert_eq!(samples(100, 6).holds(&fast), Some(false));
        assert_eq!(samples(1, 1).holds(&when("max > 2s")), Some(true));
    }

    #[test]
    fn a_second_speaks_against_a_condition_only_when_chance_does_not() {
        let slow = when("p95 > 2s");
        assert!(samples(1000, 0).contradicts(&slow));
        assert!(samples(1000, 30).contradicts(&slow));
        assert!(!samples(1000, 45).contradicts(&slow));
        assert!(!samples(20, 0).contradicts(&slow));
        assert!(!samples(0, 0).contradicts(&slow));
        let errors = when("errors > 5%");
        assert!(samples(500, 0).contradicts(&errors));
        assert!(!samples(40, 0).contradicts(&errors));
        let rate = when("rate < 100/s");
        assert!(!samples(120, 0).contradicts(&rate));
        assert!(samples(140, 0).contradicts(&rate));
    }

    #[test]
    fn a_level_must_hold_all_the_time() {
        let many = when("in-flight > 50");
        let level = |mean: f64| RuleWindow {
            sum: mean * 100.0,
            ..samples(100, 0)
        };
        assert_eq!(level(60.0).holds(&many), Some(true));
        assert!(!level(51.0).contradicts(&many));
        assert!(level(50.0).contradicts(&many));
        assert!(RuleWindow::default().contradicts(&many));
        assert_eq!(level(60.0).and(level(30.0)).mean(), Some(45.0));
    }
}
