//! Prometheus endpoint of a run (`--export prometheus`). The run is copied only while a scrape is
//! waiting.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, atomic::AtomicUsize},
    thread::JoinHandle,
};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use record::{Run, RunState};
use report::export;

use super::exporter::{ExportedInterval, IntervalExporter};
use crate::{
    http_server::{self, HttpServer},
    latest::{Latest, RunSnapshot},
    live::guard::{self, AllowedNames},
    messages::SharedMessageSink,
};

pub(super) struct PrometheusEndpoint {
    address: SocketAddr,
    listener: Option<TcpListener>,
    latest: Arc<Latest<ScrapedRun>>,
    thread: Option<JoinHandle<()>>,
    sink: SharedMessageSink,
}

struct ScrapedRun {
    number: u64,
    is_over: bool,
    run: Run,
}

impl RunSnapshot for ScrapedRun {
    fn number(&self) -> u64 {
        self.number
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl PrometheusEndpoint {
    /// Opens the port.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if the port is not available.
    pub fn bind(address: SocketAddr, sink: &SharedMessageSink) -> Result<Self, String> {
        let listener = http_server::bind("--export prometheus", address)?;
        Ok(PrometheusEndpoint {
            address: http_server::local(&listener)?,
            listener: Some(listener),
            latest: Arc::default(),
            thread: None,
            sink: sink.clone(),
        })
    }

    fn publish(&self, run: Run, is_over: bool) {
        self.latest.publish(ScrapedRun {
            number: self.latest.intervals(),
            is_over,
            run,
        });
    }

    fn routes(&self) -> Router {
        let latest = Arc::clone(&self.latest);
        let routes = Router::new()
            .route("/metrics", get(scrape))
            .with_state(latest);
        if self.address.ip().is_loopback() {
            let names = AllowedNames::of_this_machine(self.address.port());
            routes.layer(middleware::from_fn_with_state(names, guard::local))
        } else {
            routes
        }
    }
}

impl IntervalExporter for PrometheusEndpoint {
    fn announcement(&self) -> Option<String> {
        Some(format!("metrics on http://{}/metrics", self.address))
    }

    fn waiting(&self) -> Option<Arc<AtomicUsize>> {
        Some(Arc::clone(self.latest.waiting()))
    }

    fn start(&mut self, run: Run) -> Result<(), String> {
        self.publish(run, false);
        let Some(listener) = self.listener.take() else {
            return Ok(());
        };
        let routes = self.routes();
        let latest = Arc::clone(&self.latest);
        let ended = move || {
            let latest = Arc::clone(&latest);
            async move { latest.ended().await }
        };
        let servers = vec![HttpServer { listener, routes }];
        let thread = http_server::serve("the Prometheus endpoint", servers, ended, &self.sink);
        self.thread = Some(thread.map_err(|reason| format!("cannot start a thread: {reason}"))?);
        Ok(())
    }

    fn interval(&mut self, exported: ExportedInterval) -> Result<u64, String> {
        self.latest.count_interval();
        if let Some(run) = exported.run {
            self.publish(run, false);
        }
        Ok(1)
    }

    fn finish(&mut self, run: Option<Run>) -> Result<u64, String> {
        if let Some(mut run) = run {
            // The load has ended, and the record is about to be closed.
            run.manifest.state = RunState::Complete;
            self.publish(run, true);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        Ok(0)
    }
}

async fn scrape(State(latest): State<Arc<Latest<ScrapedRun>>>) -> Response {
    let mut states = latest.watch();
    match latest.newer(&mut states, None).await {
        Some(state) => {
            let content_type = [(header::CONTENT_TYPE, export::CONTENT_TYPE)];
            (content_type, export::prometheus(&state.run)).into_response()
        }
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
