//! Stands around every route of a lab and keeps the tally: counts requests in and answers out, and writes the request log.
//! Does not decide what is answered. Requests to `/__lab/…` are about the lab, not to it: neither counted nor logged.
//!
//! What the counts mean, for those who compare them exactly:
//! - **received**: the head of the request has been read and parsed. A body may still be missing. A head that is no HTTP never
//!   becomes a request: the HTTP library refuses it with 400 and nobody counts it.
//! - **answered**: the lab has decided the answer and hands it over for writing. Counted before the first byte is written, so
//!   whoever has an answer in hand finds it counted. If the client has vanished meanwhile the answer still counts: the work
//!   was done. (The server keeps working for a client that closed its end, see `server`.)
//! - received minus answered are the requests whose answer is being worked on or whose body is awaited.

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

/// Everything a lab remembers about its traffic.
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

    /// Whether there is a log that needs flushing now and then.
    pub(crate) fn logs(&self) -> bool {
        self.logs
    }

    pub(crate) fn flush(&self) {
        if let Some(log) = &mut self.ledger().log {
            log.flush();
        }
    }

    /// Writes out the log, and says whether it is complete.
    pub(crate) fn finish(&self) -> Result<(), LabError> {
        self.ledger()
            .log
            .as_mut()
            .map_or(Ok(()), RequestLog::finish)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Counters are sound after any panic, and a lab that goes on counting is worth more than one that does not.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts the tally around a lab's routes, and adds the route that shows it.
pub(crate) fn attach(routes: Routes, tally: &Arc<LabObserver>) -> Router {
    let shown = Arc::clone(tally);
    let own = routes.stats.map(Arc::new);
    let told = move || {
        let mut stats = shown.ledger().stats.to_json();
        if let Some((name, document)) = own.as_ref().map(|own| own()) {
            stats[name] = document;
        }
        Json(stats)
    };
    routes
        .router
        .route("/__lab/stats", get(async move || told()))
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
