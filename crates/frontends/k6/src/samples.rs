//! Receives the samples of a worker.

use std::{borrow::Cow, cell::RefCell, rc::Rc, sync::Arc};

use k6::{
    aggregate::Aggregator,
    metric::{self, MetricId, MetricType, SampleSink},
    options::settings::SummaryMode,
    output::json::Sample,
    tags::Tags,
};
use measure::{accumulator::Event, custom::CustomKind};
use worker::Worker;

use crate::{outputs::WorkerOutputs, shared::Shared};

/// The samples of a worker.
pub struct SampleReceiver {
    worker: Rc<Worker>,
    /// Samples that were not handed in yet.
    aggregator: RefCell<Aggregator>,
    outputs: RefCell<WorkerOutputs>,
    shared: Arc<Shared>,
}

/// Returns an aggregator without samples.
pub fn aggregator(shared: &Shared) -> Aggregator {
    let is_full = shared.settings.summary_mode == Some(SummaryMode::Full);
    Aggregator::new(&shared.registry, &shared.thresholds.selections(), is_full)
}

impl SampleReceiver {
    pub fn new(worker: &Rc<Worker>, shared: &Arc<Shared>) -> SampleReceiver {
        SampleReceiver {
            worker: Rc::clone(worker),
            aggregator: RefCell::new(aggregator(shared)),
            outputs: RefCell::new(shared.worker_outputs()),
            shared: Arc::clone(shared),
        }
    }

    /// Adds the samples to those of the other workers.
    pub fn hand_in(&self) {
        let samples = self.aggregator.replace(aggregator(&self.shared));
        self.shared.team.hand_in(samples);
    }

    /// Hands the lines of the outputs to their threads.
    pub fn flush(&self) {
        self.outputs.borrow_mut().flush();
    }
}

impl SampleReceiver {
    /// Records checks and the script's own metrics, so that reports show them.
    fn record(&self, tags: &Tags, values: &[(MetricId, f64)]) {
        for (id, value) in values {
            if *id == metric::CHECKS {
                self.record_check(tags, *value);
            } else if !id.is_built_in() {
                self.record_metric(*id, *value);
            }
        }
    }

    fn record_check(&self, tags: &Tags, value: f64) {
        let check = tags.get("check").unwrap_or_default();
        let group = tags.get("group").unwrap_or_default();
        let name = match group.trim_start_matches("::") {
            "" => Cow::Borrowed(check),
            group => Cow::Owned(format!("{group}::{check}")),
        };
        self.event(&Event::Observed {
            kind: CustomKind::Check,
            name: &name,
            value,
        });
    }

    fn record_metric(&self, id: MetricId, value: f64) {
        let metric = self.shared.registry.get(id);
        let name = metric.name.as_str();
        let kind = match metric.metric_type {
            MetricType::Counter => CustomKind::Sum,
            MetricType::Gauge => CustomKind::Gauge,
            MetricType::Rate => CustomKind::Share,
            MetricType::Trend => CustomKind::Histogram,
        };
        let value = match kind {
            CustomKind::Share => f64::from(u8::from(value != 0.0)),
            _ => value,
        };
        self.event(&Event::Observed { kind, name, value });
    }

    fn event(&self, event: &Event<'_>) {
        let now_ns = self.worker.clock.now();
        self.worker.recorder.borrow_mut().frontend(now_ns, event);
    }
}

impl SampleSink for SampleReceiver {
    fn add(&self, wall_ns: i64, tags: &Tags, values: &[(MetricId, f64)]) {
        self.aggregator.borrow_mut().add(wall_ns, tags, values);
        self.record(tags, values);
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
