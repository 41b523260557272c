//! Limits applied before a lab's routes: simulated work, one request at a time, and a guard that
//! immediately refuses requests under overload.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::json;

use crate::units;
use crate::{LabError, LabOptions, clock};

pub(crate) const OPTIONS: &[&str] = &["work", "max-in-flight"];

struct GuardSettings {
    work_ns: u64,
    most: Option<u64>,
    here: AtomicU64,
    free_at_ns: Mutex<u64>,
}

pub(crate) fn attach(
    routes: Router,
    lab: &'static str,
    options: &LabOptions,
) -> Result<Router, LabError> {
    let bad = |option: &str, value: &str| {
        let (option, value) = (option.to_owned(), value.to_owned());
        move |advice| LabError::BadOption {
            lab,
            option,
            value,
            advice,
        }
    };
    let work = options.extra("work").unwrap_or("0");
    let work_ns = units::duration(work).map_err(bad("work", work))?;
    let most = options
        .extra("max-in-flight")
        .map(|text| {
            let number = units::count(text, 1..=1_000_000);
            number.map_err(bad("max-in-flight", text))
        })
        .transpose()?;
    if work_ns == 0 && most.is_none() {
        return Ok(routes);
    }
    let limits = Arc::new(GuardSettings {
        work_ns,
        most,
        here: AtomicU64::new(0),
        free_at_ns: Mutex::new(0),
    });
    Ok(routes.layer(middleware::from_fn_with_state(limits, guard)))
}

struct Here<'a>(&'a AtomicU64);

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn guard(State(limits): State<Arc<GuardSettings>>, request: Request, next: Next) -> Response {
    let before = limits.here.fetch_add(1, Ordering::Relaxed);
    let _here = Here(&limits.here);
    if limits.most.is_some_and(|most| before >= most) {
        let text = json!({ "error": "too many requests at a time" });
        return (StatusCode::SERVICE_UNAVAILABLE, Json(text)).into_response();
    }
    if limits.work_ns > 0 {
        let now = clock::monotonic_ns();
        let done = {
            let free_at = limits.free_at_ns.lock();
            let mut free_at = free_at.unwrap_or_else(PoisonError::into_inner);
            *free_at = now.max(*free_at) + limits.work_ns;
            *free_at
        };
        tokio::time::sleep(Duration::from_nanos(done - now)).await;
    }
    next.run(request).await
}
