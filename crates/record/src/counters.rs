//! Lines of `counters.jsonl`: one per interval and label, starting with label 0. An interval
//! without its end line is incomplete.

use std::collections::BTreeMap;

use measure::{
    Fault, LabelId, NoAnswer, OutcomeClass, Status, TimeKind, TimeSpan,
    interval::{Gauge, RunPart, SocketIoCounts, WebSocketCounts},
    label,
    slot::{Counters, KeyCounts},
    stream::StreamCounts,
};
use serde::{Deserialize, Serialize};

use super::{
    custom::{self, CustomLine},
    http2_line::Http2Line,
    interval::{IntervalRecord, LabelTotals},
};

pub(super) type Exact = (u64, u128, u64, u64);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct CounterLine {
    pub i: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<LabelId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunLine>,
    #[serde(default, skip_serializing_if = "is_zero")]
    issued: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    ok: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failed: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    none: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    codes: BTreeMap<Status, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failures: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    faults: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    paced: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    redirects: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    bytes_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    bytes_in: u64,
    #[serde(default, skip_serializing_if = "StreamCounts::is_empty")]
    stream: StreamCounts,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    good: BTreeMap<u16, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub times: BTreeMap<String, Exact>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub end: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RunLine {
    from_ns: u64,
    to_ns: u64,
    phase: u32,
    arrivals: ArrivalsLine,
    in_flight: GaugeLine,
    users: GaugeLine,
    connections: Connections,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    http2: Option<Box<Http2Line>>,
    #[serde(default, skip_serializing_if = "WebSocketCounts::is_empty")]
    websocket: WebSocketCounts,
    #[serde(default, skip_serializing_if = "SocketIoCounts::is_empty")]
    socketio: SocketIoCounts,
    workers: Vec<Worker>,
    #[serde(default, skip_serializing_if = "is_zero")]
    stall_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    throttled_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    host_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    last_end_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    lines_lost: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    traced: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    custom: Vec<CustomLine>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct ArrivalsLine {
    due: u64,
    started: u64,
    skipped: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    exited: u64,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct GaugeLine {
    samples: u64,
    mean: f64,
    max: u64,
    last: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Connections {
    opened: u64,
    open: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Worker {
    cpu_ns: u64,
    spin_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    waiting_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steal_ns: Option<u64>,
}

pub(super) fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_false(b: &bool) -> bool {
    !b
}

pub(super) fn lines_of(frame: &IntervalRecord) -> Vec<CounterLine> {
    let empty = LabelTotals::default();
    let first = (label::ALL, frame.phase);
    let mut head = line_of(
        frame,
        first.0,
        first.1,
        frame.parts.get(&first).unwrap_or(&empty),
    );
    head.run = Some(RunLine::from_record(frame));
    let others = frame
        .parts
        .iter()
        .filter(|(key, _)| **key != first)
        .map(|((label, phase), part)| line_of(frame, *label, *phase, part));
    let end = CounterLine {
        i: frame.index,
        end: true,
        ..CounterLine::default()
    };
    [head].into_iter().chain(others).chain([end]).collect()
}

fn line_of(frame: &IntervalRecord, label: LabelId, phase: u32, part: &LabelTotals) -> CounterLine {
    let counters = &part.slot.counters;
    let exact = |h: &measure::Histogram| {
        (
            h.count(),
            h.sum(),
            h.min().unwrap_or(0),
            h.max().unwrap_or(0),
        )
    };
    CounterLine {
        i: frame.index,
        label: Some(label),
        phase: (phase != frame.phase).then_some(phase),
        issued: counters.issued,
        ok: counters.ok,
        failed: counters.failed,
        none: NoAnswer::ALL
            .iter()
            .map(|class| {
                (
                    class.name().to_owned(),
                    counters.unanswered[*class as usize],
                )
            })
            .filter(|(_, n)| *n > 0)
            .collect(),
        codes: counters.codes.0.iter().copied().collect(),
        failures: part.failures.clone(),
        faults: counters
            .faults
            .0
            .iter()
            .map(|(fault, n)| (fault.name().to_owned(), *n))
            .collect(),
        paced: counters.paced,
        redirects: counters.redirects,
        bytes_out: counters.bytes_out,
        bytes_in: counters.bytes_in,
        stream: counters.stream,
        good: counters.good.0.iter().copied().collect(),
        times: part
            .slot
            .histograms()
            .map(|(kind, outcome, h)| (tag(kind, outcome), exact(h)))
            .collect(),
        ..CounterLine::default()
    }
}

pub(super) fn tag(kind: TimeKind, outcome: OutcomeClass) -> String {
    format!("{}.{}", kind.name(), outcome.name())
}

impl CounterLine {
    pub(super) fn is_possible(&self) -> bool {
        self.codes.keys().all(|status| status.is_possible())
    }

    pub(super) fn part(&self) -> LabelTotals {
        let mut counters = Counters {
            issued: self.issued,
            ok: self.ok,
            failed: self.failed,
            paced: self.paced,
            redirects: self.redirects,
            codes: KeyCounts(self.codes.iter().map(|(code, n)| (*code, *n)).collect()),
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
            stream: self.stream,
            good: KeyCounts(self.good.iter().map(|(index, n)| (*index, *n)).collect()),
            ..Counters::default()
        };
        for class in NoAnswer::ALL {
            counters.unanswered[class as usize] = self.none.get(class.name()).copied().unwrap_or(0);
        }
        for (name, n) in &self.faults {
            counters
                .faults
                .count(Fault::named(name).unwrap_or(Fault::Other), *n);
        }
        let mut part = LabelTotals {
            failures: self.failures.clone(),
            ..LabelTotals::default()
        };
        part.slot.counters = counters;
        part
    }
}

impl RunLine {
    fn from_record(frame: &IntervalRecord) -> RunLine {
        let run = &frame.run;
        let workers = run
            .cpu_ns
            .len()
            .max(run.spin_ns.len())
            .max(frame.steal_ns.len());
        let worker = |i: usize| Worker {
            cpu_ns: run.cpu_ns.get(i).copied().unwrap_or(0),
            spin_ns: run.spin_ns.get(i).copied().unwrap_or(0),
            waiting_ns: run.waiting_ns.get(i).copied().unwrap_or(0),
            steal_ns: frame.steal_ns.get(i).copied(),
        };
        RunLine {
            from_ns: frame.span.from_ns,
            to_ns: frame.span.to_ns,
            phase: frame.phase,
            arrivals: ArrivalsLine {
                due: run.due,
                started: run.started,
                skipped: run.skipped,
                exited: run.exited,
            },
            in_flight: GaugeLine::from_gauge(run.in_flight),
            users: GaugeLine::from_gauge(run.users),
            connections: Connections {
                opened: run.opened,
                open: run.connections,
            },
            http2: Http2Line::from_counts(&run.http2).map(Box::new),
            websocket: run.websocket.clone(),
            socketio: run.socketio.clone(),
            workers: (0..workers).map(worker).collect(),
            stall_ns: run.stall_ns,
            throttled_ns: frame.throttled_ns,
            host_ns: frame.host_ns,
            last_end_ns: run.last_end_ns,
            lines_lost: run.lines_lost,
            traced: run.traced,
            custom: custom::lines(&frame.custom),
        }
    }

    pub(super) fn fill(&self, frame: &mut IntervalRecord) {
        frame.span = TimeSpan::new(self.from_ns, self.to_ns);
        frame.phase = self.phase;
        frame.run = RunPart {
            due: self.arrivals.due,
            started: self.arrivals.started,
            skipped: self.arrivals.skipped,
            exited: self.arrivals.exited,
            in_flight: self.in_flight.gauge(),
            users: self.users.gauge(),
            opened: self.connections.opened,
            connections: self.connections.open,
            http2: self
                .http2
                .as_deref()
                .map(Http2Line::counts)
                .unwrap_or_default(),
            websocket: self.websocket.clone(),
            socketio: self.socketio.clone(),
            cpu_ns: self.workers.iter().map(|worker| worker.cpu_ns).collect(),
            spin_ns: self.workers.iter().map(|worker| worker.spin_ns).collect(),
            waiting_ns: self
                .workers
                .iter()
                .map(|worker| worker.waiting_ns)
                .collect(),
            stall_ns: self.stall_ns,
            lines_lost: self.lines_lost,
            last_end_ns: self.last_end_ns,
            traced: self.traced,
        };
        frame.custom = custom::metrics(&self.custom);
        frame.throttled_ns = self.throttled_ns;
        frame.host_ns = self.host_ns;
        frame.steal_ns = self
            .workers
            .iter()
            .filter_map(|worker| worker.steal_ns)
            .collect();
    }
}

impl GaugeLine {
    pub(super) fn from_gauge(gauge: Gauge) -> GaugeLine {
        let mean = if gauge.samples == 0 {
            0.0
        } else {
            gauge.sum as f64 / gauge.samples as f64
        };
        GaugeLine {
            samples: gauge.samples,
            mean,
            max: gauge.max,
            last: gauge.last,
        }
    }

    pub(super) fn gauge(&self) -> Gauge {
        Gauge {
            samples: self.samples,
            sum: (self.mean * self.samples as f64).round() as u64,
            max: self.max,
            last: self.last,
        }
    }
}
