//! Mocks in a plan: routes, responses, latencies, and faults on a timeline. The crate `mocks`
//! serves them.

mod fault;
mod latency;
mod recorded;

use serde_json::Value;

use crate::Template;

pub use fault::{Fault, FaultKind, parse_fault};
pub use latency::{Busy, LatencySampler, MockLatency, PercentileCurve, stratum};
pub use recorded::{Measured, MeasuredCell, Reference, is_reference, parse_reference};

/// Where a running mock listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockAddress {
    /// Name in the plan.
    pub name: String,
    /// Base URL.
    pub url: String,
}

/// A simulated service.
#[derive(Debug, Clone)]
pub struct Mock {
    /// The plan refers to the mock's address by this name.
    pub name: String,
    /// The port. 0 means any free one.
    pub port: u16,
    /// The routes. The first one that matches responds.
    pub routes: Vec<MockRoute>,
    /// Scheduled faults.
    pub faults: Vec<Fault>,
}

/// How a kind of request is answered.
#[derive(Debug, Clone)]
pub struct MockRoute {
    /// HTTP method.
    pub method: String,
    /// The path as written.
    pub path: String,
    /// The path split at slashes.
    pub pattern: Vec<RouteSegment>,
    /// HTTP status.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: MockBody,
    /// The latency.
    pub latency: MockLatency,
    /// The request's body is stored under this key.
    pub remember: Option<Template>,
    /// The body stored under this key is returned. Without one, the response is 404.
    pub recall: Option<Template>,
    /// The body stored under this key is deleted after the response.
    pub forget: Option<Template>,
}

/// Part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteSegment {
    /// Literal text.
    Text(String),
    /// Any text. It is stored in this variable.
    Variable(String),
}

/// Body of a response.
#[derive(Debug, Clone)]
pub enum MockBody {
    /// No body.
    Empty,
    /// Text.
    Text(Template),
    /// JSON.
    Json(Template),
}

impl MockRoute {
    /// Splits a path.
    #[must_use]
    pub fn pieces(path: &str) -> Vec<RouteSegment> {
        let pieces = path.trim_start_matches('/').split('/');
        let read = |piece: &str| {
            let name = piece
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'));
            name.map_or_else(
                || RouteSegment::Text(piece.to_owned()),
                |name| RouteSegment::Variable(name.to_owned()),
            )
        };
        pieces.map(read).collect()
    }

    /// Method and path.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Returns the variables of the path. `None` if the route does not match.
    #[must_use]
    pub fn fits(&self, method: &str, path: &[String]) -> Option<Vec<(String, Value)>> {
        if self.method != method || self.pattern.len() != path.len() {
            return None;
        }
        let mut variables = Vec::new();
        for (piece, text) in self.pattern.iter().zip(path) {
            match piece {
                RouteSegment::Text(wanted) if wanted == text => {}
                RouteSegment::Text(_) => return None,
                RouteSegment::Variable(name) => {
                    variables.push((name.clone(), Value::from(text.as_str())))
                }
            }
        }
        Some(variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_matches_by_segments() {
        let route = MockRoute {
            method: "GET".into(),
            path: "/data/{id}/all".into(),
            pattern: MockRoute::pieces("/data/{id}/all"),
            status: 200,
            headers: Vec::new(),
            body: MockBody::Empty,
            latency: MockLatency::Constant(0),
            remember: None,
            recall: None,
            forget: None,
        };
        let path = |text: &str| -> Vec<String> {
            text.trim_start_matches('/')
                .split('/')
                .map(Into::into)
                .collect()
        };
        let fits = |method, text| route.fits(method, &path(text));
        assert_eq!(
            fits("GET", "/data/7/all"),
            Some(vec![("id".into(), "7".into())])
        );
        assert_eq!(fits("POST", "/data/7/all"), None);
        assert_eq!(fits("GET", "/data/7"), None);
        assert_eq!(fits("GET", "/data/7/none"), None);
        assert_eq!(MockRoute::pieces("/"), [RouteSegment::Text(String::new())]);
    }
}
