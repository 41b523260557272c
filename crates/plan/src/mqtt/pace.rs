//! When a group of clients publishes that is not the load itself: on the timeline of a load that other work has.

use serde::Serialize;

use crate::{FirstArrival, Load, Phase, Rate, Shape, units::SECOND};

/// When the clients of a group publish, all of them together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// At a constant rate for as long as the load goes on.
    Rate(Rate),
    /// By phases of their own, beside those of the load.
    Phases(Vec<Phase>),
    /// As the load goes up and down.
    Follows {
        /// So many messages at 1x.
        volume: Rate,
        /// So many arrivals of the load are 1x.
        full: Rate,
    },
}

impl Pace {
    /// The messages as a load of their own, from the start of the other one on; none where there is nothing to follow.
    #[must_use]
    pub fn load(&self, beside: &Load) -> Option<Load> {
        let phases = match self {
            Pace::Rate(rate) => vec![Phase::new(beside.end_ns(), Shape::Rate(*rate))],
            Pace::Phases(phases) => phases.clone(),
            Pace::Follows { volume, full } => {
                let Load::Open { phases, .. } = beside else {
                    return None;
                };
                let factor = volume.as_f64() / full.as_f64();
                let of_all: Option<_> = phases
                    .iter()
                    .map(|phase| following(phase, factor))
                    .collect();
                of_all?
            }
        };
        Some(Load::Open {
            phases,
            first: FirstArrival::AtStart,
        })
    }
}

/// The messages that go with a phase of the load.
fn following(phase: &Phase, factor: f64) -> Option<Phase> {
    let times = |per_second: f64| Rate::from_f64(per_second * factor);
    let shape = match phase.shape {
        Shape::Rate(rate) => Shape::Rate(times(rate.as_f64())?),
        Shape::Staircase { from, to } => Shape::Staircase {
            from: times(from.as_f64())?,
            to: times(to.as_f64())?,
        },
        Shape::Count(count) => {
            let seconds = phase.duration_ns as f64 / SECOND as f64;
            Shape::Rate(times(count as f64 / seconds)?)
        }
        Shape::Pause => Shape::Pause,
    };
    let mut of = Phase::new(phase.duration_ns, shape);
    of.arrivals = phase.arrivals;
    Some(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;

    fn rate(per_second: u64) -> Rate {
        Rate {
            count: per_second,
            per_ns: SECOND,
        }
    }

    fn open(shapes: &[Shape]) -> Load {
        let phases = shapes.iter().map(|shape| Phase::new(10 * SECOND, *shape));
        Load::Open {
            phases: phases.collect(),
            first: FirstArrival::AtStart,
        }
    }

    fn messages(pace: &Pace, beside: &Load) -> u64 {
        Schedule::new(&pace.load(beside).expect("a load"), 1).total()
    }

    #[test]
    fn a_rate_lasts_as_long_as_the_load() {
        let closed = Load::users(5, 30 * SECOND);
        assert_eq!(messages(&Pace::Rate(rate(40)), &closed), 1200);
        let load = open(&[Shape::Pause, Shape::Rate(rate(1))]);
        assert_eq!(messages(&Pace::Rate(rate(40)), &load), 800);
    }

    #[test]
    fn a_volume_goes_up_and_down_with_the_load() {
        let pace = Pace::Follows {
            volume: rate(400),
            full: rate(10),
        };
        let half = open(&[Shape::Rate(rate(5)), Shape::Pause]);
        assert_eq!(messages(&pace, &half), 2000);
        let ramp = Shape::Staircase {
            from: rate(10),
            to: rate(20),
        };
        assert_eq!(messages(&pace, &open(&[ramp])), 6000);
        assert_eq!(messages(&pace, &open(&[Shape::Count(50)])), 2000);
        let closed = Load::users(5, SECOND);
        assert_eq!(pace.load(&closed), None);
    }
}
