//! The lab `shortener` creates short URLs and redirects them. Options simulate two faults: a secret
//! that is fetched for every creation, and a limit on concurrency.

mod store;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::jwt;
use crate::lab_config;
use crate::latency::{FixedLatency, duration};
use lab::units;
use lab::{LabEntry, LabError, LabKind, LabOptions, Routes};
use store::{Store, number_of, text_of};

const NAME: &str = "shortener";

pub(crate) const LAB: LabEntry = LabEntry {
    name: NAME,
    help: "URL shortener: POST /actions/short-urls (bearer JWT), GET /short-urls/{id}; latency=, secret-fetch=, concurrency=",
    extra: &["latency", "secret-fetch", "concurrency"],
    kind: LabKind::Routes(routes),
    token: |options| jwt::signed(&options.token, NAME),
};

const LONGEST: usize = 2048;

struct Shortener {
    secret: String,
    store: Mutex<Store>,
}

impl Shortener {
    fn store(&self) -> MutexGuard<'_, Store> {
        // After a panic, the store is still valid, because a number is chosen before the store
        // changes.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type ShortenerState = State<Arc<Shortener>>;
type ShortenerResult = Result<Response, ShortenerError>;

fn routes(options: &LabOptions) -> Result<Routes, LabError> {
    let latency = FixedLatency::from_option(NAME, options, "latency")?;
    let fetch_ns = duration(NAME, options, "secret-fetch")?;
    let most = options.extra("concurrency").map(|text| {
        units::count(text, 1..=1_000_000)
            .map_err(|advice| lab_config::bad(NAME, "concurrency", text, advice))
    });
    let shortener = Arc::new(Shortener {
        secret: options.token.clone(),
        store: Mutex::new(Store::new(options.seed)),
    });
    let create = Router::new().route("/actions/short-urls", post(create));
    let follow = Router::new().route("/short-urls/{id}", get(follow));
    let mut routes = latency
        .and(fetch_ns)
        .attach(create)
        .merge(latency.attach(follow));
    if let Some(most) = most.transpose()? {
        let account = Arc::new(Account {
            most,
            running: AtomicU64::new(0),
        });
        routes = routes.route_layer(middleware::from_fn_with_state(account, limited));
    }
    let reported = Arc::clone(&shortener);
    Ok(Routes {
        sidecar: None,
        background: None,
        router: routes
            .fallback(async || ShortenerError(StatusCode::NOT_FOUND, "there is nothing here"))
            .method_not_allowed_fallback(async || {
                ShortenerError(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "this method is not supported here",
                )
            })
            .with_state(shortener),
        stats: Some(Box::new(move || (NAME, reported.store().to_json()))),
    })
}

struct Account {
    most: u64,
    running: AtomicU64,
}

struct ShortenerLab<'a>(&'a AtomicU64);

impl Drop for ShortenerLab<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn limited(State(account): State<Arc<Account>>, request: Request, next: Next) -> Response {
    let before = account.running.fetch_add(1, Ordering::Relaxed);
    let _running = ShortenerLab(&account.running);
    if before >= account.most {
        let text = json!({ "message": "Internal server error" });
        return (StatusCode::INTERNAL_SERVER_ERROR, Json(text)).into_response();
    }
    next.run(request).await
}

async fn create(
    State(shortener): ShortenerState,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> ShortenerResult {
    authorize(&shortener, &headers)?;
    let bad = |text| ShortenerError(StatusCode::BAD_REQUEST, text);
    let body = body.map_err(|_| bad("the body cannot be read"))?;
    let body: Value = serde_json::from_slice(&body)
        .map_err(|_| bad("the body must be JSON with expires and url"))?;
    let text = |name| body.get(name).and_then(Value::as_str);
    let expires = text("expires").ok_or(bad("expires is missing or is not text"))?;
    let expires: jiff::Timestamp = expires
        .parse()
        .map_err(|_| bad("expires must be a time with its offset: 2030-01-01T00:00:00-07:00"))?;
    let url = text("url").ok_or(bad("url is missing or is not text"))?;
    if !is_url(url) {
        return Err(bad(
            "url must start with http:// or https://, contain a host, and have at most 2048 \
            ASCII characters",
        ));
    }
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let host = host.ok_or(bad("a Host header is required"))?;
    let stored = shortener.store().keep(url, expires.as_second());
    let full = ShortenerError(
        StatusCode::INSUFFICIENT_STORAGE,
        "the lab is full: it stores at most four million URLs, or one GiB",
    );
    let id = text_of(stored.ok_or(full)?);
    let short = json!({ "shortUrl": format!("http://{host}/short-urls/{id}") });
    Ok((StatusCode::CREATED, Json(short)).into_response())
}

fn authorize(shortener: &Shortener, headers: &HeaderMap) -> Result<(), Unauthorized> {
    let given = headers.get(header::AUTHORIZATION);
    let given = given.and_then(|value| value.to_str().ok());
    let token = given
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .ok_or(Unauthorized("a bearer token is required"))?
        .1;
    jwt::check(
        &shortener.secret,
        token.trim(),
        crate::wall_clock::seconds(),
    )
    .map_err(Unauthorized)
}

fn is_url(url: &str) -> bool {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    let names_a_host =
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']));
    names_a_host && url.len() <= LONGEST && url.bytes().all(|byte| byte.is_ascii_graphic())
}

async fn follow(State(shortener): ShortenerState, Path(id): Path<String>) -> ShortenerResult {
    let store = shortener.store();
    let stored = number_of(&id).and_then(|id| store.get(id));
    let stored = stored.ok_or(ShortenerError(
        StatusCode::NOT_FOUND,
        "there is no such short URL",
    ))?;
    if crate::wall_clock::seconds() >= stored.expires_s as f64 {
        return Err(ShortenerError(
            StatusCode::GONE,
            "this short URL has expired",
        ));
    }
    let location = [(header::LOCATION, stored.url.to_string())];
    Ok((StatusCode::FOUND, location).into_response())
}

struct ShortenerError(StatusCode, &'static str);

impl IntoResponse for ShortenerError {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

struct Unauthorized(&'static str);

impl From<Unauthorized> for ShortenerError {
    fn from(Unauthorized(text): Unauthorized) -> Self {
        ShortenerError(StatusCode::UNAUTHORIZED, text)
    }
}
