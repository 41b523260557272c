//! Why all threads of a pool are busy: something holds them, or there are too few for the
//! computation.

use std::collections::BTreeMap;

use measure::TimeSpan;

use super::{BUSY, processor, watched::WatchedMetric};
use record::units;

const MOST: f64 = 0.6;
/// Minimum share of each holder if several holders are named together.
const PART: f64 = 0.15;
const WHOM: [&str; 4] = ["for", "downstream", "upstream", "on"];

pub(super) struct Cause {
    pub text: String,
    pub held_by: Option<String>,
}

/// Returns why a pool with this number of threads was full in this period. `None` if the figures do
/// not show the reason.
pub(super) fn cause(
    all: &[WatchedMetric],
    cores: Option<f64>,
    stretch: TimeSpan,
    threads: f64,
) -> Option<Cause> {
    // Without CPU figures, a thread that seems to wait may be waiting for the CPU.
    let processor = processor::share(all, cores, stretch)?;
    if processor >= BUSY || threads <= 0.0 {
        return None;
    }
    let share = units::share(processor);
    if let Some((holder, held)) =
        most(all, stretch, threads).filter(|(_, held)| held / threads >= MOST)
    {
        let text = format!(
            "held by {holder}: {} of {threads} threads wait for it, while the CPU is at {share}",
            units::decimal((held.min(threads) * 10.0).round() / 10.0)
        );
        return Some(Cause {
            text,
            held_by: Some(holder),
        });
    }
    let computing = processor::cores_in_use(all, cores, stretch)?;
    (computing / threads >= MOST).then(|| Cause {
        text: format!(
            "too small: its threads are busy computing, while the CPU is at only {share}"
        ),
        held_by: None,
    })
}

/// Returns the main holder and the mean number of threads that it holds. Holders that are called in
/// sequence may be named together.
fn most(all: &[WatchedMetric], stretch: TimeSpan, threads: f64) -> Option<(String, f64)> {
    // Group by metric and holder, so that a level and a sum of one quantity stay separate.
    let mut held: BTreeMap<&str, BTreeMap<String, f64>> = BTreeMap::new();
    for one in all {
        let Some(holder) = whom(one) else { continue };
        if let Some(mean) = one.mean(stretch) {
            *held
                .entry(&one.metric)
                .or_default()
                .entry(holder)
                .or_default() += mean;
        }
    }
    let reported = held.into_values().map(|by_whom| {
        let mut by_whom: Vec<(String, f64)> = by_whom.into_iter().collect();
        by_whom.sort_by(|a, b| b.1.total_cmp(&a.1));
        if by_whom[0].1 < MOST * threads {
            by_whom.retain(|(_, held)| *held >= PART * threads);
        } else {
            by_whom.truncate(1);
        }
        let names: Vec<String> = by_whom.iter().map(|(holder, _)| holder.clone()).collect();
        (
            names.join(" and "),
            by_whom.iter().map(|(_, held)| held).sum(),
        )
    });
    reported.max_by(|a: &(String, f64), b| a.1.total_cmp(&b.1))
}

fn whom(one: &WatchedMetric) -> Option<String> {
    let tells_waiting = one.metric.contains("waiting") || one.metric.contains("waiters");
    let tells_seconds = one.before("seconds_sum").is_some();
    if one.metric.contains("lock") && tells_waiting {
        return Some(match WHOM.iter().find_map(|label| one.label(label)) {
            Some(name) => format!("the lock {name}"),
            None => "a lock".to_owned(),
        });
    }
    if !tells_waiting && !tells_seconds {
        return None;
    }
    WHOM.iter()
        .find_map(|label| one.label(label))
        .map(ToOwned::to_owned)
}
