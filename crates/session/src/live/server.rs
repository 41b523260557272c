//! Routes of the live view.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware,
    response::{Html, IntoResponse, Redirect, Response, Sse},
    routing::{get, post},
};
use serde_json::json;
use tokio::sync::Semaphore;
use worker::stop::{Cause, StopHandle, Urgency};

use super::{
    csv, events,
    guard::{self, AllowedNames},
    state::LatestState,
};

const SEATS: usize = 16;
const CSV_SEATS: usize = 2;

/// State of the read-only routes.
#[derive(Clone)]
struct WatchedRun {
    newest: Arc<LatestState>,
    seats: Arc<Semaphore>,
    csv_seats: Arc<Semaphore>,
}

impl WatchedRun {
    fn new(newest: Arc<LatestState>) -> WatchedRun {
        WatchedRun {
            newest,
            seats: Arc::new(Semaphore::new(SEATS)),
            csv_seats: Arc::new(Semaphore::new(CSV_SEATS)),
        }
    }

    fn routes(self, home: &str) -> Router {
        let to_home = home.to_owned();
        let redirect = move || async move { Redirect::permanent(&to_home) };
        Router::new()
            .route(home.trim_end_matches('/'), get(redirect))
            .route(&format!("{home}events"), get(listen))
            .route(&format!("{home}run.csv"), get(so_far))
            // Browsers request the icon, and a 404 would appear in their console.
            .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
            .with_state(self)
    }
}

/// State of the routes that stop or change a run.
#[derive(Clone)]
struct ControlledRun {
    newest: Arc<LatestState>,
    stop: StopHandle,
}

pub fn view(newest: Arc<LatestState>, stop: StopHandle, token: &str, port: u16) -> Router {
    let home = format!("/{token}/");
    let controls = Router::new()
        .route(&home, get(|| async { Html(report::html::live()) }))
        .route(&format!("{home}stop"), post(stop_run))
        .route(&format!("{home}load"), post(change_load))
        .with_state(ControlledRun {
            newest: Arc::clone(&newest),
            stop,
        });
    let routes = WatchedRun::new(newest).routes(&home).merge(controls);
    private_routes(routes).layer(middleware::from_fn_with_state(
        AllowedNames::exactly(port),
        guard::local,
    ))
}

/// Returns the read-only routes. On addresses of other machines, only the token protects them.
pub fn read_only(newest: Arc<LatestState>, token: &str, address: SocketAddr) -> Router {
    let home = format!("/{token}/");
    let page = Router::new().route(
        &home,
        get(|| async { Html(report::html::live_read_only()) }),
    );
    let routes = private_routes(WatchedRun::new(newest).routes(&home).merge(page));
    if address.ip().is_loopback() {
        let names = AllowedNames::of_this_machine(address.port());
        routes.layer(middleware::from_fn_with_state(names, guard::local))
    } else {
        routes
    }
}

fn private_routes(routes: Router) -> Router {
    routes
        .fallback(nothing_here)
        .layer(middleware::map_response(private))
}

async fn listen(State(view): State<WatchedRun>) -> Response {
    match view.seats.try_acquire_owned() {
        Ok(seat) => Sse::new(events::stream(view.newest, seat)).into_response(),
        Err(_) => {
            let reason = "too many pages are open: close one of them\n";
            (StatusCode::SERVICE_UNAVAILABLE, reason).into_response()
        }
    }
}

async fn so_far(State(view): State<WatchedRun>) -> Response {
    match view.csv_seats.try_acquire_owned() {
        Ok(seat) => csv::stream(&view.newest, seat).await,
        Err(_) => {
            let reason = "too many downloads are running: try again in a moment\n";
            (StatusCode::SERVICE_UNAVAILABLE, reason).into_response()
        }
    }
}

async fn stop_run(State(view): State<ControlledRun>, headers: HeaderMap) -> Response {
    if !guard::is_meant(&headers) {
        let reason = "refused, because another page sent this request: use the button, or add the header X-Loadline: stop\n";
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    view.stop.stop(Cause::Page);
    StatusCode::NO_CONTENT.into_response()
}

async fn change_load(
    State(view): State<ControlledRun>,
    headers: HeaderMap,
    wanted: String,
) -> Response {
    if !guard::is_meant(&headers) {
        let reason = "refused, because another page sent this request: use the button, or add the header X-Loadline: load\n";
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    let message = if view.stop.urgency() == Urgency::None {
        view.newest.steering().ask(&wanted)
    } else {
        Err("the test is stopping: no new requests start".to_owned())
    };
    // Refusals also have status 200, because browsers log other statuses as errors.
    let changed = message.is_ok();
    let text = message.unwrap_or_else(|reason| reason);
    Json(json!({"changed": changed, "text": text})).into_response()
}

async fn nothing_here() -> (StatusCode, &'static str) {
    let reason = "not found: open the complete address that Loadline printed\n";
    (StatusCode::NOT_FOUND, reason)
}

async fn private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
