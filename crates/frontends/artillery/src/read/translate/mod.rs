//! Translates a prepared script to a [`Plan`]. Checks keys, and reads templates with their
//! positions.

mod calls;
mod capture;
mod expect;
mod form_data;
mod guards;
mod http;
mod http2;
mod payload;
mod phases;
mod plugins;
mod request;
mod scenarios;
mod socketio;
mod steps;
mod travel;
mod variables;
mod websocket;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use plan::{
    FailureRules, Format, Http, Load, Plan, Template, scenario::Jitter, template::Functions,
};
use serde_json::Value;

use super::{
    keys::{self, KeyLevel, Support},
    prepare::Script,
};
use crate::read::inputs::ArtilleryInputs;
use formats::{
    document::{Mark, Node},
    files::ReadFile,
    findings::Findings,
    nearest::hint,
    secrets,
    templates::Templates,
};

struct Translator<'a> {
    findings: &'a mut Findings,
    inputs: &'a ArtilleryInputs,
    read: ReadFile<'a>,
    folder: PathBuf,
    pooled: bool,
    missing_files: Vec<String>,
    uploads: Vec<(Vec<String>, Mark)>,
    captured: BTreeSet<String>,
    loops_over: Vec<(String, String)>,
    defaults: Defaults,
    templates: Templates,
    expect: Option<expect::ExpectPlugin>,
    /// Whether the script has a processor, so that conditions may be names of its functions.
    has_processor: bool,
    /// Functions that run before and after each request of the current scenario.
    around: calls::Around,
    http2: http2::Http2Requests,
    websocket: websocket::WebSocketSettings,
    socketio: socketio::SocketIoSettings,
}

#[derive(Default)]
struct Defaults {
    /// Default headers. `None` means that requests have Artillery's user agent.
    headers: Option<Vec<(String, Template)>>,
    cookies: Vec<(String, Template)>,
    lenient_captures: bool,
    jitter: Option<Jitter>,
}

pub(super) fn translate(
    script: &Script,
    inputs: &ArtilleryInputs,
    read: ReadFile<'_>,
    findings: &mut Findings,
) -> Option<Plan> {
    let config = script.root.get("config")?;
    let folder = script.path.parent().map(Path::to_owned);
    let mut t = Translator {
        findings,
        inputs,
        read,
        folder: folder.unwrap_or_default(),
        pooled: false,
        missing_files: Vec::new(),
        uploads: Vec::new(),
        captured: BTreeSet::new(),
        loops_over: Vec::new(),
        defaults: Defaults::default(),
        templates: Templates::default(),
        expect: None,
        has_processor: false,
        around: calls::Around::default(),
        http2: http2::Http2Requests::default(),
        websocket: websocket::WebSocketSettings::default(),
        socketio: socketio::SocketIoSettings::default(),
    };
    t.check_keys(&script.root, KeyLevel::Root);
    t.check_keys(config, KeyLevel::Config);
    let processor = t.processor(config);
    t.has_processor = processor.is_some();
    if t.has_processor {
        t.templates.functions = Functions::Script;
    }
    let mut plugins = t.plugins(config);
    plugins.extended_metrics = t.extended_metrics(config);
    let mut http = t.http(config);
    t.websocket_settings(config, &mut http);
    t.socketio_settings(config);
    let load = t.load(config);
    let payloads = t.payloads(config);
    let constants = t.config_variables(config);
    t.pooled = matches!(http.pool, plan::PoolPolicy::Shared(_));
    let before = t.setup_or_teardown(&script.root, config, "before");
    let scenarios = t.scenarios(&script.root, config, &constants);
    let after = t.setup_or_teardown(&script.root, config, "after");
    t.check_uploads();
    t.unused_websocket_settings(config);
    t.unused_socketio_settings(config);
    let target = t.target(config, scenarios.iter().chain(&before).chain(&after));
    let variables = t.variables(script, constants, &payloads);
    let name = script
        .path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut plan = Plan::new(name, Format("artillery"), target, load, scenarios);
    plan.script = processor;
    plan.setup = before;
    plan.teardown = after;
    plan.variables = variables;
    plan.payloads = payloads;
    plan.provenance.frontend_settings = plugins.settings();
    plan.http = http;
    plan.http.versions.usual = t.http_version();
    plan.rules = FailureRules {
        status_fails: inputs.native,
        failure_ends_iteration: false,
    };
    let files = inputs.files.iter().chain(&inputs.config);
    plan.provenance.files = files.map(|path| path.display().to_string()).collect();
    let names = inputs.secrets.clone();
    let environment = secrets::KnownSecrets::environment(inputs, &script.env_used);
    secrets::collect(&mut plan, secrets::KnownSecrets { names, environment });
    Some(plan)
}

impl Translator<'_> {
    fn check_keys(&mut self, node: &Node, level: KeyLevel) {
        for entry in node.entries() {
            let name = entry.key.as_str();
            match keys::find(level, name).map(|key| key.support) {
                Some(Support::Yes) => {}
                Some(Support::No(what_to_do)) => {
                    self.findings.problem(
                        entry.key_mark,
                        format!("`{name}` is not supported: {what_to_do}"),
                    );
                }
                Some(Support::Noted(reason)) => self
                    .findings
                    .note(entry.key_mark, format!("`{name}` has no effect: {reason}")),
                None if level == KeyLevel::Root && name.starts_with("x-") => {}
                None => {
                    let hint = hint(name, keys::at_level(level).map(|key| key.name));
                    self.findings.note(
                        entry.key_mark,
                        format!("`{name}` has no effect: Artillery has no such key here{hint}"),
                    );
                }
            }
        }
    }

    fn map<'n>(&mut self, node: &'n Node, what: &str) -> &'n [formats::document::Entry] {
        if !node.is_map() {
            self.findings.problem(
                node.mark,
                format!("`{what}` must be a mapping, not {}", node.kind()),
            );
        }
        node.entries()
    }

    fn template(&mut self, node: &Node) -> Template {
        self.templates.parse(node, self.findings)
    }
}

fn to_number(node: &Node) -> f64 {
    match node.as_scalar() {
        Some(Value::Number(n)) => n.as_f64().unwrap_or(f64::NAN),
        Some(Value::String(text)) => query::value::number_of(text),
        Some(Value::Bool(yes)) => f64::from(u8::from(*yes)),
        Some(Value::Null) => 0.0,
        _ => f64::NAN,
    }
}

/// Converts seconds to nanoseconds. Returns `None` if they are negative or too large.
fn nanoseconds(seconds: f64) -> Option<u64> {
    let ns = (seconds * plan::units::SECOND as f64).round();
    (0.0..=plan::units::MAX_DURATION as f64)
        .contains(&ns)
        .then_some(ns as u64)
}

fn no_load() -> Load {
    Load::Open {
        phases: Vec::new(),
        first: plan::FirstArrival::AfterOneGap,
    }
}

fn artillery_http() -> Http {
    use plan::{PoolPolicy, Timeouts, units::SECOND};
    Http {
        timeouts: Timeouts {
            total_ns: None,
            headers_ns: Some(10 * SECOND),
            idle_ns: Some(10 * SECOND),
        },
        pool: PoolPolicy::PerUser,
        versions: plan::HttpVersions::default(),
        idle_close_ns: Some(4 * SECOND),
        verify_tls: true,
        tls: plan::Tls::default(),
        proxies: plan::Proxies::default(),
        route: plan::Route::default(),
        max_redirects: 10,
        cookies: http::cookie_rules(),
        dialect: script::js::NODE,
        trace_context: None,
        trace_url: None,
        takes_any_encoding: true,
        cookie_jar: true,
    }
}
