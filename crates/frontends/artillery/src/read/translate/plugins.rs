//! Translates `config.plugins`. Refuses plugins that shape traffic.

use super::Translator;
use crate::{
    plugins::{Condition, Endpoints, Ensure, Plugins},
    read::keys::{self, KeyLevel, Support},
};
use formats::{
    document::{Entry, Node},
    nearest::hint,
};

const APDEX_MS: f64 = 500.0;

const ENDPOINT_OPTIONS: [&str; 6] = [
    "useOnlyRequestNames",
    "stripQueryString",
    "ignoreUnnamedRequests",
    "metricsNamespace",
    "groupDynamicURLs",
    "suppressOutput",
];

impl Translator<'_> {
    pub(super) fn plugins(&mut self, config: &Node) -> Plugins {
        let mut wanted = Plugins::default();
        if !self.inputs.native {
            wanted.endpoints = Some(Endpoints::default());
            wanted.hidden.push(Endpoints::default().namespace);
        }
        let none = config.get("plugins").filter(|node| node.is_truthy());
        for name in ["ensure", "apdex", "fake-data"] {
            let named = none.is_some_and(|plugins| plugins.get(name).is_some());
            if let Some(entry) = config.entry(name).filter(|_| !named) {
                let text = format!("`{name}` has no effect without an entry in `config.plugins`");
                self.findings.note(entry.key_mark, text);
            }
        }
        let Some(plugins) = none else {
            return wanted;
        };
        if plugins.get("metrics-by-endpoint").is_some() {
            wanted.hidden.clear();
        }
        for entry in self.map(plugins, "plugins") {
            let name = entry.key.as_str();
            if entry.value.get("suppressOutput").and_then(Node::as_bool) == Some(true) {
                wanted.hidden.push(format!("plugins.{name}"));
            }
            let support = keys::find(KeyLevel::Plugins, name).map(|key| key.support);
            if support == Some(Support::Yes) && entry.value.is_truthy() && !entry.value.is_map() {
                let text = format!(
                    "`{name}: {}` has no effect: the options of a plugin must be a mapping; the plugin runs as with `{name}: {{}}`",
                    entry.value.text()
                );
                self.findings.note(entry.value.mark, text);
            }
            match support {
                Some(Support::Yes) => match name {
                    "ensure" if self.says("ARTILLERY_DISABLE_ENSURE") => self
                        .findings
                        .note_anywhere("ARTILLERY_DISABLE_ENSURE is set: the checks of `ensure` are not judged"),
                    "ensure" => wanted.ensure = Some(self.ensure(config, entry)),
                    "expect" => {
                        let plugin = self.expect_plugin(entry);
                        wanted.expect = Some(plugin.options);
                        self.expect = Some(plugin);
                    }
                    "fake-data" => self.fake_data(config, entry),
                    "apdex" => wanted.apdex_ms = Some(self.apdex(config, entry)),
                    _ => wanted.endpoints = Some(self.metrics_by_endpoint(entry)),
                },
                Some(Support::No(what_to_do)) => {
                    self.findings.problem(
                        entry.key_mark,
                        format!("the plugin `{name}` is not supported: {what_to_do}"),
                    );
                }
                Some(Support::Noted(reason)) => {
                    self.findings.note(
                        entry.key_mark,
                        format!("the plugin `{name}` has no effect: {reason}"),
                    );
                }
                None => self.unknown_plugin(entry),
            }
        }
        if self.inputs.native && wanted.ensure.is_some() {
            let text = "the checks of `ensure` use Artillery's figures, so only `loadline artillery run` judges them; here use --check";
            self.findings.note_anywhere(text);
        }
        wanted
    }

    fn unknown_plugin(&mut self, entry: &Entry) {
        let name = entry.key.as_str();
        self.findings.note(
            entry.key_mark,
            format!("the plugin `{name}` has no effect: third-party plugins are not supported"),
        );
        let words = [
            format!("WARNING: Could not load plugin: {name} warn"),
            format!(
                "WARNING: Plugin {name} specified but module artillery-plugin-{name} could not be found (MODULE_NOT_FOUND) warn"
            ),
        ];
        for text in words.into_iter().filter(|_| !self.inputs.native) {
            self.findings.note_anywhere(text);
        }
    }

    fn says(&self, name: &str) -> bool {
        let mut environment = self.inputs.process_env.iter();
        environment.any(|(known, value)| known == name && !value.is_empty())
    }

    /// Reads the plugin's settings. Its functions are supported, but not its options.
    fn fake_data(&mut self, config: &Node, entry: &Entry) {
        self.templates.fake_data = true;
        let own = config.get("fake-data").filter(|node| node.is_truthy());
        for option in own.unwrap_or(&entry.value).entries() {
            let text = format!(
                "options for functions of fake-data are not supported yet: remove `{}`",
                option.key
            );
            self.findings.problem(option.key_mark, text);
        }
    }

    fn ensure(&mut self, config: &Node, entry: &Entry) -> Ensure {
        let own = config.get("ensure").filter(|node| node.is_truthy());
        let mut ensure = Ensure::default();
        for check in own.unwrap_or(&entry.value).entries() {
            match check.key.as_str() {
                "thresholds" => self.thresholds(&check.value, &mut ensure),
                "conditions" => self.conditions(&check.value, &mut ensure),
                "maxErrorRate" => ensure.max_error_rate = self.number(&check.value),
                "min" | "max" | "median" | "p95" | "p99" => {
                    let bound = self.number(&check.value).map(f64::trunc);
                    ensure
                        .response_time
                        .extend(bound.map(|n| (check.key.clone(), n)));
                }
                other => {
                    let text = format!("`{other}` has no effect: `ensure` has no such check");
                    self.findings.note(check.key_mark, text);
                }
            }
        }
        ensure
    }

    fn thresholds(&mut self, node: &Node, ensure: &mut Ensure) {
        if node.is_map() {
            let text = "`thresholds` must be a list of one-key maps in Artillery, which ignores this map; Loadline checks it";
            self.findings.note(node.mark, text);
        }
        let list = node.as_list().unwrap_or(std::slice::from_ref(node));
        for entry in list.iter().flat_map(Node::entries) {
            if let Some(bound) = self.number(&entry.value) {
                ensure.thresholds.push((entry.key.clone(), bound));
            }
        }
    }

    fn conditions(&mut self, node: &Node, ensure: &mut Ensure) {
        for condition in node.as_list().unwrap_or_default() {
            match condition.get("expression").and_then(Node::as_str) {
                Some(expression) => ensure.conditions.push(Condition {
                    expression: expression.to_owned(),
                    strict: condition.get("strict").and_then(Node::as_bool) != Some(false),
                }),
                None => self
                    .findings
                    .problem(condition.mark, "a condition needs an `expression`"),
            }
        }
    }

    fn apdex(&mut self, config: &Node, entry: &Entry) -> f64 {
        let threshold = |node: &Node| node.get("threshold").cloned();
        let named = config
            .get("apdex")
            .and_then(threshold)
            .or_else(|| threshold(&entry.value));
        named
            .and_then(|node| self.number(&node))
            .unwrap_or(APDEX_MS)
    }

    fn number(&mut self, node: &Node) -> Option<f64> {
        let number = node.as_scalar().and_then(|value| match value {
            serde_json::Value::Number(n) => n.as_f64(),
            serde_json::Value::String(text) => text.trim().parse().ok(),
            _ => None,
        });
        if number.is_none() {
            self.findings
                .problem(node.mark, format!("`{}` is not a number", node.text()));
        }
        number
    }

    /// Reads the plugin's settings. Endpoints are always counted, and shown unless disabled.
    fn metrics_by_endpoint(&mut self, entry: &Entry) -> Endpoints {
        for option in entry.value.entries() {
            if !ENDPOINT_OPTIONS.contains(&option.key.as_str()) {
                let hint = hint(&option.key, ENDPOINT_OPTIONS);
                let text = format!(
                    "`{}` has no effect: the plugin metrics-by-endpoint has no such option{hint}",
                    option.key
                );
                self.findings.note(option.key_mark, text);
            }
        }
        let option = |name: &str| entry.value.get(name);
        let on = |name: &str| option(name).is_some_and(Node::is_truthy);
        let group = option("groupDynamicURLs").filter(|node| !node.is_null());
        if let Some(node) = group.filter(|node| !node.is_truthy()) {
            let text = "`groupDynamicURLs: false` creates a metric for every distinct URL, so reports can become very large";
            self.findings.note(node.mark, text);
        }
        Endpoints {
            namespace: option("metricsNamespace")
                .filter(|node| node.is_truthy())
                .map_or_else(|| Endpoints::default().namespace, Node::text),
            names_only: on("useOnlyRequestNames"),
            strip_query: on("stripQueryString"),
            skip_unnamed: on("ignoreUnnamedRequests"),
            group_dynamic: group.is_none_or(Node::is_truthy),
        }
    }
}
