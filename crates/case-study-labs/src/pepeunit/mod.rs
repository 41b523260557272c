//! The lab `pepeunit`: a platform for small devices, with a page, REST, GraphQL, units, a broker
//! and pipes.

mod broker_api;
mod consumer;
mod graphql;
mod multipart;
mod pipe;
mod platform;
mod rest;
mod workers;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Map, Value, json};

use crate::lab_config;
use crate::latency::{self, FixedLatency};
use consumer::Consumer;
use graphql::GraphQlRequest;
use lab::units;
use lab::{
    LabEntry, LabError, LabKind, LabOptions, Routes,
    mqtt::embedded::{self, EmbeddedBroker},
    plain_token,
};
use pipe::{Turns, rules::RuleSet};
use platform::{Platform, PlatformConfig};

const NAME: &str = "pepeunit";

pub(crate) const LAB: LabEntry = LabEntry {
    name: NAME,
    help: "platform for devices: page, REST and GraphQL over HTTP, and an MQTT broker for units; options are latency, workers, capacity, throttle, hurry, crash-at, break=RULE, …",
    extra: &[
        "latency",
        "workers",
        "mqtt-port",
        "domain",
        "broker-user",
        "capacity",
        "queue",
        "throttle",
        "max-payload",
        "drop",
        "duplicate",
        "refuse",
        "delay",
        "flush",
        "clean",
        "hurry",
        "crash-at",
        "break",
    ],
    kind: LabKind::Routes(routes),
    token: plain_token,
};

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

fn routes(options: &LabOptions) -> Result<Routes, LabError> {
    let platform = Arc::new(Platform::new(config(options)?));
    let broker = broker(options, &platform)?;
    platform.listens_at(broker.address.port());
    let stats = broker.counts();
    let routes = Router::new()
        .route("/pepeunit", get(async || Html(PAGE)))
        .route("/pepeunit/api/v1/metrics/", get(async || Json(metrics())))
        .route("/pepeunit/graphql", post(query))
        .merge(rest::routes(&platform));
    let routes = workers::attach(routes, number(options, "workers", 10_000)?);
    let latency = FixedLatency::from_option(NAME, options, "latency")?;
    let router = latency
        .attach(routes.merge(broker_api::routes(&platform, stats.clone())))
        .fallback(async || {
            let text = "there is nothing here; try /pepeunit";
            (StatusCode::NOT_FOUND, Json(json!({ "detail": text })))
        })
        .method_not_allowed_fallback(async || {
            let text = "this method is not supported here";
            (
                StatusCode::METHOD_NOT_ALLOWED,
                Json(json!({ "detail": text })),
            )
        });
    Ok(Routes {
        router,
        stats: Some(Box::new(move || {
            let mut reported = platform.stats();
            reported["broker"] = stats.now();
            (NAME, reported)
        })),
        sidecar: Some(broker.into()),
        background: None,
    })
}

fn bad(option: &str, value: &str, advice: impl Into<String>) -> LabError {
    lab_config::bad(NAME, option, value, advice)
}

fn number(options: &LabOptions, option: &str, most: u64) -> Result<Option<u64>, LabError> {
    let text = options.extra(option);
    let read =
        text.map(|text| units::count(text, 1..=most).map_err(|reason| bad(option, text, reason)));
    read.transpose()
}

fn ms(options: &LabOptions, option: &str, usual: u64) -> Result<u64, LabError> {
    match options.extra(option) {
        None => Ok(usual),
        Some(_) => Ok(latency::duration(NAME, options, option)? / 1_000_000),
    }
}

fn config(options: &LabOptions) -> Result<PlatformConfig, LabError> {
    let user = options.extra("broker-user").unwrap_or("admin:public");
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let rules = options
        .extra("break")
        .map(|rule| RuleSet::without(rule).map_err(|reason| bad("break", rule, reason)));
    let crash = match options.extra("crash-at") {
        None => None,
        Some(_) => Some(latency::duration(NAME, options, "crash-at")?),
    };
    let domain = options.extra("domain").unwrap_or("localhost");
    if domain.is_empty() || domain.contains(['/', '+', '#']) {
        return Err(bad("domain", domain, "one level of a topic"));
    }
    Ok(PlatformConfig {
        domain: domain.to_owned(),
        secret: options.token.clone(),
        broker_user: (name.to_owned(), password.to_owned()),
        rules: rules.transpose()?.unwrap_or_default(),
        turns: Turns {
            flush_ms: ms(options, "flush", 5_000)?,
            clean_ms: ms(options, "clean", 60_000)?,
            lazy_ms: 600_000,
        },
        hurry: number(options, "hurry", 1_000)?.unwrap_or(1),
        crash_at_ns: crash,
    })
}

fn broker(options: &LabOptions, platform: &Arc<Platform>) -> Result<EmbeddedBroker, LabError> {
    let capacity = options.extra("capacity").map(|text| {
        let rate = units::gap_of_rate(text).map_err(|reason| bad("capacity", text, reason));
        rate.map(|gap_ns| (1_000_000_000 / gap_ns.max(1)).max(1))
    });
    let waiting = number(options, "queue", 1_000_000)?.unwrap_or(1_000);
    let limit = capacity.transpose()?.map(|rate| (rate, waiting as usize));
    let largest = number(options, "max-payload", 256 << 20)?.unwrap_or(256 << 10);
    let consumer = Consumer::begin(platform, limit, largest as usize).map_err(LabError::Runtime)?;
    let port = number(options, "mqtt-port", 65_535)?.unwrap_or(0) as u16;
    embedded::bind(NAME, options, port, Box::new(consumer))
}

fn metrics() -> Value {
    let counts = COUNTS.iter();
    counts
        .map(|(_, name, count)| ((*name).to_owned(), Value::from(*count)))
        .collect::<Map<_, _>>()
        .into()
}

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
        return bad("the body has no query");
    };
    let (operation, variables) = (body.get("operationName"), body.get("variables"));
    let none = Map::new();
    let asked = GraphQlRequest {
        query,
        operation: match operation {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => return bad("operationName must be text"),
        },
        variables: match variables {
            None | Some(Value::Null) => &none,
            Some(Value::Object(variables)) => variables,
            Some(_) => return bad("variables must be an object"),
        },
    };
    Json(graphql::answer(&asked)).into_response()
}
