//! The lab `sum`: adds two numbers. It is the smallest service whose response can be wrong. Its
//! options add simulated work and a guard against overload.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::extract::Query;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Number, Value, json};

use crate::{LabEntry, LabError, LabKind, LabOptions, Routes, guard, plain_token};

pub(crate) const LAB: LabEntry = LabEntry {
    name: "sum",
    help: "adds two numbers: POST or GET /api/sum (no token)",
    extra: guard::OPTIONS,
    kind: LabKind::Routes(routes),
    token: plain_token,
};

fn routes(options: &LabOptions) -> Result<Routes, LabError> {
    let routes = Router::new()
        .route("/", get(async || "This is the lab `sum`. Try GET /api/sum?a=1&b=2, or POST {\"a\":1,\"b\":2} there.\n"))
        .route("/api/sum", get(sum_of_query).post(sum_of_body))
        .fallback(async || problem(StatusCode::NOT_FOUND, "there is nothing here; try /api/sum"))
        .method_not_allowed_fallback(async || problem(StatusCode::METHOD_NOT_ALLOWED, "use GET or POST"));
    guard::attach(routes, LAB.name, options).map(Routes::from)
}

async fn sum_of_query(query: Result<Query<HashMap<String, String>>, QueryRejection>) -> Response {
    let Ok(Query(query)) = query else {
        return problem(StatusCode::BAD_REQUEST, "the query cannot be read");
    };
    let number = |name| {
        query.get(name).map_or(Ok(Number::from(0)), |text| {
            serde_json::from_str::<Number>(text)
        })
    };
    match (number("a"), number("b")) {
        (Ok(a), Ok(b)) => answer(&a, &b),
        _ => problem(StatusCode::BAD_REQUEST, "a and b must be numbers"),
    }
}

async fn sum_of_body(body: Result<Bytes, BytesRejection>) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return problem(rejection.status(), &rejection.body_text()),
    };
    match serde_json::from_slice::<Value>(&body) {
        Err(error) => problem(
            StatusCode::BAD_REQUEST,
            &format!("the body is not JSON: {error}"),
        ),
        Ok(body) => match (body.get("a"), body.get("b")) {
            (Some(Value::Number(a)), Some(Value::Number(b))) => answer(a, b),
            _ => problem(
                StatusCode::UNPROCESSABLE_ENTITY,
                "a and b are both required and must be numbers",
            ),
        },
    }
}

fn answer(a: &Number, b: &Number) -> Response {
    match add(a, b) {
        Some(result) => Json(json!({ "result": result })).into_response(),
        None => problem(StatusCode::UNPROCESSABLE_ENTITY, "the sum is too large"),
    }
}

/// Adds two numbers exactly if both are integers and the sum fits, otherwise as JavaScript does.
fn add(a: &Number, b: &Number) -> Option<Number> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && let Some(sum) = a.checked_add(b)
    {
        return Some(sum.into());
    }
    Number::from_f64(a.as_f64()? + b.as_f64()?)
}

fn problem(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}
