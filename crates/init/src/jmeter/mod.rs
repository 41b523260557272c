//! Drafts a plan from a JMeter plan (JMX). Lists everything that a plan cannot express, with its
//! line.

mod assertions;
mod condition;
mod config;
mod extractors;
mod groups;
mod pace;
mod sampler;
mod schedule;
mod steps;
mod tree;
mod variables;

use std::{collections::BTreeSet, path::Path};

use formats::{LoadErrors, document::Mark, files::ReadFile};
use roxmltree::{Document, ParsingOptions};
use serde_json::Value;

use crate::{
    draft::{self, Draft, DraftBlock, DraftBlockKind, DraftScenario, DraftStep, DraftTable},
    load::DraftLoad,
    problem::problem,
    unknowns::Unknowns,
};
use groups::{CommonLoad, ThreadGroup, combine};
use steps::Place;
use tree::{BrokenElement, JmxElement};
use variables::JmeterScope;

/// Maximum number of XML nodes to read.
const MOST_NODES: u32 = 2_000_000;

/// State for drafting a JMeter plan.
struct JmeterDraft<'a> {
    /// Name of the file, as used in comments.
    file: &'a str,
    /// Folder of the JMeter plan. File names in the plan are relative to it.
    folder: &'a Path,
    read: ReadFile<'a>,
    scope: JmeterScope,
    unknowns: Unknowns,
    origins: Vec<String>,
    /// Number of origins before the group that is being drafted, and before its once-only steps.
    origins_before: usize,
    tables: Vec<DraftTable>,
    timeouts: BTreeSet<u64>,
    remarks: Vec<String>,
    listeners: usize,
    has_cookies: bool,
    /// Steps that each thread runs once, before its loops. `None` if an iteration does not
    /// represent a thread.
    once: Option<Vec<DraftStep>>,
    /// Whether the steps belong to setup or teardown, which have no groups.
    is_unmeasured: bool,
}

impl JmeterDraft<'_> {
    fn resolve(&mut self, text: &str) -> String {
        self.scope.resolve(text, &mut self.unknowns).text
    }
}

pub fn is_plan(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("<jmeterTestPlan")
}

pub fn from_text(name: &str, text: &str, read: ReadFile<'_>) -> Result<Draft, LoadErrors> {
    let options = ParsingOptions {
        nodes_limit: MOST_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let position = error.pos();
        let mark = Mark {
            file: 0,
            line: position.row as usize,
            column: position.col as usize,
        };
        let reason = error.to_string();
        let reason = reason.split(" at ").next().unwrap_or_default();
        let reason = reason.replace(char::is_control, "␤");
        problem(name, mark, format!("this is not XML: {reason}"))
    })?;
    let broken = |error: BrokenElement| problem(name, error.mark, error.message);
    let elements = tree::read(&document).map_err(broken)?;
    let file = draft::file_of(name);
    let context = JmeterDraft {
        file: &file,
        folder: Path::new(name).parent().unwrap_or(Path::new("")),
        read,
        scope: JmeterScope::default(),
        unknowns: Unknowns::default(),
        origins: Vec::new(),
        origins_before: 0,
        tables: Vec::new(),
        timeouts: BTreeSet::new(),
        remarks: Vec::new(),
        listeners: 0,
        has_cookies: false,
        once: None,
        is_unmeasured: false,
    };
    made(name, &elements, context).map_err(broken)
}

/// The elements of a plan, by their role in a run.
struct PlanParts<'e, 'x> {
    setup: Vec<&'e JmxElement<'x>>,
    main: Vec<&'e JmxElement<'x>>,
    teardown: Vec<&'e JmxElement<'x>>,
    place: Place<'e, 'x>,
}

fn parts<'e, 'x>(plan: &'e JmxElement<'x>) -> PlanParts<'e, 'x> {
    let mut parts = PlanParts {
        setup: Vec::new(),
        main: Vec::new(),
        teardown: Vec::new(),
        place: Place::default().with(&plan.children),
    };
    for child in plan
        .children
        .iter()
        .filter(|child| groups::is_group(child.kind))
    {
        match child.kind {
            "SetupThreadGroup" => parts.setup.push(child),
            "PostThreadGroup" => parts.teardown.push(child),
            _ => parts.main.push(child),
        }
    }
    parts
}

fn made(
    name: &str,
    elements: &[JmxElement<'_>],
    mut context: JmeterDraft<'_>,
) -> Result<Draft, BrokenElement> {
    let Some(plan) = elements.iter().find(|element| element.kind == "TestPlan") else {
        return Err(BrokenElement {
            mark: Mark::start_of(0),
            message: "this JMeter plan has no enabled `TestPlan`".to_owned(),
        });
    };
    config::collect(plan, &mut context)?;
    let own = steps::own_comment(plan);
    let own = own.map(|text| plan.comment(context.file, &text));
    context.remarks.extend(own);
    let parts = parts(plan);
    let not_groups = |child: &&JmxElement<'_>| !groups::is_group(child.kind);
    for child in plan.children.iter().filter(not_groups) {
        let left = steps::steps(std::slice::from_ref(child), &Place::default(), &mut context)?;
        context
            .remarks
            .extend(left.into_iter().flat_map(|step| match step {
                DraftStep::Note(lines) => lines,
                _ => vec![
                    child.comment(context.file, "skipped, because it is not in a thread group"),
                ],
            }));
    }
    context.origins.clear();
    let mut setup = unmeasured(&parts.setup, &parts.place, &mut context)?;
    let mut scenarios = Vec::new();
    let mut read = Vec::new();
    let mut names = Vec::new();
    for element in &parts.main {
        let Some(group) = groups::read(element, context.file, &context.scope) else {
            context
                .remarks
                .push(element.comment(context.file, "left out, because it has no threads"));
            continue;
        };
        context.once = group.loops.map(|_| Vec::new());
        context.origins_before = context.origins.len();
        let steps = steps::steps(&element.children, &parts.place, &mut context)?;
        let own = draft::group_name(&element.name, &names);
        names.push(own.clone());
        scenarios.push(DraftScenario {
            name: own,
            weight: 1,
            steps: looped(&group, steps, &mut context),
            ..DraftScenario::default()
        });
        read.push(group);
    }
    if scenarios
        .iter()
        .all(|scenario| !scenario.steps.iter().any(DraftStep::is_active))
    {
        return Err(plan.broken("this JMeter plan has no enabled HTTP sampler".to_owned()));
    }
    let mut teardown = unmeasured(&parts.teardown, &parts.place, &mut context)?;
    context.scope.finish(&mut context.unknowns);
    let mut load = combine(&read);
    pace::apply(plan, &read, &scenarios, &mut load, &mut context);
    let target = draft::most_frequent(context.origins.iter().map(String::as_str));
    let origins = std::mem::take(&mut context.origins);
    let mut origins = origins.iter();
    let lists = std::iter::once(&mut setup)
        .chain(scenarios.iter_mut().map(|scenario| &mut scenario.steps))
        .chain(std::iter::once(&mut teardown));
    lists.for_each(|steps| draft::complete_urls(steps, &mut origins, &target));
    for (scenario, weight) in scenarios.iter_mut().zip(&load.weights) {
        scenario.weight = (*weight).max(1);
    }
    let mut draft = finished(name, plan, load, context);
    draft.target = target;
    draft.setup = setup;
    draft.scenarios = scenarios;
    draft.teardown = teardown;
    Ok(draft)
}

/// Drafts the steps of setup or teardown groups, which plans run once.
fn unmeasured<'e, 'x>(
    groups: &[&'e JmxElement<'x>],
    place: &Place<'e, 'x>,
    context: &mut JmeterDraft<'_>,
) -> Result<Vec<DraftStep>, BrokenElement> {
    let mut out = Vec::new();
    context.is_unmeasured = true;
    for group in groups {
        let threads = context
            .scope
            .expand(&group.property("ThreadGroup.num_threads"));
        if threads.trim() != "1" {
            let text = "JMeter runs these steps in several threads, but this plan runs them once";
            out.push(DraftStep::Note(vec![group.comment(context.file, text)]));
        }
        out.extend(steps::steps(&group.children, place, context)?);
    }
    context.is_unmeasured = false;
    if out.iter().any(DraftStep::is_active) {
        return Ok(out);
    }
    for step in out {
        if let DraftStep::Note(lines) = step {
            context.remarks.extend(lines);
        }
    }
    Ok(Vec::new())
}

/// Repeats the steps of a group whose threads loop a fixed number of times.
fn looped(
    group: &ThreadGroup<'_, '_>,
    steps: Vec<DraftStep>,
    context: &mut JmeterDraft<'_>,
) -> Vec<DraftStep> {
    let mut all = context.once.take().unwrap_or_default();
    let Some(loops) = group.loops.filter(|loops| *loops > 1) else {
        all.extend(steps);
        return all;
    };
    let mut comments = vec![group.element.comment(
        context.file,
        "each thread runs its loops in one iteration of the plan",
    )];
    if !context.tables.is_empty() {
        let text = "TO FILL IN: JMeter reads a row of its tables in each loop, but this plan \
            reads one per iteration";
        comments.push(text.to_owned());
    }
    all.push(DraftStep::Block(DraftBlock {
        comments,
        kind: DraftBlockKind::Loop(Value::from(loops)),
        steps,
    }));
    all
}

fn finished(
    name: &str,
    plan: &JmxElement<'_>,
    load: CommonLoad,
    context: JmeterDraft<'_>,
) -> Draft {
    let mut draft = Draft {
        from: format!("the JMeter plan {}", context.file),
        name: match plan.name.as_str() {
            "" | "TestPlan" => "JMeter plan".to_owned(),
            name => name.to_owned(),
        },
        stem: draft::stem_of_file(name).unwrap_or_else(|| draft::stem(&plan.name)),
        load: DraftLoad::Phases {
            comments: load.comments,
            phases: load.phases,
        },
        variables: context.scope.values().to_vec(),
        tables: context.tables,
        unknowns: context.unknowns,
        ..Draft::default()
    };
    if !context.has_cookies {
        draft.http.no_cookies = Some("the JMeter plan has no enabled cookie manager");
    }
    draft.remarks.push(
        "A failed request or check ends the iteration; JMeter continues unless the thread group \
        is set otherwise."
            .to_owned(),
    );
    draft.http.timeout = context
        .timeouts
        .last()
        .filter(|milliseconds| **milliseconds > 0)
        .map(|milliseconds| schedule::seconds(*milliseconds as f64 / 1000.0));
    if context.timeouts.len() > 1 {
        let text =
            "The samplers have several timeouts. The plan uses the longest for all requests.";
        draft.remarks.push(text.to_owned());
    }
    if context.listeners > 0 {
        draft.remarks.push(format!(
            "Listeners are left out ({}): every run has a report.",
            context.listeners
        ));
    }
    draft.remarks.extend(context.scope.remarks().cloned());
    draft.remarks.extend(context.remarks);
    draft
}
