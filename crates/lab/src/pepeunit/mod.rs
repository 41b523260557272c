//! The lab `pepeunit`: the busiest entry points of a platform for small devices, a page, a REST document and a GraphQL query, all
//! three about the same five counts. This file is its HTTP side; queries are understood in `graphql`. The counts never change.

mod graphql;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Map, Value, json};

use crate::latency::Latency;
use crate::{Entry, Kind, LabError, Options, Routes, plain_token};
use graphql::Asked;

const NAME: &str = "pepeunit";

pub(crate) const LAB: Entry = Entry {
    name: NAME,
    help: "platform for devices: GET /pepeunit, GET /pepeunit/api/v1/metrics/, POST /pepeunit/graphql (no token); latency=",
    extra: &["latency"],
    kind: Kind::Routes(routes),
    token: plain_token,
};

/// What there is to count: its name in GraphQL, its name in REST, and how many there are.
const COUNTS: [(&str, &str, u32); 5] = [
    ("userCount", "user_count", 12),
    ("repoCount", "repo_count", 31),
    ("unitCount", "unit_count", 204),
    ("unitNodeCount", "unit_node_count", 1632),
    ("unitNodeEdgeCount", "unit_node_edge_count", 417),
];

const PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Pepeunit</title></head>\n\
    <body><h1>Pepeunit</h1><p>This is the lab <code>pepeunit</code>. Its counts are at \
    <a href=\"/pepeunit/api/v1/metrics/\">/pepeunit/api/v1/metrics/</a>, and behind POST /pepeunit/graphql.</p></body>\n</html>\n";

fn routes(options: &Options) -> Result<Routes, LabError> {
    let routes = Router::new()
        .route("/pepeunit", get(async || Html(PAGE)))
        .route("/pepeunit/api/v1/metrics/", get(async || Json(metrics())))
        .route("/pepeunit/graphql", post(query));
    let latency = Latency::of(NAME, options, "latency")?;
    Ok(latency
        .attach(routes)
        .fallback(async || {
            let text = "there is nothing here; try /pepeunit";
            (StatusCode::NOT_FOUND, Json(json!({ "detail": text })))
        })
        .method_not_allowed_fallback(async || {
            let text = "not with this method";
            (
                StatusCode::METHOD_NOT_ALLOWED,
                Json(json!({ "detail": text })),
            )
        })
        .into())
}

fn metrics() -> Value {
    let counts = COUNTS.iter();
    counts
        .map(|(_, name, count)| ((*name).to_owned(), Value::from(*count)))
        .collect::<Map<_, _>>()
        .into()
}

/// Answers a query with 200, whatever is wrong with it; only what is no request for one is refused.
async fn query(body: Result<Bytes, BytesRejection>) -> Response {
    let bad = |text: &str| {
        let errors = json!({ "errors": [{ "message": text }] });
        (StatusCode::BAD_REQUEST, Json(errors)).into_response()
    };
    let Ok(body) = body else {
        return bad("the body cannot be read");
    };
    let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(&body) else {
        return bad("the body must be a JSON object with a query");
    };
    let Some(query) = body.get("query").and_then(Value::as_str) else {
        return bad("the body holds no query");
    };
    let (operation, variables) = (body.get("operationName"), body.get("variables"));
    let none = Map::new();
    let asked = Asked {
        query,
        operation: match operation {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => return bad("operationName must be a text"),
        },
        variables: match variables {
            None | Some(Value::Null) => &none,
            Some(Value::Object(variables)) => variables,
            Some(_) => return bad("variables must be an object"),
        },
    };
    Json(graphql::answer(&asked)).into_response()
}
