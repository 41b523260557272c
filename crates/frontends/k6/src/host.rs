//! The services that a worker provides to virtual users: requests, time, samples and the log.

use std::{
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use k6::{
    exit::RunError,
    log::Level,
    metric::{MetricId, SampleSink},
    summary::legacy,
    tags::{TagCache, Tags},
};
use measure::{Fault, sample::Intended};
use script::k6::{
    Host, HostFuture, HttpError, HttpOutcome, HttpRequest, InstanceInfo, OpenedSocket,
    ScenarioInfo, SocketRequest, VuConnections,
};
use worker::{
    OutputLine, Worker,
    client::{Client, pool::ConnectionPool},
    deadlines::Limit,
    stop::Cause,
};

use crate::{addresses::Addresses, faults, samples::SampleReceiver, shared::Shared};

/// The script host of a worker.
pub struct RunHost {
    pub worker: Rc<Worker>,
    pub client: Client,
    pub shared: Arc<Shared>,
    pub samples: SampleReceiver,
    addresses: Option<Rc<Addresses>>,
    tag_cache: Rc<TagCache>,
    /// Connections of each virtual user, with the iteration to which they belong.
    pools: RefCell<HashMap<u64, (u64, Rc<ConnectionPool>)>>,
    /// Intended and actual starts of iterations whose first request has not been sent, by virtual
    /// user.
    first: RefCell<HashMap<u64, FirstRequest>>,
    /// Bytes of each virtual user since its last iteration: sent and received.
    pub traffic: RefCell<HashMap<u64, (u64, u64)>>,
}

/// The intended and the actual start of an iteration.
#[derive(Debug, Clone, Copy)]
struct FirstRequest {
    intended: Intended,
    started_ns: u64,
}

impl RunHost {
    pub fn new(
        worker: &Rc<Worker>,
        client: Client,
        shared: &Arc<Shared>,
        addresses: Option<Rc<Addresses>>,
    ) -> RunHost {
        RunHost {
            worker: Rc::clone(worker),
            client,
            shared: Arc::clone(shared),
            samples: SampleReceiver::new(worker, shared),
            addresses,
            tag_cache: Rc::default(),
            pools: RefCell::default(),
            first: RefCell::default(),
            traffic: RefCell::default(),
        }
    }

    /// Adds samples at the current time.
    pub fn add(&self, tags: &Tags, values: &[(MetricId, f64)]) {
        self.samples.add(self.wall_ns(), tags, values);
    }

    pub fn warn(&self, text: &str) {
        self.log(Level::Warning, text, &[]);
    }

    /// Records the start of a virtual user's iteration. Its first request inherits its lateness.
    pub fn begin_iteration(&self, vu: u64, intended: Intended, started_ns: u64) {
        let first = FirstRequest {
            intended,
            started_ns,
        };
        self.first.borrow_mut().insert(vu, first);
    }

    /// Returns the intended start of a request that is sent now.
    pub fn intended(&self, vu: u64, now_ns: u64) -> Intended {
        match self.first.borrow_mut().remove(&vu) {
            // The time that the script spent before the request counts as think time.
            Some(first) => {
                let elapsed_ns = now_ns.saturating_sub(first.started_ns);
                first.intended.delayed(elapsed_ns)
            }
            None => Intended::after_previous(now_ns, 0),
        }
    }

    /// Returns the connections of a virtual user.
    pub fn pool(&self, connections: VuConnections) -> Rc<ConnectionPool> {
        let options = &self.shared.options;
        if options.no_connection_reuse == Some(true) {
            return Rc::new(ConnectionPool::own());
        }
        let mut pools = self.pools.borrow_mut();
        let fresh = || (connections.iteration, Rc::new(ConnectionPool::own()));
        let known = pools.entry(connections.vu).or_insert_with(fresh);
        if options.no_vu_connection_reuse == Some(true) && known.0 != connections.iteration {
            *known = fresh();
        }
        Rc::clone(&known.1)
    }

    /// Adds bytes that a virtual user has sent and received.
    pub fn add_traffic(&self, vu: u64, sent: u64, received: u64) {
        let mut traffic = self.traffic.borrow_mut();
        let bytes = traffic.entry(vu).or_default();
        bytes.0 += sent;
        bytes.1 += received;
    }

    /// Waits until the option `rps` allows a request.
    pub async fn wait_for_rate(&self) {
        let Some(rps) = self.shared.options.rps.filter(|rps| *rps > 0) else {
            return;
        };
        let gap_ns = plan::units::SECOND / rps.unsigned_abs();
        let now_ns = self.worker.clock.now();
        let at_ns = self.shared.team.reserve_request(now_ns, gap_ns);
        if at_ns > now_ns {
            let _ = self.worker.sleep_until(at_ns, &Limit::default()).await;
        }
    }
}

/// A host that several virtual users share.
#[derive(Clone)]
pub struct SharedHost(pub Rc<RunHost>);

impl Host for SharedHost {
    fn send(&self, connections: VuConnections, request: HttpRequest) -> HostFuture<HttpOutcome> {
        let host = Rc::clone(&self.0);
        Box::pin(async move { crate::http::send(&host, connections, request).await })
    }

    fn open_socket(
        &self,
        connections: VuConnections,
        request: SocketRequest,
    ) -> HostFuture<OpenedSocket> {
        let host = Rc::clone(&self.0);
        Box::pin(async move { crate::websocket::open(&host, connections, request).await })
    }

    fn sleep(&self, ns: u64) -> HostFuture<()> {
        let worker = Rc::clone(&self.0.worker);
        let at_ns = worker.clock.now().saturating_add(ns);
        Box::pin(async move {
            let _ = worker.sleep_until(at_ns, &Limit::default()).await;
        })
    }

    fn now_ns(&self) -> u64 {
        self.0.worker.clock.now()
    }

    fn wall_ns(&self) -> i64 {
        self.0.wall_ns()
    }

    fn tag_cache(&self) -> Rc<TagCache> {
        Rc::clone(&self.0.tag_cache)
    }

    fn samples(&self) -> &dyn SampleSink {
        &self.0.samples
    }

    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        self.0.log(level, message, fields);
    }

    fn abort(&self, reason: &str) {
        self.0.shared.abort(reason);
        let error = RunError::ScriptAborted(reason.to_owned());
        let cause = Cause::Script(error.message());
        self.0.worker.common.stop.stop(cause);
    }

    fn mark_failed(&self, _: &str) {
        self.0.shared.mark_failed();
    }

    fn instance(&self) -> InstanceInfo {
        let progress = &self.0.shared.progress;
        InstanceInfo {
            current_test_run_duration_ms: progress.elapsed_ns(self.0.worker.clock.now()) as f64
                / 1e6,
            iterations_completed: progress.completed.load(Relaxed),
            iterations_interrupted: progress.interrupted.load(Relaxed),
            vus_active: progress.active_vus(),
            vus_initialized: progress.initialized.load(Relaxed),
        }
    }

    fn scenario(&self, name: &str) -> Option<ScenarioInfo> {
        let scenarios = &self.0.shared.plan.scenarios;
        let scenario = scenarios.iter().find(|scenario| scenario.name == name)?;
        let base_ns = self.0.shared.progress.base_ns().unwrap_or(0);
        let start_ns = base_ns.saturating_add(scenario.start_time_ns);
        let elapsed_ns = self.0.worker.clock.now().saturating_sub(start_ns);
        let share = elapsed_ns as f64 / scenario.executor.end_ns().max(1) as f64;
        Some(ScenarioInfo {
            executor: scenario.executor.kind().name().to_owned(),
            start_time_ms: self.0.worker.wall_ns(start_ns) as f64 / 1e6,
            progress: share.min(1.0),
        })
    }

    fn options(&self) -> String {
        self.0.shared.options_json().to_string()
    }

    fn text_summary(&self, data: &str, options: &str) -> Option<String> {
        let data = serde_json::from_str(data).ok()?;
        let options: serde_json::Value = serde_json::from_str(options).unwrap_or_default();
        let indent = options["indent"].as_str().unwrap_or(" ");
        let with_colors = options["enableColors"].as_bool().unwrap_or(false);
        Some(legacy::text_summary(&data, indent, with_colors))
    }
}

impl RunHost {
    pub fn wall_ns(&self) -> i64 {
        let ns = self.worker.wall_ns(self.worker.clock.now());
        i64::try_from(ns).unwrap_or(i64::MAX)
    }

    pub fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let is_console = fields.contains(&("source", "console"));
        if let Some(console) = self.shared.console.as_ref().filter(|_| is_console) {
            if let Some(line) = console.line(level, message, fields) {
                self.worker.emit(OutputLine::Text(line));
            }
        } else if let Some(line) = self.shared.logger.line(level, message, fields) {
            self.worker.emit(OutputLine::ErrorText(line));
        }
    }

    /// Returns the error of a request to a host that had no complete response.
    pub fn error(&self, host: &str, fault: Fault) -> HttpError {
        let denied = self
            .addresses
            .as_ref()
            .filter(|_| fault == Fault::HostNotAllowed);
        match denied.and_then(|addresses| addresses.denial(host)) {
            Some(text) => HttpError { code: 1110, text },
            None => faults::error(fault),
        }
    }
}
