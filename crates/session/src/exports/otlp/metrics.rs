//! The metrics of a run as an OTLP request. Names and attributes follow OpenTelemetry's semantic
//! conventions where these define one.

use std::collections::BTreeMap;

use measure::{
    Interval, Label, LabelId, NoAnswer, OutcomeClass, Slot, TimeKind,
    label::{self, LabelGroup, Role},
    slot::Counters,
};
use record::Run;

use super::run_identity::{AttributeValue, Attributes, OPENING, RunIdentity, attribute};
use crate::exports::{
    exponential::{self, ExponentialHistogram},
    protobuf::Message,
};

const DELTA: u64 = 1;
const CUMULATIVE: u64 = 2;

/// Field numbers from opentelemetry/proto/metrics/v1/metrics.proto.
mod field {
    pub const METRIC_GAUGE: u64 = 5;
    pub const METRIC_SUM: u64 = 7;
    pub const METRIC_EXPONENTIAL_HISTOGRAM: u64 = 10;
    pub const SUM_IS_MONOTONIC: u64 = 3;
    pub const POINT_START: u64 = 2;
    pub const POINT_TIME: u64 = 3;
    pub const NUMBER_AS_INT: u64 = 6;
    pub const NUMBER_ATTRIBUTES: u64 = 7;
    pub const HISTOGRAM_ATTRIBUTES: u64 = 1;
    pub const HISTOGRAM_COUNT: u64 = 4;
    pub const HISTOGRAM_SUM: u64 = 5;
    pub const HISTOGRAM_SCALE: u64 = 6;
    pub const HISTOGRAM_ZERO_COUNT: u64 = 7;
    pub const HISTOGRAM_POSITIVE: u64 = 8;
    pub const HISTOGRAM_MIN: u64 = 12;
    pub const HISTOGRAM_MAX: u64 = 13;
}

/// The sums of intervals.
#[derive(Default)]
pub(super) struct MetricTotals {
    labels: BTreeMap<LabelId, LabelTotals>,
    arrivals: [u64; 3],
    levels: [u64; 3],
}

#[derive(Default)]
struct LabelTotals {
    counters: Counters,
    times: BTreeMap<(TimeKind, OutcomeClass), ExponentialHistogram>,
}

impl LabelTotals {
    fn add(&mut self, slot: &Slot, kinds: &[TimeKind]) {
        self.counters.add(&slot.counters);
        for (kind, outcome, times) in slot.histograms() {
            if kinds.contains(&kind) {
                self.times.entry((kind, outcome)).or_default().add(times);
            }
        }
    }
}

impl MetricTotals {
    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval, labels: &BTreeMap<LabelId, Label>) {
        for ((id, _), slot) in &interval.slots {
            let group = labels.get(id).map(|label| label.group);
            let kinds: &[TimeKind] = match group {
                _ if *id == label::ALL => &[TimeKind::Lateness, TimeKind::Wait],
                Some(group) => match group.role() {
                    Role::Request => &[TimeKind::Service, TimeKind::Response],
                    Role::Iteration => &[TimeKind::Iteration],
                    Role::Aside => continue,
                },
                None => continue,
            };
            self.labels.entry(*id).or_default().add(slot, kinds);
        }
        let run = &interval.run;
        let arrivals = [run.due, run.started, run.skipped];
        self.arrivals
            .iter_mut()
            .zip(arrivals)
            .for_each(|(sum, n)| *sum += n);
        self.levels = [run.in_flight.last, run.users.last, run.connections];
    }

    /// Resets all sums, but keeps the levels.
    pub fn clear(&mut self) {
        self.labels.clear();
        self.arrivals = [0; 3];
    }

    /// Sets the levels to their values after the load.
    pub fn end(&mut self) {
        self.levels = [0; 3];
    }
}

/// The period of a request's points, in nanoseconds since 1970.
#[derive(Clone, Copy)]
pub(super) struct Period {
    pub from_ns: u64,
    pub to_ns: u64,
}

/// Writes the OTLP requests of one run.
pub(super) struct RequestWriter {
    pub run: RunIdentity,
    is_delta: bool,
}

impl RequestWriter {
    /// Creates a writer for a run that is about to start.
    pub fn new(resource: &[(String, String)], is_delta: bool, run: Run) -> RequestWriter {
        RequestWriter {
            run: RunIdentity::new(resource, run),
            is_delta,
        }
    }

    /// Returns an encoded `ExportMetricsServiceRequest`.
    pub fn request(&self, totals: &MetricTotals, period: Period) -> Vec<u8> {
        self.run.request(|scope| {
            let mut metrics = Metrics {
                scope,
                period,
                temporality: if self.is_delta { DELTA } else { CUMULATIVE },
            };
            self.metrics(&mut metrics, totals);
        })
    }

    fn metrics(&self, metrics: &mut Metrics<'_>, totals: &MetricTotals) {
        let of_group = |wanted: fn(LabelGroup) -> bool| {
            let known = totals.labels.iter();
            let known = known.filter(|(id, _)| **id != label::ALL);
            let known = known.filter_map(|(id, sums)| Some((self.run.labels.get(id)?, sums)));
            let wanted = known.filter(|(label, _)| wanted(label.group));
            wanted.collect::<Vec<(&Label, &LabelTotals)>>()
        };
        let mut http = of_group(|group| group == LabelGroup::Request);
        // These requests open connections of other protocols.
        http.retain(|(label, _)| label.method != OPENING);
        let requests = of_group(|group| group.role() == Role::Request);
        let service = self.times(&http, TimeKind::Service);
        metrics.histogram("http.client.request.duration", &service);
        let response = self.times(&requests, TimeKind::Response);
        metrics.histogram("loadline.request.response.duration", &response);
        self.counters(metrics, &requests);
        for (name, tag, rows) in [
            (
                "iteration",
                "loadline.scenario",
                of_group(|group| group == LabelGroup::Iteration),
            ),
            (
                "transaction",
                "loadline.transaction",
                of_group(|group| group == LabelGroup::Transaction),
            ),
        ] {
            let mut points = Vec::new();
            for (label, sums) in rows {
                for (outcome, times) in sums.times_of(TimeKind::Iteration) {
                    let text = AttributeValue::Text(&label.text);
                    points.push((vec![(tag, text), outcome_attribute(outcome)], times));
                }
            }
            metrics.histogram(&format!("loadline.{name}.duration"), &points);
        }
        let all = totals.labels.get(&label::ALL);
        for (name, kind) in [
            ("loadline.lateness", TimeKind::Lateness),
            ("loadline.request.wait.duration", TimeKind::Wait),
        ] {
            let times = all.into_iter().flat_map(|all| all.times_of(kind));
            let points: Vec<_> = times.map(|(_, times)| (Vec::new(), times)).collect();
            metrics.histogram(name, &points);
        }
        let states = ["due", "started", "skipped"]
            .into_iter()
            .zip(totals.arrivals);
        let arrivals = states.map(|(state, n)| {
            (
                vec![("loadline.arrival.state", AttributeValue::Text(state))],
                n,
            )
        });
        metrics.counter(
            "loadline.arrivals",
            "{arrival}",
            &arrivals.collect::<Vec<_>>(),
        );
        let [in_flight, users, connections] = totals.levels;
        metrics.gauge("loadline.requests.in_flight", "{request}", in_flight);
        metrics.gauge("loadline.users", "{user}", users);
        metrics.gauge("loadline.connections", "{connection}", connections);
    }

    fn counters(&self, metrics: &mut Metrics<'_>, requests: &[(&Label, &LabelTotals)]) {
        let mut issued = Vec::new();
        let mut ended = Vec::new();
        let mut responses = Vec::new();
        let mut unanswered = Vec::new();
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for (label, LabelTotals { counters, .. }) in requests {
            let attributes = self.run.label_attributes(label);
            let with = |more| [attributes.clone(), vec![more]].concat();
            for (outcome, n) in [
                (OutcomeClass::Ok, counters.ok),
                (OutcomeClass::Failed, counters.failed),
                (OutcomeClass::Unanswered, counters.without_answer()),
            ] {
                ended.push((with(outcome_attribute(outcome)), n));
            }
            for (code, n) in &counters.codes.0 {
                // Protocols without numeric status have codes such as `websocket:1011`.
                let code = code.to_string();
                responses.push((label, code, *n));
            }
            for class in NoAnswer::ALL {
                let n = counters.unanswered[class as usize];
                if n > 0 {
                    let cause = ("error.type", AttributeValue::Text(class.name()));
                    unanswered.push((with(cause), n));
                }
            }
            issued.push((attributes.clone(), counters.issued));
            sent.push((attributes.clone(), counters.bytes_out));
            received.push((attributes, counters.bytes_in));
        }
        let responses = responses.iter().map(|(label, code, n)| {
            let status = match code.parse() {
                Ok(number) => ("http.response.status_code", AttributeValue::Number(number)),
                Err(_) => ("loadline.response.code", AttributeValue::Text(code)),
            };
            (
                [self.run.label_attributes(label), vec![status]].concat(),
                *n,
            )
        });
        metrics.counter("loadline.requests.issued", "{request}", &issued);
        metrics.counter("loadline.requests", "{request}", &ended);
        metrics.counter(
            "loadline.responses",
            "{response}",
            &responses.collect::<Vec<_>>(),
        );
        metrics.counter("loadline.requests.unanswered", "{request}", &unanswered);
        metrics.counter("loadline.sent", "By", &sent);
        metrics.counter("loadline.received", "By", &received);
    }

    fn times<'a>(
        &'a self,
        rows: &[(&'a Label, &'a LabelTotals)],
        kind: TimeKind,
    ) -> Vec<(Attributes<'a>, &'a ExponentialHistogram)> {
        let mut points = Vec::new();
        for (label, sums) in rows {
            for (outcome, times) in sums.times_of(kind) {
                let mut attributes = self.run.label_attributes(label);
                attributes.push(outcome_attribute(outcome));
                let error = match outcome {
                    OutcomeClass::Ok => None,
                    OutcomeClass::Failed => Some("unexpected_response"),
                    OutcomeClass::Unanswered => Some("no_response"),
                };
                let error = error.map(|error| ("error.type", AttributeValue::Text(error)));
                attributes.extend(error);
                points.push((attributes, times));
            }
        }
        points
    }
}

impl LabelTotals {
    fn times_of(
        &self,
        kind: TimeKind,
    ) -> impl Iterator<Item = (OutcomeClass, &ExponentialHistogram)> {
        let of_kind = self.times.iter();
        let of_kind = of_kind.filter(move |((known, _), _)| *known == kind);
        of_kind.map(|((_, outcome), times)| (*outcome, times))
    }
}

fn outcome_attribute(outcome: OutcomeClass) -> (&'static str, AttributeValue<'static>) {
    ("loadline.outcome", AttributeValue::Text(outcome.name()))
}

/// Writes the metrics of one scope.
struct Metrics<'a> {
    scope: &'a mut Message,
    period: Period,
    temporality: u64,
}

impl Metrics<'_> {
    fn metric(&mut self, name: &str, unit: &str, write: impl FnOnce(&mut Message)) {
        self.scope.message(2, |metric| {
            metric.string(1, name);
            metric.string(3, unit);
            write(metric);
        });
    }

    fn counter(&mut self, name: &str, unit: &str, points: &[(Attributes<'_>, u64)]) {
        if points.is_empty() {
            return;
        }
        let (period, temporality) = (self.period, self.temporality);
        self.metric(name, unit, |metric| {
            metric.message(field::METRIC_SUM, |sum| {
                for (attributes, value) in points {
                    sum.message(1, |point| number(point, attributes, *value, period));
                }
                sum.varint(2, temporality);
                sum.varint(field::SUM_IS_MONOTONIC, 1);
            });
        });
    }

    fn gauge(&mut self, name: &str, unit: &str, value: u64) {
        let period = self.period;
        self.metric(name, unit, |metric| {
            metric.message(field::METRIC_GAUGE, |gauge| {
                gauge.message(1, |point| number(point, &[], value, period));
            });
        });
    }

    fn histogram(&mut self, name: &str, points: &[(Attributes<'_>, &ExponentialHistogram)]) {
        if points.is_empty() {
            return;
        }
        let (period, temporality) = (self.period, self.temporality);
        self.metric(name, "s", |metric| {
            metric.message(field::METRIC_EXPONENTIAL_HISTOGRAM, |histogram| {
                for (attributes, times) in points {
                    histogram.message(1, |point| times_point(point, attributes, times, period));
                }
                histogram.varint(2, temporality);
            });
        });
    }
}

fn number(
    point: &mut Message,
    attributes: &[(&str, AttributeValue<'_>)],
    value: u64,
    period: Period,
) {
    point.fixed64(field::POINT_START, period.from_ns);
    point.fixed64(field::POINT_TIME, period.to_ns);
    point.fixed64(field::NUMBER_AS_INT, value);
    for (name, value) in attributes {
        attribute(point, field::NUMBER_ATTRIBUTES, name, value);
    }
}

fn times_point(
    point: &mut Message,
    attributes: &[(&str, AttributeValue<'_>)],
    times: &ExponentialHistogram,
    period: Period,
) {
    for (name, value) in attributes {
        attribute(point, field::HISTOGRAM_ATTRIBUTES, name, value);
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    point.fixed64(field::POINT_START, period.from_ns);
    point.fixed64(field::POINT_TIME, period.to_ns);
    point.fixed64(field::HISTOGRAM_COUNT, times.count);
    point.double(field::HISTOGRAM_SUM, times.sum_ns as f64 / 1e9);
    point.sint32(field::HISTOGRAM_SCALE, exponential::SCALE);
    point.fixed64(field::HISTOGRAM_ZERO_COUNT, times.zero);
    if let (Some((first, _)), Some((last, _))) = (
        times.buckets.first_key_value(),
        times.buckets.last_key_value(),
    ) {
        let count = |bucket| times.buckets.get(&bucket).copied().unwrap_or(0);
        point.message(field::HISTOGRAM_POSITIVE, |buckets| {
            buckets.sint32(1, *first);
            buckets.packed(2, (*first..=*last).map(count));
        });
    }
    if let (Some(min), Some(max)) = (times.min_ns, times.max_ns) {
        point.double(field::HISTOGRAM_MIN, seconds(min));
        point.double(field::HISTOGRAM_MAX, seconds(max));
    }
}
