//! Collects the secrets of a plan: values under names such as `Authorization`, `token` or
//! `password`, and variables that are used there. The record hides all of them.

use std::collections::BTreeSet;

use plan::{
    Plan, Request, Scenario, Step, Template, Variable,
    scenario::{Capture, CaptureSource, Loop, Over, PartContent, RequestBody},
    secret::MIN_LENGTH,
    socketio::{EmitAwaits, SocketIoAction},
    template::Piece,
    websocket::{MessageExpectation, WebSocketAction},
};
use query::value;
use serde_json::Value;

use crate::Inputs;

#[derive(Default)]
pub struct KnownSecrets<'a> {
    pub names: Vec<String>,
    /// Environment variables that the file uses. Their secrets may appear in the plan under other
    /// names.
    pub environment: Vec<(&'a str, &'a str)>,
}

impl<'a> KnownSecrets<'a> {
    pub fn environment(inputs: &'a Inputs, used: &BTreeSet<String>) -> Vec<(&'a str, &'a str)> {
        let all = inputs.process_env.iter();
        all.filter(|(name, _)| used.contains(name))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }
}

pub fn collect(plan: &mut Plan, known: KnownSecrets<'_>) {
    let mut secrets = Secrets {
        named: known.names.iter().map(|name| name.to_lowercase()).collect(),
        ..Secrets::default()
    };
    for (name, text) in &known.environment {
        if secrets.is_secret(name) {
            secrets.text(text.trim());
        }
    }
    for payload in &plan.payloads {
        for name in payload.fields.iter().chain(&payload.all_as) {
            if secrets.is_secret(name) {
                secrets.variables.insert(name.clone());
            }
        }
    }
    for scenario in plan
        .scenarios_and_opening()
        .chain(&plan.setup)
        .chain(&plan.teardown)
    {
        secrets.scenario(scenario);
    }
    for (name, variable) in &plan.variables {
        let flows = secrets.variables.contains(name);
        let values = match variable {
            Variable::Constant(value) => std::slice::from_ref(value),
            Variable::OneOf(values) => values,
        };
        for value in values {
            secrets.value(name, value, flows);
        }
    }
    plan.secrets.extend(secrets.texts);
    plan.secret_variables.extend(secrets.variables);
    plan.secret_names.extend(known.names);
}

#[derive(Default)]
struct Secrets {
    texts: BTreeSet<String>,
    variables: BTreeSet<String>,
    named: BTreeSet<String>,
}

impl Secrets {
    fn is_secret(&self, name: &str) -> bool {
        plan::is_secret_name(name) || self.named.contains(&name.to_lowercase())
    }

    fn scenario(&mut self, scenario: &Scenario) {
        scenario
            .requests()
            .for_each(|request| self.request(request));
        for step in scenario.all_steps() {
            match step {
                Step::Loop(inner) => self.elements(inner),
                Step::WebSocket(step) => self.messages(&step.action),
                Step::SocketIo(step) => self.events(&step.action),
                _ => {}
            }
        }
    }

    fn request(&mut self, request: &Request) {
        for (name, value) in request.headers.iter().chain(&request.cookies) {
            self.template(name, value, false);
        }
        for (_, value) in &request.cookies {
            self.template("cookie", value, true);
        }
        if let Some((_, password)) = &request.basic_auth {
            self.template("password", password, true);
        }
        for (name, value) in request.query.iter().flatten() {
            self.named(name, value);
        }
        self.url(request.url_text.expose());
        for capture in &request.captures {
            self.capture(capture);
        }
        if let Some(auth) = request.socketio.as_ref().and_then(|io| io.auth.as_ref()) {
            self.template("", auth, false);
        }
        match &request.body {
            RequestBody::Json(template) => self.template("", template, false),
            RequestBody::Form(pairs) => pairs
                .iter()
                .for_each(|(name, value)| self.named(name, value)),
            RequestBody::Multipart(parts) => {
                for part in parts {
                    match &part.content {
                        PartContent::Text(template) | PartContent::Named { path: template, .. } => {
                            self.template(&part.name, template, false);
                        }
                        PartContent::File { .. } => {}
                    }
                }
            }
            RequestBody::None | RequestBody::Text(_) => {}
        }
    }

    fn messages(&mut self, action: &WebSocketAction) {
        let expect = match action {
            WebSocketAction::Send { payload, expect } => {
                self.template("", payload, false);
                expect.as_ref()
            }
            WebSocketAction::Expect(expect) => Some(expect),
            WebSocketAction::Listen(_) | WebSocketAction::Close(_) => None,
        };
        self.expectation(expect);
    }

    fn events(&mut self, action: &SocketIoAction) {
        let expect = match action {
            SocketIoAction::Join { auth, .. } => {
                if let Some(auth) = auth {
                    self.template("", auth, false);
                }
                None
            }
            SocketIoAction::Emit(emit) => {
                for argument in &emit.arguments {
                    self.template("", argument, false);
                }
                match &emit.awaits {
                    EmitAwaits::Nothing => None,
                    EmitAwaits::Ack(ack) => Some(&ack.content),
                    EmitAwaits::Event(event) => Some(&event.content),
                }
            }
            SocketIoAction::Expect(event) => Some(&event.content),
            SocketIoAction::Upgrade | SocketIoAction::Listen(_) | SocketIoAction::Close => None,
        };
        self.expectation(expect);
    }

    fn expectation(&mut self, expect: Option<&MessageExpectation>) {
        let captures = expect.iter().flat_map(|expect| &expect.captures);
        captures.for_each(|capture| self.capture(capture));
    }

    fn capture(&mut self, capture: &Capture) {
        let Some(store) = &capture.store else { return };
        let text = |template: &Template| {
            let text = template.as_literal().and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let from = match &capture.from {
            CaptureSource::Json { path, .. } | CaptureSource::XPath { path, .. } => text(path),
            CaptureSource::Header(name) => text(name),
            CaptureSource::Selector {
                selector,
                attribute,
                ..
            } => {
                let attribute = attribute.as_ref().map(text).unwrap_or_default();
                format!("{} {attribute}", text(selector))
            }
            CaptureSource::Regexp { pattern, .. } => pattern.clone(),
            CaptureSource::StreamText => String::new(),
            CaptureSource::StreamEvent(path) => path.clone(),
        };
        let mut words = from.split(|c: char| !c.is_alphanumeric() && !"_-$".contains(c));
        if self.is_secret(store) || self.is_secret(&from) || words.any(|word| self.is_secret(word))
        {
            let path = query::path::Path::parse(store);
            self.variables.insert(path.root().to_owned());
        }
    }

    fn elements(&mut self, inner: &Loop) {
        let Some(Over::Variable(path)) = &inner.over else {
            return;
        };
        let path = query::path::Path::parse(path);
        if self.is_secret(path.text()) || self.variables.contains(path.root()) {
            self.variables.insert(inner.element_as.clone());
        }
    }

    fn named(&mut self, name: &Template, value: &Template) {
        let name = name
            .as_literal()
            .and_then(Value::as_str)
            .unwrap_or_default();
        self.template(name, value, false);
    }

    fn template(&mut self, name: &str, template: &Template, secret: bool) {
        let secret = secret || self.is_secret(name);
        match template {
            Template::Literal(value) => self.value(name, value, secret),
            Template::Variable(path) if secret => {
                self.variables.insert(path.root().to_owned());
            }
            Template::Text(pieces) if secret => {
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => self.text(text.trim()),
                        Piece::Variable(path) => {
                            self.variables.insert(path.root().to_owned());
                        }
                        Piece::Call(_) => {}
                    }
                }
            }
            Template::Variable(_) | Template::Call(_) | Template::Text(_) => {}
            Template::List(items) => items
                .iter()
                .for_each(|item| self.template("", item, secret)),
            Template::Map(entries) => entries.iter().for_each(|(key, item)| {
                let key = key.as_literal().and_then(Value::as_str).unwrap_or_default();
                self.template(key, item, secret);
            }),
        }
    }

    fn value(&mut self, name: &str, value: &Value, secret: bool) {
        let secret = secret || self.is_secret(name);
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.value("", item, secret)),
            Value::Object(map) => map
                .iter()
                .for_each(|(key, item)| self.value(key, item, secret)),
            Value::String(_) | Value::Number(_) if secret => self.text(&value::text(Some(value))),
            _ => {}
        }
    }

    /// Adds the whole text, and for `Bearer TOKEN` also the token.
    fn text(&mut self, text: &str) {
        let scheme = |word: &str| {
            ["bearer", "basic", "token", "digest", "apikey"]
                .contains(&word.to_ascii_lowercase().as_str())
        };
        if scheme(text) {
            return;
        }
        if text.len() >= MIN_LENGTH {
            self.texts.insert(text.to_owned());
        }
        if let Some((word, rest)) = text.split_once(' ')
            && scheme(word)
            && rest.trim().len() >= MIN_LENGTH
        {
            self.texts.insert(rest.trim().to_owned());
        }
    }

    /// Adds `?token=…` and `user:password@` in a URL, as written.
    fn url(&mut self, url: &str) {
        if let Some((_, query)) = url.split_once('?') {
            for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
                if self.is_secret(name) && !value.contains("{{") {
                    self.text(value);
                }
            }
        }
        let authority = url
            .split_once("://")
            .map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());
        if let Some((userinfo, _)) = authority.rsplit_once('@')
            && let Some((_, password)) = userinfo.split_once(':')
        {
            self.text(password);
        }
    }
}
