//! Prometheus metrics of a run at its current state, also in text format (version 0.0.4).
//! `docs/reference/exports.md` describes them.

use std::fmt::{self, Display, Formatter, Write as _};

use measure::{
    Histogram, NoAnswer, OutcomeClass, TimeKind,
    label::{self, LabelGroup, Role},
};

use record::{IntervalRow, LabelTotals, Model, Run, RunState};

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const BOUNDS_NS: [u64; 20] = [
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];

/// The value of a series.
pub struct PrometheusSample {
    pub name: String,
    pub labels: Vec<(String, String)>,
    /// Value as a decimal number.
    pub value: String,
}

#[must_use]
pub fn prometheus(run: &Run) -> String {
    let mut text = String::new();
    for line in Page::of_run(run).0 {
        let _ = match line {
            Line::Metric { name, kind, help } => {
                writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}")
            }
            Line::Sample(sample) => writeln!(text, "{sample}"),
        };
    }
    text
}

#[must_use]
pub fn prometheus_samples(run: &Run) -> Vec<PrometheusSample> {
    let lines = Page::of_run(run).0.into_iter();
    let samples = lines.filter_map(|line| match line {
        Line::Metric { .. } => None,
        Line::Sample(sample) => Some(sample),
    });
    samples.collect()
}

impl Display for PrometheusSample {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (n, (name, value)) in self.labels.iter().enumerate() {
            let before = if n == 0 { '{' } else { ',' };
            write!(f, "{before}{name}=\"{}\"", escape(value))?;
        }
        let after = if self.labels.is_empty() { "" } else { "}" };
        write!(f, "{after} {}", self.value)
    }
}

enum Line {
    Metric {
        name: String,
        kind: String,
        help: String,
    },
    Sample(PrometheusSample),
}

#[derive(Default)]
struct Page(Vec<Line>);

type ByWorker = fn(&IntervalRow) -> &Vec<u64>;

type Tags<'a> = &'a [(&'a str, &'a str)];

impl Page {
    fn of_run(run: &Run) -> Page {
        let mut page = Page::default();
        page.identity(run);
        page.requests(run);
        page.iterations(run);
        page.transactions(run);
        page.run_wide(run);
        page.workers(run);
        page
    }

    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        self.0.push(Line::Metric {
            name: name.to_owned(),
            kind: kind.to_owned(),
            help: help.to_owned(),
        });
    }

    fn sample(&mut self, name: &str, tags: Tags<'_>, value: impl Display) {
        let labels = tags.iter();
        let labels = labels.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.0.push(Line::Sample(PrometheusSample {
            name: name.to_owned(),
            labels: labels.collect(),
            value: value.to_string(),
        }));
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.metric(name, kind, help);
        self.sample(name, &[], value);
    }

    fn identity(&mut self, run: &Run) {
        let manifest = &run.manifest;
        let model = match manifest.load.model {
            Model::Open => "open",
            Model::Closed => "closed",
            Model::Mixed => "mixed",
            Model::Once => "once",
        };
        let tags = [
            ("version", manifest.tool.version.as_str()),
            ("frontend", &manifest.frontend),
            ("name", &manifest.name),
            ("target", &manifest.target),
            ("model", model),
        ];
        self.metric(
            "loadline_info",
            "gauge",
            "Information about the run; always 1.",
        );
        self.sample("loadline_info", &tags, 1);
        self.one(
            "loadline_start_time_seconds",
            "gauge",
            "Start of the run, in seconds since 1970.",
            seconds(u128::from(manifest.start.wall_ns)),
        );
        self.one(
            "loadline_elapsed_seconds",
            "gauge",
            "Time from the start of the run to the end of the last interval in these figures.",
            seconds(u128::from(run.totals.rows.end_ns)),
        );
        let running = u8::from(manifest.state == RunState::Running);
        self.one(
            "loadline_running",
            "gauge",
            "1 while the run is in progress, 0 afterwards.",
            running,
        );
    }

    fn requests(&mut self, run: &Run) {
        let rows = parts(run, |group| group.role() != Role::Iteration);
        self.metric(
            "loadline_requests_issued_total",
            "counter",
            "Requests started.",
        );
        for (name, part) in &rows {
            self.sample(
                "loadline_requests_issued_total",
                &[("label", name)],
                part.slot.counters.issued,
            );
        }
        self.outcomes(
            "loadline_requests_total",
            "Finished requests: ok, failed (wrong response), none (no complete response).",
            "label",
            &rows,
        );
        self.metric("loadline_responses_total", "counter", "Answers by status.");
        for (name, part) in &rows {
            let mut codes = part.slot.counters.codes.0.clone();
            codes.sort_unstable();
            for (code, n) in codes {
                let tags = [("label", name.as_str()), ("code", &code.to_string())];
                self.sample("loadline_responses_total", &tags, n);
            }
        }
        self.metric(
            "loadline_requests_without_answer_total",
            "counter",
            "Requests without a complete response, by cause.",
        );
        for (name, part) in &rows {
            for class in NoAnswer::ALL {
                let n = part.slot.counters.unanswered[class as usize];
                if n > 0 {
                    let tags = [("label", name.as_str()), ("cause", class.name())];
                    self.sample("loadline_requests_without_answer_total", &tags, n);
                }
            }
        }
        let counters = [
            (
                "loadline_redirects_total",
                "Redirect hops, not counted as requests.",
                0,
            ),
            (
                "loadline_sent_bytes_total",
                "Bytes written: heads and bodies.",
                1,
            ),
            (
                "loadline_received_bytes_total",
                "Bytes read: heads and bodies.",
                2,
            ),
        ];
        for (metric, help, which) in counters {
            self.metric(metric, "counter", help);
            for (name, part) in &rows {
                let counters = &part.slot.counters;
                let figures = [counters.redirects, counters.bytes_out, counters.bytes_in];
                self.sample(metric, &[("label", name)], figures[which]);
            }
        }
        self.durations(
"loadline_request_duration_seconds",
"Service time: first byte written to last byte read. Requests without a complete response count in +Inf.",
"label", TimeKind::Service,
&rows,
);
    }

    fn iterations(&mut self, run: &Run) {
        let rows = parts(run, |group| group == LabelGroup::Iteration);
        self.outcomes(
            "loadline_iterations_total",
            "Finished iterations of a scenario.",
            "scenario",
            &rows,
        );
        self.durations(
"loadline_iteration_duration_seconds",
"Time from the intended arrival to the last response of the iteration. Iterations without a last response count in +Inf.",
"scenario", TimeKind::Iteration,
&rows,
);
    }

    fn transactions(&mut self, run: &Run) {
        let rows = parts(run, |group| group == LabelGroup::Transaction);
        if rows.is_empty() {
            return;
        }
        self.outcomes(
            "loadline_transactions_total",
            "Finished passes through a group of steps.",
            "transaction",
            &rows,
        );
        self.durations(
"loadline_transaction_duration_seconds",
"Time from the due time of a group's first step to the end of its last step. Unfinished passes count in +Inf.",
"transaction", TimeKind::Iteration,
&rows,
);
    }

    fn outcomes(&mut self, metric: &str, help: &str, tag: &str, rows: &[(String, LabelTotals)]) {
        self.metric(metric, "counter", help);
        for (name, part) in rows {
            let counters = &part.slot.counters;
            let figures = [
                (OutcomeClass::Ok, counters.ok),
                (OutcomeClass::Failed, counters.failed),
                (OutcomeClass::Unanswered, counters.without_answer()),
            ];
            for (outcome, n) in figures {
                self.sample(metric, &[(tag, name), ("outcome", outcome.name())], n);
            }
        }
    }

    fn durations(
        &mut self,
        metric: &str,
        help: &str,
        tag: &str,
        kind: TimeKind,
        rows: &[(String, LabelTotals)],
    ) {
        self.metric(metric, "histogram", help);
        for (name, part) in rows {
            let histograms = |outcome| part.slot.histogram(kind, outcome);
            let answered: Vec<&Histogram> = [OutcomeClass::Ok, OutcomeClass::Failed]
                .into_iter()
                .filter_map(histograms)
                .collect();
            let all = OutcomeClass::ALL.into_iter().filter_map(histograms);
            let sum = all.map(Histogram::sum).sum();
            self.buckets(
                metric,
                &[(tag, name)],
                &answered,
                part.slot.counters.ended(),
                sum,
            );
        }
    }

    /// Writes the lines of a histogram. `count` and `sum` include values above the last bound.
    fn buckets(
        &mut self,
        metric: &str,
        tags: Tags<'_>,
        known: &[&Histogram],
        count: u64,
        sum: u128,
    ) {
        let bucket = format!("{metric}_bucket");
        for bound in BOUNDS_NS {
            let below: u64 = known.iter().map(|h| h.count() - h.above(bound)).sum();
            let bound = seconds(u128::from(bound));
            self.sample(&bucket, &[tags, &[("le", bound.as_str())]].concat(), below);
        }
        self.sample(&bucket, &[tags, &[("le", "+Inf")]].concat(), count);
        self.sample(&format!("{metric}_sum"), tags, seconds(sum));
        self.sample(&format!("{metric}_count"), tags, count);
    }

    fn run_wide(&mut self, run: &Run) {
        let rows = &run.totals.rows;
        self.metric(
            "loadline_arrivals_total",
            "counter",
            "Arrivals: due according to the plan, started, skipped because of the plan's limit.",
        );
        let arrivals = [
            ("due", rows.due),
            ("started", rows.started),
            ("skipped", rows.skipped),
        ];
        for (state, n) in arrivals {
            self.sample("loadline_arrivals_total", &[("state", state)], n);
        }
        let last = rows.last();
        let now = |figure: fn(&IntervalRow) -> u64| last.as_ref().map_or(0, figure);
        self.one(
            "loadline_in_flight",
            "gauge",
            "Requests in flight.",
            now(|row| row.run.in_flight.last),
        );
        self.one(
            "loadline_users",
            "gauge",
            "Virtual users running.",
            now(|row| row.run.users.last),
        );
        self.one(
            "loadline_connections",
            "gauge",
            "Connections open.",
            now(|row| row.run.connections),
        );
        self.one(
            "loadline_connections_opened_total",
            "counter",
            "Connections opened.",
            rows.opened,
        );
        self.metric(
"loadline_lateness_seconds",
"histogram",
"Time from the intended start until the generator handled it: the generator's own delay.",
);
        let all = run.totals.label(label::ALL);
        let lateness = all.slot.histogram(TimeKind::Lateness, OutcomeClass::Ok);
        let known: Vec<&Histogram> = lateness.into_iter().collect();
        let (count, sum) = known
            .iter()
            .fold((0, 0), |(count, sum), h| (count + h.count(), sum + h.sum()));
        self.buckets("loadline_lateness_seconds", &[], &known, count, sum);
    }

    fn workers(&mut self, run: &Run) {
        let figures: [(&str, &str, ByWorker); 3] = [
            (
                "loadline_worker_cpu_seconds_total",
                "CPU time of a worker, including spinning.",
                |row| &row.run.cpu_ns,
            ),
            (
                "loadline_worker_spin_seconds_total",
                "Time spent spinning for the next arrival, included in CPU time.",
                |row| &row.run.spin_ns,
            ),
            (
                "loadline_worker_waiting_seconds_total",
                "Time for which a worker was ready to run but had no CPU.",
                |row| &row.run.waiting_ns,
            ),
        ];
        for (metric, help, of) in figures {
            self.metric(metric, "counter", help);
            let mut sums: Vec<u128> = Vec::new();
            for row in run.totals.rows.iter() {
                let by_worker = of(&row);
                sums.resize(sums.len().max(by_worker.len()), 0);
                sums.iter_mut()
                    .zip(by_worker)
                    .for_each(|(sum, ns)| *sum += u128::from(*ns));
            }
            for (worker, sum) in sums.into_iter().enumerate() {
                self.sample(metric, &[("worker", &worker.to_string())], seconds(sum));
            }
        }
    }
}

/// Returns counts by name. Merges labels with equal text. Omits the total, because sums over labels
/// would count requests twice.
fn parts(run: &Run, wanted: fn(LabelGroup) -> bool) -> Vec<(String, LabelTotals)> {
    let mut parts: Vec<(String, LabelTotals)> = Vec::new();
    let labels = run.labels.iter();
    for label in labels.filter(|label| label.id != label::ALL && wanted(label.group)) {
        let part = run.totals.label(label.id);
        match parts.iter_mut().find(|(text, _)| *text == label.text) {
            Some((_, known)) => known.add(&part),
            None => parts.push((label.text.clone(), part)),
        }
    }
    parts
}

fn seconds(ns: u128) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
