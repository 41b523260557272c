//! The run over time, kept small: what was counted in each of at most 720 points (and, label by label, of at most 60), with whole
//! distributions, so that percentiles of wider points are computed and never averaged. What is shown of it is `series`' business.

mod curve;

use std::collections::BTreeMap;

use measure::{Label, LabelId, OutcomeClass, Slot, TimeKind, label, label::LabelGroup};

pub use curve::{Curve, Point};

use crate::{IntervalRecord, LabelTotals};

/// Points of a chart.
pub const POINTS: usize = 720;
/// Points of a sparkline.
pub const SPARK_POINTS: usize = 60;

/// Resolution of points that are wider than a second, of all requests and of a label ([`Curve::new`]). A label's are drawn as
/// sparklines, and a run may have a thousand labels.
const HALVINGS_OF_ALL: u32 = 2;
const HALVINGS_OF_LABEL: u32 = 4;

/// What a chart of all requests is drawn from.
const OF_ALL: [TimeKind; 6] = [
    TimeKind::Lateness,
    TimeKind::Wait,
    TimeKind::Service,
    TimeKind::Response,
    TimeKind::Connect,
    TimeKind::Tls,
];
/// What a label's sparkline, and a criterion on it, is drawn from.
const OF_LABEL: [TimeKind; 3] = [TimeKind::Service, TimeKind::Response, TimeKind::Iteration];

/// A run over time.
#[derive(Debug, Clone)]
pub struct History {
    /// Where the run's zero lies on the wall clock: points are cut at its whole seconds.
    zero_wall_ns: u64,
    /// All requests.
    pub all: Curve,
    /// All iterations together.
    pub iterations: Curve,
    /// By label, requests and iterations.
    pub labels: BTreeMap<LabelId, Curve>,
}

impl Default for History {
    fn default() -> History {
        History::new(0)
    }
}

impl History {
    /// The history of a run that starts at this moment of the wall clock.
    #[must_use]
    pub fn new(zero_wall_ns: u64) -> History {
        History {
            zero_wall_ns,
            all: Curve::new(POINTS, HALVINGS_OF_ALL),
            iterations: Curve::new(POINTS, HALVINGS_OF_ALL),
            labels: BTreeMap::new(),
        }
    }

    /// The second of the wall clock, counted from its zero, in which a moment of the run lies.
    #[must_use]
    pub fn second(&self, at_ns: u64) -> u64 {
        (self.zero_wall_ns + at_ns) / 1_000_000_000
    }

    /// Adds an interval; `labels` says which of its labels count iterations.
    pub fn add(&mut self, frame: &IntervalRecord, labels: &[Label]) {
        let second = self.second(frame.span.0);
        // An interval in which nothing was counted is a point all the same: of nothing.
        self.all.reach(second, frame.span);
        self.iterations.reach(second, frame.span);
        for ((id, _), part) in &frame.parts {
            if *id == label::ALL {
                add(self.all.reach(second, frame.span), part, &OF_ALL);
                continue;
            }
            let is_iteration =
                |known: &&Label| known.id == *id && known.group == LabelGroup::Iteration;
            if labels.iter().any(|known| is_iteration(&known)) {
                add(self.iterations.reach(second, frame.span), part, &OF_LABEL);
            }
            let line = self.labels.entry(*id);
            let line = line.or_insert_with(|| Curve::new(SPARK_POINTS, HALVINGS_OF_LABEL));
            add(line.reach(second, frame.span), part, &OF_LABEL);
        }
    }
}

/// Adds a part's counters and these kinds of its times. Failures by reason are in the totals.
fn add(point: &mut Slot, part: &LabelTotals, kinds: &[TimeKind]) {
    point.counters.add(&part.slot.counters);
    for kind in kinds {
        for outcome in OutcomeClass::ALL {
            if let Some(histogram) = part.slot.histogram(*kind, outcome) {
                point.histogram_mut(*kind, outcome).add(histogram);
            }
        }
    }
}
