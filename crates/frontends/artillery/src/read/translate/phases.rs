//! Translates `config.phases`, with Artillery's parsing and messages.

use plan::{
    ArrivalProcess, FirstArrival, Load, Phase, Rate, Shape,
    units::{self, parse_ms_grammar},
};
use query::value;

use super::{Translator, nanoseconds, no_load, to_number};
use crate::read::keys::KeyLevel;
use crate::refusal;
use formats::{document::Node, nearest::hint};

impl Translator<'_> {
    pub(super) fn load(&mut self, config: &Node) -> Load {
        let phases = match config.get("phases") {
            Some(phases) if !self.inputs.solo => phases,
            _ => {
                let mut one = Phase::new(units::SECOND, Shape::Count(1));
                one.duration_text = "1s".into();
                return Load::Open {
                    phases: vec![one],
                    first: FirstArrival::AfterOneGap,
                };
            }
        };
        let mode = config.get("mode");
        let Some(items) = phases.as_list() else {
            return no_load();
        };
        let phases: Vec<Phase> = items
            .iter()
            .filter_map(|item| self.phase(item, mode))
            .collect();
        if phases.is_empty() && !self.findings.has_problems() {
            self.findings.problem(
                config.mark,
                "no phase has arrivals: add `arrivalRate` or `arrivalCount` to at least one phase",
            );
        }
        Load::Open {
            phases,
            first: FirstArrival::AfterOneGap,
        }
    }

    fn phase(&mut self, node: &Node, mode: Option<&Node>) -> Option<Phase> {
        if !node.is_map() {
            self.findings.problem(
                node.mark,
                format!(
                    "a phase must be a mapping like {{ duration: 60, arrivalRate: 5 }}, not {}",
                    node.kind()
                ),
            );
            return None;
        }
        self.check_keys(node, KeyLevel::Phase);
        let duration = self.duration(node, "duration")?;
        let pause = self.duration(node, "pause")?;
        let rate = self.rate(node, "arrivalRate")?;
        let ramp = self.rate(node, "rampTo")?;
        let count = self.count(node)?;
        let arrivals = self.arrivals(node, mode)?;
        // The keys have the same precedence as in Artillery.
        let (duration, shape) = match (pause, count, rate, ramp) {
            (Some(pause), ..) => (Some(pause), Shape::Pause),
            (None, Some(count), ..) => (duration, Shape::Count(count)),
            (None, None, Some(rate), None) if rate.is_zero() => (duration, Shape::Pause),
            (None, None, Some(rate), None) => (duration, Shape::Rate(rate)),
            (None, None, None, Some(to)) if to.is_zero() => return self.no_arrivals(node),
            (None, None, from, Some(to)) => {
                let from = from.unwrap_or(Rate::per_second(0));
                (
                    duration.or(Some((units::SECOND, "1s".into()))),
                    Shape::Staircase { from, to },
                )
            }
            (None, None, None, None) => return self.no_arrivals(node),
        };
        let Some((duration_ns, duration_text)) = duration else {
            self.findings.problem(
                node.mark,
                "this phase has no `duration`: add its length in seconds",
            );
            return None;
        };
        let arrivals = match shape {
            Shape::Rate(_) => arrivals,
            _ => ArrivalProcess::Even,
        };
        let name = node
            .get("name")
            .filter(|name| name.is_truthy())
            .map(Node::text);
        Some(Phase {
            name,
            duration_ns,
            duration_text,
            shape,
            arrivals,
            max_users: self.max_users(node),
        })
    }

    fn no_arrivals(&mut self, node: &Node) -> Option<Phase> {
        let text = "Artillery skips this phase, because it has none of `arrivalRate`, `arrivalCount`, `rampTo` and `pause`";
        self.findings.note(node.mark, text);
        None
    }

    /// Reads a duration. The outer `None` means a problem, and the inner `None` means that the key
    /// is missing.
    fn duration(&mut self, phase: &Node, key: &str) -> Option<Option<(u64, String)>> {
        let Some(node) = phase.get(key) else {
            return Some(None);
        };
        match seconds(node).and_then(|seconds| Some((seconds, nanoseconds(seconds)?))) {
            Some((seconds, ns)) if ns > 0 => {
                let mut text = String::new();
                value::write_f64(seconds, &mut text);
                if seconds.fract() == 0.0 {
                    text.push('s');
                }
                Some(Some((ns, text)))
            }
            _ => {
                let message = format!("Invalid {key} for phase: {}", node.text());
                let help = format!(
                    "{message} (use seconds, or text like 500ms, 90s, 5m; at most 100 days)"
                );
                self.findings.fatal(
                    refusal::worker(&format!("Error: {message}")),
                    Some(node.mark),
                    help,
                );
                None
            }
        }
    }

    fn rate(&mut self, phase: &Node, key: &str) -> Option<Option<Rate>> {
        let Some(node) = phase.get(key) else {
            return Some(None);
        };
        match Rate::from_f64(to_number(node)) {
            Some(rate) => Some(Some(rate)),
            None => {
                self.findings.problem(
                    node.mark,
                    format!(
                        "`{key}: {}` is not a rate: use arrivals per second, 0 or more",
                        node.text()
                    ),
                );
                None
            }
        }
    }

    fn count(&mut self, phase: &Node) -> Option<Option<u64>> {
        let Some(node) = phase.get("arrivalCount") else {
            return Some(None);
        };
        let n = to_number(node);
        if (0.0..=1e12).contains(&n) {
            return Some(Some(n.floor() as u64));
        }
        self.findings.problem(
            node.mark,
            format!(
                "`arrivalCount: {}` is not a count: use a whole number, 0 or more",
                node.text()
            ),
        );
        None
    }

    fn max_users(&mut self, phase: &Node) -> Option<u32> {
        let node = phase.get("maxVusers")?;
        let n = to_number(node);
        if (0.0..=f64::from(u32::MAX)).contains(&n) {
            return Some(n.ceil() as u32);
        }
        self.findings.problem(
            node.mark,
            format!(
                "`maxVusers: {}` is not a count: use a whole number, 0 or more",
                node.text()
            ),
        );
        None
    }

    fn arrivals(&mut self, phase: &Node, mode: Option<&Node>) -> Option<ArrivalProcess> {
        let Some(node) = phase.get("mode").filter(|node| node.is_truthy()).or(mode) else {
            return Some(ArrivalProcess::Even);
        };
        match node.as_str() {
            Some("uniform") => Some(ArrivalProcess::Even),
            Some("poisson") => Some(ArrivalProcess::Poisson),
            _ => {
                let text = node.text();
                let hint = hint(&text, ["uniform", "poisson"]);
                self.findings.problem(
                    node.mark,
                    format!("`mode: {text}` is unknown: use uniform or poisson{hint}"),
                );
                None
            }
        }
    }
}

/// Reads a duration. Whole numbers are seconds, and other values use the grammar of the `ms`
/// package.
fn seconds(node: &Node) -> Option<f64> {
    let n = to_number(node);
    if n.is_finite() && n.fract() == 0.0 {
        return Some(n).filter(|n| *n > 0.0);
    }
    parse_ms_grammar(node.as_str()?).map(|ns| ns / units::SECOND as f64)
}
