//! Writes metrics of labs in Prometheus text format.

use std::fmt::Write;

use axum::http::header;
use axum::response::{IntoResponse, Response};

pub(crate) fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

pub(crate) fn line(text: &mut String, name: &str, labels: &str, value: f64) {
    let _ = match labels {
        "" => writeln!(text, "{name} {value}"),
        _ => writeln!(text, "{name}{{{labels}}} {value}"),
    };
}

pub(crate) fn answer(text: String) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, text).into_response()
}
