//! Translates each type of step, and steps without requests: loops, think times, logs.

use plan::{
    Step, Template,
    scenario::{Loop, LoopCount, LoopRange, Over, Parallel, Think, ThinkTime},
    units::parse_ms_grammar,
};
use query::value;
use serde_json::{Value, json};

use super::{Translator, nanoseconds, to_number};
use crate::read::keys::{self, KeyLevel, Support};
use formats::methods::METHODS;
use formats::{
    document::{Entry, Node},
    nearest::nearest,
};

/// Steps that all engines support.
const COMMON_STEPS: [&str; 4] = ["loop", "think", "log", "function"];

impl Translator<'_> {
    pub(super) fn steps(&mut self, node: &Node) -> Vec<Step> {
        let Some(items) = node.as_list() else {
            self.findings.problem(
                node.mark,
                format!("steps must be a list, not {}", node.kind()),
            );
            return Vec::new();
        };
        let flat = items
            .iter()
            .flat_map(|item| item.as_list().unwrap_or(std::slice::from_ref(item)));
        let mut steps = Vec::new();
        for item in flat {
            let step = self.step(item);
            steps.extend(self.socketio.join.take());
            steps.extend(step);
        }
        steps
    }

    fn step(&mut self, node: &Node) -> Option<Step> {
        let entries = node.entries();
        let Some(first) = entries.first() else {
            self.findings.problem(
                node.mark,
                format!(
                    "a step must be a mapping like {{ get: {{ url: / }} }}, not {}",
                    node.kind()
                ),
            );
            return None;
        };
        // This is Artillery's precedence.
        let kind = ["loop", "parallel", "think", "log", "function"]
            .iter()
            .find_map(|kind| node.entry(kind))
            .or_else(|| node.entry("emit").filter(|_| self.socketio.is_active))
            .unwrap_or(first);
        if self.websocket.is_active && !COMMON_STEPS.contains(&kind.key.as_str()) {
            return self.websocket_step(kind);
        }
        if self.socketio.is_active && kind.key == "emit" {
            return self.emit(node, kind);
        }
        if self.socketio.is_active && kind.key == "parallel" {
            let text = "`parallel` is not supported with `engine: socketio`: write its steps one after the other";
            self.findings.problem(kind.key_mark, text);
            return None;
        }
        if let Some(Support::No(what_to_do)) =
            keys::find(KeyLevel::Step, &kind.key).map(|key| key.support)
        {
            self.findings.problem(
                kind.key_mark,
                format!("`{}` is not supported: {what_to_do}", kind.key),
            );
            return None;
        }
        match kind.key.as_str() {
            "loop" => self
                .has_other_keys(node, kind, KeyLevel::Loop)
                .then(|| Step::Loop(self.loop_step(node, &kind.value))),
            "parallel" => self
                .has_other_keys(node, kind, KeyLevel::Parallel)
                .then(|| Step::Parallel(self.parallel(node, kind))),
            "think" => self
                .has_other_keys(node, kind, KeyLevel::Think)
                .then(|| self.think(node, &kind.value))
                .flatten()
                .map(Step::Think),
            "function" => self
                .has_other_keys(node, kind, KeyLevel::Step)
                .then(|| self.call(&kind.value))
                .flatten()
                .map(Step::Call),
            "log" => self
                .has_other_keys(node, kind, KeyLevel::Step)
                .then(|| Step::Log(self.template(&kind.value))),
            method if METHODS.contains(&method.to_ascii_lowercase().as_str()) => {
                if !self.has_other_keys(node, kind, KeyLevel::Step) {
                    return None;
                }
                self.request(kind)
                    .map(|request| Step::Request(Box::new(request)))
            }
            unknown => {
                let known = keys::at_level(KeyLevel::Step)
                    .map(|key| key.name)
                    .chain(METHODS.iter().copied());
                let hint = nearest(unknown, known).map_or_else(
                    || {
                        "a step is one of loop, think, log, function, or an HTTP method like get or post"
                            .to_owned()
                    },
                    |known| format!("did you mean `{known}`?"),
                );
                self.findings
                    .problem(kind.key_mark, format!("`{unknown}` is not a step: {hint}"));
                None
            }
        }
    }

    /// Reports additional actions in a step, because Artillery runs only one.
    fn has_other_keys(&mut self, node: &Node, kind: &Entry, level: KeyLevel) -> bool {
        let is_step = |name: &str| {
            keys::find(KeyLevel::Step, name).is_some()
                || METHODS.contains(&name.to_ascii_lowercase().as_str())
        };
        if let Some(other) = node
            .entries()
            .iter()
            .find(|entry| entry.key != kind.key && is_step(&entry.key))
        {
            let text = format!(
                "a step can have only one action, but this one has `{}` and `{}`: write two steps",
                kind.key, other.key
            );
            self.findings.problem(other.key_mark, text);
            return false;
        }
        if level == KeyLevel::Step {
            for entry in node.entries().iter().filter(|entry| entry.key != kind.key) {
                let text = format!("`{}` has no effect together with `{}`", entry.key, kind.key);
                self.findings.note(entry.key_mark, text);
            }
        } else {
            self.check_keys(node, level);
        }
        true
    }

    fn loop_step(&mut self, node: &Node, body: &Node) -> Loop {
        let name = |key: &str, default: &str| {
            node.get(key)
                .filter(|name| name.is_truthy())
                .map_or(default.to_owned(), Node::text)
        };
        let (index_as, element_as) = (
            name("loopValue", "$loopCount"),
            name("loopElement", "$loopElement"),
        );
        self.templates.sets(&index_as);
        self.templates.sets(&element_as);
        let count = self.loop_count(node.get("count"));
        let over = node.get("over").and_then(|over| self.over(over));
        if let Some(Over::Variable(list)) = &over {
            let root = query::path::Path::parse(list).root().to_owned();
            self.loops_over.push((element_as.clone(), root));
        }
        let while_true = node.get("whileTrue").and_then(|name| self.call(name));
        let endless = matches!(&count, LoopCount::Fixed(range) if range.end.is_none());
        if endless && over.is_none() && while_true.is_none() {
            let text = "this loop never ends: its virtual users run until the test is stopped";
            self.findings.note(node.mark, text);
        }
        Loop {
            steps: self.steps(body),
            count,
            while_true,
            over,
            index_as,
            element_as,
        }
    }

    fn parallel(&mut self, node: &Node, kind: &Entry) -> Parallel {
        if !self.pooled {
            let text = "with one connection, the steps of `parallel` run one after the other, as in Artillery: set `config.http.pool` to a number of connections";
            self.findings.note_once("parallel", kind.key_mark, text);
        }
        let limit = match node.get("limit").filter(|limit| limit.is_truthy()) {
            None => 100,
            Some(limit) => {
                let n = to_number(limit);
                if n >= 1.0 && n <= f64::from(u16::MAX) {
                    n as usize
                } else {
                    let text = format!(
                        "`limit: {}` is not a number of steps: use 1 or more",
                        limit.text()
                    );
                    self.findings.problem(limit.mark, text);
                    1
                }
            }
        };
        Parallel {
            steps: self.steps(&kind.value),
            limit,
        }
    }

    fn loop_count(&mut self, node: Option<&Node>) -> LoopCount {
        let Some(node) = node.filter(|node| node.is_truthy()) else {
            return LoopCount::Fixed(LoopRange::from_value(Some(&json!(-1))));
        };
        let mut template = self.template(node);
        if let Template::Literal(Value::Number(n)) = &mut template
            && let Some(whole) = n.as_f64().map(f64::ceil).and_then(value::number)
        {
            *n = whole;
        }
        match template {
            Template::Literal(value) => {
                let range = LoopRange::from_value(Some(&value));
                if range.end == Some(0) {
                    let text = format!("`count: {}` never runs the loop", node.text());
                    self.findings.note(node.mark, text);
                }
                LoopCount::Fixed(range)
            }
            template => LoopCount::Templated(template),
        }
    }

    fn over(&mut self, node: &Node) -> Option<Over> {
        if let Some(items) = node.as_list() {
            return Some(Over::List(
                items.iter().map(|item| self.template(item)).collect(),
            ));
        }
        let Some(name) = node.as_str() else {
            self.findings.problem(
                node.mark,
                format!(
                    "`over` must be a list or a variable name, not {}",
                    node.kind()
                ),
            );
            return None;
        };
        if name.contains("{{") {
            let text = "`over` needs a variable name without braces: Artillery skips this loop";
            self.findings.note(node.mark, text);
        } else {
            self.templates
                .uses
                .push((query::path::Path::parse(name), node.mark));
        }
        Some(Over::Variable(name.to_owned()))
    }

    fn think(&mut self, node: &Node, time: &Node) -> Option<Think> {
        let jitter = match node.get("jitter").filter(|jitter| jitter.is_truthy()) {
            Some(jitter) => self.jitter(jitter),
            None => self.defaults.jitter,
        };
        let time = match self.template(time) {
            Template::Literal(_) => ThinkTime::Fixed(self.think_time(time)?),
            template => ThinkTime::Templated(template),
        };
        Some(Think { time, jitter })
    }

    /// Reads a think time. Numbers are seconds, and text uses the grammar of the `ms` package.
    fn think_time(&mut self, node: &Node) -> Option<u64> {
        let text = node.text();
        let seconds = to_number(node);
        let is_number = seconds.is_finite() && !text.is_empty();
        let seconds = if is_number {
            Some(seconds)
        } else {
            parse_ms_grammar(&text).map(|ns| ns / 1e9)
        };
        let Some(seconds) = seconds.filter(|_| {
            node.as_scalar()
                .is_some_and(|value| value.is_number() || value.is_string())
        }) else {
            let text =
                format!("Invalid think time: {text} (use seconds, or text like 500ms or 1.5s)");
            self.findings.problem(node.mark, text);
            return None;
        };
        if is_number && seconds.fract() != 0.0 {
            let text = format!(
                "`think: {text}` is {text} seconds here; newer versions of Artillery wait {text} milliseconds"
            );
            self.findings.note_once("fractional think", node.mark, text);
        }
        let ns = nanoseconds(seconds.max(0.0));
        if ns.is_none() {
            self.findings.problem(
                node.mark,
                format!("`think: {text}` is longer than 100 days"),
            );
        }
        ns
    }
}
