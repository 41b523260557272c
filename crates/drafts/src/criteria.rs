//! Criteria of a draft: the maximum response times that its source allows.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{draft::Draft, yaml};

const PROPOSED: &str = "
# Criteria that must hold at the end and decide the exit code. Remove the # and set your limits.
# criteria:
#   - errors < 1%
#   - p95 < 500ms
";
const WITH_LIMITS: &str = "
# Criteria that must hold at the end and decide the exit code. The source allows no slower
# response. A percentile, such as p95 instead of max, allows some.
criteria:
";

impl Draft {
    pub fn criteria_text(&self) -> String {
        let sent = self.requests().into_iter().filter(|request| !request.off);
        let mut limits: BTreeMap<String, Option<f64>> = BTreeMap::new();
        for request in sent {
            let label = request.label.clone().unwrap_or_default();
            let limit = limits.entry(label).or_insert(request.limit_ms);
            *limit = least(*limit, request.limit_ms);
        }
        if limits.values().all(Option::is_none) {
            return PROPOSED.to_owned();
        }
        let mut out = WITH_LIMITS.to_owned();
        let first = limits.values().next().copied().flatten();
        if let Some(common) = first.filter(|_| limits.values().all(|limit| *limit == first)) {
            let _ = writeln!(out, "  - {}", yaml::scalar(&format!("max < {common}ms")));
            return out;
        }
        for (label, limit) in limits {
            if let Some(limit) = limit {
                let criterion = format!("max of \"{label}\" < {limit}ms");
                let _ = writeln!(out, "  - {}", yaml::scalar(&criterion));
            }
        }
        out
    }
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
