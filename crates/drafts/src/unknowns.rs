//! Missing and secret values, each of which becomes an environment variable.

use plan::is_secret_name;
use serde_json::Value;

use crate::placeholders;

const TAKEN: [&str; 22] = [
    "PATH", "HOME", "USER", "USERNAME", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "PWD", "OLDPWD",
    "HOST", "HOSTNAME", "TERM", "NAME", "TMPDIR", "EDITOR", "DISPLAY", "MAIL", "TZ", "UID", "ID",
    "OS",
];
const SCHEMES: [(&str, &str); 5] = [
    ("bearer ", "token"),
    ("basic ", "credentials"),
    ("token ", "token"),
    ("apikey ", "api_key"),
    ("digest ", "credentials"),
];
const OPEN: [&str; 7] = [
    "idempotency-key",
    "sec-websocket-key",
    "key",
    "keys",
    "keyword",
    "keywords",
    "cookieconsent",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Name of the plan variable. `None` if the plan refers to the environment variable directly.
    pub variable: Option<String>,
    pub env: String,
    pub what: String,
    pub secret: bool,
    hint: String,
    value: String,
}

#[derive(Debug, Default)]
pub struct Unknowns {
    list: Vec<Unknown>,
    captured: Vec<String>,
    numbers: Vec<String>,
}

impl Unknowns {
    pub fn list(&self) -> &[Unknown] {
        &self.list
    }

    pub fn secret(&mut self, hint: &str, value: &str, what: &str) -> String {
        self.variable(hint, value, what, true)
    }

    pub fn missing(&mut self, hint: &str, what: &str) -> String {
        self.variable(hint, "", what, false)
    }

    fn variable(&mut self, hint: &str, value: &str, what: &str, secret: bool) -> String {
        let known = self
            .list
            .iter()
            .find(|known| known.hint == hint && known.value == value);
        if let Some(name) = known.and_then(|known| known.variable.as_ref()) {
            return placeholders::variable(name);
        }
        let name = self.free_name(hint);
        let env = Unknowns::env_of(&name);
        self.list.push(Unknown {
            variable: Some(name.clone()),
            env,
            what: what.to_owned(),
            secret,
            hint: hint.to_owned(),
            value: value.to_owned(),
        });
        placeholders::variable(&name)
    }

    pub fn known(&self, hint: &str) -> Option<String> {
        let known = self
            .list
            .iter()
            .find(|known| known.hint == hint && known.value.is_empty());
        known?.variable.as_deref().map(placeholders::variable)
    }

    pub fn env_of(hint: &str) -> String {
        let env = name_of(hint).to_ascii_uppercase();
        if TAKEN.contains(&env.as_str()) {
            format!("TEST_{env}")
        } else {
            env
        }
    }

    /// Reads a reserved variable from the environment.
    pub fn fill(&mut self, name: &str, what: &str) {
        self.list.push(Unknown {
            variable: Some(name.to_owned()),
            env: Unknowns::env_of(name),
            what: what.to_owned(),
            secret: false,
            hint: name.to_owned(),
            value: String::new(),
        });
    }

    /// Reserves a name that cannot be changed.
    pub fn reserve_exactly(&mut self, name: &str) {
        self.captured.push(name.to_owned());
    }

    /// Returns a free name for a variable that the plan sets itself.
    pub fn reserve(&mut self, hint: &str) -> String {
        let name = self.free_name(hint);
        self.captured.push(name.clone());
        name
    }

    pub fn environment(&mut self, name: &str, what: &str) -> String {
        if self.list.iter().all(|known| known.env != name) {
            self.list.push(Unknown {
                variable: None,
                env: name.to_owned(),
                what: what.to_owned(),
                secret: false,
                hint: format!("${name}"),
                value: String::new(),
            });
        }
        placeholders::variable(&format!("$env.{name}"))
    }

    fn free_name(&self, hint: &str) -> String {
        let name = name_of(hint);
        let is_free = |name: &str| {
            let env = name.to_ascii_uppercase();
            !placeholders::is_reserved(name)
                && self
                    .captured
                    .iter()
                    .all(|known| !known.eq_ignore_ascii_case(name))
                && self
                    .list
                    .iter()
                    .all(|known| known.env != env && known.env != format!("TEST_{env}"))
        };
        if is_free(&name) {
            return name;
        }
        let mut names = (2_u64..).map(|n| format!("{name}_{n}"));
        names.find(|name| is_free(name)).unwrap_or(name)
    }

    pub fn header(&mut self, name: &str, value: &str, from: &str) -> String {
        if !is_secret(name) || value.trim().is_empty() {
            return value.to_owned();
        }
        let what = format!("header {name}{from}");
        for (scheme, hint) in SCHEMES {
            let Some(word) = value.get(..scheme.len()) else {
                continue;
            };
            if word.eq_ignore_ascii_case(scheme) {
                let rest = value[scheme.len()..].trim();
                return format!("{word}{}", self.unless_named(hint, rest, &what));
            }
        }
        self.unless_named(&name.to_ascii_lowercase(), value, &what)
    }

    /// Replaces a value with a variable, unless it consists only of variables.
    pub fn unless_named(&mut self, hint: &str, value: &str, what: &str) -> String {
        if placeholders::has_variables(value) && placeholders::replaced(value, "").trim().is_empty()
        {
            return value.to_owned();
        }
        self.secret(hint, value, what)
    }

    pub fn pairs(&mut self, text: &str, what: &str) -> String {
        let pairs = text.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) if is_secret(name) && !value.is_empty() => {
                let what = format!("`{name}` of {what}, percent-encoded");
                format!("{name}={}", self.unless_named(name, value, &what))
            }
            _ => pair.to_owned(),
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    pub fn with_numbers(&self, value: &Value) -> Option<String> {
        let text = query::value::json(value);
        let numbers = self.numbers.iter();
        let bare = numbers.fold(text.clone(), |text, number| {
            text.replace(&format!("\"{number}\""), number)
        });
        (bare != text).then_some(bare)
    }

    /// Replaces secret strings in text that is JSON except for its variables.
    pub fn json_text(&mut self, text: &str, what: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut name = String::new();
        while let Some(open) = rest.find('"') {
            let (before, string) = rest.split_at(open);
            out.push_str(before);
            let length = string_length(string);
            let (string, after) = string.split_at(length);
            let content = string.get(1..length - 1).unwrap_or_default();
            if after.trim_start().starts_with(':') {
                name = content.to_owned();
                out.push_str(string);
            } else if is_secret(&name) && !content.is_empty() {
                let what = format!("`{name}` of {what}");
                out.push_str(&format!("\"{}\"", self.unless_named(&name, content, &what)));
            } else {
                out.push_str(string);
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }

    pub fn multipart(&mut self, text: &str, what: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let Some(boundary) = text.lines().next().filter(|line| line.starts_with("--")) else {
            return text.to_owned();
        };
        let boundary = boundary.trim_end();
        for (number, part) in text.split(boundary).enumerate() {
            if number > 0 {
                out.push_str(boundary);
            }
            out.push_str(&self.part(part, what));
        }
        out
    }

    fn part(&mut self, part: &str, what: &str) -> String {
        let blank = ["\r\n\r\n", "\n\n"].into_iter();
        let found = blank.filter_map(|blank| Some((part.find(blank)?, blank.len())));
        let Some((at, length)) = found.min() else {
            return part.to_owned();
        };
        let (head, value) = part.split_at(at + length);
        let name = head.split("name=\"").nth(1);
        let name = name.and_then(|rest| rest.split('"').next());
        let content = value.trim_end_matches(['\r', '\n']);
        match name {
            Some(name) if is_secret(name) && !content.is_empty() => {
                let what = format!("`{name}` of {what}");
                let variable = self.unless_named(name, content, &what);
                format!("{head}{variable}{}", &value[content.len()..])
            }
            _ => part.to_owned(),
        }
    }

    pub fn json(&mut self, name: &str, value: &Value, what: &str) -> Value {
        match value {
            Value::Array(items) => items
                .iter()
                .map(|item| self.json(name, item, what))
                .collect(),
            Value::Object(map) => Value::Object(
                map.iter()
                    .map(|(key, item)| (key.clone(), self.json(key, item, what)))
                    .collect(),
            ),
            Value::String(text) if is_secret(name) && !text.is_empty() => {
                Value::String(self.unless_named(name, text, &format!("`{name}` of {what}")))
            }
            Value::Number(_) if is_secret(name) => {
                let text = query::value::text(Some(value));
                // Use a separate variable for the number, because the same digits may also occur as
                // text.
                let what = format!("`{name}` of {what}, a number");
                let variable = self.secret(name, &format!("number {text}"), &what);
                self.numbers.push(variable.clone());
                Value::String(variable)
            }
            other => other.clone(),
        }
    }
}

/// Returns the length of a JSON string, including its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

pub fn is_secret(name: &str) -> bool {
    is_secret_name(name) && !OPEN.contains(&name.to_ascii_lowercase().as_str())
}

/// Returns a name that is valid in templates and shells: `x_api_key` for `x-api-key`.
fn name_of(hint: &str) -> String {
    let mut name = String::new();
    for letter in hint.chars() {
        if letter.is_ascii_alphanumeric() {
            name.push(letter);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    match name.chars().next() {
        None => "value".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("value_{name}"),
        Some(_) => name.chars().take(40).collect(),
    }
}
