//! Translates `scenarios`: names, weights, and `--scenario-name`.

use plan::{Scenario, Step, Template, Variable, scenario::Call};
use query::value;
use regress::Regex;
use serde_json::{Map, Value};

use super::{Translator, calls::Around};
use crate::read::keys::KeyLevel;
use crate::refusal;
use formats::document::Node;

/// Name of the engine for WebSocket.
const WEBSOCKET: &str = "ws";
const SOCKETIO: &str = "socketio";

impl Translator<'_> {
    pub(super) fn scenarios(
        &mut self,
        root: &Node,
        config: &Node,
        variables: &[(String, Variable)],
    ) -> Vec<Scenario> {
        let items = root
            .get("scenarios")
            .and_then(Node::as_list)
            .unwrap_or_default();
        let chosen = match self.chosen(items) {
            Ok(chosen) => chosen,
            Err(()) => return Vec::new(),
        };
        let other = self.supported(items, config);
        let mut scenarios = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let name = item.get("name").and_then(Node::as_str).map(str::to_owned);
            // The other scenarios keep their index, which is the name of those without a name.
            scenarios.push(match chosen {
                Some(chosen) if chosen != i => Scenario {
                    name,
                    weight: 0,
                    volume: None,
                    on_error: Vec::new(),
                    steps: Vec::new(),
                },
                _ => {
                    let weight = if chosen.is_some() {
                        1
                    } else {
                        self.weight(item, variables)
                    };
                    Scenario {
                        name,
                        weight,
                        volume: None,
                        on_error: self.on_error(item, config),
                        steps: self.scenario(item, config, other.as_deref()),
                    }
                }
            });
        }
        if scenarios.iter().all(|scenario| scenario.weight == 0) {
            let mark = root.get("scenarios").map_or(root.mark, |node| node.mark);
            let text = if items.is_empty() {
                "the script has no scenarios"
            } else {
                "every scenario has weight 0, so nothing would be sent: raise a weight"
            };
            self.findings.problem(mark, text);
        }
        scenarios
    }

    pub(super) fn setup_or_teardown(
        &mut self,
        root: &Node,
        config: &Node,
        key: &str,
    ) -> Option<Scenario> {
        let node = root.get(key).filter(|node| node.is_truthy())?;
        Some(Scenario {
            name: Some(key.to_owned()),
            weight: 1,
            volume: None,
            on_error: self.on_error(node, config),
            steps: self.scenario(node, config, None),
        })
    }

    fn on_error(&mut self, node: &Node, config: &Node) -> Vec<Call> {
        match engine(node, config).and_then(Node::as_str) {
            Some(WEBSOCKET | SOCKETIO) => Vec::new(),
            _ => self.calls(node.get("onError")),
        }
    }

    fn scenario(&mut self, node: &Node, config: &Node, other: Option<&str>) -> Vec<Step> {
        self.check_keys(node, KeyLevel::Scenario);
        match engine(node, config).and_then(Node::as_str) {
            Some(WEBSOCKET) => return self.websocket_scenario(node),
            Some(SOCKETIO) => return self.socketio_scenario(node),
            _ => {}
        }
        if let Some(engine) = other_engine(node, config) {
            let name = engine.text();
            let what = "move its scenarios to a separate script";
            let other = other.map_or_else(String::new, |other| {
                format!(", or run only another scenario with `--scenario-name {other}`")
            });
            self.findings.problem(
                engine.mark,
                format!(
                    "the engine `{name}` is not supported yet, only http, ws and socketio: {what}{other}"
                ),
            );
            return Vec::new();
        }
        self.around = Around {
            before: self.calls(node.get("beforeRequest")),
            after: self.calls(node.get("afterResponse")),
        };
        let first = self.calls(node.get("beforeScenario"));
        let flow = node.get("flow").map(|flow| self.steps(flow));
        let last = self.calls(node.get("afterScenario"));
        let calls = |calls: Vec<_>| calls.into_iter().map(Step::Call);
        calls(first)
            .chain(flow.unwrap_or_default())
            .chain(calls(last))
            .collect()
    }

    /// If a script also uses other engines, returns a scenario to suggest for `--scenario-name`.
    fn supported(&self, items: &[Node], config: &Node) -> Option<String> {
        let (fine, others): (Vec<&Node>, Vec<&Node>) = items
            .iter()
            .partition(|item| other_engine(item, config).is_none());
        if self.inputs.native || others.is_empty() {
            return None;
        }
        let names = fine.iter().filter_map(|item| item.get("name")?.as_str());
        let alone = |name: &&str| matching(items, name).len() == 1;
        let name = names.filter(|name| !name.contains('\'')).find(alone)?;
        let bare = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
        Some(if name.chars().all(bare) {
            name.to_owned()
        } else {
            format!("'{name}'")
        })
    }

    /// Finds the selected scenario. Exactly one must have the name or match it.
    fn chosen(&mut self, items: &[Node]) -> Result<Option<usize>, ()> {
        let Some(wanted) = &self.inputs.scenario_name else {
            return Ok(None);
        };
        let found = matching(items, wanted);
        let message = match found.as_slice() {
            [one] => return Ok(Some(*one)),
            [] => format!(
                "Scenario {wanted} not found in script. Make sure your chosen scenario matches the one in your script exactly."
            ),
            _ => format!(
                "Multiple scenarios for {wanted} found in script. Make sure you give unique names to your scenarios in your script."
            ),
        };
        self.findings
            .fatal(refusal::worker(&format!("Error: {message}")), None, message);
        Err(())
    }

    /// Reads a weight like JavaScript's `parseInt`.
    fn weight(&mut self, item: &Node, variables: &[(String, Variable)]) -> u32 {
        let Some(node) = item.get("weight") else {
            return 1;
        };
        let mut known = Map::new();
        for (name, variable) in variables {
            if let Variable::Constant(value) = variable {
                known.insert(name.clone(), value.clone());
            }
        }
        let env = self
            .inputs
            .process_env
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        known
            .entry("$processEnvironment")
            .or_insert(Value::Object(env));
        let template = match node.as_str().map(Template::parse_text) {
            None => Template::Literal(node.to_value()),
            Some(Ok(template)) => template,
            Some(Err(error)) => {
                self.findings
                    .problem(node.mark_at(error.offset), error.message);
                return 0;
            }
        };
        if let Some(path) = template
            .variables()
            .find(|path| !known.contains_key(path.root()))
        {
            let text = format!(
                "the weight depends on `{}`, which is not a constant of `config.variables` or $processEnvironment",
                path.text()
            );
            self.findings.problem(node.mark, text);
            return 0;
        }
        let mut rng = plan::rng::Rng::keyed(0, plan::rng::Purpose::Scenario, 0, 0);
        let text = value::text(template.eval(&known, &mut rng).as_ref());
        let text = text.trim_start();
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        match text[..digits].parse::<u64>() {
            Ok(weight) => u32::try_from(weight).unwrap_or(u32::MAX),
            Err(_) => {
                let text = format!(
                    "the weight `{}` counts as 0: the scenario never runs",
                    node.text()
                );
                self.findings.note(node.mark, text);
                0
            }
        }
    }
}

fn engine<'n>(scenario: &'n Node, config: &'n Node) -> Option<&'n Node> {
    let engine = scenario.get("engine").or_else(|| config.get("engine"));
    engine.filter(|engine| engine.is_truthy())
}

fn other_engine<'n>(scenario: &'n Node, config: &'n Node) -> Option<&'n Node> {
    let is_supported =
        |engine: &&Node| matches!(engine.as_str(), Some("http" | WEBSOCKET | SOCKETIO));
    engine(scenario, config).filter(|engine| !is_supported(engine))
}

fn matching(items: &[Node], wanted: &str) -> Vec<usize> {
    let regex = Regex::new(wanted).ok();
    let fits = |item: &Node| {
        let name = item.get("name").and_then(Node::as_str);
        // In JavaScript, a missing name is matched as `undefined`.
        name == Some(wanted)
            || regex
                .as_ref()
                .is_some_and(|regex| regex.find(name.unwrap_or("undefined")).is_some())
    };
    let all = items.iter().enumerate();
    all.filter(|(_, item)| fits(item)).map(|(i, _)| i).collect()
}
