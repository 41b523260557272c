//! The run over time, in at most 720 points (60 per label). Points contain distributions, so
//! percentiles are never averaged.

mod curve;
mod custom;

use std::collections::BTreeMap;

use measure::{Label, LabelId, OutcomeClass, Slot, TimeKind, label, label::LabelGroup};

pub use curve::{Curve, Point};
pub use custom::{CustomHistory, CustomKey, MOST_CUSTOM};

use crate::{IntervalRecord, LabelTotals};

pub const POINTS: usize = 720;
pub const SPARK_POINTS: usize = 60;

/// Number of times that the resolution of wide points of all requests is halved. Labels have a
/// lower resolution, because a run may have a thousand of them (see [`Curve::new`]).
const HALVINGS_OF_ALL: u32 = 2;
const HALVINGS_OF_LABEL: u32 = 4;

const OF_ALL: [TimeKind; 8] = [
    TimeKind::Lateness,
    TimeKind::Wait,
    TimeKind::Service,
    TimeKind::Response,
    TimeKind::Connect,
    TimeKind::Tls,
    TimeKind::Ttft,
    TimeKind::Gap,
];
const OF_LABEL: [TimeKind; 3] = [TimeKind::Service, TimeKind::Response, TimeKind::Iteration];

#[derive(Debug, Clone)]
pub struct History {
    /// Wall clock at the start of the run. Points end at whole seconds of the wall clock.
    zero_wall_ns: u64,
    pub all: Curve,
    pub iterations: Curve,
    pub labels: BTreeMap<LabelId, Curve>,
    pub custom: CustomHistory,
}

impl Default for History {
    fn default() -> History {
        History::new(0)
    }
}

impl History {
    #[must_use]
    pub fn new(zero_wall_ns: u64) -> History {
        History {
            zero_wall_ns,
            all: Curve::new(POINTS, HALVINGS_OF_ALL),
            iterations: Curve::new(POINTS, HALVINGS_OF_ALL),
            labels: BTreeMap::new(),
            custom: CustomHistory::default(),
        }
    }

    #[must_use]
    pub fn second(&self, at_ns: u64) -> u64 {
        (self.zero_wall_ns + at_ns) / 1_000_000_000
    }

    pub fn add(&mut self, frame: &IntervalRecord, labels: &[Label]) {
        let second = self.second(frame.span.from_ns);
        self.all.reach(second, frame.span);
        self.iterations.reach(second, frame.span);
        let width_s = self.all.width_ns() / 1_000_000_000;
        self.custom.add(second, width_s, &frame.custom);
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
