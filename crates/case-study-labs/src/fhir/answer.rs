//! Responses of the lab `fhir`: resources, bundles, OperationOutcomes.

use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::store::SearchPage;

const FHIR_JSON: HeaderValue = HeaderValue::from_static("application/fhir+json; charset=utf-8");

pub(super) struct FhirError {
    status: StatusCode,
    code: &'static str,
    text: String,
}

impl FhirError {
    pub(super) fn new(status: StatusCode, code: &'static str, text: impl Into<String>) -> Self {
        Self {
            status,
            code,
            text: text.into(),
        }
    }

    pub(super) fn invalid(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", text)
    }

    pub(super) fn unknown(id: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            format!("there is no Patient/{id}"),
        )
    }
}

impl From<rusqlite::Error> for FhirError {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "exception",
            format!("the store failed: {error}"),
        )
    }
}

impl From<serde_json::Error> for FhirError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "exception",
            format!("the store contains invalid JSON: {error}"),
        )
    }
}

impl From<BytesRejection> for FhirError {
    fn from(rejection: BytesRejection) -> Self {
        Self::new(rejection.status(), "invalid", rejection.body_text())
    }
}

impl From<PathRejection> for FhirError {
    fn from(rejection: PathRejection) -> Self {
        Self::new(rejection.status(), "invalid", rejection.body_text())
    }
}

impl From<QueryRejection> for FhirError {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), "invalid", rejection.body_text())
    }
}

impl IntoResponse for FhirError {
    fn into_response(self) -> Response {
        let issue = json!([{ "severity": "error", "code": self.code, "diagnostics": self.text }]);
        let outcome = json!({ "resourceType": "OperationOutcome", "issue": issue });
        (
            self.status,
            [(header::CONTENT_TYPE, FHIR_JSON)],
            outcome.to_string(),
        )
            .into_response()
    }
}

pub(super) fn resource(status: StatusCode, version: u64, body: String) -> Response {
    let etag = format!("W/\"{version}\"");
    (
        status,
        [(header::CONTENT_TYPE, FHIR_JSON)],
        [(header::ETAG, etag)],
        body,
    )
        .into_response()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bundle {
    resource_type: &'static str,
    r#type: &'static str,
    total: u64,
    entry: Vec<BundleEntry>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BundleEntry {
    full_url: String,
    resource: Box<RawValue>,
    search: SearchMode,
}

#[derive(Serialize)]
struct SearchMode {
    mode: &'static str,
}

impl Bundle {
    pub(super) fn searchset(base_url: &str, found: SearchPage) -> serde_json::Result<Self> {
        let entry = found.page.into_iter().map(|(id, resource)| {
            let full_url = format!("{base_url}/Patient/{id}");
            Ok(BundleEntry {
                full_url,
                resource: RawValue::from_string(resource)?,
                search: SearchMode { mode: "match" },
            })
        });
        let entry = entry.collect::<serde_json::Result<_>>()?;
        Ok(Self {
            resource_type: "Bundle",
            r#type: "searchset",
            total: found.total,
            entry,
        })
    }
}

impl IntoResponse for Bundle {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self) {
            Ok(body) => ([(header::CONTENT_TYPE, FHIR_JSON)], body).into_response(),
            Err(error) => FhirError::from(error).into_response(),
        }
    }
}
