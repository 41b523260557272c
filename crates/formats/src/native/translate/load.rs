//! `load`: one phase or a list of them, or so many users.

use plan::{Arrivals, FirstArrival, Load, Phase, Rate, Shape};

use super::{Translator, model};
use crate::{
    document::Node,
    native::read::{self, entries},
};

/// What decides a phase's kind, and what goes with it.
const KINDS: &[(&str, &[&str])] = &[
    (
        "rate",
        &["rate", "duration", "name", "arrivals", "max-users"],
    ),
    (
        "from",
        &["from", "to", "duration", "name", "arrivals", "max-users"],
    ),
    ("count", &["count", "duration", "name", "max-users"]),
    ("pause", &["pause", "name"]),
    ("users", &["users", "duration"]),
];

const KINDS_TEXT: &str = "{ rate: 200/s, duration: 10s }, { from: 10/s, to: 100/s, duration: 5m }, { count: 100, duration: 10s }, { pause: 5s } \
     or { users: 50, duration: 30s }";

impl Translator<'_> {
    pub(super) fn load(&mut self, root: &Node) -> Option<Load> {
        let Some(node) = root.get("load") else {
            if !self.inputs.solo {
                self.findings.problem(
                    root.mark,
                    format!("no `load`: write for example load: {}", &KINDS_TEXT[..32]),
                );
            }
            return self.inputs.solo.then_some(Load::Once);
        };
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        let closed = items.iter().find(|item| item.get("users").is_some());
        let load = match closed {
            Some(item) if items.len() == 1 => self.closed(item)?,
            Some(item) => {
                self.findings.problem(
                    item.mark,
                    "a number of users is a load of its own: it does not mix with phases",
                );
                return None;
            }
            None => {
                let phases: Vec<Phase> = items.iter().filter_map(|item| self.phase(item)).collect();
                if phases.iter().all(|phase| phase.shape == Shape::Pause)
                    && !self.findings.has_problems()
                {
                    self.findings.problem(node.mark, "no phase has arrivals");
                }
                Load::Open {
                    phases,
                    first: FirstArrival::AtStart,
                }
            }
        };
        Some(if self.inputs.solo { Load::Once } else { load })
    }

    fn closed(&mut self, node: &Node) -> Option<Load> {
        self.kind(node)?;
        let users = read::whole_u32(node.get("users")?, "users", 1, self.findings);
        let duration = self.duration(node);
        Some(Load::Closed {
            users: users?,
            duration_ns: duration?.0,
        })
    }

    fn phase(&mut self, node: &Node) -> Option<Phase> {
        let kind = self.kind(node)?;
        let mut rate = |key: &str| read::rate(node.get(key)?, key, self.findings);
        let shape = match kind {
            "rate" => rate("rate").map(Shape::Rate),
            "from" => match (rate("from"), node.get("to")) {
                (Some(from), Some(_)) => rate("to").map(|to| Shape::Staircase { from, to }),
                (None, _) => None,
                (Some(_), None) => {
                    read::missing(
                        node,
                        model::PHASE,
                        "`from` needs `to`: the rate at the end",
                        self.findings,
                    );
                    None
                }
            },
            "count" => node
                .get("count")
                .and_then(|count| read::whole(count, "count", 1, self.findings))
                .map(Shape::Count),
            _ => Some(Shape::Pause),
        };
        if let Some(Shape::Rate(Rate { count: 0, .. })) = shape {
            self.findings
                .problem(node.mark, "a rate of 0 is written as `pause: 10s`");
        }
        let duration = if kind == "pause" {
            node.get("pause").and_then(|pause| {
                Some((read::duration(pause, "pause", self.findings)?, pause.text()))
            })
        } else {
            self.duration(node)
        };
        let name = node
            .get("name")
            .and_then(|name| read::text(name, "name", self.findings));
        let arrivals = self.arrivals(node);
        let max_users = node
            .get("max-users")
            .and_then(|max| read::whole_u32(max, "max-users", 1, self.findings));
        let (duration_ns, duration_text) = duration?;
        Some(Phase {
            name,
            duration_ns,
            duration_text,
            shape: shape?,
            arrivals,
            max_users,
        })
    }

    /// Which kind of phase the keys make, and that no others stand beside it.
    fn kind(&mut self, node: &Node) -> Option<&'static str> {
        if entries(node, "load", model::PHASE, self.findings).is_empty() {
            return None;
        }
        let has = |key: &str| node.get(key).is_some();
        let Some((kind, allowed)) = KINDS.iter().find(|(kind, _)| has(kind)) else {
            read::missing(
                node,
                model::PHASE,
                format!("this is no load: write one of {KINDS_TEXT}"),
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
                    "`{}` does not go with `{kind}`, only {} do",
                    entry.key,
                    allowed.join(", ")
                ),
            );
            return None;
        }
        Some(kind)
    }

    fn duration(&mut self, node: &Node) -> Option<(u64, String)> {
        match node.get("duration") {
            Some(duration) => Some((
                read::duration(duration, "duration", self.findings)?,
                duration.text(),
            )),
            None => {
                read::missing(
                    node,
                    model::PHASE,
                    "no `duration`: write for example duration: 10s",
                    self.findings,
                );
                None
            }
        }
    }

    fn arrivals(&mut self, node: &Node) -> Arrivals {
        match node.get("arrivals").map(|node| (node, node.as_str())) {
            None | Some((_, Some("even"))) => Arrivals::Even,
            Some((_, Some("poisson"))) => Arrivals::Poisson,
            Some((node, _)) => {
                self.findings.problem(
                    node.mark,
                    format!(
                        "`arrivals: {}` is not known: use even or poisson",
                        node.text()
                    ),
                );
                Arrivals::Even
            }
        }
    }
}
