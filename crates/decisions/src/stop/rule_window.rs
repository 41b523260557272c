//! Measurements for a stop rule over one or several seconds.

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

pub(super) const ENOUGH: u64 = 20;
const DEVIATIONS: f64 = 3.0;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct RuleWindow {
    pub ns: u64,
    /// Number of samples: finished requests, the denominator of a share, or samples of a gauge.
    pub n: u64,
    pub over: u64,
    pub late: u64,
    pub sum: f64,
}

impl RuleWindow {
    pub fn and(self, next: RuleWindow) -> RuleWindow {
        RuleWindow {
            ns: self.ns + next.ns,
            n: self.n + next.n,
            over: self.over + next.over,
            late: next.late,
            sum: self.sum + next.sum,
        }
    }

    /// Returns the window with its late requests counted as samples.
    pub fn alone(self) -> RuleWindow {
        let (n, over) = self.with_late();
        RuleWindow {
            n,
            over,
            late: 0,
            ..self
        }
    }

    pub fn share(&self) -> f64 {
        self.over as f64 / self.n.max(1) as f64
    }

    fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / self.n as f64)
    }

    fn per_second(&self) -> f64 {
        self.n as f64 * SECOND as f64 / self.ns.max(1) as f64
    }

    fn with_late(&self) -> (u64, u64) {
        (self.n + self.late, self.over + self.late)
    }

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
            Metric::Server(..) | Metric::Custom(..) | Metric::TokenRate | Metric::Goodput(_) => {
                None
            }
        }
    }

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

    /// Returns whether this second alone contradicts the condition: with 99 % confidence for
    /// samples, clearly for gauges.
    pub fn contradicts(&self, when: &Criterion) -> bool {
        let (n, over) = self.with_late();
        let against = if is_upward(when.op) {
            Standing::Below
        } else {
            Standing::Above
        };
        let is_decided = |n, over, q| standing(n, over, 1.0, q) == against;
        match (&when.metric, when.value) {
            (Metric::Time(_, Stat::Quantile(q)), _) => is_decided(n, over, *q),
            (Metric::LatenessP99, _) => is_decided(n, over, 0.99),
            (Metric::Errors, Quantity::Share(share)) => is_decided(self.n, self.over, 1.0 - share),
            // A number of errors counts over the whole window.
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

    fn is_plainly_beyond(&self, when: &Criterion) -> bool {
        let expected = bound(when) * self.ns as f64 / SECOND as f64;
        let off = DEVIATIONS * expected.sqrt();
        if is_upward(when.op) {
            (self.n as f64) < expected - off
        } else {
            self.n as f64 > expected + off
        }
    }

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
            Metric::Errors => of_all("failed or had no response"),
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
                    "{} deliveries were duplicates, {} arrived",
                    count(over),
                    count(n)
                )
            }
            Metric::Messages(MessageFate::Unknown) => {
                format!(
                    "{} messages are unknown, {} were due",
                    count(over),
                    count(n)
                )
            }
            Metric::Rate => format!("it was {}/s", rate(self.per_second())),
            Metric::InFlight => format!("it was {}", figure(self.mean().unwrap_or_default(), "")),
            Metric::Server(..) | Metric::Custom(..) | Metric::TokenRate | Metric::Goodput(_) => {
                String::new()
            }
        }
    }
}

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
