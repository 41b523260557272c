//! What a lab tells of itself in Prometheus' text form: heads and lines. Which metrics there are is each lab's own affair.

use std::fmt::Write;

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// What stands above the lines of a metric.
pub(crate) fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing into a text cannot fail.
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

/// A value, with labels as they are written between the braces, or none.
pub(crate) fn line(text: &mut String, name: &str, labels: &str, value: f64) {
    let _ = match labels {
        "" => writeln!(text, "{name} {value}"),
        _ => writeln!(text, "{name}{{{labels}}} {value}"),
    };
}

/// The answer to whoever scrapes.
pub(crate) fn answer(text: String) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, text).into_response()
}
