//! Counts requests and responses by route and status, for `GET /__lab/stats`.

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use serde_json::{Map, Value, json};

const OTHER: &str = "(other)";

struct RouteCounts {
    key: Option<(Method, String)>,
    received: u64,
    answered: BTreeMap<u16, u64>,
}

impl RouteCounts {
    fn is(&self, key: Option<(&Method, &str)>) -> bool {
        match (&self.key, key) {
            (None, None) => true,
            (Some((method, pattern)), Some(key)) => (method, pattern.as_str()) == key,
            _ => false,
        }
    }

    fn name(&self) -> String {
        self.key.as_ref().map_or_else(
            || OTHER.to_owned(),
            |(method, pattern)| format!("{method} {pattern}"),
        )
    }
}

#[derive(Clone, Copy)]
pub(crate) struct RouteId(usize);

#[derive(Default)]
pub(crate) struct Stats {
    routes: Vec<RouteCounts>,
}

impl Stats {
    pub(crate) fn received(&mut self, method: &Method, pattern: Option<&str>) -> RouteId {
        let key = pattern
            .filter(|_| is_standard(method))
            .map(|pattern| (method, pattern));
        let index = self
            .routes
            .iter()
            .position(|route| route.is(key))
            .unwrap_or_else(|| {
                let key = key.map(|(method, pattern)| (method.clone(), pattern.to_owned()));
                self.routes.push(RouteCounts {
                    key,
                    received: 0,
                    answered: BTreeMap::new(),
                });
                self.routes.len() - 1
            });
        self.routes[index].received += 1;
        RouteId(index)
    }

    pub(crate) fn answered(&mut self, RouteId(index): RouteId, code: StatusCode) {
        *self.routes[index]
            .answered
            .entry(code.as_u16())
            .or_default() += 1;
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut routes: Vec<_> = self
            .routes
            .iter()
            .map(|route| (route.name(), route))
            .collect();
        routes.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut received = Map::new();
        let mut answered = Map::new();
        let mut by_code = BTreeMap::<u16, u64>::new();
        for (name, route) in routes {
            received.insert(name.clone(), route.received.into());
            answered.insert(name, codes(&route.answered));
            for (&code, &n) in &route.answered {
                *by_code.entry(code).or_default() += n;
            }
        }
        json!({
            "received": { "total": self.routes.iter().map(|route| route.received).sum::<u64>(), "by_route": received },
            "answered": { "total": by_code.values().sum::<u64>(), "by_route": answered, "by_code": codes(&by_code) },
        })
    }
}

fn codes(counts: &BTreeMap<u16, u64>) -> Value {
    counts
        .iter()
        .map(|(code, &n)| (code.to_string(), Value::from(n)))
        .collect::<Map<_, _>>()
        .into()
}

fn is_standard(method: &Method) -> bool {
    const STANDARD: [Method; 9] = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
        Method::CONNECT,
    ];
    STANDARD.contains(method)
}
