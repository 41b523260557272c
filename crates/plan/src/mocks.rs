//! Mock services in a plan: routes, responses, latencies, and faults on a timeline. The crate
//! `mocks` serves them.

mod fault;
mod latency;
mod recorded;

use serde_json::Value;

use crate::Template;

pub use fault::{Fault, FaultKind, parse_fault};
pub use latency::{Busy, LatencySampler, MockLatency, PercentileCurve, stratum};
pub use recorded::{Measured, MeasuredCell, Reference, is_reference, parse_reference};

/// Address of a running mock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockAddress {
    /// Name of the mock in the plan.
    pub name: String,
    /// Base URL of the mock.
    pub url: String,
}

/// A simulated service.
#[derive(Debug, Clone)]
pub struct Mock {
    /// Name by which the plan refers to the mock.
    pub name: String,
    /// Port to listen on. 0 selects a free port.
    pub port: u16,
    /// Routes of the mock. The first matching route handles a request.
    pub routes: Vec<MockRoute>,
    /// Faults, at times on the load's timeline.
    pub faults: Vec<Fault>,
}

/// The response to requests with a given method and path.
#[derive(Debug, Clone)]
pub struct MockRoute {
    /// HTTP method.
    pub method: String,
    /// Path as written in the plan.
    pub path: String,
    /// The path, split at slashes.
    pub pattern: Vec<RouteSegment>,
    /// HTTP status code.
    pub status: u16,
    /// Header names and values.
    pub headers: Vec<(String, Template)>,
    /// Body of the response.
    pub body: MockBody,
    /// Latency of the response.
    pub latency: MockLatency,
    /// Key under which the mock stores the request's body.
    pub remember: Option<Template>,
    /// Key of the stored body to return. If no body is stored, the response is 404.
    pub recall: Option<Template>,
    /// Key of the stored body to delete after the response.
    pub forget: Option<Template>,
}

/// A segment of a route's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteSegment {
    /// Literal text to match.
    Text(String),
    /// A variable, which matches any text and receives it.
    Variable(String),
}

/// Body of a response.
#[derive(Debug, Clone)]
pub enum MockBody {
    /// No body.
    Empty,
    /// Plain text.
    Text(Template),
    /// A JSON document.
    Json(Template),
}

impl MockRoute {
    /// Splits a path into segments at its slashes.
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

    /// Returns the method and path, which name the route.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Returns the values of the path variables, or `None` if the route does not match.
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
