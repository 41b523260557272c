mod cases;
mod config;
mod expect;
mod prepare;
mod refused;
mod requests;
mod socketio;
mod steps;
mod websocket;

use formats::LoadErrors;
use frontend_artillery::{plugins::Plugins, translate_text};
use plan::Plan;

pub fn plan(text: &str) -> Plan {
    translate_text("test.yml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

pub fn flow(steps: &str) -> String {
    format!(
        "config: {{ target: 'http://x' }}\nscenarios:\n  - flow:\n{}",
        indented(steps)
    )
}

pub fn config(lines: &str) -> String {
    format!(
        "config:\n  target: http://x\n{}scenarios:\n  - flow:\n      - get: {{ url: / }}\n",
        indented_by(lines, 2)
    )
}

pub fn errors(text: &str) -> LoadErrors {
    match translate_text("test.yml", text) {
        Ok(plan) => panic!("accepted: {text}\n{plan:#?}"),
        Err(errors) => errors,
    }
}

fn indented(text: &str) -> String {
    indented_by(text, 6)
}

fn indented_by(text: &str, by: usize) -> String {
    text.lines()
        .map(|line| format!("{}{line}\n", " ".repeat(by)))
        .collect()
}

pub fn rate(per_second: f64) -> plan::Rate {
    plan::Rate::from_f64(per_second).unwrap_or_else(|| panic!("{per_second}"))
}

pub fn notes(plan: &Plan) -> Vec<String> {
    plan.provenance
        .notes
        .iter()
        .map(|note| match &note.at {
            Some(at) => format!("{}:{}: {}", at.line, at.column, note.text),
            None => note.text.clone(),
        })
        .collect()
}

pub fn plugins(plan: &Plan) -> Plugins {
    Plugins::from_settings(&plan.provenance.frontend_settings)
        .unwrap_or_else(|reason| panic!("{reason}"))
}
