//! Numbers of virtual users over time.
//!
//! All arithmetic is exact, in whole nanoseconds.

use std::collections::VecDeque;

use super::{RampingVus, Stage, total_duration};

/// A number of virtual users that applies from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VuStep {
    /// Nanoseconds from the scenario's start.
    pub at_ns: u64,
    /// Number of active virtual users from that time.
    pub vus: u64,
}

/// An iterator over the changes of the number of active virtual users. The first step is at 0.
#[derive(Debug, Clone)]
pub struct VuSteps<'a> {
    stages: &'a [Stage],
    stage_end_ns: u64,
    /// Number of virtual users at the beginning of the current stage.
    from: u64,
    to: u64,
    duration_ns: u64,
    vus: u64,
    is_first: bool,
}

/// Maximum number of steps for which the virtual users of overlapping scenarios are added up
/// exactly.
const MAX_STEPS: u64 = 1_000_000;

impl RampingVus {
    /// Returns when virtual users start and stop. Numbers change by 1, except in stages without
    /// duration. Virtual users with the lowest numbers stay.
    #[must_use]
    pub fn steps(&self) -> VuSteps<'_> {
        VuSteps {
            stages: &self.stages,
            stage_end_ns: 0,
            from: self.start_vus,
            to: self.start_vus,
            duration_ns: 0,
            vus: self.start_vus,
            is_first: true,
        }
    }

    /// Returns the number of active virtual users at a time.
    #[must_use]
    pub fn vus_at(&self, at_ns: u64) -> u64 {
        let mut start_ns = 0_u64;
        let mut from = self.start_vus;
        for stage in &self.stages {
            let end_ns = start_ns.saturating_add(stage.duration_ns);
            if at_ns < end_ns {
                return vus_within(from, *stage, end_ns - at_ns);
            }
            start_ns = end_ns;
            from = stage.target;
        }
        from
    }

    /// Returns the number of steps in all stages.
    fn step_count(&self) -> u64 {
        let mut from = self.start_vus;
        let mut count = 0_u64;
        for stage in &self.stages {
            count = count.saturating_add(stage.target.abs_diff(from));
            from = stage.target;
        }
        count
    }

    /// Returns how many virtual users this scenario needs over time: the active ones, and those
    /// that are finishing after a step down. The last step is to 0. Ramps with more than a million
    /// steps count with their maximum for their whole duration.
    #[must_use]
    pub fn reserved_steps(&self, graceful_stop_ns: u64) -> Vec<VuStep> {
        let end_ns = total_duration(&self.stages);
        let latest_ns = end_ns.saturating_add(graceful_stop_ns);
        if self.step_count() > MAX_STEPS {
            let targets = self.stages.iter().map(|stage| stage.target);
            let vus = targets.fold(self.start_vus, u64::max);
            let last = VuStep {
                at_ns: latest_ns,
                vus: 0,
            };
            return vec![VuStep { at_ns: 0, vus }, last];
        }
        let mut reserved = Reserved {
            steps: Vec::new(),
            active: 0,
            finishing: VecDeque::new(),
            finishing_count: 0,
        };
        for step in self.steps() {
            reserved.release_until(Some(step.at_ns));
            let release_ns = step.at_ns.saturating_add(self.graceful_ramp_down_ns);
            reserved.set_active(step, release_ns.min(latest_ns));
        }
        if reserved.active > 0 {
            reserved.set_active(
                VuStep {
                    at_ns: end_ns,
                    vus: 0,
                },
                latest_ns,
            );
        }
        reserved.release_until(None);
        reserved.steps
    }

    /// Returns the latest time at which the last virtual user ends.
    #[must_use]
    pub fn last_reserved_ns(&self, graceful_stop_ns: u64) -> u64 {
        let end_ns = total_duration(&self.stages);
        let latest_ns = end_ns.saturating_add(graceful_stop_ns);
        if self.vus_at(end_ns) > 0 {
            return latest_ns;
        }
        let mut last_ns = 0;
        let mut start_ns = 0_u64;
        let mut from = self.start_vus;
        for stage in &self.stages {
            let stage_end_ns = start_ns.saturating_add(stage.duration_ns);
            if from > 0 && stage.target == 0 {
                last_ns = stage_end_ns;
            }
            from = stage.target;
            start_ns = stage_end_ns;
        }
        last_ns
            .saturating_add(self.graceful_ramp_down_ns)
            .min(latest_ns)
    }
}

/// Returns the number of active virtual users in a stage, `left_ns` (> 0) before its end.
fn vus_within(from: u64, stage: Stage, left_ns: u64) -> u64 {
    let span = stage.target.abs_diff(from);
    // A ramp is `n` virtual users away from its target from `D·n/span` before the end.
    let missing = first_true(span, |steps| {
        let before_end = u128::from(steps) * u128::from(stage.duration_ns) / u128::from(span);
        before_end >= u128::from(left_ns)
    });
    if stage.target > from {
        stage.target - missing
    } else {
        stage.target + missing
    }
}

/// Returns the smallest number from 0 to `count` for which a monotone condition is true, or
/// `count`.
fn first_true(count: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

impl VuSteps<'_> {
    /// Returns the time at which a ramp reaches a number of virtual users.
    fn moment(&self, vus: u64) -> u64 {
        let before_end = u128::from(self.duration_ns) * u128::from(self.to.abs_diff(vus))
            / u128::from(self.to.abs_diff(self.from).max(1));
        let before_end = u64::try_from(before_end).unwrap_or(u64::MAX);
        self.stage_end_ns.saturating_sub(before_end)
    }
}

impl Iterator for VuSteps<'_> {
    type Item = VuStep;

    fn next(&mut self) -> Option<VuStep> {
        if self.is_first {
            self.is_first = false;
            return Some(VuStep {
                at_ns: 0,
                vus: self.vus,
            });
        }
        while self.vus == self.to {
            let (stage, rest) = self.stages.split_first()?;
            self.stages = rest;
            self.stage_end_ns = self.stage_end_ns.saturating_add(stage.duration_ns);
            self.duration_ns = stage.duration_ns;
            self.from = self.vus;
            self.to = stage.target;
            if stage.duration_ns == 0 && self.to != self.vus {
                self.vus = self.to;
                return Some(VuStep {
                    at_ns: self.stage_end_ns,
                    vus: self.vus,
                });
            }
        }
        if self.to > self.vus {
            self.vus += 1;
        } else {
            self.vus -= 1;
        }
        Some(VuStep {
            at_ns: self.moment(self.vus),
            vus: self.vus,
        })
    }
}

/// Virtual users that stopped at the same time and are finishing.
struct Finishing {
    count: u64,
    release_ns: u64,
}

struct Reserved {
    steps: Vec<VuStep>,
    active: u64,
    /// Finishing virtual users, from the highest numbers, which stopped first, to the lowest.
    finishing: VecDeque<Finishing>,
    finishing_count: u64,
}

impl Reserved {
    fn push(&mut self, at_ns: u64) {
        let vus = self.active.saturating_add(self.finishing_count);
        match self.steps.last_mut() {
            Some(last) if last.vus == vus => {}
            Some(last) if last.at_ns == at_ns => last.vus = vus,
            _ => self.steps.push(VuStep { at_ns, vus }),
        }
    }

    /// Releases virtual users whose time ends before `now_ns`. `None` releases all.
    fn release_until(&mut self, now_ns: Option<u64>) {
        while let Some(group) = self.finishing.front() {
            let release_ns = group.release_ns;
            if now_ns.is_some_and(|now_ns| release_ns >= now_ns) {
                break;
            }
            self.finishing_count -= group.count;
            self.finishing.pop_front();
            self.push(release_ns);
        }
    }

    fn set_active(&mut self, step: VuStep, release_ns: u64) {
        if step.vus < self.active {
            let count = self.active - step.vus;
            self.finishing.push_back(Finishing { count, release_ns });
            self.finishing_count += count;
        }
        // Virtual users that are finishing become active again, lowest numbers first.
        let mut more = step.vus.saturating_sub(self.active);
        while let Some(group) = self.finishing.back_mut().filter(|_| more > 0) {
            let taken = more.min(group.count);
            group.count -= taken;
            self.finishing_count -= taken;
            more -= taken;
            if group.count == 0 {
                self.finishing.pop_back();
            }
        }
        self.active = step.vus;
        self.push(step.at_ns);
    }
}

/// Returns the largest sum of several numbers over time.
pub(super) fn maximum_overlap(requirements: &[Vec<VuStep>]) -> u64 {
    struct Change {
        at_ns: u64,
        delta: i128,
    }
    let mut changes = Vec::new();
    for steps in requirements {
        let mut before = 0_i128;
        for step in steps {
            let vus = i128::from(step.vus);
            changes.push(Change {
                at_ns: step.at_ns,
                delta: vus - before,
            });
            before = vus;
        }
    }
    // Of simultaneous changes, process returned virtual users before requested ones.
    changes.sort_by_key(|change| (change.at_ns, change.delta));
    let mut sum = 0_i128;
    let mut largest = 0_i128;
    for change in changes {
        sum += change.delta;
        largest = largest.max(sum);
    }
    u64::try_from(largest).unwrap_or(u64::MAX)
}
