//! The guard: stops a load from rising if the service fails more than half of its requests.

use plan::{Load, StopRule, units::SECOND};

const RULE: &str = "errors > 50% for 10s: stop fail";
pub(super) const TEXT: &str = "guard: more than half of the requests failed for 10s while the load was rising (use --no-guard to turn this off)";

pub(super) fn rule(load: &Load) -> Option<StopRule> {
    let arrives = load.has_arrivals();
    plan::criteria::parse_stop(RULE).ok().filter(|_| arrives)
}

/// Returns whether the load in the next second is higher than at the start of the window.
pub(super) fn goes_up(load: &Load, now_ns: u64, window_ns: u64) -> bool {
    let before = load.rate_at(now_ns.saturating_sub(window_ns));
    // A workload may start while no other workload has a rate.
    let before = before.or_else(|| matches!(load, Load::Several { .. }).then_some(0.0));
    let next = load.rate_at(now_ns + SECOND);
    before.zip(next).is_some_and(|(before, next)| next > before)
}

#[cfg(test)]
mod tests {
    use plan::{FirstArrival, Phase, Rate, Shape};

    use super::*;

    fn open(shapes: &[Shape]) -> Load {
        let phase = |shape: &Shape| Phase::new(20 * SECOND, *shape);
        Load::Open {
            phases: shapes.iter().map(phase).collect(),
            first: FirstArrival::AtStart,
        }
    }

    fn rate(n: u64) -> Shape {
        Shape::Rate(Rate::per_second(n))
    }

    #[test]
    fn users_who_wait_for_answers_are_not_guarded() {
        assert!(rule(&open(&[rate(10), rate(20)])).is_some());
        let closed = Load::users(9, 60 * SECOND);
        assert!(rule(&closed).is_none());
    }

    #[test]
    fn it_acts_where_the_load_goes_up_and_not_where_it_stays() {
        let stairs = open(&[rate(10), rate(20), rate(20)]);
        let at = |second: u64| goes_up(&stairs, second * SECOND, 10 * SECOND);
        assert_eq!(
            (at(15), at(19), at(25), at(30), at(45)),
            (false, true, true, false, false)
        );
        let ramp = open(&[Shape::Staircase {
            from: Rate::per_second(10),
            to: Rate::per_second(100),
        }]);
        assert!(goes_up(&ramp, 12 * SECOND, 10 * SECOND));
    }
}
