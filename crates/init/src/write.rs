//! Writes the text of a plan: header, comments and steps. [`crate::yaml`] writes values.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::{
    draft::{Draft, DraftBody, DraftPart, DraftRequest, DraftStep, PartContent},
    placeholders::Templates,
    unknowns::Unknown,
    yaml,
};

const WIDTH: usize = 100;

impl Draft {
    #[must_use]
    pub fn text(mut self, file: &str) -> String {
        if self.move_files(file) {
            let text = "Paths in this file are relative to its folder.";
            self.remarks.push(text.to_owned());
        }
        let shared = self.shared_headers();
        let mut templates = Templates::default();
        let steps = self.steps_text(&mut templates);
        let http = self.http_text(&shared, &mut templates);
        let variables = variables_text(self.unknowns(), &templates);
        let mut out = String::new();
        comment(
            &format!("Created by `loadline init` from {}.", self.from),
            0,
            &mut out,
        );
        let _ = writeln!(
            out,
            "#   loadline run {file} --once     one iteration, to check that it works"
        );
        let _ = writeln!(out, "#   loadline run {file}            the load below");
        for remark in &self.remarks {
            comment(remark, 0, &mut out);
        }
        for unknown in self.unknowns() {
            if unknown.variable.is_none() {
                let text = format!(
                    "TO FILL IN: export {}=… before the run, {}",
                    unknown.env, unknown.what
                );
                comment(&text, 0, &mut out);
            }
        }
        out.push_str("loadline: 1\n");
        yaml::entry("name", &text(&self.name), 0, &mut out);
        let target = templates.text(&self.target);
        yaml::entry("target", &text(&target), 0, &mut out);
        out.push_str(LOAD);
        out.push_str(&http);
        out.push_str(&variables);
        out.push_str("\nsteps:\n");
        out.push_str(&steps);
        out
    }

    fn http_text(&self, shared: &[(String, String)], templates: &mut Templates) -> String {
        let mut out = String::new();
        if self.http.insecure {
            out.push_str("  verify: false      # any certificate is accepted\n");
        }
        if let Some(reason) = self.http.no_redirects {
            let _ = writeln!(out, "  redirects: false   # {reason}");
        }
        if let Some(most) = self.http.max_redirects {
            let _ = writeln!(out, "  redirects: {most}");
        }
        if let Some(timeout) = &self.http.timeout {
            let _ = writeln!(out, "  timeout: {timeout}");
        }
        let http = &self.http;
        let tls = [
            ("ca", &http.authorities),
            ("cert", &http.certificate),
            ("key", &http.key),
        ];
        let tls = tls
            .into_iter()
            .filter_map(|(key, file)| Some((key.to_owned(), text(file.as_ref()?))));
        let tls: Map<String, Value> = tls.collect();
        if !tls.is_empty() {
            yaml::entry("tls", &Value::Object(tls), 2, &mut out);
        }
        if !http.resolve.is_empty() {
            yaml::entry("resolve", &json!(http.resolve), 2, &mut out);
        }
        if let Some(unix) = &http.unix {
            yaml::entry("unix", &text(unix), 2, &mut out);
        }
        if !shared.is_empty() {
            out.push_str("  headers:           # sent with every request\n");
            for (name, value) in shared {
                yaml::entry(name, &text(&templates.text(value)), 4, &mut out);
            }
        }
        if out.is_empty() {
            out
        } else {
            format!("\nhttp:\n{out}")
        }
    }

    fn steps_text(&self, templates: &mut Templates) -> String {
        let mut out = String::new();
        let mut behind_comment = false;
        for step in &self.steps {
            let is_off = matches!(step, DraftStep::Request(request) if request.off);
            if behind_comment || is_off && !out.is_empty() {
                out.push('\n');
            }
            behind_comment = is_off;
            match step {
                DraftStep::Think(time) => {
                    let _ = writeln!(out, "  - think: {time}");
                }
                DraftStep::Log(line) => {
                    let _ = writeln!(out, "  - log: {}", yaml::scalar(&templates.text(line)));
                }
                DraftStep::Request(request) => request_text(request, templates, &mut out),
            }
        }
        out
    }
}

const LOAD: &str = "
# The load: one iteration starts each second. Raise it once a single iteration works.
load: { rate: 1/s, duration: 30s }

# What must hold at the end, and decides the exit code: remove the # and set your own limits.
# criteria:
#   - errors < 1%
#   - p95 < 500ms
";

fn text(text: &str) -> Value {
    Value::from(text)
}

fn export(list: &[&Unknown]) -> String {
    let names = list.iter().map(|unknown| format!("{}=…", unknown.env));
    format!("export {}", names.collect::<Vec<_>>().join(" "))
}

fn variables_text(unknowns: &[Unknown], templates: &Templates) -> String {
    let mut out = String::new();
    let (secret, missing): (Vec<_>, Vec<_>) = unknowns
        .iter()
        .filter(|unknown| unknown.variable.is_some())
        .partition(|unknown| unknown.secret);
    let kinds = [
        (
            secret,
            "TO FILL IN: secrets are not stored in this file. Export them before the run:",
        ),
        (
            missing,
            "TO FILL IN: values that are missing in the source. Export them before the run, or write them here:",
        ),
    ];
    for (list, reason) in kinds {
        if list.is_empty() {
            continue;
        }
        comment(&format!("{reason} {}", export(&list)), 2, &mut out);
        for unknown in list {
            let name = unknown.variable.as_deref().unwrap_or_default();
            let value = format!("{{{{ $env.{} }}}}", unknown.env);
            let what = one_line(&unknown.what);
            let _ = writeln!(out, "  {name}: {}   # {what}", yaml::scalar(&value));
        }
    }
    let braces: Vec<_> = templates.braces().collect();
    if !braces.is_empty() {
        comment(
            "Literal braces: a double brace would start a variable.",
            2,
            &mut out,
        );
        for (name, brace) in braces {
            let _ = writeln!(out, "  {name}: '{brace}'");
        }
    }
    if out.is_empty() {
        out
    } else {
        format!("\nvariables:\n{out}")
    }
}

fn request_text(request: &DraftRequest, templates: &mut Templates, out: &mut String) {
    for line in &request.comments {
        comment(line, 2, out);
    }
    let mut step = String::new();
    let url = text(&templates.text(&request.url));
    let keys = keys(request, templates);
    if keys.is_empty() {
        yaml::entry(&request.method, &url, 4, &mut step);
    } else {
        let _ = writeln!(step, "    {}:", request.method);
        yaml::entry("url", &url, 6, &mut step);
        for (key, value) in keys {
            yaml::entry(key, &value, 6, &mut step);
        }
    }
    // The dash replaces two spaces, so that comments keep their columns.
    let step = format!("  - {}", &step[4..]);
    if request.off {
        for line in step.lines() {
            let line = line.strip_prefix("  ").unwrap_or(line);
            let _ = writeln!(out, "{}", format!("  # {line}").trim_end());
        }
    } else {
        out.push_str(&step);
    }
}

fn keys(request: &DraftRequest, templates: &mut Templates) -> Vec<(&'static str, Value)> {
    let mut keys = Vec::new();
    if let Some(label) = &request.label {
        keys.push(("name", text(label)));
    }
    if !request.query.is_empty() {
        let pairs = request.query.iter();
        let pairs = pairs.map(|(name, value)| (templates.text(name), templates.value(value)));
        keys.push(("query", Value::Object(pairs.collect::<Map<_, _>>())));
    }
    if !request.headers.is_empty() {
        let pairs = request.headers.iter();
        let pairs = pairs.map(|(name, value)| (name.clone(), text(&templates.text(value))));
        keys.push(("headers", Value::Object(pairs.collect::<Map<_, _>>())));
    }
    if !request.cookies.is_empty() {
        let pairs = request.cookies.iter();
        let pairs = pairs.map(|(name, value)| (name.clone(), text(&templates.text(value))));
        keys.push(("cookies", Value::Object(pairs.collect::<Map<_, _>>())));
    }
    if let Some((user, password)) = &request.auth {
        let auth = json!({"user": templates.text(user), "password": templates.text(password)});
        keys.push(("auth", auth));
    }
    match &request.body {
        DraftBody::None => {}
        DraftBody::Json(value) => keys.push(("json", templates.value(value))),
        DraftBody::Form(value) => keys.push(("form", templates.value(value))),
        DraftBody::Multipart(parts) => keys.push(("multipart", multipart(parts, templates))),
        DraftBody::Text(body) => keys.push(("body", text(&templates.text(body)))),
    }
    if let Some(follow) = request.follow {
        keys.push(("redirects", Value::from(follow)));
    }
    if !request.captures.is_empty() {
        let pairs = request.captures.iter();
        let pairs = pairs.map(|(name, from)| (name.clone(), from.clone()));
        keys.push(("capture", Value::Object(pairs.collect::<Map<_, _>>())));
    }
    if let Some(status) = request.expect {
        keys.push(("expect", Value::from(status)));
    }
    keys
}

fn multipart(parts: &[DraftPart], templates: &mut Templates) -> Value {
    let mut all = Map::new();
    for part in parts {
        let mut map = Map::new();
        match &part.content {
            PartContent::Text(value) => {
                map.insert("value".to_owned(), text(&templates.text(value)))
            }
            PartContent::File { path, .. } => map.insert("file".to_owned(), text(path)),
        };
        if let PartContent::File {
            called: Some(called),
            ..
        } = &part.content
        {
            map.insert("filename".to_owned(), text(called));
        }
        if let Some(kind) = &part.kind {
            map.insert("type".to_owned(), text(&templates.text(kind)));
        }
        let value = match (map.len(), map.get("value")) {
            (1, Some(value)) => value.clone(),
            _ => Value::Object(map),
        };
        match all.get_mut(&part.name) {
            None => {
                all.insert(part.name.clone(), value);
            }
            Some(Value::Array(items)) => items.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Value::Object(all)
}

fn comment(text: &str, indent: usize, out: &mut String) {
    let text = one_line(text);
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && indent + 3 + line.len() + word.len() > WIDTH {
            let _ = writeln!(out, "{:indent$}# {line}", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "{:indent$}# {line}", "");
}

fn one_line(text: &str) -> String {
    let is_break =
        |c: char| c.is_control() || "\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}".contains(c);
    let text = text.replace(is_break, " ");
    crate::placeholders::replaced(&text, "…")
}
