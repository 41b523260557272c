//! Detects a service that changes during the search. If levels fail below earlier passes, the
//! search repeats a probe.

use statistics::{Movement, Observation, movement};

use super::{ProbeReason, ProbeResult};

const SUSPECTED: f64 = 1.5;
const SURE: f64 = 5.0;
const LIKELY: f64 = 3.0;
/// Number of long probes after which a passed level is always repeated.
const UNTIL_AGAIN: usize = 5;
const MOST_AGAIN: usize = 5;
const BETWEEN_AGAIN: usize = 2;
const LEAST: f64 = 0.06;
const KEEPS_UP: f64 = 0.95;
const DEVIATIONS: f64 = 3.5;
const SAME_LEVEL: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Drift {
    None,
    Suspected { level: f64, likely: Option<f64> },
    Likely(f64),
    Sure(f64),
}

pub(super) fn drift(complete: &[&ProbeResult], around: f64) -> Drift {
    let moves = moves(complete, around);
    let moves = moves.filter(|moves| moves.by.abs() >= LEAST && moves.evidence >= SUSPECTED);
    let again: Vec<usize> = (0..complete.len())
        .filter(|number| complete[*number].reason == ProbeReason::Again)
        .collect();
    let mut likely = None;
    let mut failed_again = again.iter().filter(|number| !complete[**number].holds());
    if let Some(moves) = moves
        && failed_again.clone().next().is_some()
    {
        if moves.evidence >= SURE {
            return Drift::Sure(moves.by);
        }
        likely = (moves.evidence >= LIKELY).then_some(moves.by);
    }
    let fell = failed_again.find_map(|number| fell_by(complete, *number));
    if let Some(by) = fell {
        return Drift::Sure(by);
    }
    // Repeat once per search, and whenever a falling load line fits better.
    let since = again.last().map_or(0, |number| number + 1);
    let count = complete[since..]
        .iter()
        .filter(|probe| probe.reason.is_long())
        .count();
    let is_due = again.is_empty() && count >= UNTIL_AGAIN;
    let has_just_failed = since == complete.len()
        && again
            .last()
            .is_some_and(|number| !complete[*number].holds());
    let is_time = has_just_failed || count >= BETWEEN_AGAIN;
    let contradicts = is_time && moves.is_some_and(|moves| moves.by < 0.0);
    match highest_held(complete) {
        Some(level) if is_due || contradicts && again.len() < MOST_AGAIN => {
            Drift::Suspected { level, likely }
        }
        _ => likely.map_or(Drift::None, Drift::Likely),
    }
}

/// Returns how much the throughput has fallen since an earlier probe at the same level, as a
/// difference of logarithms. `None` if chance can explain it.
fn fell_by(complete: &[&ProbeResult], number: usize) -> Option<f64> {
    let rate = |probe: &ProbeResult| {
        let seconds = probe.tallies.first()?.seconds.len() as f64;
        Some((probe.answered?, seconds.max(1.0)))
    };
    let now = complete[number];
    let mut held = complete[..number].iter().filter(|before| {
        before.reason.is_long()
            && before.holds()
            && (before.level / now.level - 1.0).abs() < SAME_LEVEL
    });
    let ((before, before_s), (after, after_s)) = (rate(held.next_back()?)?, rate(now)?);
    let deviation = (before / before_s + after / after_s).sqrt();
    let is_less = before - after > DEVIATIONS * deviation && after < KEEPS_UP * before;
    is_less.then(|| (after / before).ln())
}

impl Drift {
    pub(super) fn at_the_end(self) -> Option<f64> {
        match self {
            Drift::None => None,
            Drift::Suspected { likely, .. } => likely,
            Drift::Likely(by) | Drift::Sure(by) => Some(by),
        }
    }
}

fn moves(complete: &[&ProbeResult], around: f64) -> Option<Movement> {
    let total: f64 = complete.iter().map(|probe| probe.spent_s).sum();
    let mut now = 0.0;
    let mut looks = Vec::new();
    for probe in complete {
        let middle = now + probe.spent_s / 2.0;
        now += probe.spent_s;
        if probe.reason.is_long() {
            let look = Observation {
                at: probe.level.ln(),
                n: 1.0,
                over: f64::from(u8::from(!probe.holds())),
            };
            looks.push((middle / total, look));
        }
    }
    movement(&looks, 0.5, around)
}

/// Returns the highest passed level that later probes have not confirmed.
fn highest_held(complete: &[&ProbeResult]) -> Option<f64> {
    let held = complete.iter().enumerate().filter(|(number, probe)| {
        let known_now = |other: &&ProbeResult| {
            let is_same = (other.level / probe.level - 1.0).abs() < SAME_LEVEL;
            let holds_above = other.holds() && other.level >= probe.level;
            let fails_below = !other.holds() && other.level <= probe.level;
            other.reason == ProbeReason::Again && (is_same || holds_above || fails_below)
        };
        probe.reason.is_long() && probe.holds() && !complete[number + 1..].iter().any(known_now)
    });
    held.map(|(_, probe)| probe.level).max_by(f64::total_cmp)
}
