//! The control port, with `GET /stats` as in Puma's control application, and `GET /metrics` with
//! the names of Puma's exporter.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::fleet::Fleet;
use super::instance::{Instance, InstanceStats};
use crate::exposition::{self, head, line};

/// Process ID of the first instance, which serves only as a name.
const FIRST_PID: usize = 1_000;

pub(super) fn routes(fleet: &Arc<Fleet>, names: [&'static str; 2]) -> Router {
    let (of_stats, of_metrics) = (Arc::clone(fleet), Arc::clone(fleet));
    let stats = move || Json(stats(&of_stats));
    let metrics = move || exposition::answer(metrics(&of_metrics, names));
    Router::new()
        .route("/stats", get(async move || stats()))
        .route("/metrics", get(async move || metrics()))
}

fn stats(fleet: &Fleet) -> Value {
    let all = fleet.all();
    let started = all.first().map(|first| first.started.clone());
    let now = crate::wall_clock::instant_utc();
    let workers: Vec<Value> = all.iter().map(|one| worker(one, &now)).collect();
    json!({
        "started_at": started,
        "workers": all.len(),
        "phase": 0,
        "booted_workers": all.len(),
        "old_workers": 0,
        "worker_status": workers,
    })
}

fn worker(instance: &Instance, now: &str) -> Value {
    let rendered = instance.render();
    json!({
        "started_at": instance.started,
        "pid": FIRST_PID + instance.index,
        "index": instance.index,
        "phase": 0,
        "booted": true,
        "last_checkin": now,
        "last_status": {
            "backlog": rendered.backlog,
            "running": instance.max_threads,
            "pool_capacity": rendered.free(instance.max_threads),
            // As in Puma: working threads plus requests that wait for a thread.
            "busy_threads": rendered.busy + rendered.backlog,
            "max_threads": instance.max_threads,
            "requests_count": rendered.taken,
        },
    })
}

type InstanceMetric = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Instance, &InstanceStats) -> f64,
);

const ROWS: [InstanceMetric; 10] = [
    (
        "puma_booted_workers",
        "gauge",
        "Workers that have started",
        |_, _| 1.0,
    ),
    (
        "puma_running_threads",
        "gauge",
        "Threads that have been started",
        |one, _| one.max_threads as f64,
    ),
    (
        "puma_max_threads",
        "gauge",
        "Maximum number of threads",
        |one, _| one.max_threads as f64,
    ),
    (
        "puma_thread_pool_capacity",
        "gauge",
        "Threads that are ready for a request",
        |one, rendered| rendered.free(one.max_threads) as f64,
    ),
    (
        "puma_busy_threads",
        "gauge",
        "Busy threads and requests waiting for a thread",
        |_, rendered| (rendered.busy + rendered.backlog) as f64,
    ),
    (
        "puma_request_backlog",
        "gauge",
        "Requests waiting for a thread",
        |_, rendered| rendered.backlog as f64,
    ),
    (
        "puma_requests_count",
        "counter",
        "Requests that were handled",
        |_, rendered| rendered.taken as f64,
    ),
    (
        "process_cpu_seconds_total",
        "counter",
        "CPU time of all cores",
        |_, rendered| rendered.cpu_ns as f64 / 1e9,
    ),
    (
        "instance_cores",
        "gauge",
        "CPU cores of the instance",
        |_, rendered| f64::from(rendered.cores),
    ),
    (
        "instance_cpu_ratio",
        "gauge",
        "Share of cores that were busy in the last second",
        |_, rendered| rendered.cpu,
    ),
];

fn metrics(fleet: &Fleet, names: [&str; 2]) -> String {
    let all: Vec<_> = fleet
        .all()
        .into_iter()
        .map(|instance| {
            let rendered = instance.render();
            (instance, rendered)
        })
        .collect();
    let mut text = String::new();
    for (name, kind, help, value) in ROWS {
        head(&mut text, name, kind, help);
        for (instance, rendered) in &all {
            let (index, value) = (instance.index, value(instance, rendered));
            line(&mut text, name, &format!("instance=\"{index}\""), value);
        }
    }
    waiting(&mut text, &all, names);
    pool_wait(&mut text, &all);
    let seconds = "checkin_downstream_seconds";
    head(
        &mut text,
        seconds,
        "summary",
        "Duration of calls to a downstream service",
    );
    let failures = "checkin_downstream_failures_total";
    let mut failed = String::new();
    head(
        &mut failed,
        failures,
        "counter",
        "Failed calls to a downstream service",
    );
    for (instance, _) in &all {
        for (name, calls) in names.iter().zip(instance.calls()) {
            let labels = format!("instance=\"{}\",downstream=\"{name}\"", instance.index);
            let (sum, count) = (calls.ns.load(Relaxed), calls.ended.load(Relaxed));
            line(
                &mut text,
                &format!("{seconds}_sum"),
                &labels,
                sum as f64 / 1e9,
            );
            line(
                &mut text,
                &format!("{seconds}_count"),
                &labels,
                count as f64,
            );
            line(
                &mut failed,
                failures,
                &labels,
                calls.failed.load(Relaxed) as f64,
            );
        }
    }
    text + &failed
}

fn waiting(text: &mut String, all: &[(Arc<Instance>, InstanceStats)], names: [&str; 2]) {
    let waiting = "checkin_threads_waiting";
    head(
        text,
        waiting,
        "gauge",
        "Threads that are waiting for another service, by service",
    );
    for (instance, rendered) in all {
        let index = instance.index;
        for (name, calls) in names.iter().zip(instance.calls()) {
            let labels = format!("instance=\"{index}\",for=\"{name}\"");
            line(text, waiting, &labels, calls.in_flight.load(Relaxed) as f64);
        }
        let labels = format!("instance=\"{index}\",for=\"other work\"");
        line(text, waiting, &labels, rendered.elsewhere as f64);
    }
    let lock = "checkin_lock_waiters";
    head(
        text,
        lock,
        "gauge",
        "Threads waiting for the instance's lock",
    );
    for (instance, rendered) in all {
        let labels = format!("instance=\"{}\",on=\"sessions\"", instance.index);
        line(text, lock, &labels, rendered.locked_out as f64);
    }
}

fn pool_wait(text: &mut String, all: &[(Arc<Instance>, InstanceStats)]) {
    let name = "checkin_pool_wait_seconds";
    head(
        text,
        name,
        "summary",
        "Time that requests waited for a thread",
    );
    for (instance, rendered) in all {
        let labels = format!("instance=\"{}\"", instance.index);
        let seconds = rendered.waited_ns as f64 / 1e9;
        line(text, &format!("{name}_sum"), &labels, seconds);
        line(
            text,
            &format!("{name}_count"),
            &labels,
            rendered.taken as f64,
        );
    }
}

pub(super) fn status(fleet: &Fleet) -> Value {
    let all: Vec<InstanceStats> = fleet.all().iter().map(|one| one.render()).collect();
    let taken: u64 = all.iter().map(|one| one.taken).sum();
    let waited: u64 = all.iter().map(|one| one.waited_ns).sum();
    let longest = all.iter().map(|one| one.longest_ns).max().unwrap_or(0);
    json!({
        "taken_up": taken,
        "mean_ms": waited as f64 / 1e6 / taken.max(1) as f64,
        "max_ms": longest as f64 / 1e6,
    })
}
