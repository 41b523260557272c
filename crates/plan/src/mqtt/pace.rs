//! Publication pace of an MQTT group that runs alongside another load.

use serde::Serialize;

use crate::{FirstArrival, Load, Phase, Rate, Shape, units::SECOND};

/// The pace at which all clients of a group together publish.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishPace {
    /// At a constant rate during the load.
    Rate(Rate),
    /// According to the group's own phases.
    Phases(Vec<Phase>),
    /// At a rate in proportion to the load.
    Follows {
        /// Message rate at level 1x.
        volume: Rate,
        /// Arrival rate of the load at level 1x.
        full: Rate,
    },
}

impl PublishPace {
    /// Returns the messages as a load on the timeline of `main_load`. `None` if `main_load` has no
    /// rate to follow.
    #[must_use]
    pub fn load(&self, main_load: &Load) -> Option<Load> {
        let phases = match self {
            PublishPace::Rate(rate) => vec![Phase::new(main_load.end_ns(), Shape::Rate(*rate))],
            PublishPace::Phases(phases) => phases.clone(),
            PublishPace::Follows { volume, full } => {
                let Load::Open { phases, .. } = main_load else {
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

    fn messages(pace: &PublishPace, main_load: &Load) -> u64 {
        Schedule::new(&pace.load(main_load).expect("a load"), 1).total()
    }

    #[test]
    fn rate_lasts_as_long_as_the_load() {
        let closed = Load::users(5, 30 * SECOND);
        assert_eq!(messages(&PublishPace::Rate(rate(40)), &closed), 1200);
        let load = open(&[Shape::Pause, Shape::Rate(rate(1))]);
        assert_eq!(messages(&PublishPace::Rate(rate(40)), &load), 800);
    }

    #[test]
    fn volume_follows_the_load() {
        let pace = PublishPace::Follows {
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
