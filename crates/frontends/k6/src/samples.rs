//! Receives the samples of a worker.

use std::{cell::RefCell, sync::Arc};

use k6::{
    aggregate::Aggregator,
    metric::{MetricId, SampleSink},
    options::settings::SummaryMode,
    output::json::Sample,
    tags::Tags,
};

use crate::{outputs::Outputs, shared::Shared};

/// The samples of a run.
pub struct SampleReceiver {
    pub aggregator: RefCell<Aggregator>,
    pub outputs: RefCell<Outputs>,
    shared: Arc<Shared>,
}

impl SampleReceiver {
    pub fn new(shared: &Arc<Shared>) -> SampleReceiver {
        let is_full = shared.settings.summary_mode == Some(SummaryMode::Full);
        let selections = shared.thresholds.selections();
        let aggregator = Aggregator::new(&shared.registry, &selections, is_full);
        SampleReceiver {
            aggregator: RefCell::new(aggregator),
            outputs: RefCell::new(shared.take_outputs()),
            shared: Arc::clone(shared),
        }
    }
}

impl SampleSink for SampleReceiver {
    fn add(&self, wall_ns: i64, tags: &Tags, values: &[(MetricId, f64)]) {
        self.aggregator.borrow_mut().add(wall_ns, tags, values);
        let mut outputs = self.outputs.borrow_mut();
        if outputs.is_empty() {
            return;
        }
        for (metric, value) in values {
            let sample = Sample {
                wall_ns,
                metric: *metric,
                value: *value,
                tags,
                metadata: &[],
            };
            outputs.push(&sample, &self.shared.registry, &self.shared.thresholds);
        }
    }
}
