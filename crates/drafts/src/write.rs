//! Writes the text of a plan: header, comments and steps. [`crate::yaml`] writes values.

use std::fmt::Write as _;

mod steps;

use serde_json::{Map, Value, json};

use crate::{
    draft::{Draft, DraftScenario, DraftStep, DraftTable},
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
        let variables = self.variables_text(&mut templates);
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
        comment(
            &format!("It sends load to {}.", self.target_text()),
            0,
            &mut out,
        );
        comments(&self.remarks, 0, &mut out);
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
        out.push_str(&self.load_text());
        out.push_str(&self.criteria_text());
        out.push_str(&http);
        out.push_str(&variables);
        out.push_str(&tables_text(&self.tables));
        out.push_str(&steps);
        out
    }

    /// Returns the hosts to which the plan sends requests, in words.
    pub fn target_text(&self) -> String {
        let environment = |name: &str| {
            let name = name.strip_prefix("$env.").unwrap_or(name);
            format!("${name}")
        };
        crate::placeholders::rendered(&self.target, environment)
    }

    fn steps_text(&self, templates: &mut Templates) -> String {
        let mut out = String::new();
        section_text("setup", &self.setup, templates, &mut out);
        if let [
            DraftScenario {
                comments: none,
                steps,
                ..
            },
        ] = self.scenarios.as_slice()
            && none.is_empty()
        {
            section_text("steps", steps, templates, &mut out);
        } else {
            out.push_str("\nscenarios:\n");
            for scenario in &self.scenarios {
                comments(&scenario.comments, 2, &mut out);
                let _ = writeln!(out, "  - name: {}", yaml::scalar(&scenario.name));
                if scenario.weight != 1 {
                    let _ = writeln!(out, "    weight: {}", scenario.weight);
                }
                out.push_str("    steps:\n");
                steps::list_text(&scenario.steps, 6, templates, &mut out);
            }
        }
        section_text("teardown", &self.teardown, templates, &mut out);
        out
    }

    fn variables_text(&self, templates: &mut Templates) -> String {
        let mut out = unknowns_text(self.unknowns());
        for (name, value) in &self.variables {
            yaml::entry(name, &templates.value(value), 2, &mut out);
        }
        let braces: Vec<_> = templates.braces().collect();
        if !braces.is_empty() {
            let text = "Literal braces: a double brace would start a variable.";
            comment(text, 2, &mut out);
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

    fn http_text(&self, shared: &[(String, String)], templates: &mut Templates) -> String {
        let mut out = String::new();
        if self.http.insecure {
            out.push_str("  verify: false      # any certificate is accepted\n");
        }
        if let Some(reason) = self.http.no_redirects {
            let _ = writeln!(out, "  redirects: false   # {reason}");
        }
        if let Some(reason) = self.http.no_cookies {
            let _ = writeln!(out, "  cookies: false     # {reason}");
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
}

fn text(text: &str) -> Value {
    Value::from(text)
}

fn export(list: &[&Unknown]) -> String {
    let names = list.iter().map(|unknown| format!("{}=…", unknown.env));
    format!("export {}", names.collect::<Vec<_>>().join(" "))
}

fn section_text(key: &str, steps: &[DraftStep], templates: &mut Templates, out: &mut String) {
    if !steps.is_empty() {
        let _ = writeln!(out, "\n{key}:");
        steps::list_text(steps, 2, templates, out);
    }
}

fn unknowns_text(unknowns: &[Unknown]) -> String {
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
    out
}

fn tables_text(tables: &[DraftTable]) -> String {
    if tables.is_empty() {
        return String::new();
    }
    let mut out = String::from("\ncsv:\n");
    for table in tables {
        comments(&table.comments, 2, &mut out);
        let mut map = Map::from_iter([("file".to_owned(), text(&table.file))]);
        if !table.columns.is_empty() {
            map.insert("columns".to_owned(), json!(table.columns));
        }
        if let Some(header) = table.header {
            map.insert("header".to_owned(), Value::from(header));
        }
        if let Some(delimiter) = &table.delimiter {
            map.insert("delimiter".to_owned(), text(delimiter));
        }
        if table.is_random {
            map.insert("order".to_owned(), text("random"));
        }
        let _ = writeln!(out, "  - {}", yaml::flow(&Value::Object(map)));
    }
    out
}

pub fn comments(lines: &[String], indent: usize, out: &mut String) {
    for line in lines {
        comment(line, indent, out);
    }
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
