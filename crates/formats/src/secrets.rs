//! Which values of a plan must never be shown: those that stand under names like `Authorization`, `token` or `password`, and
//! those of variables that flow into them. The record hides them wherever they appear.

use std::collections::BTreeSet;

use plan::{
    Plan, Step, Template, Variable,
    scenario::{Body, PartContent},
    template::Piece,
    value,
};
use serde_json::Value;

/// Shorter texts are not hidden by value: hiding every `a` of a report would hide the report.
const MIN_LENGTH: usize = 4;

/// Fills the plan's list of secrets; `named` are names that the user calls secret beside the house list.
pub(crate) fn collect(plan: &mut Plan, named: &[String]) {
    let mut secrets = Secrets {
        named: named.iter().map(|name| name.to_ascii_lowercase()).collect(),
        ..Secrets::default()
    };
    for scenario in plan.scenarios.iter().chain(&plan.before).chain(&plan.after) {
        secrets.steps(&scenario.steps);
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
}

#[derive(Default)]
struct Secrets {
    texts: BTreeSet<String>,
    /// Roots of variables that flow into something secret.
    variables: BTreeSet<String>,
    /// In lower case.
    named: BTreeSet<String>,
}

impl Secrets {
    fn is_secret(&self, name: &str) -> bool {
        plan::is_secret_name(name) || self.named.contains(&name.to_ascii_lowercase())
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Loop(inner) => self.steps(&inner.steps),
                Step::Parallel(inner) => self.steps(&inner.steps),
                Step::Request(request) => {
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
                    self.url(&request.url_text);
                    match &request.body {
                        Body::Json(template) => self.template("", template, false),
                        Body::Form(pairs) => pairs
                            .iter()
                            .for_each(|(name, value)| self.named(name, value)),
                        Body::Multipart(parts) => {
                            for part in parts {
                                if let PartContent::Text(template) = &part.content {
                                    self.template(&part.name, template, false);
                                }
                            }
                        }
                        Body::None | Body::Text(_) => {}
                    }
                }
                Step::Think(_) | Step::Log(_) => {}
            }
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
            Template::Variable(_) | Template::Text(_) => {}
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

    /// The whole text and, for `Bearer TOKEN`, the token.
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

    /// `?token=…` and `user:password@` in a URL as written.
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
