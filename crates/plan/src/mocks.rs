//! The services behind a target, as a plan describes them: routes, answers, how long those take, and faults on a timeline. Plain data and
//! its arithmetic; who listens and waits is `mocks`' business.

mod fault;
mod latency;
mod recorded;

use serde_json::Value;

use crate::Template;

pub use fault::{Fault, FaultKind, parse_fault};
pub use latency::{Busy, Course, Curve, Latency, stratum};
pub use recorded::{Measured, Reference, is_reference, parse_reference};

/// A service.
#[derive(Debug, Clone)]
pub struct Mock {
    /// Its name, by which the plan has its address.
    pub name: String,
    /// Its port; 0 is any free one.
    pub port: u16,
    /// What it answers; the first that fits does.
    pub routes: Vec<Route>,
    /// What goes wrong, and when.
    pub faults: Vec<Fault>,
}

/// What is answered to a request.
#[derive(Debug, Clone)]
pub struct Route {
    /// The method.
    pub method: String,
    /// The path, as written.
    pub path: String,
    /// Its pieces between slashes.
    pub pattern: Vec<Segment>,
    /// The status.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Body,
    /// How long it takes.
    pub latency: Latency,
    /// Under which key the request's body is remembered.
    pub remember: Option<Template>,
    /// Which key's memory is the answer's; without one, the answer is 404.
    pub recall: Option<Template>,
    /// Which key's memory is given up behind the answer.
    pub forget: Option<Template>,
}

/// A piece of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// This text.
    Text(String),
    /// Any text: a variable of this name.
    Variable(String),
}

/// The body of an answer.
#[derive(Debug, Clone)]
pub enum Body {
    /// None.
    Empty,
    /// Text.
    Text(Template),
    /// JSON.
    Json(Template),
}

impl Route {
    /// The pieces of a path.
    #[must_use]
    pub fn pieces(path: &str) -> Vec<Segment> {
        let pieces = path.trim_start_matches('/').split('/');
        let read = |piece: &str| {
            let name = piece
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'));
            name.map_or_else(
                || Segment::Text(piece.to_owned()),
                |name| Segment::Variable(name.to_owned()),
            )
        };
        pieces.map(read).collect()
    }

    /// What the route is called: its method and its path.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The variables of a path, if the route answers it.
    #[must_use]
    pub fn fits(&self, method: &str, path: &[String]) -> Option<Vec<(String, Value)>> {
        if self.method != method || self.pattern.len() != path.len() {
            return None;
        }
        let mut variables = Vec::new();
        for (piece, text) in self.pattern.iter().zip(path) {
            match piece {
                Segment::Text(wanted) if wanted == text => {}
                Segment::Text(_) => return None,
                Segment::Variable(name) => {
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
    fn a_route_fits_by_its_pieces() {
        let route = Route {
            method: "GET".into(),
            path: "/data/{id}/all".into(),
            pattern: Route::pieces("/data/{id}/all"),
            status: 200,
            headers: Vec::new(),
            body: Body::Empty,
            latency: Latency::Constant(0),
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
        assert_eq!(Route::pieces("/"), [Segment::Text(String::new())]);
    }
}
