use std::collections::VecDeque;

use plan::rng::{Purpose, Rng};

use super::*;

const STEPS: u64 = 100;
const SECONDS: u64 = 90;

#[derive(Clone, Copy)]
struct ThreadService {
    threads: usize,
    cores: f64,
    cpu: f64,
    lock: f64,
    downstream: [f64; 2],
    rate: [f64; 2],
}

const CALM: ThreadService = ThreadService {
    threads: 16,
    cores: 4.0,
    cpu: 0.01,
    lock: 0.0,
    downstream: [0.05, 0.05],
    rate: [20.0, 60.0],
};

struct Request {
    cpu: f64,
    lock: f64,
    downstream: f64,
}

#[derive(Default)]
struct ServiceSecond {
    free: f64,
    backlog: f64,
    cpu: f64,
    for_lock: f64,
    for_downstream: f64,
}

fn simulated(service: ThreadService, seed: u64) -> Vec<ServiceSecond> {
    let mut rng = Rng::keyed(seed, Purpose::User, 0, 0);
    let (mut line, mut running) = (VecDeque::new(), Vec::<Request>::new());
    let dt = 1.0 / STEPS as f64;
    let mut seconds = Vec::new();
    for second in 0..SECONDS {
        let mut seen = ServiceSecond::default();
        let share = second as f64 / SECONDS as f64;
        let rate = service.rate[0] + (service.rate[1] - service.rate[0]) * share;
        let downstream = service.downstream[usize::from(share >= 0.5)];
        for _ in 0..STEPS {
            let mut at = rng.exponential() / rate;
            while at < dt {
                line.push_back(Request {
                    cpu: service.cpu * rng.exponential(),
                    lock: service.lock * rng.exponential(),
                    downstream: downstream * rng.exponential(),
                });
                at += rng.exponential() / rate;
            }
            taken_up(service, &mut line, &mut running);
            step(service, &mut running, dt, &mut seen);
            taken_up(service, &mut line, &mut running);
        }
        seen.free = (service.threads - running.len()) as f64;
        seen.backlog = line.len() as f64;
        seconds.push(seen);
    }
    seconds
}

fn taken_up(service: ThreadService, line: &mut VecDeque<Request>, running: &mut Vec<Request>) {
    while running.len() < service.threads {
        let Some(request) = line.pop_front() else {
            break;
        };
        running.push(request);
    }
}

/// Advances all requests by one time step.
fn step(service: ThreadService, running: &mut Vec<Request>, dt: f64, seen: &mut ServiceSecond) {
    let computing = running.iter().filter(|request| request.cpu > 0.0).count() as f64;
    let speed = (service.cores / computing.max(1.0)).min(1.0);
    seen.cpu += computing.min(service.cores) * dt;
    let mut lock_is_free = true;
    for request in running.iter_mut() {
        if request.cpu > 0.0 {
            request.cpu -= dt * speed;
        } else if request.lock > 0.0 {
            seen.for_lock += dt;
            if std::mem::take(&mut lock_is_free) {
                request.lock -= dt;
            }
        } else {
            seen.for_downstream += dt;
            request.downstream -= dt;
        }
    }
    running.retain(|request| request.cpu > 0.0 || request.lock > 0.0 || request.downstream > 0.0);
}

pub(super) fn metric(
    source: &str,
    metric: &str,
    of: Option<&str>,
    values: impl Iterator<Item = f64>,
) -> WatchedMetric {
    WatchedMetric {
        source: source.into(),
        metric: metric.into(),
        of: of.map(ToOwned::to_owned),
        unit: String::new(),
        looks: values
            .enumerate()
            .map(|(second, value)| ((second as u64 + 1) * SECOND, value))
            .collect(),
    }
}

fn metrics(service: ThreadService, seen: &[ServiceSecond]) -> Vec<WatchedMetric> {
    let of = |name: &str, value: &dyn Fn(&ServiceSecond) -> f64| {
        metric("puma", name, Some("0"), seen.iter().map(value))
    };
    let app = |name: &str, labels: &str, value: &dyn Fn(&ServiceSecond) -> f64| {
        metric("app", name, Some(labels), seen.iter().map(value))
    };
    vec![
        of("worker_status.last_status.pool_capacity", &|seen| seen.free),
        of("worker_status.last_status.max_threads", &|_| {
            service.threads as f64
        }),
        of("worker_status.last_status.backlog", &|seen| seen.backlog),
        app("process_cpu_seconds_total", "instance=0", &|seen| seen.cpu),
        app("instance_cores", "instance=0", &|_| service.cores),
        app("instance_cpu_ratio", "instance=0", &|seen| {
            seen.cpu / service.cores
        }),
        app(
            "checkin_threads_waiting",
            "instance=0,for=lorota",
            &|seen| seen.for_downstream,
        ),
        app(
            "checkin_downstream_seconds_sum",
            "instance=0,downstream=lorota",
            &|seen| seen.for_downstream,
        ),
        app("app_lock_waiting", "instance=0", &|seen| seen.for_lock),
    ]
}

pub(super) fn judged(all: &[WatchedMetric]) -> Saturation {
    judge(all, Some(4.0), &|_| Some(100.0)).expect("something was watched")
}

fn named(service: ThreadService, seed: u64) -> Option<String> {
    let saturation = judged(&metrics(service, &simulated(service, seed)));
    let first = &saturation.reached[saturation.first?];
    let cause = first
        .cause
        .as_deref()
        .and_then(|cause| cause.split(':').next());
    Some(match cause {
        Some(cause) => format!("{}, {cause}", first.resource),
        None => first.resource.clone(),
    })
}

/// Checks that at least 19 of 20 runs name this limit, and that no run names another one.
fn always(service: ThreadService, expected: Option<&str>) {
    let named: Vec<Option<String>> = (1..=20).map(|seed| named(service, seed)).collect();
    let right = named
        .iter()
        .filter(|name| name.as_deref() == expected)
        .count();
    let wrong: Vec<&String> = named
        .iter()
        .flatten()
        .filter(|name| Some(name.as_str()) != expected)
        .collect();
    assert!(
        right >= 19 && wrong.is_empty(),
        "{right} of 20 right; {wrong:?}"
    );
}

#[test]
fn a_pool_whose_threads_compute_is_too_small() {
    let service = ThreadService {
        threads: 4,
        cores: 8.0,
        cpu: 0.04,
        downstream: [0.001, 0.001],
        rate: [20.0, 160.0],
        ..CALM
    };
    always(service, Some("thread pool, too small"));
}

#[test]
fn a_pool_is_held_by_the_downstream_that_became_slow() {
    let service = ThreadService {
        downstream: [0.05, 2.0],
        rate: [40.0, 40.0],
        ..CALM
    };
    always(service, Some("thread pool, held by lorota"));
}

#[test]
fn pool_is_held_by_constantly_slow_downstream() {
    let service = ThreadService {
        downstream: [1.1, 1.1],
        rate: [5.0, 40.0],
        ..CALM
    };
    always(service, Some("thread pool, held by lorota"));
}

#[test]
fn lock_with_metrics_is_named() {
    let service = ThreadService {
        lock: 0.02,
        rate: [20.0, 90.0],
        ..CALM
    };
    always(service, Some("thread pool, held by a lock"));
}

#[test]
fn the_processor_is_named_though_the_pool_is_full_too() {
    let service = ThreadService {
        cores: 2.0,
        cpu: 0.02,
        downstream: [0.01, 0.01],
        rate: [40.0, 160.0],
        ..CALM
    };
    always(service, Some("CPU"));
    always(
        ThreadService {
            threads: 64,
            ..service
        },
        Some("CPU"),
    );
}

#[test]
fn where_nothing_is_full_nothing_is_named() {
    always(CALM, None);
    let near = ThreadService {
        downstream: [0.19, 0.19],
        rate: [64.0, 64.0],
        ..CALM
    };
    always(near, None);
    let saturation = judged(&metrics(near, &simulated(near, 7)));
    assert_eq!(
        saturation.sentence,
        "No measured resource reached its limit: thread pool (puma), CPU (app)."
    );
}

#[test]
fn missing_figures_give_no_cause() {
    let service = ThreadService {
        lock: 0.02,
        rate: [20.0, 90.0],
        ..CALM
    };
    let mut all = metrics(service, &simulated(service, 3));
    all.retain(|one| !one.metric.contains("lock"));
    let saturation = judged(&all);
    let first = &saturation.reached[saturation.first.expect("a first")];
    assert_eq!(
        (first.resource.as_str(), first.cause.as_deref()),
        ("thread pool", None)
    );
    assert!(
        saturation
            .sentence
            .ends_with("the measurements do not show why it is full.")
    );
    let mut all = metrics(service, &simulated(service, 3));
    all.retain(|one| !one.metric.contains("cpu"));
    let saturation = judged(&all);
    assert_eq!(saturation.reached[0].cause, None);
    let unknown = judged(&[metric("app", "queue", None, (0..20).map(f64::from))]);
    assert_eq!((unknown.first, unknown.reached.len()), (None, 0));
    assert!(
        unknown
            .sentence
            .contains("is unknown: no measured resource has a known limit")
    );
}

#[test]
fn those_who_hold_the_threads_together_are_named_together() {
    let service = ThreadService {
        downstream: [1.1, 1.1],
        rate: [5.0, 40.0],
        ..CALM
    };
    let mut all = metrics(service, &simulated(service, 3));
    all.retain(|one| !one.metric.contains("seconds_sum"));
    let waiting = all
        .iter()
        .position(|one| one.metric.contains("threads_waiting"));
    let both = all.swap_remove(waiting.expect("a metric"));
    for (name, share) in [("chip", 0.45), ("lorota", 0.5), ("other", 0.05)] {
        let part = both.looks.iter().map(|(_, value)| value * share);
        let labels = format!("instance=0,for={name}");
        all.push(metric("app", &both.metric, Some(&labels), part));
    }
    let saturation = judged(&all);
    let cause = saturation.reached[0].cause.as_deref();
    assert!(
        cause.is_some_and(|cause| cause.starts_with("held by lorota and chip: ")),
        "{cause:?}"
    );
}

#[test]
fn simultaneous_limits_are_not_ordered() {
    let from = |second: usize, before: f64, after: f64| {
        (0..30).map(move |i| if i < second { before } else { after })
    };
    let all = |apart: usize| {
        vec![
            metric(
                "app",
                "hikaricp_connections_active",
                None,
                from(10, 1.0, 10.0),
            ),
            metric("app", "hikaricp_connections_max", None, from(0, 10.0, 10.0)),
            metric(
                "app",
                "hikaricp_connections_pending",
                None,
                from(10, 0.0, 5.0),
            ),
            metric(
                "app",
                "process_open_fds",
                None,
                from(10 + apart, 5.0, 100.0),
            ),
            metric("app", "process_max_fds", None, from(0, 100.0, 100.0)),
        ]
    };
    let together = judged(&all(1));
    assert_eq!((together.first, together.reached.len()), (None, 2));
    assert!(
        together.sentence.contains("do not show whether"),
        "{}",
        together.sentence
    );
    let apart = judged(&all(5));
    assert_eq!(
        apart
            .first
            .map(|place| apart.reached[place].resource.as_str()),
        Some("connection pool")
    );
    assert_eq!(
        (apart.reached[0].at_ns, apart.reached[1].at_ns),
        (11 * SECOND, 16 * SECOND)
    );
}

#[test]
fn instances_are_one_resource_and_the_first_of_them_is_its_moment() {
    let instance = |of: &str, full_from: usize| {
        let free = (0..30).map(move |i| if i < full_from { 3.0 } else { 0.0 });
        let waits = (0..30).map(move |i| if i < full_from { 0.0 } else { 2.0 });
        vec![
            metric("puma", "pool_capacity", Some(of), free),
            metric("puma", "max_threads", Some(of), (0..30).map(|_| 40.0)),
            metric("puma", "backlog", Some(of), waits),
        ]
    };
    let all: Vec<WatchedMetric> = [instance("0", 20), instance("1", 12), instance("2", 29)]
        .into_iter()
        .flatten()
        .collect();
    let saturation = judged(&all);
    let first = &saturation.reached[saturation.first.expect("a first")];
    assert_eq!(
        (first.instances, first.all_instances, first.at_ns),
        (2, 3, 13 * SECOND)
    );
    assert_eq!(first.limit, "0 of 80 left, and requests wait");
    assert!(saturation.sentence.starts_with(
        "First resource to saturate: thread pool (puma: 0 of 80 left, and requests wait, 2 of 3 instances), at 13 s with 100 requests/s;"
    ), "{}", saturation.sentence);
}

#[test]
fn gap_ends_a_state() {
    let mut full = metric("puma", "pool_capacity", None, (0..9).map(|_| 0.0));
    for look in full.looks.iter_mut().skip(4) {
        look.0 += 60 * SECOND;
    }
    let stretch = full.lasting(|_, free| free == 0.0).expect("a stretch");
    assert_eq!((stretch.from_ns, stretch.to_ns), (65 * SECOND, 69 * SECOND));
    assert!(
        metric("puma", "pool_capacity", None, (0..4).map(|_| 0.0))
            .lasting(|_, free| free == 0.0)
            .is_none()
    );
}

fn puma(
    source: &str,
    names: [&str; 3],
    workers: usize,
    free: &dyn Fn(u64) -> f64,
    backlog: f64,
) -> Vec<WatchedMetric> {
    let mut all = Vec::new();
    for worker in 0..workers {
        let index = format!("index={worker}");
        let mut add = |name: &str, value: &dyn Fn(u64) -> f64| {
            all.push(metric(source, name, Some(&index), (0..60).map(value)));
        };
        add(names[0], free);
        add(names[1], &|_| 16.0);
        add(names[2], &|_| backlog);
    }
    all
}

const EXPORTER: [&str; 3] = ["puma_pool_capacity", "puma_max_threads", "puma_backlog"];
const OTHER_NAMES: [&str; 3] = [
    "puma_thread_pool_capacity",
    "puma_max_threads",
    "puma_request_backlog",
];

#[test]
fn a_pool_without_a_free_thread_is_full_whatever_its_backlog_says() {
    for (backlog, words) in [
        (0.0, "0 of 32 left, 2 of 2"),
        (5.0, "0 of 32 left, and requests wait, 2 of 2"),
    ] {
        let all = puma("puma", EXPORTER, 2, &|_| 0.0, backlog);
        let reported = judge(&all, None, &|_| Some(300.0)).unwrap();
        assert!(reported.sentence.contains(words), "{}", reported.sentence);
        assert_eq!(reported.reached[0].resource, pools::THREADS);
    }
    let all = puma("puma", EXPORTER, 2, &|t| if t < 6 { 0.0 } else { 4.0 }, 0.0);
    let reported = judge(&all, None, &|_| Some(300.0)).unwrap();
    assert!(reported.reached.is_empty(), "{}", reported.sentence);
}

#[test]
fn one_pool_that_two_sources_measure_is_one_pool() {
    let free = |t: u64| if t < 20 { (t % 7) as f64 } else { 0.0 };
    let mut all = puma("puma", EXPORTER, 1, &free, 0.0);
    all.extend(puma("app", OTHER_NAMES, 1, &free, 0.0));
    let reported = judge(&all, None, &|_| Some(300.0)).unwrap();
    assert_eq!(reported.reached.len(), 1, "{}", reported.sentence);
    assert_eq!(reported.first, Some(0), "{}", reported.sentence);
    let mut all = puma("one", EXPORTER, 1, &|_| 0.0, 0.0);
    all.extend(puma("two", EXPORTER, 1, &|_| 0.0, 0.0));
    let reported = judge(&all, None, &|_| Some(300.0)).unwrap();
    assert_eq!(reported.reached.len(), 2, "{}", reported.sentence);
}

#[test]
fn a_pool_that_the_plan_declares_is_watched() {
    let declared = |waiting: Option<&str>| PoolFacts {
        source: "app".into(),
        pool: plan::server::PoolMetrics {
            busy: "permits_taken".into(),
            limit: "permits".into(),
            waiting: waiting.map(ToOwned::to_owned),
        },
    };
    let all = [
        metric(
            "app",
            "permits_taken",
            None,
            (0..60).map(|t| if t < 20 { 3.0 } else { 5.0 }),
        ),
        metric("app", "permits", None, (0..60).map(|_| 5.0)),
    ];
    let reported = judge(&all, None, &|_| Some(300.0)).unwrap();
    assert!(reported.watched.is_empty());
    let reported = judge_with(&all, &[declared(None)], None, None, &|_| Some(300.0)).unwrap();
    assert!(
        reported
            .sentence
            .starts_with("First resource to saturate: pool (app: 0 of 5 left), at 21 s"),
        "{}",
        reported.sentence
    );
    let missing = pools::unmatched(&all, &[declared(Some("queued"))]);
    assert_eq!(missing, ["server.app.queued"]);
}
