//! The control port: `GET /metrics`, `GET /database` and `GET /cache` in Prometheus text format.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::platform::{OfShared, Platform};
use crate::exposition::{self, head, line};

const SECONDS: &str = "process_cpu_seconds_total";
const CORES: &str = "instance_cores";
const THROTTLED: &str = "container_cpu_cfs_throttled_seconds_total";
const REQUESTS: &str = "http_requests_total";

pub(super) fn routes(platform: &Arc<Platform>) -> Router {
    let of = |read: fn(&Platform) -> String| {
        let platform = Arc::clone(platform);
        get(async move || exposition::answer(read(&platform)))
    };
    Router::new()
        .route("/metrics", of(servers))
        .route(
            "/database",
            of(|platform| shared(&platform.database(), "database", "queries")),
        )
        .route(
            "/cache",
            of(|platform| shared(&platform.cache(), "cache", "commands")),
        )
}

fn servers(platform: &Platform) -> String {
    let all = platform.servers();
    let mut text = String::new();
    let mut rows = |name: &str, kind: &str, help: &str, values: Vec<f64>| {
        head(&mut text, name, kind, help);
        for (number, value) in values.into_iter().enumerate() {
            line(&mut text, name, &format!("instance=\"{number}\""), value);
        }
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let busy = all.iter().map(|one| seconds(one.busy_ns)).collect();
    rows(SECONDS, "counter", "CPU time of all cores", busy);
    let cores = all.iter().map(|one| one.cpus).collect();
    rows(CORES, "gauge", "CPU cores of the server", cores);
    let requests = all.iter().map(|one| one.requests as f64).collect();
    rows(REQUESTS, "counter", "Requests that were handled", requests);
    let held = all.iter().filter_map(|one| one.held_back_ns).map(seconds);
    let held: Vec<f64> = held.collect();
    if !held.is_empty() {
        let help = "Time for which the quota of the control group throttled the server";
        rows(THROTTLED, "counter", help, held);
    }
    text
}

fn shared(resource: &OfShared, name: &str, what: &str) -> String {
    let mut text = String::new();
    let mut row = |name: &str, kind: &str, help: &str, value: f64| {
        head(&mut text, name, kind, help);
        line(&mut text, name, "", value);
    };
    row(
        SECONDS,
        "counter",
        "CPU time of all cores",
        resource.busy_ns as f64 / 1e9,
    );
    row(CORES, "gauge", "CPU cores", f64::from(resource.cores));
    let (active, waiting) = (format!("{name}_active"), format!("{name}_waiting"));
    row(
        &active,
        "gauge",
        "Requests being handled",
        resource.active as f64,
    );
    row(
        &waiting,
        "gauge",
        "Waiting for a core",
        resource.waiting as f64,
    );
    let total = format!("{name}_{what}_total");
    row(
        &total,
        "counter",
        "Queries executed so far",
        resource.asked as f64,
    );
    text
}
