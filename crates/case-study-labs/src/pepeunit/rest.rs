//! The part of the REST API that a load test needs.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, patch, post},
};
use serde_json::{Value, json};

use super::{
    multipart,
    pipe::{Pipe, config::Config},
    platform::Platform,
};
use crate::jwt;

type RestState = Query<HashMap<String, String>>;
type Of = State<Arc<Platform>>;

const MOST: usize = 500;

pub(super) fn routes(platform: &Arc<Platform>) -> Router {
    let open = Router::new()
        .route("/users", post(add_user))
        .route("/users/auth", post(auth));
    let known = Router::new()
        .route("/repository_registry", get(registry).post(register))
        .route("/repos", get(repos).post(add_repo))
        .route("/repos/{uuid}", patch(change_repo))
        .route("/units", get(units).post(add_unit))
        .route("/units/{uuid}", get(unit).delete(remove_unit))
        .route("/units/env/{uuid}", get(env).patch(change_env))
        .route("/unit_nodes/set_data_pipe_config", post(configure))
        .route("/unit_nodes/get_data_pipe_data", get(data))
        .route("/unit_nodes/get_data_pipe_data/", get(data))
        .route("/unit_nodes/{uuid}", get(node).patch(change_node))
        .route_layer(axum::middleware::from_fn_with_state(
            Arc::clone(platform),
            known_user,
        ));
    Router::new()
        .nest("/pepeunit/api/v1", open.merge(known))
        .with_state(Arc::clone(platform))
}

fn refused(code: StatusCode, reason: &str) -> Response {
    (code, Json(json!({ "detail": reason }))).into_response()
}

fn missing(what: &str) -> Response {
    refused(StatusCode::NOT_FOUND, &format!("there is no such {what}"))
}

async fn known_user(
    State(platform): Of,
    headers: HeaderMap,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    let token = headers
        .get("x-auth-token")
        .and_then(|value| value.to_str().ok());
    let token = token.unwrap_or_default();
    match jwt::check(&platform.config.secret, token, crate::wall_clock::seconds()) {
        Ok(()) => next.run(request).await,
        Err(reason) => refused(StatusCode::UNAUTHORIZED, reason),
    }
}

async fn add_user(State(platform): Of, Json(body): Json<Value>) -> Response {
    let (Some(login), Some(password)) = (body["login"].as_str(), body["password"].as_str()) else {
        return refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "a user needs a login and a password",
        );
    };
    let mut inside = platform.inside();
    if inside.users.contains_key(login) {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "this login is taken");
    }
    let uuid = inside.uuid();
    let user = (uuid.clone(), password.to_owned());
    inside.users.insert(login.to_owned(), user);
    Json(json!({ "uuid": uuid, "login": login, "role": "User" })).into_response()
}

async fn auth(State(platform): Of, Json(body): Json<Value>) -> Response {
    let login = body["credentials"].as_str().unwrap_or_default();
    let inside = platform.inside();
    match inside.users.get(login) {
        Some((uuid, password)) if body["password"] == password.as_str() => {
            let claims = json!({ "uuid": uuid, "type": "User" });
            Json(json!({ "token": jwt::made(&platform.config.secret, claims) })).into_response()
        }
        _ => refused(StatusCode::FORBIDDEN, "wrong login or password"),
    }
}

fn searched<'a>(
    asked: &HashMap<String, String>,
    all: impl Iterator<Item = &'a Value>,
    field: &str,
) -> Vec<Value> {
    let wanted = asked.get("search_string").map_or("", String::as_str);
    let is_wanted = |of: &&Value| of[field].as_str().is_some_and(|text| text.contains(wanted));
    all.filter(is_wanted).cloned().collect()
}

async fn registry(State(platform): Of, Query(asked): RestState) -> Response {
    let found = searched(&asked, platform.inside().registry.iter(), "repository_url");
    Json(json!({ "count": found.len(), "repositories_registry": found })).into_response()
}

async fn register(State(platform): Of, Json(body): Json<Value>) -> Response {
    if !body["repository_url"].is_string() {
        return refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "a registry entry needs a repository_url",
        );
    }
    let mut inside = platform.inside();
    let entry = json!({
        "uuid": inside.uuid(), "platform": body["platform"], "repository_url": body["repository_url"],
        "is_public_repository": body["is_public_repository"], "branches": ["master"],
    });
    inside.registry.push(entry.clone());
    Json(entry).into_response()
}

async fn repos(State(platform): Of, Query(asked): RestState) -> Response {
    let found = searched(&asked, platform.inside().repos.iter(), "name");
    Json(json!({ "count": found.len(), "repos": found })).into_response()
}

async fn add_repo(State(platform): Of, Json(body): Json<Value>) -> Response {
    let mut inside = platform.inside();
    if inside.repos.iter().any(|repo| repo["name"] == body["name"]) || !body["name"].is_string() {
        return refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "the name is missing, or already taken",
        );
    }
    let mut repo = body;
    repo["uuid"] = inside.uuid().into();
    inside.repos.push(repo.clone());
    Json(repo).into_response()
}

async fn change_repo(
    State(platform): Of,
    Path(uuid): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    let mut inside = platform.inside();
    let found = inside
        .repos
        .iter_mut()
        .find(|repo| repo["uuid"] == uuid.as_str());
    let Some(repo) = found else {
        return missing("repository");
    };
    for (name, value) in body.as_object().into_iter().flatten() {
        repo[name.as_str()] = value.clone();
    }
    Json(repo.clone()).into_response()
}

async fn units(State(platform): Of, Query(asked): RestState) -> Response {
    let wanted = asked.get("search_string").map_or("", String::as_str);
    let with_nodes = asked
        .get("is_include_output_unit_nodes")
        .is_some_and(|of| of == "true");
    let inside = platform.inside();
    let found = inside
        .units
        .values()
        .filter(|unit| unit.name.contains(wanted));
    let found: Vec<Value> = found.map(|unit| unit.render(with_nodes)).collect();
    Json(json!({ "count": found.len(), "units": found })).into_response()
}

async fn add_unit(State(platform): Of, Json(body): Json<Value>) -> Response {
    let mut inside = platform.inside();
    let repo = body["repo_uuid"].as_str().unwrap_or_default();
    if !body["name"].is_string() || !inside.repos.iter().any(|of| of["uuid"] == repo) {
        return refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "a unit needs a name and a repository",
        );
    }
    let uuid = inside.add_unit(&body);
    let rendered = inside.units[&uuid].render(false);
    Json(rendered).into_response()
}

async fn unit(State(platform): Of, Path(uuid): Path<String>) -> Response {
    let inside = platform.inside();
    let rendered = inside.units.get(&uuid).map(|unit| unit.render(true));
    rendered.map_or_else(
        || missing("unit"),
        |rendered| Json(rendered).into_response(),
    )
}

async fn remove_unit(State(platform): Of, Path(uuid): Path<String>) -> Response {
    if platform.inside().remove_unit(&uuid) {
        return StatusCode::NO_CONTENT.into_response();
    }
    missing("unit")
}

async fn env(State(platform): Of, Path(uuid): Path<String>) -> Response {
    let inside = platform.inside();
    let Some(unit) = inside.units.get(&uuid) else {
        return missing("unit");
    };
    let claims = json!({ "uuid": uuid, "type": "Unit" });
    let token = jwt::made(&platform.config.secret, claims);
    Json(platform.env(unit, &token).to_string()).into_response()
}

async fn change_env(
    State(platform): Of,
    Path(uuid): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    let text = body["env_json_string"].as_str().unwrap_or_default();
    let Ok(env @ Value::Object(_)) = serde_json::from_str(text) else {
        return refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "env_json_string is not an object",
        );
    };
    match platform.inside().units.get_mut(&uuid) {
        Some(unit) => unit.env = env,
        None => return missing("unit"),
    }
    StatusCode::NO_CONTENT.into_response()
}

async fn node(State(platform): Of, Path(uuid): Path<String>) -> Response {
    let now_ms = platform.now_ms();
    let mut inside = platform.inside();
    let Some(node) = inside.node(&uuid) else {
        return missing("node");
    };
    if let Some(pipe) = &mut node.pipe {
        pipe.go_on(now_ms);
    }
    Json(node.render("")).into_response()
}

async fn change_node(
    State(platform): Of,
    Path(uuid): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    let mut inside = platform.inside();
    let Some(node) = inside.node(&uuid) else {
        return missing("node");
    };
    if let Some(is_active) = body["is_data_pipe_active"].as_bool() {
        node.is_active = is_active;
    }
    Json(node.render("")).into_response()
}

async fn configure(
    State(platform): Of,
    Query(asked): RestState,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let file = multipart::field(kind.unwrap_or_default(), &body, "data");
    let Some(text) = file
        .as_deref()
        .and_then(|file| std::str::from_utf8(file).ok())
    else {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "there is no file `data`");
    };
    let pipe_config = match Config::read(text) {
        Ok(config) => config,
        Err(reason) => return refused(StatusCode::UNPROCESSABLE_ENTITY, &reason),
    };
    let (config, now_ms) = (&platform.config, platform.now_ms());
    let mut inside = platform.inside();
    let node = asked.get("uuid").and_then(|uuid| inside.node(uuid));
    let Some(node) = node else {
        return missing("node");
    };
    node.pipe = Some(Pipe::new(pipe_config, config.rules, config.turns, now_ms));
    StatusCode::NO_CONTENT.into_response()
}

async fn data(State(platform): Of, Query(asked): RestState) -> Response {
    let number = |name: &str, usual: usize| match asked.get(name) {
        None => Ok(usual),
        Some(text) => text.parse::<usize>().map_err(|_| name.to_owned()),
    };
    let (offset, limit) = match (number("offset", 0), number("limit", MOST)) {
        (Ok(offset), Ok(limit)) if limit <= MOST => (offset, limit),
        _ => {
            return refused(
                StatusCode::UNPROCESSABLE_ENTITY,
                "offset or limit is not a number, or too large",
            );
        }
    };
    let now_ms = platform.now_ms();
    let mut inside = platform.inside();
    let uuid = asked.get("uuid").map_or("", String::as_str);
    let Some(node) = inside.node(uuid) else {
        return missing("node");
    };
    let kind = asked.get("type").map_or("", String::as_str);
    if !["NRecords", "TimeWindow", "Aggregation"].contains(&kind) {
        return refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "type must be NRecords, TimeWindow or Aggregation",
        );
    }
    let (mut count, mut rows) = (0, Vec::new());
    if let Some(pipe) = &mut node.pipe {
        pipe.go_on(now_ms);
        if format!("{:?}", pipe.kind()) == kind {
            (count, rows) = pipe.rows(uuid, offset, limit);
        }
    }
    Json(json!({ "count": count, "pipe_data": rows })).into_response()
}
