//! Tests the lab `truth`: compares the client's measurements with the log, on one clock. Times are
//! compared by their order, and durations only if they are hundreds of times larger than the noise.

mod modes;
mod stall;
mod wire;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use lab::{Lab, LabOptions};
use serde_json::{Value, json};

use crate::client::{Answer, Client};

const MS: u64 = 1_000_000;

#[allow(
    clippy::disallowed_methods,
    reason = "a client that measures has its own clock"
)]
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

struct Truth {
    lab: Option<Lab>,
    log: PathBuf,
}

impl Truth {
    fn start(options: &str) -> Self {
        Self::seeded(7, options)
    }

    fn seeded(seed: u64, options: &str) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let file = format!("lab-truth-{}-{number}.jsonl", std::process::id());
        let log = std::env::temp_dir().join(file);
        let extra = options.split_whitespace().map(|pair| {
            let (option, value) = pair.split_once('=').unwrap();
            (option.to_owned(), value.to_owned())
        });
        let options = LabOptions {
            seed,
            log: Some(log.clone()),
            extra: extra.collect(),
            ..LabOptions::default()
        };
        let lab = Some(Lab::start("truth", &options).unwrap());
        Self { lab, log }
    }

    fn address(&self) -> SocketAddr {
        self.lab.as_ref().unwrap().address()
    }

    fn client(&self) -> Client {
        Client::connect(self.address())
    }

    fn stats(&self) -> Value {
        crate::client::stats(self.address())
    }

    /// Waits until the stats meet a condition. Fails the test if they never do.
    fn stats_when(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..20_000 {
            let stats = self.stats();
            if wanted(&stats) {
                return stats;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        panic!("never came: {}", self.stats());
    }

    fn stop(mut self) -> Log {
        self.lab.take().unwrap().stop().unwrap();
        Log::read(&std::fs::read_to_string(&self.log).unwrap())
    }
}

impl Drop for Truth {
    fn drop(&mut self) {
        drop(self.lab.take());
        let _ = std::fs::remove_file(&self.log);
    }
}

#[derive(Debug)]
struct LoggedRequest {
    id: Option<String>,
    arrival: u64,
    release: Option<u64>,
    code: Option<u64>,
    due: Option<u64>,
    service: u64,
    n: u64,
    conn: u64,
}

#[derive(Default)]
struct Log {
    start: Option<u64>,
    stalls: Vec<(u64, u64)>,
    requests: Vec<LoggedRequest>,
}

impl Log {
    fn read(text: &str) -> Self {
        let mut log = Self::default();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let field = |name: &str| line[name].as_u64();
            if let Some(start) = field("start_ns") {
                assert_eq!((log.start, field("seed")), (None, Some(7)));
                log.start = Some(start);
            } else if let Some(stall) = line["stall"].as_array() {
                let ends: Vec<_> = stall.iter().map(|end| end.as_u64().unwrap()).collect();
                log.stalls.push((ends[0], ends[1]));
            } else {
                log.requests.push(LoggedRequest {
                    id: line["id"].as_str().map(str::to_owned),
                    arrival: field("arrival_ns").unwrap(),
                    release: field("release_ns"),
                    code: field("code"),
                    due: field("due_ns"),
                    service: field("service_ns").unwrap(),
                    n: field("n").unwrap(),
                    conn: field("conn").unwrap(),
                });
            }
        }
        log.check();
        log
    }

    fn check(&self) {
        let arrivals = self.in_order_of_arrival();
        assert!(
            arrivals
                .iter()
                .zip(0..)
                .all(|(reported, n)| reported.n == n)
        );
        assert_eq!(
            self.start,
            arrivals.first().map(|reported| reported.arrival)
        );
        assert!(arrivals.is_sorted_by_key(|reported| reported.arrival));
        let key = |reported: &LoggedRequest| reported.release.unwrap_or(u64::MAX);
        assert!(
            self.requests.is_sorted_by_key(key),
            "in order of release, unanswered last"
        );
        for reported in &self.requests {
            assert_eq!(
                reported.release.is_some(),
                reported.code.is_some(),
                "{reported:?}"
            );
            if let (Some(due), Some(release)) = (reported.due, reported.release) {
                assert!(
                    reported.arrival + reported.service <= due && due <= release,
                    "{reported:?}"
                );
            }
        }
    }

    fn in_order_of_arrival(&self) -> Vec<&LoggedRequest> {
        let mut requests: Vec<_> = self.requests.iter().collect();
        requests.sort_by_key(|reported| reported.n);
        requests
    }

    fn counts(&self) -> Value {
        let mut by_code = BTreeMap::<String, u64>::new();
        for code in self.requests.iter().filter_map(|reported| reported.code) {
            *by_code.entry(code.to_string()).or_default() += 1;
        }
        let resets = by_code.remove("0").unwrap_or(0);
        let answered: u64 = by_code.values().sum();
        let n = self.requests.len() as u64;
        json!({
            "received": { "total": n, "by_route": { "(any)": n } },
            "answered": { "total": answered, "by_route": { "(any)": by_code }, "by_code": by_code },
            "resets": resets,
            "never": n - answered - resets,
            "waiting": 0,
            "start_ns": self.start,
            "seed": 7,
        })
    }

    fn assert_agrees(&self, mut stats: Value) {
        let errors = stats.as_object_mut().unwrap().remove("release_error_ns");
        assert_eq!(stats, self.counts());
        let late = |reported: &LoggedRequest| Some(reported.release? - reported.due?);
        let worst = self.requests.iter().filter_map(late).max();
        let errors = errors.unwrap();
        assert_eq!(errors["max"].as_u64(), worst);
        assert!(errors["p50"].as_u64() <= errors["p99"].as_u64());
        assert!(errors["p99"].as_u64() <= worst);
    }
}

struct Seen {
    id: String,
    sent: u64,
    received: u64,
    answer: Answer,
}

fn requests(to: SocketAddr, name: &str, n: usize) -> Vec<Seen> {
    let request = |k| {
        let id = format!("{name}-{k}");
        let mut client = Client::connect(to).with_header("X-Request-Id", &id);
        let sent = now();
        let answer = client.get("/any/path?q");
        Seen {
            id,
            sent,
            received: now(),
            answer,
        }
    };
    (0..n).map(request).collect()
}

fn requests_of_many(to: SocketAddr, clients: usize, n: usize) -> Vec<Seen> {
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients)
            .map(|client| scope.spawn(move || requests(to, &client.to_string(), n)))
            .collect();
        let seen = clients
            .into_iter()
            .flat_map(|client| client.join().unwrap());
        seen.collect()
    })
}

fn assert_same(log: &Log, seen: &[Seen]) {
    assert_eq!(log.requests.len(), seen.len());
    for seen in seen {
        let reported = log
            .requests
            .iter()
            .find(|reported| reported.id.as_ref() == Some(&seen.id));
        let reported = reported.unwrap_or_else(|| panic!("{} is not in the log", seen.id));
        let release = reported.release.unwrap();
        assert!(
            seen.sent <= reported.arrival && release <= seen.received,
            "{reported:?}"
        );
        assert_eq!(reported.code, Some(seen.answer.code.into()));
        let measured = seen.received - seen.sent;
        let delay = release - reported.arrival;
        assert!(
            measured - delay < 2_000 * MS,
            "measured {measured}, logged {delay}"
        );
        assert!(release - reported.due.unwrap() < 2_000 * MS, "{reported:?}");
    }
}
