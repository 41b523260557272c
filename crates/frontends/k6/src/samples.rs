//! Receives the samples of a worker.

use std::cell::RefCell;

use k6::{
    aggregate::Aggregator,
    metric::{MetricId, SampleSink},
    options::settings::SummaryMode,
    tags::Tags,
};

use crate::shared::Shared;

/// The samples of a run.
pub struct Samples {
    pub aggregator: RefCell<Aggregator>,
}

impl Samples {
    pub fn new(shared: &Shared) -> Samples {
        let is_full = shared.settings.summary_mode == Some(SummaryMode::Full);
        let selections = shared.thresholds.selections();
        let aggregator = Aggregator::new(&shared.registry, &selections, is_full);
        Samples {
            aggregator: RefCell::new(aggregator),
        }
    }
}

impl SampleSink for Samples {
    fn add(&self, wall_ns: i64, tags: &Tags, values: &[(MetricId, f64)]) {
        self.aggregator.borrow_mut().add(wall_ns, tags, values);
    }
}
