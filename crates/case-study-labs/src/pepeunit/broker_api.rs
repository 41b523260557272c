//! The broker's HTTP API: login, drop counts, and subscriptions.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use super::platform::Platform;
use lab::mqtt::embedded::BrokerCounts;

pub(super) fn routes(platform: &Arc<Platform>, broker: BrokerCounts) -> Router {
    let own = Arc::clone(platform);
    Router::new()
        .route(
            "/api/v5/metrics",
            get(async move |headers: HeaderMap| metrics(&own, &broker, &headers)),
        )
        .route("/api/v5/login", post(login))
        .route("/api/v5/subscriptions", get(subscriptions))
        .with_state(Arc::clone(platform))
}

async fn login(State(platform): State<Arc<Platform>>, Json(body): Json<Value>) -> Response {
    let (user, password) = &platform.config.broker_user;
    if body["username"] != user.as_str() || body["password"] != password.as_str() {
        let reason = json!({ "code": "BAD_USERNAME_OR_PWD", "message": "Auth failed" });
        return (StatusCode::UNAUTHORIZED, Json(reason)).into_response();
    }
    let token = crate::jwt::signed(&platform.config.secret, "broker");
    Json(json!({ "token": token, "version": "lab", "role": "administrator" })).into_response()
}

fn metrics(platform: &Platform, broker: &BrokerCounts, headers: &HeaderMap) -> Response {
    if let Some(refusal) = refused(platform, headers) {
        return refusal;
    }
    let reported = broker.now();
    let overrun = platform.inside().counts.overrun;
    Json(json!({
        "messages.received": reported["received"], "messages.dropped": reported["dropped"], "delivery.dropped": overrun,
    }))
    .into_response()
}

fn refused(platform: &Platform, headers: &HeaderMap) -> Option<Response> {
    let bearer = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let token = bearer.and_then(|value| value.strip_prefix("Bearer "));
    let now_s = crate::wall_clock::seconds();
    let known = token.map(|token| crate::jwt::check(&platform.config.secret, token, now_s));
    if known == Some(Ok(())) {
        return None;
    }
    let reason = json!({ "code": "BAD_API_KEY_OR_SECRET", "message": "no valid token" });
    Some((StatusCode::UNAUTHORIZED, Json(reason)).into_response())
}

async fn subscriptions(
    State(platform): State<Arc<Platform>>,
    headers: HeaderMap,
    Query(asked): Query<HashMap<String, String>>,
) -> Response {
    if let Some(refusal) = refused(&platform, &headers) {
        return refusal;
    }
    let domain = &platform.config.domain;
    let all = [
        ("data_pipe", format!("{domain}/+/pepeunit")),
        ("backend", format!("{domain}/+/+/+/pepeunit")),
    ];
    let is_asked = |topic: &str| asked.get("topic").is_none_or(|wanted| wanted == topic);
    let is_there = !platform.is_crashed();
    let data: Vec<Value> = all
        .iter()
        .filter(|(_, topic)| is_there && is_asked(topic))
        .map(|(client, topic)| json!({ "clientid": client, "topic": topic, "qos": 0 }))
        .collect();
    let meta = json!({ "count": data.len(), "page": 1, "limit": 50, "hasnext": false });
    Json(json!({ "data": data, "meta": meta })).into_response()
}
