//! Reads `load`: one phase, a list of phases, or users.

use plan::{ArrivalProcess, FirstArrival, Load, Phase, Shape};

use super::{Translator, model};
use crate::{
    document::Node,
    native::read::{self, entries},
};

const KINDS: &[(&str, &[&str])] = &[
    (
        "rate",
        &["rate", "duration", "name", "arrivals", "max-users"],
    ),
    (
        "level",
        &["level", "duration", "name", "arrivals", "max-users"],
    ),
    (
        "from",
        &[
            "from",
            "to",
            "steps",
            "duration",
            "name",
            "arrivals",
            "max-users",
        ],
    ),
    (
        "peak",
        &[
            "base",
            "peak",
            "hold",
            "ramp",
            "at",
            "duration",
            "name",
            "arrivals",
            "max-users",
        ],
    ),
    ("count", &["count", "duration", "name", "max-users"]),
    ("pause", &["pause", "name"]),
    ("users", &["users", "duration", "name"]),
];

const EXAMPLE: &str = "{ rate: 200/s, duration: 10s }";

const KINDS_TEXT: &str = "{ rate: 200/s, duration: 10s }, { level: 1x, duration: 5m }, { from: 10/s, to: 100/s, duration: 5m }, \
     { from: 10/s, to: 100/s, steps: 10, duration: 5m }, { base: 10/s, peak: 100/s, hold: 5s, duration: 1m }, \
     { count: 100, duration: 10s }, { pause: 5s }, { users: 50, duration: 30s } or { users: { from: 0, to: 50 }, duration: 30s }";

impl Translator<'_> {
    pub(super) fn load(&mut self, root: &Node) -> Option<Load> {
        if self.has_workloads {
            return None;
        }
        let Some(node) = root.get("load") else {
            if !self.inputs.solo {
                self.findings.problem(
                    root.mark,
                    format!("`load` is missing: add, for example, load: {EXAMPLE}"),
                );
            }
            return self.inputs.solo.then_some(Load::Once);
        };
        let load = self.load_of(node)?;
        Some(if self.inputs.solo { Load::Once } else { load })
    }

    pub(super) fn load_of(&mut self, node: &Node) -> Option<Load> {
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        let closed = items.iter().find(|item| item.get("users").is_some());
        match closed {
            Some(_) => self.closed(items),
            None => {
                let read = items.iter().filter_map(|item| self.phase(item));
                let phases: Vec<Phase> = read.flatten().collect();
                if phases.iter().all(|phase| phase.shape == Shape::Pause)
                    && !self.findings.has_problems()
                {
                    self.findings
                        .problem(node.mark, "no phase has arrivals: add a rate");
                }
                Some(Load::Open {
                    phases,
                    first: FirstArrival::AtStart,
                })
            }
        }
    }

    fn phase(&mut self, node: &Node) -> Option<Vec<Phase>> {
        let kind = self.kind(node)?;
        let shapes = match kind {
            "rate" => self.constant_rate(node),
            "level" => self.constant_level(node),
            "from" if node.get("steps").is_some() => self.stairs(node),
            "from" => self.ramp(node),
            "peak" => self.spike(node),
            "count" => self.so_many(node),
            _ => self.pause(node),
        };
        let name = node
            .get("name")
            .and_then(|name| read::text(name, "name", self.findings));
        let arrivals = self.arrivals(node);
        let max_users = node
            .get("max-users")
            .and_then(|max| read::whole_u32(max, "max-users", 1, self.findings));
        let phases = shapes?.into_iter().map(|stretch| Phase {
            name: stretch.named(name.as_deref()),
            duration_ns: stretch.duration_ns,
            duration_text: stretch.duration_text,
            shape: stretch.shape,
            arrivals,
            max_users,
        });
        Some(phases.collect())
    }

    pub(super) fn kind(&mut self, node: &Node) -> Option<&'static str> {
        if entries(node, "load", model::PHASE, self.findings).is_empty() {
            return None;
        }
        let has = |key: &str| node.get(key).is_some();
        let Some((kind, allowed)) = KINDS.iter().find(|(kind, _)| has(kind)) else {
            read::missing(
                node,
                model::PHASE,
                format!("this is not a load: use one of {KINDS_TEXT}"),
                self.findings,
            );
            return None;
        };
        let known = |key: &str| model::PHASE.contains(&key);
        let stray = node
            .entries()
            .iter()
            .find(|entry| known(&entry.key) && !allowed.contains(&entry.key.as_str()));
        if let Some(entry) = stray {
            self.findings.problem(
                entry.key_mark,
                format!(
                    "`{}` is not allowed with `{kind}`; allowed are {}",
                    entry.key,
                    allowed.join(", ")
                ),
            );
            return None;
        }
        Some(kind)
    }

    pub(super) fn duration(&mut self, node: &Node) -> Option<(u64, String)> {
        match node.get("duration") {
            Some(duration) => Some((
                read::duration(duration, "duration", self.findings)?,
                duration.text(),
            )),
            None => {
                read::missing(
                    node,
                    model::PHASE,
                    "`duration` is missing: add, for example, duration: 10s",
                    self.findings,
                );
                None
            }
        }
    }

    fn arrivals(&mut self, node: &Node) -> ArrivalProcess {
        match node.get("arrivals").map(|node| (node, node.as_str())) {
            None | Some((_, Some("even"))) => ArrivalProcess::Even,
            Some((_, Some("poisson"))) => ArrivalProcess::Poisson,
            Some((node, _)) => {
                self.findings.problem(
                    node.mark,
                    format!(
                        "`arrivals: {}` is unknown: use even or poisson",
                        node.text()
                    ),
                );
                ArrivalProcess::Even
            }
        }
    }
}
