//! Users of a closed load whose number changes. Each user's active periods are computed directly
//! from the user's number.

use serde::Serialize;

/// A phase of a closed load in which the number of users changes linearly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserPhase {
    /// Name of the phase in the file.
    pub name: Option<String>,
    /// Number of users at the start.
    pub from: u32,
    /// Number of users at the end.
    pub to: u32,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
    /// Duration as written in the file. Some reports repeat it.
    pub duration_text: String,
}

/// A period in which a virtual user may start iterations, in nanoseconds from the start of the run.
/// The last iteration may finish later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivePeriod {
    /// Time at which iterations may start.
    pub from_ns: u64,
    /// Time from which no more iterations start.
    pub until_ns: u64,
}

impl UserPhase {
    /// Returns whether the number of users is constant and above zero.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.from == self.to && self.from > 0
    }

    /// Returns the active period of user number `user` (from 0) within the phase.
    ///
    /// If the number rises from F to T within D, user k starts at D (k - F) / (T - F), so user F
    /// starts immediately. If it falls from F to T, user k stops at D (F - k) / (F - T), so user T
    /// stops at the end.
    fn stay(&self, user: u32) -> Option<ActivePeriod> {
        let share = |part: u32, of: u32| {
            (u128::from(self.duration_ns) * u128::from(part) / u128::from(of)) as u64
        };
        let (from_ns, until_ns) = if user < self.from.min(self.to) {
            (0, self.duration_ns)
        } else if user >= self.from.max(self.to) {
            return None;
        } else if self.from < self.to {
            let comes_ns = share(user - self.from, self.to - self.from);
            (comes_ns, self.duration_ns)
        } else {
            (0, share(self.from - user, self.from - self.to))
        };
        Some(ActivePeriod { from_ns, until_ns })
    }
}

impl ActivePeriod {
    /// Returns the active periods of a user over all phases, up to `end_ns`.
    #[must_use]
    pub fn all(phases: &[UserPhase], user: u32, end_ns: u64) -> Vec<ActivePeriod> {
        let mut stays: Vec<ActivePeriod> = Vec::new();
        let mut start_ns = 0u64;
        for phase in phases {
            if let Some(stay) = phase.stay(user) {
                let from_ns = start_ns + stay.from_ns;
                let until_ns = (start_ns + stay.until_ns).min(end_ns);
                match stays.last_mut() {
                    // A user who is active on both sides of a phase boundary is not interrupted.
                    Some(last) if last.until_ns == from_ns => last.until_ns = until_ns,
                    _ if from_ns < until_ns => stays.push(ActivePeriod { from_ns, until_ns }),
                    _ => {}
                }
            }
            start_ns += phase.duration_ns;
        }
        stays
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::SECOND;

    fn phase(from: u32, to: u32, seconds: u64) -> UserPhase {
        UserPhase {
            name: None,
            from,
            to,
            duration_ns: seconds * SECOND,
            duration_text: String::new(),
        }
    }

    #[test]
    fn users_start_in_order_and_stop_in_reverse() {
        let phases = [phase(0, 5, 10), phase(5, 5, 10), phase(5, 0, 10)];
        let seconds = |user| -> Vec<(u64, u64)> {
            let stays = ActivePeriod::all(&phases, user, u64::MAX).into_iter();
            stays
                .map(|stay| (stay.from_ns / SECOND, stay.until_ns / SECOND))
                .collect()
        };
        let all: Vec<_> = (0..6).map(seconds).collect();
        assert_eq!(
            all,
            [
                vec![(0, 30)],
                vec![(2, 28)],
                vec![(4, 26)],
                vec![(6, 24)],
                vec![(8, 22)],
                vec![]
            ]
        );
        assert_eq!(ActivePeriod::all(&phases, 4, 8 * SECOND), []);
    }

    #[test]
    fn jump_between_phases_is_immediate() {
        let phases = [phase(3, 3, 1), phase(1, 1, 1), phase(3, 3, 1)];
        let stay = |from: u64, until: u64| ActivePeriod {
            from_ns: from * SECOND,
            until_ns: until * SECOND,
        };
        assert_eq!(ActivePeriod::all(&phases, 0, u64::MAX), [stay(0, 3)]);
        assert_eq!(
            ActivePeriod::all(&phases, 2, u64::MAX),
            [stay(0, 1), stay(2, 3)]
        );
    }

    proptest! {
        #[test]
        fn number_of_active_users_follows_the_line(
            ends in prop::collection::vec((0u32..200, 0u32..200, 1u64..100), 1..5),
            share in 0.0f64..1.0,
        ) {
            let phases: Vec<UserPhase> = ends.iter().map(|(from, to, s)| phase(*from, *to, *s)).collect();
            let whole: u64 = phases.iter().map(|phase| phase.duration_ns).sum();
            let at = (whole as f64 * share) as u64;
            let mut start = 0;
            let now = phases.iter().find(|phase| {
                start += phase.duration_ns;
                at < start
            }).unwrap();
            let within = (at - (start - now.duration_ns)) as f64 / now.duration_ns as f64;
            let line = f64::from(now.from) + (f64::from(now.to) - f64::from(now.from)) * within;
            let there = (0..200).filter(|user| {
                ActivePeriod::all(&phases, *user, u64::MAX).iter().any(|stay| stay.from_ns <= at && at < stay.until_ns)
            }).count();
            prop_assert!((there as f64 - line).abs() <= 1.0 + 1e-6, "{there} users, {line} on the line");
        }
    }
}
