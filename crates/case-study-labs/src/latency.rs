//! The option `latency=300ms`: the lab sends each response this long after the request arrived. The
//! send time is computed in advance.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;

use lab::timer::Timer;
use lab::units;
use lab::{LabError, LabOptions, clock};

#[derive(Clone)]
pub(crate) struct FixedLatency {
    timer: Arc<Timer>,
    ns: u64,
}

impl FixedLatency {
    pub(crate) fn from_option(
        lab: &'static str,
        options: &LabOptions,
        option: &str,
    ) -> Result<Self, LabError> {
        Ok(Self {
            timer: Arc::new(Timer::start()?),
            ns: duration(lab, options, option)?,
        })
    }

    pub(crate) fn and(&self, more_ns: u64) -> Self {
        Self {
            timer: Arc::clone(&self.timer),
            ns: self.ns.saturating_add(more_ns),
        }
    }

    pub(crate) fn attach<S: Clone + Send + Sync + 'static>(&self, routes: Router<S>) -> Router<S> {
        if self.ns == 0 {
            return routes;
        }
        routes.route_layer(middleware::from_fn_with_state(self.clone(), hold))
    }
}

pub(crate) fn duration(
    lab: &'static str,
    options: &LabOptions,
    option: &str,
) -> Result<u64, LabError> {
    let text = options.extra(option).unwrap_or("0");
    units::duration(text).map_err(|advice| LabError::BadOption {
        lab,
        option: option.to_owned(),
        value: text.to_owned(),
        advice,
    })
}

async fn hold(State(latency): State<FixedLatency>, request: Request, next: Next) -> Response {
    let due_ns = clock::monotonic_ns().saturating_add(latency.ns);
    let response = next.run(request).await;
    latency.timer.until(due_ns).await;
    response
}
