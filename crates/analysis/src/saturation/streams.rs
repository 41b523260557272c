//! The test's own HTTP/2 streams, as a pool that the server or the plan limits.

use measure::{TimeSpan, interval::Gauge};
use record::{IntervalRow, Run};

use super::{Limited, PoolLevel, pools};

pub const STREAMS: &str = "HTTP/2 streams";
/// Minimum share of streams in use, on average, for the pool to count as full while requests wait.
const FULL: f64 = 0.95;
/// Minimum number of consecutive full intervals, so that a burst does not count.
const LEAST: usize = 2;

/// Returns the limit on streams, with the times at which it was reached. `None` if the run did not
/// use HTTP/2.
pub(super) fn limit(run: &Run, waited: u64) -> Option<Limited> {
    let levels: Vec<StreamLevel> = run
        .totals
        .rows
        .iter()
        .filter_map(StreamLevel::new)
        .collect();
    let size = levels.iter().map(|level| level.size).fold(0.0, f64::max);
    if levels.is_empty() {
        return None;
    }
    let full = levels.chunk_by(|one, next| one.is_full() == next.is_full());
    let stretch = full
        .filter(|stretch| stretch[0].is_full() && stretch.len() >= LEAST)
        .map(|stretch| stretch[0].span.merged(stretch[stretch.len() - 1].span))
        .next()
        .filter(|_| waited > 0);
    Some(Limited {
        resource: STREAMS,
        source: "the test's connections".to_owned(),
        metric: "streams".to_owned(),
        limit: pools::left(size, stretch.is_some()),
        size,
        stretch,
        pool: Some(PoolLevel {
            waits: stretch.is_some(),
            free: levels
                .iter()
                .map(|level| (level.span.to_ns, level.size - level.open))
                .collect(),
        }),
    })
}

struct StreamLevel {
    span: TimeSpan,
    open: f64,
    size: f64,
}

impl StreamLevel {
    /// Creates the level of an interval. `None` if no connection was open or the limit is unknown.
    fn new(row: IntervalRow) -> Option<StreamLevel> {
        let http2 = &row.run.http2;
        let mean =
            |gauge: Gauge| (gauge.samples > 0).then(|| gauge.sum as f64 / gauge.samples as f64);
        let size = http2.stream_limit as f64 * mean(http2.connections)?;
        (size > 0.0).then_some(StreamLevel {
            span: row.span,
            open: mean(http2.streams)?,
            size,
        })
    }

    fn is_full(&self) -> bool {
        self.open >= FULL * self.size
    }
}

#[cfg(test)]
mod tests {
    use plan::{Format, Load, Plan};
    use record::{Manifest, RunContext};

    use super::*;

    /// Returns a run with this number of open streams in each second, on two connections with ten
    /// streams each.
    fn run(open: &[u64]) -> Run {
        let target = "http://127.0.0.1:1".to_owned();
        let plan = Plan::new("p".into(), Format::NATIVE, target, Load::Once, Vec::new());
        let mut run = Run::planned(Manifest::new(&plan, RunContext::default()), Vec::new());
        for (index, open) in open.iter().enumerate() {
            let second = 1_000_000_000 * index as u64;
            let mut row = IntervalRow {
                index: index as u64,
                span: TimeSpan::new(second, second + 1_000_000_000),
                ..IntervalRow::default()
            };
            row.run.http2.stream_limit = 10;
            row.run.http2.connections.sample(2);
            row.run.http2.streams.sample(*open);
            run.totals.rows.add(row);
        }
        run
    }

    #[test]
    fn streams_that_stay_full_are_a_limit() {
        let found = limit(&run(&[4, 20, 20, 20, 3]), 9).expect("a pool");
        assert_eq!(found.limit, "0 of 20 left, and requests wait");
        assert_eq!(
            found.stretch,
            Some(TimeSpan::new(1_000_000_000, 4_000_000_000))
        );
    }

    #[test]
    fn a_burst_or_a_load_that_fits_is_not() {
        for (open, waited) in [(&[4, 20, 4, 20][..], 9), (&[20, 20, 20], 0), (&[19, 18], 9)] {
            let stretch = limit(&run(open), waited).expect("a pool").stretch;
            assert_eq!(stretch, None, "{open:?}");
        }
        assert!(limit(&run(&[]), 0).is_none());
    }
}
