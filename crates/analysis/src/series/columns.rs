//! Columns with one value per point. A percentile that falls on a timed-out request equals its time
//! limit.

use std::{borrow::Cow, collections::BTreeMap};

use measure::{NoAnswer, OutcomeClass, TimeKind, stream::StreamCounts};
use serde::{Deserialize, Serialize};

use crate::figures::Sampled;
use crate::moments::Moment;
use record::IntervalRow;

pub type FigureColumn = Vec<Option<f64>>;

/// Failed and unanswered requests by class. Each request is in exactly one class.
pub type Errors = BTreeMap<Cow<'static, str>, Vec<u64>>;

const BY_STATUS: [(&str, &[usize]); 3] = [
    ("status 4xx", &[4]),
    ("status 5xx", &[5]),
    ("other status", &[1, 2, 3]),
];
const BY_CONTENT: &str = "check or capture";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "docs/reference/series-json.md defines each column"
)]
pub struct Columns {
    pub from_ns: Vec<u64>,
    pub to_ns: Vec<u64>,
    pub phase: Vec<u32>,
    pub due: Vec<u64>,
    pub started: Vec<u64>,
    pub skipped: Vec<u64>,
    pub issued: Vec<u64>,
    pub ok: Vec<u64>,
    pub failed: Vec<u64>,
    #[serde(rename = "none")]
    pub unanswered: Vec<u64>,
    pub status_1xx: Vec<u64>,
    pub status_2xx: Vec<u64>,
    pub status_3xx: Vec<u64>,
    pub status_4xx: Vec<u64>,
    pub status_5xx: Vec<u64>,
    pub errors: Errors,
    pub bytes_out: Vec<u64>,
    pub bytes_in: Vec<u64>,
    pub response: TimeColumns,
    pub service: TimeColumns,
    pub iteration: TimeColumns,
    pub lateness: TimeColumns,
    pub wait: TimeColumns,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamColumns>,
    pub in_flight: FigureColumn,
    pub in_flight_max: FigureColumn,
    pub littles_law: FigureColumn,
    pub users: FigureColumn,
    pub connections_open: Vec<u64>,
    pub connections_opened: Vec<u64>,
    pub worker_cpu: Vec<FigureColumn>,
    pub worker_spin: Vec<FigureColumn>,
    pub worker_waiting: Vec<FigureColumn>,
    pub worker_steal: Vec<FigureColumn>,
    pub stall_ns: Vec<u64>,
    pub throttled: Vec<f64>,
}

/// Columns of streamed responses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "docs/reference/series-json.md defines each column"
)]
pub struct StreamColumns {
    pub ttft: TimeColumns,
    pub gap: TimeColumns,
    pub chunks: Vec<u64>,
}

/// Columns of times, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "docs/reference/series-json.md defines each column"
)]
pub struct TimeColumns {
    pub p50: Vec<Option<u64>>,
    pub p95: Vec<Option<u64>>,
    pub p99: Vec<Option<u64>>,
    pub max: Vec<Option<u64>>,
}

impl TimeColumns {
    fn push(&mut self, sampled: &Sampled) {
        let columns = [&mut self.p50, &mut self.p95, &mut self.p99, &mut self.max];
        for (column, q) in columns.into_iter().zip([0.5, 0.95, 0.99, 1.0]) {
            let figure = sampled.quantile(q);
            column.push(figure.and_then(|figure| figure.ns.or(figure.at_least_ns)));
        }
    }
}

pub fn build(moments: &[Cow<Moment>]) -> Columns {
    let workers = moments
        .iter()
        .flat_map(|moment| &moment.rows)
        .map(|row| row.run.cpu_ns.len())
        .max()
        .unwrap_or(0);
    let mut rows = moments.iter().flat_map(|moment| &moment.rows);
    let has_streams = rows.any(|row| row.all.stream != StreamCounts::default());
    let mut columns = Columns {
        stream: has_streams.then(StreamColumns::default),
        ..Columns::default()
    };
    for moment in moments {
        columns.counts(moment);
        columns.times(moment);
        columns.levels(moment);
        columns.generator(moment, workers);
    }
    columns
}

impl Columns {
    /// Returns the columns with response counts by the first digit of the status, starting with 1.
    pub fn classes(&mut self) -> [&mut Vec<u64>; 5] {
        [
            &mut self.status_1xx,
            &mut self.status_2xx,
            &mut self.status_3xx,
            &mut self.status_4xx,
            &mut self.status_5xx,
        ]
    }

    fn counts(&mut self, moment: &Moment) {
        let counters = &moment.all.slot.counters;
        self.from_ns.push(moment.span.from_ns);
        self.to_ns.push(moment.span.to_ns);
        self.phase
            .push(moment.rows.first().map_or(0, |row| row.phase));
        self.due.push(moment.sum(|row| row.run.due));
        self.started.push(moment.sum(|row| row.run.started));
        self.skipped.push(moment.sum(|row| row.run.skipped));
        self.issued.push(counters.issued);
        self.ok.push(counters.ok);
        self.failed.push(counters.failed);
        self.unanswered.push(counters.without_answer());
        for (class, column) in (1..).zip(self.classes()) {
            let of_class = counters
                .codes
                .0
                .iter()
                .filter(|(status, _)| status.http().is_some_and(|code| code / 100 == class));
            column.push(of_class.map(|(_, n)| n).sum());
        }
        self.bytes_out.push(counters.bytes_out);
        self.bytes_in.push(counters.bytes_in);
        let by_status = BY_STATUS.map(|(_, digits)| {
            moment.sum(|row| {
                digits
                    .iter()
                    .map(|digit| row.failed_by_status[digit - 1])
                    .sum()
            })
        });
        self.errors(by_status, counters.failed, |class| {
            counters.unanswered[class as usize]
        });
    }

    fn errors(&mut self, by_status: [u64; 3], failed: u64, none: impl Fn(NoAnswer) -> u64) {
        let of_status: u64 = by_status.iter().sum();
        let classes = (BY_STATUS.iter().map(|(name, _)| *name)).zip(by_status);
        let content = (BY_CONTENT, failed.saturating_sub(of_status));
        let none = NoAnswer::ALL
            .iter()
            .map(|class| (class.name(), none(*class)));
        for (name, n) in classes.chain([content]).chain(none) {
            self.errors.entry(name.into()).or_default().push(n);
        }
    }

    fn times(&mut self, moment: &Moment) {
        let kinds = [
            (&mut self.response, TimeKind::Response),
            (&mut self.service, TimeKind::Service),
            (&mut self.iteration, TimeKind::Iteration),
            (&mut self.lateness, TimeKind::Lateness),
            (&mut self.wait, TimeKind::Wait),
        ];
        for (times, kind) in kinds {
            times.push(&Sampled::from_totals(moment.part(kind), kind));
        }
        if let Some(stream) = &mut self.stream {
            let of = |kind| Sampled::from_totals(&moment.all, kind);
            stream.ttft.push(&of(TimeKind::Ttft));
            stream.gap.push(&of(TimeKind::Gap));
            stream.chunks.push(moment.sum(|row| row.all.stream.chunks));
        }
    }

    fn levels(&mut self, moment: &Moment) {
        let in_flight = moment.level(|row| row.run.in_flight);
        self.in_flight.push(in_flight.map(|(mean, _)| mean));
        self.in_flight_max
            .push(in_flight.map(|(_, max)| max as f64));
        let in_flight_now = |kind| {
            let times = OutcomeClass::ALL
                .into_iter()
                .filter_map(|outcome| moment.all.slot.histogram(kind, outcome));
            times.map(measure::Histogram::sum).sum::<u128>()
        };
        let time = in_flight_now(TimeKind::Wait) + in_flight_now(TimeKind::Service);
        self.littles_law
            .push(Some(time as f64 / moment.length_ns() as f64));
        let users = moment.level(|row| row.run.users);
        self.users.push(users.map(|(mean, _)| mean));
        let open = moment.rows.last().map_or(0, |row| row.run.connections);
        self.connections_open.push(open);
        self.connections_opened
            .push(moment.sum(|row| row.run.opened));
    }

    fn generator(&mut self, moment: &Moment, workers: usize) {
        let length = moment.length_ns() as f64;
        let figure = |of: fn(&IntervalRow) -> &Vec<u64>, worker: usize| {
            let known = moment.rows.iter().filter_map(|row| of(row).get(worker));
            let (n, sum) = known.fold((0, 0), |(n, sum), ns| (n + 1, sum + ns));
            (n > 0).then_some(sum as f64 / length)
        };
        let columns = [
            &mut self.worker_cpu,
            &mut self.worker_spin,
            &mut self.worker_waiting,
            &mut self.worker_steal,
        ];
        for column in columns {
            column.resize(workers, FigureColumn::new());
        }
        for worker in 0..workers {
            let cpu = figure(|row| &row.run.cpu_ns, worker);
            let spin = figure(|row| &row.run.spin_ns, worker);
            let work = cpu.map(|cpu| (cpu - spin.unwrap_or(0.0)).max(0.0));
            self.worker_cpu[worker].push(work);
            self.worker_spin[worker].push(spin);
            self.worker_waiting[worker].push(figure(|row| &row.run.waiting_ns, worker));
            let stolen: Vec<(u64, u64)> = moment
                .rows
                .iter()
                .filter_map(|row| Some((*row.steal_ns.get(worker)?, row.host_length_ns())))
                .collect();
            self.worker_steal[worker].push(share_of(&stolen));
        }
        let stall = moment.rows.iter().map(|row| row.run.stall_ns).max();
        self.stall_ns.push(stall.unwrap_or(0));
        let throttled: Vec<(u64, u64)> = moment
            .rows
            .iter()
            .map(|row| (row.throttled_ns, row.host_length_ns()))
            .collect();
        self.throttled.push(share_of(&throttled).unwrap_or(0.0));
    }
}

fn share_of(parts: &[(u64, u64)]) -> Option<f64> {
    let (part, of) = parts
        .iter()
        .fold((0, 0), |(part, of), (a, b)| (part + a, of + b));
    // The kernel counts in ticks, so a sample may slightly overlap the previous one.
    (!parts.is_empty()).then(|| (part as f64 / of.max(1) as f64).min(1.0))
}
