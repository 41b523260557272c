//! Reads steps that are not requests: `think`, `loop`, `exit`.

use plan::{
    Template,
    scenario::{Jitter, Loop, LoopCount, LoopRange, Over, Think, ThinkTime},
    units::Quantity,
};
use query::path::Path;

use super::{Translator, model};
use crate::{
    document::{Entry, Node},
    native::read::{self, entries},
};

impl Translator<'_> {
    pub(super) fn exit(&mut self, node: &Node) -> Option<f64> {
        match read::quantity(node, "exit", self.findings)? {
            Quantity::Share(share) if share > 0.0 && share <= 1.0 => Some(share),
            _ => {
                let text = format!(
                    "`exit: {}` is not a share of the users that reach this step: use, for example, 12%",
                    node.text()
                );
                self.findings.problem(node.mark, text);
                None
            }
        }
    }

    pub(super) fn think(&mut self, node: &Node) -> Option<Think> {
        let (time, jitter) = if node.is_map() {
            entries(node, "think", model::THINK, self.findings);
            let Some(time) = node.get("time") else {
                read::missing(
                    node,
                    model::THINK,
                    "`time` is missing: use, for example, { time: 1s, jitter: 20% }",
                    self.findings,
                );
                return None;
            };
            (time, node.get("jitter"))
        } else {
            (node, None)
        };
        let jitter = jitter.and_then(|jitter| self.jitter(jitter));
        let template = self.template(time);
        let time = match template {
            Template::Literal(_) => ThinkTime::Fixed(read::duration(time, "think", self.findings)?),
            template => ThinkTime::Templated(template),
        };
        Some(Think { time, jitter })
    }

    fn jitter(&mut self, node: &Node) -> Option<Jitter> {
        match read::quantity(node, "jitter", self.findings)? {
            Quantity::Share(share) if share <= 1.0 => Some(Jitter::Share(share)),
            Quantity::Duration(ns) => Some(Jitter::Absolute(ns)),
            _ => {
                self.findings
                    .problem(node.mark, "`jitter` must be a share up to 100%, or a time");
                None
            }
        }
    }

    pub(super) fn repeat(&mut self, node: &Node) -> Option<Loop> {
        entries(node, "loop", model::LOOP, self.findings);
        let Some(steps) = node.get("steps") else {
            read::missing(
                node,
                model::LOOP,
                "this loop has no `steps`: use { count: 10, steps: [...] }",
                self.findings,
            );
            return None;
        };
        let name =
            |key: &str, default: &str| node.get(key).map_or_else(|| default.to_owned(), Node::text);
        let (index_as, element_as) = (name("index", "$loopCount"), name("element", "$loopElement"));
        self.templates.sets(&index_as);
        self.templates.sets(&element_as);
        let over = node.get("over").and_then(|over| self.over(over));
        let count = match node.get("count") {
            Some(count) => self.count(count)?,
            None => LoopCount::Fixed(LoopRange {
                start: 0,
                end: None,
            }),
        };
        let while_true = node.get("while").and_then(|name| self.call(name));
        let ends = ["count", "over", "while"];
        if ends.iter().all(|key| node.get(key).is_none()) {
            read::missing(
                node,
                model::LOOP,
                "this loop never ends: add `count: 10`, `over` with a list, or `while` with a function",
                self.findings,
            );
        }
        let given: Vec<&Entry> = ends.iter().filter_map(|key| node.entry(key)).collect();
        if let [first, second, ..] = given.as_slice() {
            let text = format!(
                "a loop cannot have both `{}` and `{}`: remove one",
                first.key, second.key
            );
            self.findings.problem(second.key_mark, text);
        }
        Some(Loop {
            steps: self.steps(steps),
            count,
            over,
            index_as,
            element_as,
            while_true,
        })
    }

    fn count(&mut self, node: &Node) -> Option<LoopCount> {
        match self.template(node) {
            Template::Literal(_) => {
                let count = read::whole_u32(node, "count", 1, self.findings)?;
                Some(LoopCount::Fixed(LoopRange {
                    start: 0,
                    end: Some(i64::from(count)),
                }))
            }
            template => Some(LoopCount::Templated(template)),
        }
    }

    fn over(&mut self, node: &Node) -> Option<Over> {
        if let Some(items) = node.as_list() {
            return Some(Over::List(
                items.iter().map(|item| self.template(item)).collect(),
            ));
        }
        let name = read::text(node, "over", self.findings)?;
        match self.template(node) {
            Template::Variable(path) => Some(Over::Variable(path.text().to_owned())),
            Template::Literal(_) => {
                self.templates.uses.push((Path::parse(&name), node.mark));
                Some(Over::Variable(name))
            }
            _ => {
                self.findings.problem(
                    node.mark,
                    "`over` must be a list, or the name of a variable that contains one",
                );
                None
            }
        }
    }
}
