//! The seven endpoints. Each request queues, holds a thread, computes, and calls downstream
//! services.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::downstream::{CallError, Downstream};
use super::fleet::Fleet;
use super::sessions::{Done, Sessions};

pub(super) const DOWNSTREAMS: [&str; 2] = ["lorota", "chip"];
const LOROTA: usize = 0;
const CHIP: usize = 1;

pub(super) struct Site {
    pub(super) fleet: Arc<Fleet>,
    pub(super) downstreams: [Downstream; 2],
    pub(super) sessions: Mutex<Sessions>,
    pub(super) cpu_ns: u64,
    pub(super) lock_ns: u64,
}

type Shared = State<Arc<Site>>;
type BodyResult = Result<Bytes, BytesRejection>;
type JsonResult = Result<Json<Value>, CheckInError>;

pub(super) fn routes(site: Arc<Site>) -> Router {
    Router::new()
        .route("/check_in/v2/sessions", post(open))
        .route("/check_in/v2/sessions/{id}", get(session))
        .route("/check_in/v2/patient_check_ins", post(check_in))
        .route("/check_in/v2/patient_check_ins/{id}", get(appointments))
        .route("/check_in/v2/pre_check_ins", post(pre_check_in))
        .route("/check_in/v2/pre_check_ins/{id}", get(appointments))
        .route("/check_in/v2/demographics", patch(demographics))
        .fallback(async || CheckInError(StatusCode::NOT_FOUND, "there is nothing here"))
        .method_not_allowed_fallback(async || {
            CheckInError(
                StatusCode::METHOD_NOT_ALLOWED,
                "this method is not supported here",
            )
        })
        .with_state(site)
}

struct Call {
    downstream: usize,
    method: Method,
    path: String,
}

impl Call {
    fn new(downstream: usize, method: Method, path: String) -> Self {
        Self {
            downstream,
            method,
            path,
        }
    }
}

impl Site {
    pub(super) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(
        &self,
        body: Bytes,
        judge: impl FnOnce(&mut Sessions) -> Result<Call, CheckInError>,
        answer: impl FnOnce(&mut Sessions) -> JsonResult,
    ) -> JsonResult {
        let instance = self.fleet.next();
        let thread = instance.thread().await;
        let first_half = self.cpu_ns / 2;
        thread.compute(first_half).await;
        if self.lock_ns > 0 {
            thread.locked(self.lock_ns).await;
        }
        let call = judge(&mut self.sessions())?;
        let service = &self.downstreams[call.downstream];
        let called = service.call(&call.method, &call.path, &body);
        thread.call(call.downstream, called).await?;
        thread.compute(self.cpu_ns - first_half).await;
        answer(&mut self.sessions())
    }

    async fn mark(&self, body: BodyResult, what: Done, method: Method, path: &str) -> JsonResult {
        let id = field(&body, "id");
        let bytes = body.unwrap_or_default();
        let known = id.clone().unwrap_or_default();
        let judge = |sessions: &mut Sessions| {
            let id = id?;
            sessions.uuid(&id).ok_or(UNKNOWN)?;
            Ok(Call::new(CHIP, method, format!("{path}/{id}")))
        };
        let answer = |sessions: &mut Sessions| {
            sessions.mark(&known, what);
            Ok(Json(json!({ "id": known, "status": "success" })))
        };
        self.serve(bytes, judge, answer).await
    }
}

const UNKNOWN: CheckInError = CheckInError(StatusCode::UNAUTHORIZED, "there is no such session");

async fn open(State(site): Shared, body: BodyResult) -> JsonResult {
    let uuid = field(&body, "uuid");
    let bytes = body.unwrap_or_default();
    let known = uuid.clone().unwrap_or_default();
    let judge = |_: &mut Sessions| {
        uuid?;
        Ok(Call::new(LOROTA, Method::POST, "/token".to_owned()))
    };
    let answer = |sessions: &mut Sessions| {
        let full = CheckInError(
            StatusCode::INSUFFICIENT_STORAGE,
            "the lab is full: it stores at most four million sessions",
        );
        let id = sessions.open(&known).ok_or(full)?;
        Ok(Json(json!({
            "id": id, "uuid": known, "permissions": "read.full", "status": "success"
        })))
    };
    site.serve(bytes, judge, answer).await
}

async fn session(State(site): Shared, Path(id): Path<String>) -> JsonResult {
    let path = format!("/token/{}", plain(&id));
    let judge = |_: &mut Sessions| Ok(Call::new(LOROTA, Method::GET, path));
    let answer = |sessions: &mut Sessions| {
        let permissions = match sessions.uuid(&id) {
            Some(_) => "read.full",
            None => "read.none",
        };
        Ok(Json(
            json!({ "id": id, "permissions": permissions, "status": "success" }),
        ))
    };
    site.serve(Bytes::new(), judge, answer).await
}

async fn appointments(State(site): Shared, Path(id): Path<String>) -> JsonResult {
    let judge = |sessions: &mut Sessions| {
        sessions.uuid(&id).ok_or(UNKNOWN)?;
        Ok(Call::new(LOROTA, Method::GET, format!("/data/{id}")))
    };
    let answer = |sessions: &mut Sessions| {
        let state = sessions.state(&id).ok_or(UNKNOWN)?;
        Ok(Json(json!({
            "id": id,
            "payload": {
                "appointments": [{ "appointmentIen": "460", "facility": "Clinic 4B", "status": "open" }],
                "state": state,
            },
        })))
    };
    site.serve(Bytes::new(), judge, answer).await
}

async fn check_in(State(site): Shared, body: BodyResult) -> JsonResult {
    let path = "/actions/check-in";
    site.mark(body, Done::CheckIn, Method::POST, path).await
}

async fn pre_check_in(State(site): Shared, body: BodyResult) -> JsonResult {
    let path = "/actions/pre-check-in";
    site.mark(body, Done::PreCheckIn, Method::POST, path).await
}

async fn demographics(State(site): Shared, body: BodyResult) -> JsonResult {
    let path = "/demographics";
    site.mark(body, Done::Demographics, Method::PATCH, path)
        .await
}

fn field(body: &BodyResult, name: &'static str) -> Result<String, CheckInError> {
    let bad = |text| CheckInError(StatusCode::BAD_REQUEST, text);
    let body = body.as_ref().map_err(|_| bad("the body cannot be read"))?;
    let body: Value = serde_json::from_slice(body).map_err(|_| bad("the body must be JSON"))?;
    let text = body.get(name).and_then(Value::as_str);
    let text = text.filter(|text| !text.is_empty() && text.len() <= 100);
    text.map(ToOwned::to_owned).ok_or(match name {
        "uuid" => bad("uuid is missing or is not text of 1 to 100 characters"),
        _ => bad("id is missing or is not text: POST /check_in/v2/sessions returns one"),
    })
}

fn plain(id: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if id.bytes().all(is_plain) { id } else { "-" }
}

#[derive(Clone)]
struct CheckInError(StatusCode, &'static str);

impl IntoResponse for CheckInError {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl From<CallError> for CheckInError {
    fn from(failed: CallError) -> Self {
        match failed {
            CallError::Refused => CheckInError(
                StatusCode::BAD_GATEWAY,
                "a downstream service refused the request",
            ),
            CallError::NoAnswer => CheckInError(
                StatusCode::BAD_GATEWAY,
                "a downstream service did not respond",
            ),
            CallError::TimedOut => CheckInError(
                StatusCode::GATEWAY_TIMEOUT,
                "a downstream service did not answer in time",
            ),
        }
    }
}
