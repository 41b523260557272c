//! Translates the tree of a native plan to a [`Plan`].

mod assume;
mod calls;
mod capture;
mod flow;
mod http;
mod listen;
mod load;
mod mqtt;
mod multipart;
mod phases;
mod request;
mod server;
mod socketio;
mod steps;
mod stream;
mod travel;
mod users;
mod variables;
mod volumes;
mod websocket;
mod workloads;

use std::{collections::BTreeSet, path::Path};

use plan::{
    BackgroundMqtt, Criterion, Format, Load, Plan, Scenario, StopRule, Template,
    criteria::{self, Metric},
};
use serde_json::{Map, Value};

use super::{
    mocks, model,
    read::{self, entries, list},
};
use crate::{
    Inputs,
    document::{Mark, Node},
    files::ReadFile,
    findings::Findings,
    nearest::hint,
    secrets,
    templates::Templates,
};
use volumes::Volumes;

struct Translator<'a> {
    findings: &'a mut Findings,
    inputs: &'a Inputs,
    read: ReadFile<'a>,
    templates: Templates,
    env: Value,
    env_used: BTreeSet<String>,
    headers: Vec<(String, Template)>,
    follow_redirects: bool,
    volumes: Volumes,
    mocks: Map<String, Value>,
    asides: Vec<(&'static str, Templates)>,
    given: BTreeSet<String>,
    later: BTreeSet<String>,
    groups: Vec<String>,
    /// Label of the last `connect` step. Later steps are named after it.
    websocket_path: String,
    /// Namespace of the last `connect` step of Socket.IO.
    socketio_namespace: String,
    is_beside_load: bool,
    /// Whether the plan has a script, so that its functions may set any variable.
    has_script: bool,
    /// Whether steps publish messages that listeners receive.
    publishes: bool,
    /// Whether the plan has workloads, whose loads cannot use levels.
    has_workloads: bool,
}

pub(super) fn translate(
    root: &Node,
    inputs: &Inputs,
    read: ReadFile<'_>,
    findings: &mut Findings,
) -> Option<Plan> {
    let env = inputs
        .process_env
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    let mut t = Translator {
        findings,
        inputs,
        read,
        templates: Templates {
            strict: true,
            ..Templates::default()
        },
        env: Value::Object(env.collect::<Map<_, _>>()),
        env_used: BTreeSet::new(),
        headers: vec![("user-agent".into(), Template::from(crate::USER_AGENT))],
        follow_redirects: true,
        volumes: Volumes::default(),
        mocks: Map::new(),
        asides: Vec::new(),
        given: BTreeSet::new(),
        later: BTreeSet::new(),
        groups: Vec::new(),
        websocket_path: String::new(),
        socketio_namespace: String::new(),
        is_beside_load: false,
        has_script: false,
        publishes: false,
        has_workloads: root.get(workloads::KEY).is_some(),
    };
    t.plan(root)
}

pub(super) fn rule_texts(node: Option<&Node>, key: &str, findings: &mut Findings) -> Vec<String> {
    let Some(node) = node else { return Vec::new() };
    let mut texts = Vec::new();
    for item in list(node, key, findings) {
        let item = read::rule(item);
        let Some(text) = read::text(&item, key, findings) else {
            continue;
        };
        let error = match key {
            "stop" => criteria::parse_stop(&text).err(),
            _ => criteria::parse_criterion(&text).err(),
        };
        match error {
            Some(error) => findings.problem(item.mark_at(error.offset), error.message),
            None => texts.push(text),
        }
    }
    texts
}

/// Returns the passwords of the clients, which are secret.
fn passwords(background: Option<&BackgroundMqtt>) -> Vec<String> {
    let groups = background
        .into_iter()
        .flat_map(|background| &background.mqtt.groups);
    groups.filter_map(|group| group.password.clone()).collect()
}

impl Translator<'_> {
    fn plan(&mut self, root: &Node) -> Option<Plan> {
        if !root.is_map() {
            self.findings.problem(
                root.mark,
                format!(
                    "a plan must be a mapping that starts with `loadline: 1`, not {}",
                    root.kind()
                ),
            );
            return None;
        }
        entries(root, "plan", model::PLAN, self.findings);
        self.keys_of_campaigns(root);
        self.version(root);
        if let Some(name) = &self.inputs.environment {
            self.findings.problem_anywhere(format!(
                "`-e {name}` selects an environment of an Artillery script, but a native plan has none: remove it"
            ));
        }
        let path = self.inputs.files.first().cloned().unwrap_or_default();
        let file_name = path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let name = root
            .get("name")
            .and_then(|node| read::text(node, "name", self.findings));
        self.mocks = self.places_of_mocks(root.get("mocks"));
        let target = self.target(root);
        let folder = path.parent().unwrap_or(Path::new(""));
        let http = self.http(root.get("http"), folder);
        self.volumes = self.volumes(root.get("scenarios"));
        let load = self.load(root);
        let max_duration = root
            .get("max-duration")
            .and_then(|max| read::duration(max, "max-duration", self.findings));
        let background = self.mqtt(root, folder);
        let payloads = self.tables(root.get("csv"), folder);
        let script = self.script(root.get("script"), folder);
        let constants = self.constants(root.get("variables"));
        self.given = constants.iter().map(|(name, _)| name.clone()).collect();
        let fields = payloads
            .iter()
            .flat_map(|table| table.fields.iter().chain(&table.all_as));
        self.given.extend(fields.cloned());
        // A variable with a problem counts as set, so that its uses are not reported as well.
        self.given.extend(self.templates.sets.iter().cloned());
        let before = self.aside(root, "setup");
        self.given.extend(self.templates.sets.iter().cloned());
        let listen = self.listen(root);
        let (scenarios, several) = self.scenarios_and_workloads(root);
        let after = self.aside(root, "teardown");
        self.publishes = root.get(listen::KEY).is_some();
        let variables = self.all_variables(constants, &payloads);
        let mut plan = Plan::new(
            name.unwrap_or(file_name),
            Format::NATIVE,
            target.unwrap_or_default(),
            load.or(several).unwrap_or(Load::Once),
            scenarios,
        );
        plan.max_duration_ns = max_duration;
        plan.policy.omit_excerpts = self.omits_excerpts(root);
        plan.about = super::about::read(root, self.findings);
        plan.variables = variables;
        plan.payloads = payloads;
        plan.http = http;
        plan.script = script;
        plan.setup = before;
        plan.teardown = after;
        plan.policy.criteria = self.criteria(root.get("criteria"));
        plan.policy.stop = self.stop_rules(root.get("stop"));
        plan.policy.server = self.server(root.get("server"));
        plan.secrets.extend(passwords(background.as_ref()));
        plan.background = background.filter(|_| !self.inputs.solo);
        plan.listen = listen.filter(|_| !self.inputs.solo);
        self.add_connect_phase(root, &mut plan);
        self.judged_together(&plan);
        plan.assumed = self.assumed(root.get("assume"));
        plan.provenance.files = vec![path.display().to_string()];
        plan.allow_hosts = self.allowed_hosts(root.get("allow-hosts"));
        self.secrets(root, &mut plan);
        Some(plan)
    }

    fn secrets(&mut self, root: &Node, plan: &mut Plan) {
        let mut names = self.texts(root.get("secrets"), "secrets");
        names.extend(self.inputs.secrets.iter().cloned());
        let environment = secrets::KnownSecrets::environment(self.inputs, &self.env_used);
        secrets::collect(plan, secrets::KnownSecrets { names, environment });
    }

    fn omits_excerpts(&mut self, root: &Node) -> bool {
        let node = root.get("excerpts");
        node.and_then(|node| read::boolean(node, "excerpts", self.findings)) == Some(false)
    }

    fn keys_of_campaigns(&mut self, root: &Node) {
        for entry in root.entries() {
            if model::CAMPAIGN.contains(&entry.key.as_str()) {
                let text = format!(
                    "`{}` is only allowed in a campaign with `stages`: add `stages`, or remove it (docs/reference/campaign.md)",
                    entry.key
                );
                self.findings.problem(entry.key_mark, text);
            }
        }
    }

    /// Returns the addresses of the plan's mocks, with placeholders for mocks that are not running.
    fn places_of_mocks(&mut self, node: Option<&Node>) -> Map<String, Value> {
        let names = mocks::names_of(node, self.findings).into_iter();
        let started = &self.inputs.mocks;
        let place = |mock: String| {
            let address = started.iter().find(|address| address.name == mock);
            let url = address.map_or_else(mocks::nowhere, |address| address.url.clone());
            (mock, Value::from(url))
        };
        names.map(place).collect()
    }

    fn version(&mut self, root: &Node) {
        match root.get("loadline") {
            Some(node) if node.as_scalar() == Some(&Value::from(1)) => {}
            Some(node) => {
                let text = format!(
                    "version `loadline: {}` is not supported: use `loadline: 1`",
                    node.text()
                );
                self.findings.problem(node.mark, text);
            }
            None => read::missing(
                root,
                model::PLAN,
                "a plan must start with `loadline: 1`",
                self.findings,
            ),
        }
    }

    fn scenarios(&mut self, root: &Node) -> Vec<Scenario> {
        match (root.entry("scenarios"), root.entry("steps")) {
            (None, Some(steps)) => vec![Scenario {
                name: Some(plan::work::DEFAULT.to_owned()),
                weight: 1,
                volume: None,
                on_error: Vec::new(),
                steps: self.flow(&steps.value),
            }],
            (Some(scenarios), None) => {
                let items = list(&scenarios.value, "scenarios", self.findings);
                let mut scenarios: Vec<Scenario> =
                    items.iter().map(|item| self.scenario(item)).collect();
                self.volumes.give(&mut scenarios);
                self.choose(root, scenarios)
            }
            (Some(_), Some(steps)) => {
                self.findings.problem(
                    steps.key_mark,
                    "a plan cannot have both `steps` and `scenarios`: remove one",
                );
                Vec::new()
            }
            (None, None) => {
                read::missing(
                    root,
                    model::PLAN,
                    "the plan has no steps: add, for example, `steps: [{ get: / }]`",
                    self.findings,
                );
                Vec::new()
            }
        }
    }

    fn aside(&mut self, root: &Node, key: &'static str) -> Option<Scenario> {
        let node = root.get(key)?;
        let own = Templates {
            strict: true,
            sets: self.given.clone(),
            ..Templates::default()
        };
        let outer = std::mem::replace(&mut self.templates, own);
        self.is_beside_load = true;
        let steps = self.flow(node);
        self.is_beside_load = false;
        let own = std::mem::replace(&mut self.templates, outer);
        if key == "setup" {
            self.templates.sets.extend(own.sets.iter().cloned());
        }
        self.asides.push((key, own));
        Some(Scenario {
            name: Some(key.to_owned()),
            weight: 1,
            volume: None,
            on_error: Vec::new(),
            steps,
        })
    }

    fn scenario(&mut self, node: &Node) -> Scenario {
        entries(node, "scenario", model::SCENARIO, self.findings);
        let name = node
            .get("name")
            .and_then(|name| read::text(name, "name", self.findings));
        let weight = node
            .get("weight")
            .and_then(|weight| read::whole_u32(weight, "weight", 0, self.findings));
        let steps = match node.get("steps") {
            Some(steps) => self.flow(steps),
            None => {
                read::missing(
                    node,
                    model::SCENARIO,
                    "this scenario has no `steps`: add some",
                    self.findings,
                );
                Vec::new()
            }
        };
        Scenario {
            name,
            weight: weight.unwrap_or(1),
            volume: None,
            on_error: self.calls(node.get("on-error")),
            steps,
        }
    }

    fn choose(&mut self, root: &Node, mut scenarios: Vec<Scenario>) -> Vec<Scenario> {
        let mark = root.get("scenarios").map_or(root.mark, |node| node.mark);
        if let Some(wanted) = &self.inputs.scenario_name {
            match scenarios
                .iter()
                .position(|scenario| scenario.name.as_deref() == Some(wanted))
            {
                Some(chosen) => scenarios
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, s)| s.weight = u32::from(i == chosen)),
                None => self
                    .findings
                    .problem(mark, format!("there is no scenario `{wanted}`")),
            }
        }
        if scenarios.iter().all(|scenario| scenario.weight == 0) && !self.findings.has_problems() {
            self.findings.problem(
                mark,
                "no scenario has a weight above 0, so nothing would be sent: raise a weight",
            );
        }
        scenarios
    }

    fn criteria(&mut self, node: Option<&Node>) -> Vec<Criterion> {
        let Some(node) = node else { return Vec::new() };
        let items = list(node, "criteria", self.findings);
        let parsed = items.iter().filter_map(|item| {
            let text = read::text(item, "criteria", self.findings)?;
            let read = read::grammar(item, criteria::parse_criterion(&text), self.findings)?;
            let at = Some(self.findings.at(item.mark));
            Some(Criterion { at, ..read })
        });
        parsed.collect()
    }

    fn stop_rules(&mut self, node: Option<&Node>) -> Vec<StopRule> {
        let Some(node) = node else { return Vec::new() };
        let items = list(node, "stop", self.findings);
        let parsed = items.iter().filter_map(|item| {
            let rule = read::rule(item);
            let text = read::text(&rule, "stop", self.findings)?;
            let mut read = read::grammar(&rule, criteria::parse_stop(&text), self.findings)?;
            read.when.at = Some(self.findings.at(rule.mark));
            Some(read)
        });
        parsed.collect()
    }

    fn judged_together(&mut self, plan: &Plan) {
        let mixed = match (&plan.background, &plan.listen) {
            (None, None) => return,
            (Some(_), _) => {
                "requests and MQTT operations: use `of \"GET *\"` or `of \"PUBLISH *\"`".to_owned()
            }
            (None, Some(listen)) => format!(
                "requests of scenarios and connects of listeners: use `of`, for example `of \"{}\"`",
                listen.connect_label()
            ),
        };
        let of_all = |criterion: &&Criterion| {
            let is_time =
                matches!(&criterion.metric, Metric::Time(span, _) if !span.spans_requests());
            criterion.of.is_none()
                && (is_time || matches!(criterion.metric, Metric::Errors | Metric::Rate))
        };
        let rules = plan.policy.stop.iter().map(|rule| &rule.when);
        for criterion in plan.policy.criteria.iter().chain(rules).filter(of_all) {
            let text = format!("`{}` would mix {mixed}", criterion.text);
            self.findings.notes.push(plan::Note {
                at: criterion.at.clone(),
                text,
            });
        }
    }

    fn texts(&mut self, node: Option<&Node>, what: &str) -> Vec<String> {
        let Some(node) = node else { return Vec::new() };
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        items
            .iter()
            .filter_map(|item| read::text(item, what, self.findings))
            .collect()
    }

    fn template(&mut self, node: &Node) -> Template {
        self.templates.parse(node, self.findings)
    }

    /// Reads a value that must be known before the run. It may use only `$env` and `$testId`.
    fn constant(&mut self, node: &Node) -> Option<Value> {
        let mut templates = Templates {
            strict: true,
            ..Templates::default()
        };
        let template = templates.parse(node, self.findings);
        let mut missing = false;
        for (path, mark) in &templates.uses {
            missing |= !self.is_constant(path.root(), path.rest().next(), *mark);
        }
        let mut scope = Map::new();
        scope.insert("$env".into(), self.env.clone());
        scope.insert("$testId".into(), self.inputs.test_id.as_str().into());
        scope.insert(mocks::KEY.into(), self.mocks.clone().into());
        let mut rng = plan::rng::Rng::keyed(0, plan::rng::Purpose::Variable, 0, 0);
        template.eval(&scope, &mut rng).filter(|_| !missing)
    }

    fn is_constant(&mut self, root: &str, key: Option<&str>, mark: Mark) -> bool {
        match (root, key) {
            ("$testId", None) => true,
            ("$env", Some(key)) => self.check_env(key, mark),
            (mocks::KEY, Some(name)) => self.check_mock(name, mark),
            _ => {
                self.findings.problem(
                    mark,
                    format!("`{root}` has no value before the run: use $env.NAME here"),
                );
                false
            }
        }
    }

    fn check_mock(&mut self, name: &str, mark: Mark) -> bool {
        let is_there = self.mocks.contains_key(name);
        if !is_there {
            let hint = hint(name, self.mocks.keys().map(String::as_str));
            let text = format!("there is no mock `{name}`: add it to `mocks`{hint}");
            self.findings.problem(mark, text);
        }
        is_there
    }

    fn check_env(&mut self, key: &str, mark: Mark) -> bool {
        self.env_used.insert(key.to_owned());
        let set = self.env.get(key).is_some();
        if !set {
            self.findings
                .problem(mark, format!("the environment variable {key} is not set"));
        }
        set
    }
}
