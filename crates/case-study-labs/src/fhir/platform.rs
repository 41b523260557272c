//! The simulated platform of the FHIR server: servers, a shared database and a cache, with limited
//! CPU time in virtual time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cores::Cores;
use crate::lab_config::{self, LabConfig};
use crate::quota::{PERIOD_NS, Quota};
use lab::draw::Draws;
use lab::random::mix;
use lab::timer::Timer;
use lab::{LabError, LabOptions, clock};

const NAME: &str = "fhir";
pub(super) const OPTIONS: [&str; 4] = ["servers", "cpu", "database", "control-port"];

const US: u64 = 1_000;
const CROWD: f64 = 1_000.0;
const MOST: f64 = 5.0;

#[derive(Clone, Copy)]
pub(super) enum FhirOperation {
    Health,
    Create,
    Read,
    Update,
    Delete,
    Search,
}

struct Costs {
    server_ns: u64,
    database_ns: u64,
    cache_ns: u64,
}

impl FhirOperation {
    /// Returns the costs of operations. They are chosen so that a quarter of a core handles 943
    /// health checks/s, and two database cores handle 556 rounds of create, read and search per
    /// second.
    fn costs(self) -> Costs {
        let (server, database, cache) = match self {
            FhirOperation::Health => (265, 50, 20),
            FhirOperation::Create => (1_200, 1_500, 60),
            FhirOperation::Read => (500, 700, 40),
            FhirOperation::Update => (1_200, 1_700, 60),
            FhirOperation::Delete => (500, 1_200, 40),
            FhirOperation::Search => (800, 1_400, 20),
        };
        Costs {
            server_ns: server * US,
            database_ns: database * US,
            cache_ns: cache * US,
        }
    }
}

enum Processor {
    Whole(Cores),
    Part(Quota),
}

struct ServerState {
    processor: Mutex<Processor>,
    requests: AtomicU64,
}

pub(super) struct Platform {
    servers: Vec<ServerState>,
    database: Mutex<Cores>,
    cache: Mutex<Cores>,
    queries: AtomicU64,
    /// Number of received requests, used for the round robin and random draws.
    came: AtomicU64,
    timer: Timer,
    draws: [Draws; 3],
    cpus: f64,
    database_cores: u32,
    pub(super) control_port: u16,
}

pub(super) struct OfServer {
    pub(super) busy_ns: u64,
    pub(super) held_back_ns: Option<u64>,
    pub(super) cpus: f64,
    pub(super) requests: u64,
}

pub(super) struct OfShared {
    pub(super) busy_ns: u64,
    pub(super) cores: u32,
    pub(super) active: usize,
    pub(super) waiting: usize,
    pub(super) asked: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Platform {
    pub(super) fn read(options: &LabOptions, seed: u64) -> Result<Option<Self>, LabError> {
        let is_asked = OPTIONS.iter().any(|name| options.extra(name).is_some());
        if !is_asked {
            return Ok(None);
        }
        let given = LabConfig { lab: NAME, options };
        let servers = given.count("servers", "1", 100)?;
        let cpus = given.value("cpu", "1", cpus)?;
        let database = given.count("database", "2", 256)? as u32;
        let control_port = given.value("control-port", "0", lab_config::port)?;
        let now = clock::monotonic_ns();
        let cores = |count: u32| Mutex::new(Cores::new(count, None, Draws::new(seed), now));
        Ok(Some(Self {
            servers: (0..servers).map(|_| ServerState::new(cpus, now)).collect(),
            database: cores(database),
            cache: cores(1),
            queries: AtomicU64::new(0),
            came: AtomicU64::new(0),
            timer: Timer::start()?,
            draws: [1, 2, 3].map(|part| Draws::new(mix(seed ^ (part << 32)))),
            cpus,
            database_cores: database,
            control_port,
        }))
    }

    pub(super) async fn pass(&self, asked: FhirOperation) {
        let number = self.came.fetch_add(1, Relaxed);
        let costs = asked.costs();
        let drawn = |part: usize, ns: u64| self.draws[part].exponential(ns, number);
        let turn = number as usize % self.servers.len();
        let server = &self.servers[turn];
        server.requests.fetch_add(1, Relaxed);
        let done = server.compute(clock::monotonic_ns(), drawn(0, costs.server_ns));
        self.timer.until(done).await;
        let done = lock(&self.cache).compute(clock::monotonic_ns(), drawn(1, costs.cache_ns));
        self.timer.until(done).await;
        self.queries.fetch_add(1, Relaxed);
        let done = self.query(clock::monotonic_ns(), drawn(2, costs.database_ns));
        self.timer.until(done).await;
    }

    fn query(&self, now: u64, ns: u64) -> u64 {
        let mut cores = lock(&self.database);
        let waiting = cores
            .in_flight(now)
            .saturating_sub(self.database_cores as usize);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a duration multiplied by a small factor"
        )]
        let ns = (ns as f64 * crowded(waiting)) as u64;
        cores.compute(now, ns)
    }

    pub(super) fn servers(&self) -> Vec<OfServer> {
        let now = clock::monotonic_ns();
        let servers = self.servers.iter().map(|server| {
            let (busy_ns, held_back_ns) = match &mut *lock(&server.processor) {
                Processor::Whole(cores) => (cores.busy_ns(now), None),
                Processor::Part(quota) => (quota.busy_ns(now), Some(quota.held_back_ns(now))),
            };
            OfServer {
                busy_ns,
                held_back_ns,
                cpus: self.cpus,
                requests: server.requests.load(Relaxed),
            }
        });
        servers.collect()
    }

    pub(super) fn database(&self) -> OfShared {
        render(&self.database, self.queries.load(Relaxed))
    }

    pub(super) fn cache(&self) -> OfShared {
        render(&self.cache, self.came.load(Relaxed))
    }
}

fn render(cores: &Mutex<Cores>, asked: u64) -> OfShared {
    let now = clock::monotonic_ns();
    let mut cores = lock(cores);
    let in_flight = cores.in_flight(now);
    let active = in_flight.min(cores.count as usize);
    OfShared {
        busy_ns: cores.busy_ns(now),
        cores: cores.count,
        active,
        waiting: in_flight - active,
        asked,
    }
}

fn crowded(waiting: usize) -> f64 {
    (1.0 + waiting as f64 / CROWD).min(MOST)
}

impl ServerState {
    fn new(cpus: f64, now: u64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the option is part of a core, or at most 256 cores"
        )]
        let processor = if cpus < 1.0 {
            Processor::Part(Quota::new((cpus * PERIOD_NS as f64) as u64))
        } else {
            Processor::Whole(Cores::new(cpus as u32, None, Draws::new(0), now))
        };
        Self {
            processor: Mutex::new(processor),
            requests: AtomicU64::new(0),
        }
    }

    fn compute(&self, now: u64, ns: u64) -> u64 {
        match &mut *lock(&self.processor) {
            Processor::Whole(cores) => cores.compute(now, ns),
            Processor::Part(quota) => quota.compute(now, ns),
        }
    }
}

fn cpus(text: &str) -> Result<f64, String> {
    let form = "use a whole number of cores from 1 to 256, or a fraction of one core, at least 0.01, for example 0.25";
    let cpus: f64 = text.parse().map_err(|_| form.to_owned())?;
    let is_part = (0.01..1.0).contains(&cpus);
    let is_whole = (1.0..=256.0).contains(&cpus) && cpus.fract() == 0.0;
    (is_part || is_whole).then_some(cpus).ok_or(form.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(pairs: &[(&str, &str)]) -> Result<Option<Platform>, String> {
        let extra = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let options = LabOptions {
            extra: extra.collect(),
            ..LabOptions::default()
        };
        Platform::read(&options, 7).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_asked_for_is_there_and_the_rest_is_usual() {
        assert!(platform(&[]).unwrap().is_none());
        let read = platform(&[("servers", "3"), ("cpu", "4")])
            .unwrap()
            .unwrap();
        let servers = read.servers();
        assert_eq!(servers.len(), 3);
        assert!(
            servers
                .iter()
                .all(|one| one.cpus == 4.0 && one.held_back_ns.is_none())
        );
        assert_eq!((read.database().cores, read.cache().cores), (2, 1));
        let read = platform(&[("cpu", "0.25")]).unwrap().unwrap();
        assert_eq!(read.servers()[0].held_back_ns, Some(0));
    }

    #[test]
    fn what_cannot_be_is_refused_with_advice() {
        for (option, value) in [
            ("servers", "0"),
            ("cpu", "0"),
            ("cpu", "1.5"),
            ("cpu", "NaN"),
            ("database", "big"),
            ("control-port", "70000"),
        ] {
            let line = platform(&[(option, value)]).err().unwrap();
            assert!(
                line.contains(&format!("{option}={value} is not valid: ")),
                "{line}"
            );
        }
    }

    #[test]
    fn servers_take_turns_and_the_database_is_shared() {
        let platform = platform(&[("servers", "3"), ("cpu", "2")])
            .unwrap()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            for _ in 0..30 {
                platform.pass(FhirOperation::Create).await;
            }
        });
        assert!(
            platform
                .servers()
                .iter()
                .all(|one| one.requests == 10 && one.busy_ns > 0)
        );
        let database = platform.database();
        assert_eq!(
            (database.asked, database.active, database.waiting),
            (30, 0, 0)
        );
        let expected: u64 = (0..30)
            .map(|n| platform.draws[2].exponential(1_500 * US, n))
            .sum();
        assert_eq!(database.busy_ns, expected);
    }

    #[test]
    fn crowded_database_is_slower_but_progresses() {
        let platform = platform(&[("database", "2")]).unwrap().unwrap();
        let done = (0..4_000_u64).map(|_| platform.query(1, US)).max().unwrap();
        let plain = 4_000 * US / 2;
        assert!(done > 2 * plain && done < 5 * plain, "{done}");
        assert_eq!(crowded(0), 1.0);
        assert_eq!(crowded(1_000_000), 5.0);
    }
}
