//! Counts requests and responses on every route of a lab, and writes the request log. Requests to
//! `/__lab/…` are neither counted nor logged.
//!
//! The counts are defined as follows:
//!
//! **received**: the head has been read and parsed. The body may be incomplete. The HTTP library
//! rejects invalid heads with status 400, and these requests are not counted.
//!
//! **answered**: the response has been passed on for writing. It is counted before the first byte
//! is written, so that a client with a response always finds it counted. It is also counted if the
//! client has disconnected, because the work was done (see `server`).
//!
//! The difference is the number of requests in progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderName;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};

use crate::log::{LogLine, RequestLog};
use crate::stats::Stats;
use crate::{LabError, Routes, body, clock};

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) struct LabObserver {
    ledger: Mutex<Ledger>,
    logs: bool,
}

struct Ledger {
    stats: Stats,
    log: Option<RequestLog>,
}

impl LabObserver {
    pub(crate) fn new(log: Option<RequestLog>) -> Self {
        Self {
            logs: log.is_some(),
            ledger: Mutex::new(Ledger {
                stats: Stats::default(),
                log,
            }),
        }
    }

    pub(crate) fn logs(&self) -> bool {
        self.logs
    }

    pub(crate) fn flush(&self) {
        if let Some(log) = &mut self.ledger().log {
            log.flush();
        }
    }

    pub(crate) fn finish(&self) -> Result<(), LabError> {
        self.ledger()
            .log
            .as_mut()
            .map_or(Ok(()), RequestLog::finish)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn attach(routes: Routes, tally: &Arc<LabObserver>) -> Router {
    let observer = Arc::clone(tally);
    let own = routes.stats.map(Arc::new);
    let reported = move || {
        let mut stats = observer.ledger().stats.to_json();
        if let Some((name, document)) = own.as_ref().map(|own| own()) {
            stats[name] = document;
        }
        Json(stats)
    };
    routes
        .router
        .route("/__lab/stats", get(async move || reported()))
        .layer(middleware::from_fn_with_state(Arc::clone(tally), observe))
}

async fn observe(State(tally): State<Arc<LabObserver>>, request: Request, next: Next) -> Response {
    if request.uri().path().starts_with("/__lab/") {
        return next.run(request).await;
    }
    let arrival_ns = if tally.logs { clock::monotonic_ns() } else { 0 };
    let pattern = request
        .extensions()
        .get::<MatchedPath>()
        .map(MatchedPath::as_str);
    let route = tally.ledger().stats.received(request.method(), pattern);
    let id = request
        .headers()
        .get(&REQUEST_ID)
        .filter(|_| tally.logs)
        .cloned();

    let response = next.run(body::read_whole(request).await).await;

    let mut ledger = tally.ledger();
    ledger.stats.answered(route, response.status());
    if let Some(log) = &mut ledger.log {
        let code = response.status().as_u16();
        log.write(&LogLine {
            id: id.as_ref(),
            arrival_ns,
            release_ns: clock::monotonic_ns(),
            code,
        });
    }
    drop(ledger);
    response
}
