//! Figures of the terminal view, computed once per second.

use crate::nodes;
use measure::{
    Interval, Label, LabelId, TimeKind, TimeSpan,
    label::{self, Role},
    slot::Counters,
};

use record::{LabelTotals, Run};

use analysis::headline_time::headline_time;
use analysis::{
    figures::{self, Sampled},
    live_snapshot,
    summary::Figure,
    verdict::{self, Judged},
};

const CAUSES: usize = 3;
const LABELS: usize = 5;
const PAST: usize = 60;

#[derive(Debug, Clone, Default)]
pub struct ScreenModel {
    pub title: String,
    pub load: String,
    pub elapsed_ns: u64,
    pub end_ns: u64,
    pub phase: Option<(String, usize, usize)>,
    pub planned: Option<u64>,
    pub arrivals: (u64, u64, u64),
    pub issued: u64,
    pub ended: u64,
    pub errors: u64,
    pub causes: Vec<(u64, String)>,
    pub in_flight_now: (u64, u64),
    pub rates: Vec<f64>,
    pub time: &'static str,
    /// p50, p95, p99 and maximum of the newest interval.
    pub now: Option<[Figure; 4]>,
    /// Percentiles and maximum of the whole run. A percentile with too few samples is `None`.
    pub so_far: Option<[Figure; 4]>,
    pub labels: Vec<Busy>,
    pub measurement: Option<(String, Option<u64>)>,
    pub cpu: f64,
    pub nodes: Vec<String>,
    pub criteria: Vec<Judged>,
}

#[derive(Debug, Clone)]
pub struct Busy {
    pub text: String,
    pub count: u64,
    pub per_second: f64,
    pub errors: u64,
    pub p95: Option<Figure>,
}

impl ScreenModel {
    #[must_use]
    pub fn new(run: &Run, interval: Option<&Interval>) -> ScreenModel {
        let mut model = ScreenModel::planned(run);
        let Some(interval) = interval else {
            return model;
        };
        let all = run.totals.label(label::ALL);
        model.counts(run, interval, &all);
        model.times(interval, &all);
        model.labels = busiest(run, interval);
        model.nodes = nodes::lines(&run.nodes);
        model.judge(run, interval, &all);
        model
    }

    fn planned(run: &Run) -> ScreenModel {
        let manifest = &run.manifest;
        let title = if manifest.name.starts_with(&manifest.target) {
            manifest.name.clone()
        } else {
            format!("{} → {}", manifest.name, manifest.target)
        };
        ScreenModel {
            title,
            load: manifest.load.text.clone(),
            end_ns: manifest.load.known_end_ns().unwrap_or(0),
            planned: manifest.load.planned,
            time: TimeKind::Response.name(),
            ..ScreenModel::default()
        }
    }

    fn counts(&mut self, run: &Run, interval: &Interval, all: &LabelTotals) {
        self.elapsed_ns = interval.span.to_ns;
        self.phase = live_snapshot::phase(run, interval.phase as usize)
            .map(|phase| (phase.name, phase.number, phase.count));
        let rows = &run.totals.rows;

        self.arrivals = (rows.due, rows.started, rows.skipped);
        let counters = &all.slot.counters;
        self.issued = counters.issued;
        self.ended = counters.ended();
        self.errors = counters.errors();
        self.causes = causes(all);
        let now = &interval.run;
        self.in_flight_now = (now.in_flight.last, now.users.last);
        self.rates = figures::recent_rates(&rows.newest(PAST), Counters::ended);
        let work = now.cpu_ns.iter().zip(&now.spin_ns);
        let work =
            work.map(|(cpu, spin)| per_second(cpu.saturating_sub(*spin), interval.span) / 1e9);
        self.cpu = work.fold(0.0, f64::max);
    }

    fn times(&mut self, interval: &Interval, all: &LabelTotals) {
        let kind = headline_time(all);
        self.time = kind.name();
        let now = LabelTotals {
            slot: interval.label(label::ALL),
            ..LabelTotals::default()
        };
        let now = Sampled::from_totals(&now, kind);
        let quantile = |q| now.quantile(q);
        self.now = quantile(0.5)
            .zip(quantile(0.95))
            .zip(quantile(0.99).zip(quantile(1.0)))
            .map(|((p50, p95), (p99, max))| [p50, p95, p99, max]);
        let stats = Sampled::from_totals(all, kind).stats();
        self.so_far = stats.map(|stats| [stats.p50, stats.p95, stats.p99, stats.max]);
    }

    fn judge(&mut self, run: &Run, interval: &Interval, all: &LabelTotals) {
        let arrivals = figures::arrivals(run);
        let requests = figures::requests(run, &all.slot.counters);
        self.measurement = verdict::measurement::judge(run, &arrivals, &requests)
            .map(|measurement| (measurement.verdict, measurement.lateness_p99_ns));
        self.criteria = verdict::so_far(run, interval.span.to_ns);
    }
}

fn per_second(n: u64, span: TimeSpan) -> f64 {
    figures::per_second(n, span.length_ns())
}

fn causes(all: &LabelTotals) -> Vec<(u64, String)> {
    let failed = all.failures.iter().map(|(reason, n)| (*n, reason.clone()));
    let faults = all.slot.counters.faults.0.iter();
    let mut causes: Vec<_> = failed
        .chain(faults.map(|(fault, n)| (*n, fault.text().to_owned())))
        .collect();
    causes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    causes.truncate(CAUSES);
    causes
}

fn busiest(run: &Run, interval: &Interval) -> Vec<Busy> {
    let ended = |id: LabelId| {
        let parts = run.totals.parts.range((id, 0)..=(id, u32::MAX));
        parts
            .map(|(_, part)| part.slot.counters.ended())
            .sum::<u64>()
    };
    let labels = run.labels.iter();
    let mut labels: Vec<(u64, &Label)> = labels
        .filter(|label| label.id != label::ALL && label.group.role() != Role::Iteration)
        .map(|label| (ended(label.id), label))
        .filter(|(count, _)| *count > 0)
        .collect();
    labels.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.id.cmp(&b.1.id)));
    let busy = |(count, label): (u64, &Label)| {
        let part = run.totals.label(label.id);
        let now = interval.label(label.id).counters.ended();
        Busy {
            text: label.text.clone(),
            count,
            per_second: per_second(now, interval.span),
            errors: part.slot.counters.errors(),
            p95: Sampled::from_totals(&part, headline_time(&part))
                .stats()
                .map(|stats| stats.p95),
        }
    };
    labels.into_iter().take(LABELS).map(busy).collect()
}
