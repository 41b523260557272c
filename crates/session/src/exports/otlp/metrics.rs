//! Metrics of a run as an OTLP request. Names and attributes are those of OpenTelemetry's semantic
//! conventions where these have one.

use std::collections::BTreeMap;

use measure::{
    Interval, Label, LabelId, NoAnswer, OutcomeClass, Slot, TimeKind,
    label::{self, LabelGroup, Role},
    slot::Counters,
};
use record::Run;

use crate::exports::{
    exponential::{self, ExponentialHistogram},
    protobuf::Message,
};

const DELTA: u64 = 1;
const CUMULATIVE: u64 = 2;
/// Verb of a request that opens a WebSocket connection or a Socket.IO session.
const OPENING: &str = "CONNECT";

/// Numbers of the fields, from opentelemetry/proto/metrics/v1/metrics.proto.
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

/// Sums over intervals.
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

    /// Removes all sums, but keeps the levels.
    pub fn clear(&mut self) {
        self.labels.clear();
        self.arrivals = [0; 3];
    }

    /// Sets the levels after the load.
    pub fn end(&mut self) {
        self.levels = [0; 3];
    }
}

/// Period of a request's points, in nanoseconds since 1970.
#[derive(Clone, Copy)]
pub(super) struct Period {
    pub from_ns: u64,
    pub to_ns: u64,
}

type Attributes<'a> = Vec<(&'a str, AttributeValue<'a>)>;

#[derive(Clone)]
enum AttributeValue<'a> {
    Text(&'a str),
    Number(u64),
}

/// Writes requests for one run.
pub(super) struct RequestWriter {
    resource: Vec<(String, String)>,
    version: String,
    server: Option<Server>,
    pub labels: BTreeMap<LabelId, Label>,
    is_delta: bool,
}

#[derive(Clone)]
struct Server {
    address: String,
    port: u64,
}

impl Server {
    /// Reads the host and the port of an absolute URL.
    fn of_url(url: &str) -> Option<Server> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let known = match scheme {
            "https" | "wss" => Some(443),
            "http" | "ws" => Some(80),
            _ => None,
        };
        let (address, port) = match host.rsplit_once(':') {
            Some((address, port)) if !port.contains(']') => (address, port.parse().ok()),
            _ => (host, known),
        };
        let address = address.trim_matches(['[', ']']).to_owned();
        Some(Server {
            address,
            port: port?,
        })
        .filter(|server| !server.address.is_empty())
    }
}

impl RequestWriter {
    /// Creates a writer for a run that is about to start.
    pub fn new(resource: &[(String, String)], is_delta: bool, run: Run) -> RequestWriter {
        let manifest = &run.manifest;
        let mut resource = resource.to_vec();
        for (name, value) in [
            ("service.instance.id", &manifest.run_id),
            ("loadline.run.id", &manifest.run_id),
            ("loadline.run.name", &manifest.name),
            ("loadline.plan.digest", &manifest.plan_sha256),
        ] {
            let is_known = resource.iter().any(|(known, _)| known == name);
            if !is_known && !value.is_empty() {
                resource.push((name.to_owned(), value.clone()));
            }
        }
        RequestWriter {
            resource,
            version: manifest.tool.version.clone(),
            server: Server::of_url(&manifest.target),
            labels: run
                .labels
                .into_iter()
                .map(|label| (label.id, label))
                .collect(),
            is_delta,
        }
    }

    /// Returns an `ExportMetricsServiceRequest`.
    pub fn request(&self, totals: &MetricTotals, period: Period) -> Vec<u8> {
        let mut request = Message::default();
        request.message(1, |resource_metrics| {
            resource_metrics.message(1, |resource| {
                for (name, value) in &self.resource {
                    attribute(resource, 1, name, &AttributeValue::Text(value));
                }
            });
            resource_metrics.message(2, |scope_metrics| {
                scope_metrics.message(1, |scope| {
                    scope.string(1, "loadline");
                    scope.string(2, &self.version);
                });
                let mut metrics = Metrics {
                    scope: scope_metrics,
                    period,
                    temporality: if self.is_delta { DELTA } else { CUMULATIVE },
                };
                self.metrics(&mut metrics, totals);
            });
        });
        request.into_bytes()
    }

    fn metrics(&self, metrics: &mut Metrics<'_>, totals: &MetricTotals) {
        let of_group = |wanted: fn(LabelGroup) -> bool| {
            let known = totals.labels.iter();
            let known = known.filter(|(id, _)| **id != label::ALL);
            let known = known.filter_map(|(id, sums)| Some((self.labels.get(id)?, sums)));
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
            let attributes = self.label_attributes(label);
            let with = |more| [attributes.clone(), vec![more]].concat();
            for (outcome, n) in [
                (OutcomeClass::Ok, counters.ok),
                (OutcomeClass::Failed, counters.failed),
                (OutcomeClass::Unanswered, counters.without_answer()),
            ] {
                ended.push((with(outcome_attribute(outcome)), n));
            }
            for (code, n) in &counters.codes.0 {
                // Protocols without numbers have codes such as `websocket:1011`.
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
            ([self.label_attributes(label), vec![status]].concat(), *n)
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
                let mut attributes = self.label_attributes(label);
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

    fn label_attributes<'a>(&'a self, label: &'a Label) -> Attributes<'a> {
        let mut attributes = vec![("loadline.label", AttributeValue::Text(&label.text))];
        if let Some(protocol) = protocol(label) {
            // Steps of two protocols may have the same name.
            attributes.push(("loadline.protocol", AttributeValue::Text(protocol)));
            return attributes;
        }
        if label.method.is_empty() {
            return attributes;
        }
        let method = AttributeValue::Text(&label.method);
        attributes.push(("http.request.method", method));
        // Other names are chosen by the user, and their URL is unknown here.
        if label.name.starts_with('/') {
            attributes.push(("url.template", AttributeValue::Text(&label.name)));
            if let Some(server) = &self.server {
                attributes.push(("server.address", AttributeValue::Text(&server.address)));
                attributes.push(("server.port", AttributeValue::Number(server.port)));
            }
        }
        attributes
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

/// Returns the protocol of an operation. `None` for HTTP.
fn protocol(label: &Label) -> Option<&'static str> {
    match label.group {
        LabelGroup::Request if label.method == OPENING => Some("opening"),
        LabelGroup::Mqtt => Some("mqtt"),
        LabelGroup::WebSocket => Some("websocket"),
        LabelGroup::SocketIo => Some("socketio"),
        LabelGroup::Script => Some("script"),
        LabelGroup::Request
        | LabelGroup::Iteration
        | LabelGroup::Transaction
        | LabelGroup::Custom => None,
    }
}

fn outcome_attribute(outcome: OutcomeClass) -> (&'static str, AttributeValue<'static>) {
    ("loadline.outcome", AttributeValue::Text(outcome.name()))
}

fn attribute(message: &mut Message, field: u64, name: &str, value: &AttributeValue<'_>) {
    message.message(field, |pair| {
        pair.string(1, name);
        pair.message(2, |any| match value {
            AttributeValue::Text(text) => any.string(1, text),
            AttributeValue::Number(number) => any.varint(3, *number),
        });
    });
}

/// Writes the metrics of a scope.
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

#[cfg(test)]
mod tests {
    use measure::Labels;

    use super::*;

    fn names(group: LabelGroup, method: &str, name: &str) -> Vec<(String, String)> {
        let mut labels = Labels::default();
        let id = labels.id(group, method, name);
        let label = labels.all().iter().find(|label| label.id == id).unwrap();
        let writer = RequestWriter {
            resource: Vec::new(),
            version: String::new(),
            server: Server::of_url("https://example.com/base"),
            labels: BTreeMap::new(),
            is_delta: false,
        };
        let text = |value: &AttributeValue<'_>| match value {
            AttributeValue::Text(text) => (*text).to_owned(),
            AttributeValue::Number(number) => number.to_string(),
        };
        let attributes = writer.label_attributes(label).into_iter();
        // The first one is the label itself.
        let others = attributes.skip(1);
        others
            .map(|(name, value)| (name.to_owned(), text(&value)))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        expected.iter().map(owned).collect()
    }

    #[test]
    fn attributes_say_only_what_the_label_tells() {
        let method = ("http.request.method", "GET");
        let template = ("url.template", "/a/{{ id }}");
        let server = [("server.address", "example.com"), ("server.port", "443")];
        for (group, verb, name, expected) in [
            (
                LabelGroup::Request,
                "GET",
                "/a/{{ id }}",
                vec![method, template, server[0], server[1]],
            ),
            // A name says nothing about the URL, and another origin is not the target.
            (LabelGroup::Request, "GET", "log in", vec![method]),
            (LabelGroup::Request, "GET", "http://other/b", vec![method]),
            (
                LabelGroup::Request,
                "CONNECT",
                "/live",
                vec![("loadline.protocol", "opening")],
            ),
            // Two protocols have steps of this name.
            (
                LabelGroup::WebSocket,
                "EXPECT",
                "x",
                vec![("loadline.protocol", "websocket")],
            ),
            (
                LabelGroup::SocketIo,
                "EXPECT",
                "x",
                vec![("loadline.protocol", "socketio")],
            ),
        ] {
            assert_eq!(names(group, verb, name), pairs(&expected), "{verb} {name}");
        }
    }
}
