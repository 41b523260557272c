//! Limits within a process: the thread of an event loop and the heap of a garbage collector.

use super::{Limited, watched::WatchedMetric};

pub(crate) const EVENT_LOOP: &str = "event loop";
pub(crate) const HEAP: &str = "heap";

const LAG_S: f64 = 0.1;
/// Metrics of the event loop's lag: the median, or else the current value.
const LAGS: [&str; 2] = ["event-loop-lag-p50", "event-loop-lag"];
/// Share at which a heap counts as full, if garbage collection also takes much of the time.
const FULL: f64 = 0.95;
const COLLECTING_PERCENT: f64 = 10.0;

pub(super) fn limits(all: &[WatchedMetric]) -> Vec<Limited> {
    let loops = all.iter().filter_map(|one| {
        let is_told = |name: &str| {
            let mut others = all.iter();
            others.any(|other| other.source == one.source && other.metric == name)
        };
        let by = LAGS.into_iter().find(|name| is_told(name))?;
        (one.metric == by).then(|| {
            limited(
                EVENT_LOOP,
                one,
                "it runs tasks 0.1 s after they are due",
                |_, lag| lag >= LAG_S,
            )
        })
    });
    loops
        .chain(all.iter().filter_map(|one| heap(one, all)))
        .collect()
}

fn heap(used: &WatchedMetric, all: &[WatchedMetric]) -> Option<Limited> {
    let before = used.before("heap-used")?;
    let max = used.sibling(all, before, "heap-max")?;
    let collecting = used.sibling(all, before, "gc-time");
    // A heap is often full just before a garbage collection.
    let collects = |at_ns: u64| {
        let share = collecting.and_then(|collecting| collecting.at(at_ns));
        share.is_some_and(|share| share >= COLLECTING_PERCENT)
    };
    let is_full = |at_ns: u64, value: f64| {
        let there_is = max.at(at_ns).filter(|max| *max > 0.0);
        there_is.is_some_and(|max| value / max >= FULL) && collects(at_ns)
    };
    Some(limited(
        HEAP,
        used,
        "at least 95 % in use, and garbage collection takes at least 10 % of the time",
        is_full,
    ))
}

fn limited(
    resource: &'static str,
    by: &WatchedMetric,
    limit: &str,
    is_so: impl Fn(u64, f64) -> bool,
) -> Limited {
    Limited {
        pool: None,
        resource,
        source: by.source.clone(),
        metric: by.metric.clone(),
        limit: limit.to_owned(),
        size: 1.0,
        stretch: by.lasting(is_so),
    }
}

#[cfg(test)]
mod tests {
    use plan::units::SECOND;

    use super::{
        super::tests::{judged, metric},
        *,
    };

    fn lasting(source: &str, all: &[(&str, [f64; 2])]) -> Vec<WatchedMetric> {
        let values = |[before, after]: [f64; 2]| {
            (0..60).map(move |second| if second < 30 { before } else { after })
        };
        all.iter()
            .map(|(name, both)| metric(source, name, None, values(*both)))
            .collect()
    }

    #[test]
    fn an_event_loop_that_is_late_and_a_heap_that_is_full_are_named() {
        let first = |all: &[WatchedMetric]| {
            let found = judged(all);
            found.first.map(|place| {
                (
                    found.reached[place].resource.clone(),
                    found.reached[place].at_ns / SECOND,
                )
            })
        };
        let late = lasting(
            "app",
            &[
                ("event-loop-lag-p50", [0.01, 0.4]),
                ("event-loop-lag", [0.5, 0.5]),
            ],
        );
        assert_eq!(first(&late), Some((EVENT_LOOP.to_owned(), 31)));
        let calm = lasting(
            "app",
            &[
                ("event-loop-lag-p50", [0.01, 0.02]),
                ("event-loop-lag", [0.5, 0.5]),
            ],
        );
        assert_eq!(first(&calm), None);
        let by_moment = lasting("app", &[("event-loop-lag", [0.0, 0.2])]);
        assert_eq!(first(&by_moment), Some((EVENT_LOOP.to_owned(), 31)));
        let heap = |gc: f64| {
            lasting(
                "app",
                &[
                    ("heap-used", [50.0, 98.0]),
                    ("heap-max", [100.0, 100.0]),
                    ("gc-time", [1.0, gc]),
                ],
            )
        };
        assert_eq!(first(&heap(30.0)), Some((HEAP.to_owned(), 31)));
        assert_eq!(first(&heap(2.0)), None);
    }

    #[test]
    fn looks_of_a_source_that_looks_seldom_are_in_a_row() {
        let mut all = lasting(
            "db",
            &[
                ("connections-used", [3.0, 7.0]),
                ("connections-max", [7.0, 7.0]),
            ],
        );
        for look in all.iter_mut().flat_map(|one| &mut one.looks) {
            look.0 *= 15;
        }
        assert_eq!(judged(&all).reached[0].at_ns, 31 * 15 * SECOND);
    }
}
