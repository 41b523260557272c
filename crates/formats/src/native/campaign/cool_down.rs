//! Reads `cool-down`: how to wait between stages, and how to probe the service during the wait.

use plan::{Rate, units};

use super::{
    CoolDown, model,
    read::{self, entries},
};
use crate::{
    document::{Entry, Mark, Node},
    findings::Findings,
};

/// Reads the cool-down, or returns the default if it is absent. Returns `None` if it is disabled or
/// invalid.
pub(super) fn read(
    entry: Option<&Entry>,
    names: &[(String, Mark)],
    has_scenarios: bool,
    findings: &mut Findings,
) -> Option<CoolDown> {
    let mut cool_down = CoolDown {
        at_most_ns: 60 * units::SECOND,
        rate: Rate {
            count: 2,
            per_ns: units::SECOND,
        },
        settled_ns: 10 * units::SECOND,
        baseline: 0,
    };
    let Some(Entry {
        value: node,
        key_mark,
        ..
    }) = entry
    else {
        return has_scenarios.then_some(cool_down);
    };
    if node.as_bool() == Some(false) {
        return None;
    }
    if !has_scenarios {
        findings.problem(*key_mark, "a cool-down probes the service with the `steps` or `scenarios` of the plan, but there are none: use `cool-down: false`");
        return None;
    }
    if !node.is_map() {
        cool_down.at_most_ns = read::duration(node, "cool-down", findings)?;
        return long_enough(node, cool_down, findings);
    }
    entries(node, "cool-down", model::COOL_DOWN, findings);
    if let Some(most) = node.get("at-most") {
        cool_down.at_most_ns = read::duration(most, "at-most", findings)?;
    }
    if let Some(rate) = node.get("rate") {
        cool_down.rate = read::rate(rate, "rate", findings)?;
    }
    if let Some(settled) = node.get("for") {
        cool_down.settled_ns = read::duration(settled, "for", findings)?;
    }
    if let Some(baseline) = node.get("baseline") {
        let wanted = baseline.text();
        match names.iter().position(|(name, _)| *name == wanted) {
            Some(number) => cool_down.baseline = number,
            None => findings.problem(baseline.mark, format!("there is no stage `{wanted}`")),
        }
    }
    long_enough(node, cool_down, findings)
}

fn long_enough(node: &Node, cool_down: CoolDown, findings: &mut Findings) -> Option<CoolDown> {
    if cool_down.at_most_ns <= cool_down.settled_ns {
        findings.problem(
            node.mark,
            format!(
                "a cool-down of at most {} is too short for the service to stay stable for {}: \
            allow more time, or use `for: 5s`",
                units_text(cool_down.at_most_ns),
                units_text(cool_down.settled_ns)
            ),
        );
        return None;
    }
    let looks = u128::from(cool_down.rate.count) * u128::from(cool_down.settled_ns)
        / u128::from(cool_down.rate.per_ns.max(1));
    if looks < 20 {
        findings.problem(
            node.mark,
            format!(
                "{looks} iterations in {} are too few: at least 20 are needed, so increase `rate` or `for`",
                units_text(cool_down.settled_ns)
            ),
        );
        return None;
    }
    Some(cool_down)
}

fn units_text(ns: u64) -> String {
    format!("{} s", ns as f64 / units::SECOND as f64)
}
