//! Reads campaigns: native plans with a list of stages. A stage has its own load and additional
//! criteria and stop rules, or is another tool's command line.

mod content;
mod cool_down;
mod deployment;
mod time_zone;

use std::path::Path;

use plan::{Plan, Rate, about::About, deployment::Scaling, report_content::ReportContent};

use content::ContentReader;

use super::{
    KEY, model, open_plan,
    read::{self, entries, list},
    translate,
};
use crate::{
    Inputs, LoadErrors,
    document::{Entry, Mark, Node, NodeData},
    files::{ReadFile, from_disk, from_text},
    findings::Findings,
    nearest::nearest,
};

pub const TARGET: &str = "{{ target }}";
const TARGET_TIGHT: &str = "{{target}}";

#[derive(Debug, Clone)]
pub struct Campaign {
    pub name: String,
    /// Base URL, or embedded target (`lab:NAME`). `None` if other tools run all stages.
    pub target: Option<String>,
    pub stages: Vec<PlannedStage>,
    /// How to wait between stages and after the last one. `None` means no wait.
    pub cool_down: Option<CoolDown>,
    pub scaling: Option<Scaling>,
    pub about: Option<About>,
    pub assumptions: Vec<String>,
    pub recommendations: Vec<String>,
    pub content: ReportContent,
}

#[derive(Debug, Clone)]
pub struct PlannedStage {
    pub name: String,
    pub work: Work,
    pub on_fail: OnFail,
    pub target: Option<String>,
    /// Index of an earlier stage with the same load and another target, to compare with.
    pub against: Option<usize>,
    /// Text for the report, in Markdown.
    pub notes: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Work {
    Load(Box<Plan>),
    Command(StageCommand),
}

#[derive(Debug, Clone, Default)]
pub struct StageCommand {
    pub words: Vec<String>,
    pub criteria: Vec<String>,
    pub stop: Vec<String>,
    pub server: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFail {
    Stop,
    Continue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoolDown {
    pub at_most_ns: u64,
    pub rate: Rate,
    pub settled_ns: u64,
    pub baseline: usize,
}

/// Loads a campaign with the plans of all stages. On failure, returns all problems with their
/// positions.
pub fn load(inputs: &Inputs) -> Result<Campaign, LoadErrors> {
    load_with(inputs, &from_disk)
}

pub fn translate_text(name: &str, text: &str) -> Result<Campaign, LoadErrors> {
    let inputs = Inputs {
        files: vec![name.into()],
        ..Inputs::default()
    };
    load_with(&inputs, &from_text(name, text))
}

fn load_with(inputs: &Inputs, read: ReadFile<'_>) -> Result<Campaign, LoadErrors> {
    let mut findings = Findings::default();
    let root = open_plan(inputs, read, &mut findings);
    let campaign = root.and_then(|root| {
        CampaignReader {
            inputs,
            read,
            findings: &mut findings,
        }
        .campaign(&root)
    });
    let (notes, errors) = findings.into_notes();
    match (campaign, errors) {
        (Some(mut campaign), None) => {
            let plans = campaign
                .stages
                .iter_mut()
                .filter_map(|stage| match &mut stage.work {
                    Work::Load(plan) => Some(plan),
                    Work::Command(_) => None,
                });
            plans.for_each(|plan| plan.provenance.notes.extend(notes.iter().cloned()));
            Ok(campaign)
        }
        (_, Some(errors)) => Err(errors),
        (None, None) => Err(LoadErrors::refused("this is not a campaign")),
    }
}

/// Returns the plan of the stage with this name, or the plan itself if it has no stages.
pub(super) fn plan_of(root: &Node, inputs: &Inputs, findings: &mut Findings) -> Option<Node> {
    let stages = root.entry("stages");
    match (&inputs.stage, stages) {
        (None, None) => Some(root.clone()),
        (None, Some(stages)) => {
            let name = first_name(&stages.value).unwrap_or("NAME");
            findings.problem(
                stages.key_mark,
                format!("this plan has stages: use `loadline campaign` to run all of them, or `--stage '{name}'` to run one"),
            );
            None
        }
        (Some(wanted), None) => {
            findings.problem(
                root.mark,
                format!("`--stage {wanted}`: this plan has no `stages`"),
            );
            None
        }
        (Some(wanted), Some(stages)) => {
            refuse_workloads(root, findings);
            let items = list(&stages.value, "stages", findings);
            let named = |item: &&Node| item.get("name").is_some_and(|name| name.text() == *wanted);
            let Some(item) = items.iter().find(named) else {
                let known: Vec<String> = items
                    .iter()
                    .filter_map(|item| Some(item.get("name")?.text()))
                    .collect();
                let help = match nearest(wanted, known.iter().map(String::as_str)) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!("there are {}", known.join(", ")),
                };
                findings.problem(
                    stages.key_mark,
                    format!("there is no stage `{wanted}`: {help}"),
                );
                return None;
            };
            if let Some(run) = item.entry("run") {
                findings.problem(
                    run.key_mark,
                    format!("the stage `{wanted}` runs another tool: run that command directly"),
                );
                return None;
            }
            Some(of_stage(root, item))
        }
    }
}

fn first_name(stages: &Node) -> Option<&str> {
    stages
        .as_list()?
        .iter()
        .find_map(|item| item.get("name")?.as_str())
}

/// Returns whether this key belongs to the campaign, so that the plan of a stage does not contain
/// it.
fn is_of_campaign(key: &str) -> bool {
    model::CAMPAIGN.contains(&key) || ["load", "workloads"].contains(&key)
}

fn refuse_workloads(root: &Node, findings: &mut Findings) {
    if let Some(workloads) = root.entry("workloads") {
        let text = "a campaign cannot have `workloads`, because each stage has one load: remove it, or run this plan without `stages`";
        findings.problem(workloads.key_mark, text);
    }
}

fn of_stage(root: &Node, stage: &Node) -> Node {
    let mut plan = root.clone();
    let name = stage.get("name").map(Node::text).unwrap_or_default();
    if let NodeData::Map(entries) = &mut plan.data {
        entries.retain(|entry| !is_of_campaign(&entry.key));
    }
    for key in ["load", "target"] {
        if let Some(own) = stage.get(key) {
            plan.set(key, own.clone());
        }
    }
    for key in ["criteria", "stop"] {
        if let Some(own) = stage.get(key) {
            let joined = joined(root.get(key), own);
            plan.set(key, joined);
        }
    }
    let title = plan.get("name").map(Node::text);
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        let mark = plan.get("name").map_or(root.mark, |node| node.mark);
        plan.set("name", Node::scalar(mark, format!("{title} · {name}")));
    } else {
        plan.set("name", Node::scalar(root.mark, name));
    }
    plan
}

/// Concatenates two lists. Returns other nodes unchanged, because their reader reports them.
fn joined(common: Option<&Node>, own: &Node) -> Node {
    match (common.and_then(Node::as_list), own.as_list()) {
        (Some(common), Some(own_items)) => Node {
            mark: own.mark,
            inset: None,
            data: NodeData::List(common.iter().chain(own_items).cloned().collect()),
        },
        (None, Some(_)) if common.is_some() => common.cloned().unwrap_or_else(|| own.clone()),
        _ => own.clone(),
    }
}

struct CampaignReader<'a> {
    inputs: &'a Inputs,
    read: ReadFile<'a>,
    findings: &'a mut Findings,
}

impl CampaignReader<'_> {
    fn campaign(&mut self, root: &Node) -> Option<Campaign> {
        let Some(stages) = root.entry("stages") else {
            let text = "this plan has no `stages`: use `loadline run`";
            self.findings.problem(root.mark, text);
            return None;
        };
        if let Some(load) = root.entry("load") {
            let text = "a campaign cannot have its own load: move this into a stage";
            self.findings.problem(load.key_mark, text);
        }
        refuse_workloads(root, self.findings);
        let has_scenarios = ["steps", "scenarios"]
            .iter()
            .any(|key| root.get(key).is_some());
        let items = list(&stages.value, "stages", self.findings);
        if items.is_empty() {
            self.findings.problem(stages.value.mark, "`stages` is empty: add, for example, `- { name: peak, load: { rate: 20/s, duration: 1m } }`");
        }
        if !items.iter().any(|item| item.get("load").is_some()) {
            // If no stage has a load, unknown keys would otherwise remain unchecked.
            entries(root, "plan", model::PLAN, self.findings);
            let version = root.get(KEY).map(|node| (node.mark, node.to_value()));
            if let Some((mark, version)) = version.filter(|(_, version)| *version != 1) {
                self.findings.problem(
                    mark,
                    format!("version `loadline: {version}` is not supported: use `loadline: 1`"),
                );
            }
        }
        let mut names: Vec<(String, Mark)> = Vec::new();
        let stages: Vec<PlannedStage> = items
            .iter()
            .filter_map(|item| self.stage(root, item, &mut names))
            .collect();
        let cool_down = cool_down::read(
            root.entry("cool-down"),
            &names,
            has_scenarios,
            self.findings,
        );
        let path = self.inputs.files.first().cloned().unwrap_or_default();
        let name = root
            .get("name")
            .map(Node::text)
            .unwrap_or_else(|| file_name(&path));
        let target = self.inputs.target.clone();
        let target = target.or_else(|| Some(root.get("target")?.text()));
        Some(Campaign {
            name,
            target,
            cool_down: cool_down.filter(|_| stages.len() == names.len()),
            stages,
            scaling: deployment::read(root, self.findings),
            about: super::about::read(root, self.findings),
            assumptions: self.texts(root.get("assumptions"), "assumptions"),
            recommendations: self.texts(root.get("recommendations"), "recommendations"),
            content: self.content_reader().content(root),
        })
    }

    fn stage(
        &mut self,
        root: &Node,
        node: &Node,
        names: &mut Vec<(String, Mark)>,
    ) -> Option<PlannedStage> {
        if entries(node, "stage", model::STAGE, self.findings).is_empty() {
            return None;
        }
        let Some(name) = node.entry("name") else {
            read::missing(node, model::STAGE, "a stage needs a `name`", self.findings);
            return None;
        };
        let text = read::scalar(&name.value, "name", self.findings)?;
        if names.iter().any(|(known, _)| *known == text) {
            self.findings.problem(
                name.value.mark,
                format!("there is another stage `{text}`: give this one a different name"),
            );
        }
        let against = self.against(node.get("against"), names);
        names.push((text.clone(), name.value.mark));
        let on_fail = match node.get("on-fail").map(|node| (node, node.as_str())) {
            None | Some((_, Some("stop"))) => OnFail::Stop,
            Some((_, Some("continue"))) => OnFail::Continue,
            Some((node, _)) => {
                self.findings.problem(
                    node.mark,
                    format!(
                        "`on-fail: {}` is not known: use stop or continue",
                        node.text()
                    ),
                );
                OnFail::Stop
            }
        };
        let work = match (node.get("load"), node.entry("run")) {
            (Some(_), None) => {
                let plan = of_stage(root, node);
                Work::Load(Box::new(translate::translate(
                    &plan,
                    self.inputs,
                    self.read,
                    self.findings,
                )?))
            }
            (None, Some(run)) => Work::Command(self.command(root, node, &run.value)?),
            (Some(_), Some(run)) => {
                self.findings.problem(
                    run.key_mark,
                    "a stage cannot have both `load` and `run`: remove one",
                );
                return None;
            }
            (None, None) => {
                read::missing(
                    node,
                    model::STAGE,
                    "a stage needs a `load`, or another tool's command line in `run`",
                    self.findings,
                );
                return None;
            }
        };
        Some(PlannedStage {
            name: text,
            work,
            on_fail,
            target: self.own_target(node.entry("target")),
            against,
            notes: self.content_reader().notes(node.get("notes")),
        })
    }

    fn content_reader(&mut self) -> ContentReader<'_> {
        let plan = self.inputs.files.first();
        ContentReader {
            plan: plan.map_or(Path::new(""), |plan| plan.as_path()),
            read: self.read,
            findings: self.findings,
        }
    }

    fn own_target(&mut self, entry: Option<&Entry>) -> Option<String> {
        read::text(&entry?.value, "target", self.findings)
    }

    fn against(&mut self, node: Option<&Node>, names: &[(String, Mark)]) -> Option<usize> {
        let node = node?;
        let wanted = read::scalar(node, "against", self.findings)?;
        let number = names.iter().position(|(name, _)| *name == wanted);
        if number.is_none() {
            self.findings.problem(
                node.mark,
                format!("there is no earlier stage `{wanted}`: a stage can be compared only with an earlier one"),
            );
        }
        number
    }

    fn command(&mut self, root: &Node, stage: &Node, run: &Node) -> Option<StageCommand> {
        let words = match run.as_list() {
            Some(items) => items
                .iter()
                .filter_map(|item| read::scalar(item, "run", self.findings))
                .collect(),
            None => {
                let text = read::text(run, "run", self.findings)?;
                if let Some(at) = text.find(['"', '\'', '\\', '$', '|', '>', '<', ';', '&', '`']) {
                    self.findings.problem(run.mark_at(at), "no shell reads this: write words with blanks or quotes as a list, run: [locust, -f, 'my test.py']");
                    return None;
                }
                // The placeholder must count as one word despite its spaces.
                let text = text.replace(TARGET, TARGET_TIGHT);
                let words = text.split_whitespace();
                words
                    .map(|word| word.replace(TARGET_TIGHT, TARGET))
                    .collect::<Vec<_>>()
            }
        };
        let words: Vec<String> = words
            .into_iter()
            .skip_while(|word: &String| word == KEY)
            .collect();
        if words.is_empty() {
            self.findings.problem(run.mark, "`run` is empty: write another tool's command line, for example `locust -f locustfile.py --headless -t 30s`");
            return None;
        }
        // Parse the strings only to report problems. The command receives them unchanged.
        let mut texts = |key: &str| -> Vec<String> {
            let own = stage.get(key);
            let all = match own {
                Some(own) => Some(joined(root.get(key), own)),
                None => root.get(key).cloned(),
            };
            translate::rule_texts(all.as_ref(), key, self.findings)
        };
        let (criteria, stop) = (texts("criteria"), texts("stop"));
        Some(StageCommand {
            words,
            criteria,
            stop,
            server: self.sources(root.get("server")),
        })
    }

    /// Formats each source as `NAME=PLACE`, because a mapping cannot be passed on another tool's
    /// command line.
    fn sources(&mut self, node: Option<&Node>) -> Vec<String> {
        let mut sources = Vec::new();
        for Entry { key, value, .. } in node.map(Node::entries).unwrap_or_default() {
            let place = value.get("from").unwrap_or(value);
            for more in ["only", "counters"] {
                if let Some(node) = value.get(more) {
                    self.findings.note(
                        node.mark,
                        format!(
                            "`{more}` has no effect on stages \
                        that run another tool: they measure all metrics of `{key}`"
                        ),
                    );
                }
            }
            let text = match value.get("query") {
                Some(query) => format!("promql:{} {}", place.text(), query.text()),
                None => place.text().to_string(),
            };
            if let Err(reason) = plan::server::named(key, &text) {
                self.findings.problem(place.mark, reason);
            }
            sources.push(format!("{key}={text}"));
        }
        sources
    }

    fn texts(&mut self, node: Option<&Node>, what: &str) -> Vec<String> {
        let Some(node) = node else { return Vec::new() };
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        items
            .iter()
            .filter_map(|item| read::text(item, what, self.findings))
            .collect()
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
