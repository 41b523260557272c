//! The lab `fhir`: a small FHIR R4 server for patients that requires a bearer token. Unsupported
//! requests are refused with an OperationOutcome.

mod answer;
mod control;
mod ids;
mod names;
mod patient;
mod platform;
mod store;
mod totals;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use answer::{Bundle, FhirError};
use ids::Ids;
use lab::random::seed_or_fresh;
use lab::sidecar::Sidecar;
use lab::{LabEntry, LabError, LabKind, LabOptions, Routes, plain_token};
use patient::Patient;
use platform::{FhirOperation, Platform};
use store::{PatientRow, Store};

pub(crate) const LAB: LabEntry = LabEntry {
    name: "fhir",
    help: "FHIR R4 datastore with patients: /fhir/R4/Patient (bearer token), GET /healthcheck; store=FILE saves them; servers, cpu and database set its resources, which it reports on a second port",
    extra: &["store", "servers", "cpu", "database", "control-port"],
    kind: LabKind::Routes(routes),
    token: plain_token,
};

const BASE: &str = "/fhir/R4";
const DEFAULT_COUNT: u32 = 20;
const MAX_COUNT: u32 = 1000;

struct Fhir {
    token: String,
    /// A lock is sufficient, because a statement takes only ten microseconds.
    data: Mutex<FhirData>,
    /// The simulated platform. `None` if responses are sent as fast as possible.
    platform: Option<Arc<Platform>>,
}

struct FhirData {
    store: Store,
    ids: Ids,
}

impl Fhir {
    fn data(&self) -> MutexGuard<'_, FhirData> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass(&self, asked: FhirOperation) {
        if let Some(platform) = &self.platform {
            platform.pass(asked).await;
        }
    }
}

type FhirState = State<Arc<Fhir>>;
type FhirResult = Result<Response, FhirError>;
// Receiving a result allows the handler to turn axum's errors into OperationOutcomes.
type FhirBody = Result<Bytes, BytesRejection>;
type Id = Result<Path<String>, PathRejection>;
type SearchQuery = Result<Query<Vec<(String, String)>>, QueryRejection>;

fn routes(options: &LabOptions) -> Result<Routes, LabError> {
    let store = Store::open(options.extra("store")).map_err(|error| LabError::CannotOpenStore {
        store: options.extra("store").unwrap_or("in memory").to_owned(),
        reason: error.to_string(),
    })?;
    // A store that is reopened already contains the first IDs of this seed.
    let ids = Ids::new(options.seed, store.held());
    let platform = Platform::read(options, seed_or_fresh(options.seed))?.map(Arc::new);
    let sidecar = match &platform {
        Some(platform) => {
            let reported = control::routes(platform);
            Some(Sidecar::http(options, platform.control_port, reported)?)
        }
        None => None,
    };
    let fhir = Arc::new(Fhir {
        token: options.token.clone(),
        data: Mutex::new(FhirData { store, ids }),
        platform,
    });
    let router = Router::new()
        .route("/healthcheck", get(healthcheck))
        .route("/fhir/R4/Patient", get(search).post(create))
        .route(
            "/fhir/R4/Patient/{id}",
            get(read).put(update).delete(delete),
        )
        .fallback(async || {
            FhirError::new(
                StatusCode::NOT_FOUND,
                "not-supported",
                "this server does not support this path",
            )
        })
        .method_not_allowed_fallback(async || {
            FhirError::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "not-supported",
                "this method is not supported here",
            )
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&fhir), authorize))
        .with_state(fhir);
    Ok(Routes {
        sidecar,
        ..router.into()
    })
}

async fn authorize(State(fhir): FhirState, request: Request, next: Next) -> Response {
    let below_base = request
        .uri()
        .path()
        .strip_prefix(BASE)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if !below_base || bearer(request.headers()) == Some(fhir.token.as_bytes()) {
        return next.run(request).await;
    }
    let refusal = FhirError::new(
        StatusCode::UNAUTHORIZED,
        "login",
        "a valid bearer token is needed",
    );
    (
        [(header::WWW_AUTHENTICATE, "Bearer realm=\"fhir\"")],
        refusal,
    )
        .into_response()
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers
        .get(header::AUTHORIZATION)?
        .as_bytes()
        .split_at_checked("Bearer ".len())?;
    scheme
        .eq_ignore_ascii_case(b"Bearer ")
        .then(|| token.trim_ascii())
}

async fn healthcheck(State(fhir): FhirState) -> Response {
    fhir.pass(FhirOperation::Health).await;
    let store = fhir.data().store.ping().is_ok();
    let status = if store {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (
        status,
        Json(json!({ "ok": store, "version": env!("CARGO_PKG_VERSION"), "store": store })),
    )
        .into_response()
}

async fn create(State(fhir): FhirState, headers: HeaderMap, body: FhirBody) -> FhirResult {
    let patient = Patient::parse(&body?)?;
    fhir.pass(FhirOperation::Create).await;
    let mut data = fhir.data();
    let mut id = data.ids.draw();
    while data.store.row(&id)?.is_some() {
        id = data.ids.draw();
    }
    let resource = patient.stamp(&id, 1);
    data.store.insert(&id, &resource, &patient.names())?;
    drop(data);
    Ok(created(&headers, &id, 1, resource))
}

async fn read(State(fhir): FhirState, id: Id) -> FhirResult {
    let Path(id) = id?;
    fhir.pass(FhirOperation::Read).await;
    match fhir.data().store.row(&id)? {
        Some(PatientRow {
            version,
            resource: Some(resource),
            ..
        }) => Ok(answer::resource(StatusCode::OK, version, resource)),
        Some(_) => Err(FhirError::new(
            StatusCode::GONE,
            "deleted",
            format!("Patient/{id} was deleted"),
        )),
        None => Err(FhirError::unknown(&id)),
    }
}

async fn update(State(fhir): FhirState, id: Id, headers: HeaderMap, body: FhirBody) -> FhirResult {
    let Path(id) = id?;
    let patient = Patient::parse(&body?)?;
    patient.check_id(&id)?;
    fhir.pass(FhirOperation::Update).await;
    let mut data = fhir.data();
    let Some(row) = data.store.row(&id)? else {
        let resource = patient.stamp(&id, 1);
        data.store.insert(&id, &resource, &patient.names())?;
        return Ok(created(&headers, &id, 1, resource));
    };
    let version = row.version + 1;
    let resource = patient.stamp(&id, version);
    data.store.replace(&row, &resource, &patient.names())?;
    match row.resource {
        Some(_) => Ok(answer::resource(StatusCode::OK, version, resource)),
        None => Ok(created(&headers, &id, version, resource)),
    }
}

async fn delete(State(fhir): FhirState, id: Id) -> FhirResult {
    let Path(id) = id?;
    fhir.pass(FhirOperation::Delete).await;
    let mut data = fhir.data();
    let row = data
        .store
        .row(&id)?
        .ok_or_else(|| FhirError::unknown(&id))?;
    // Deleting a patient that is already deleted succeeds, too.
    if row.resource.is_some() {
        data.store.delete(&row)?;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn search(
    State(fhir): FhirState,
    request_headers: HeaderMap,
    query: SearchQuery,
) -> FhirResult {
    let Query(query) = query?;
    let mut name = None;
    let mut count = DEFAULT_COUNT;
    for (key, value) in &query {
        match key.as_str() {
            "name" if name.is_some() => {
                return Err(FhirError::invalid("name can be given only once"));
            }
            "name" => name = Some(value.as_str()),
            "_count" => {
                count = value
                    .parse()
                    .map_err(|_| FhirError::invalid("_count must be a whole number"))?
            }
            // Refuse unknown parameters, because ignoring them would return the result of a
            // different search.
            _ => {
                return Err(FhirError::invalid(format!(
                    "unknown search parameter {key}; supported are name, _count"
                )));
            }
        }
    }
    fhir.pass(FhirOperation::Search).await;
    let found = fhir
        .data()
        .store
        .search(name.filter(|name| !name.is_empty()), count.min(MAX_COUNT))?;
    Ok(Bundle::searchset(&base_url(&request_headers), found)?.into_response())
}

fn created(headers: &HeaderMap, id: &str, version: u64, resource: String) -> Response {
    let mut response = answer::resource(StatusCode::CREATED, version, resource);
    if let Ok(location) = HeaderValue::try_from(format!("{}/Patient/{id}", base_url(headers))) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn base_url(headers: &HeaderMap) -> String {
    match headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
    {
        Some(host) => format!("http://{host}{BASE}"),
        None => BASE.to_owned(),
    }
}
