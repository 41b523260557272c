//! A plan before it is written: steps and their comments. Strings may contain variables, see
//! [`crate::placeholders`].

use std::{
    collections::HashMap,
    path::{Component, Path},
};

use serde_json::Value;

use crate::{
    load::DraftLoad,
    unknowns::{Unknown, Unknowns},
};

#[derive(Debug, Default)]
pub struct Draft {
    pub from: String,
    pub name: String,
    pub stem: String,
    pub target: String,
    pub remarks: Vec<String>,
    pub load: DraftLoad,
    pub http: Http,
    pub unknowns: Unknowns,
    /// Variables with values from the source.
    pub variables: Vec<(String, Value)>,
    pub tables: Vec<DraftTable>,
    pub setup: Vec<DraftStep>,
    pub teardown: Vec<DraftStep>,
    pub scenarios: Vec<DraftScenario>,
}

#[derive(Debug, Default)]
pub struct DraftTable {
    pub comments: Vec<String>,
    pub file: String,
    pub columns: Vec<String>,
    pub delimiter: Option<String>,
    pub is_random: bool,
    /// Whether the first line contains the column names. `None` uses the plan's default.
    pub header: Option<bool>,
}

#[derive(Debug, Default)]
pub struct DraftScenario {
    pub comments: Vec<String>,
    pub name: String,
    pub weight: u32,
    pub steps: Vec<DraftStep>,
}

#[derive(Debug, Default)]
pub struct Http {
    pub insecure: bool,
    pub no_redirects: Option<&'static str>,
    pub no_cookies: Option<&'static str>,
    pub max_redirects: Option<u32>,
    pub timeout: Option<String>,
    pub resolve: Vec<String>,
    pub unix: Option<String>,
    pub authorities: Option<String>,
    pub certificate: Option<String>,
    pub key: Option<String>,
}

#[derive(Debug)]
pub enum DraftStep {
    Request(Box<DraftRequest>),
    Think(DraftThink),
    Block(DraftBlock),
    Choose(Vec<DraftBranch>),
    /// Comments in place of a part of the source that has no equivalent step.
    Note(Vec<String>),
}

#[derive(Debug, Clone)]
pub struct DraftThink {
    pub time: String,
    pub jitter: Option<String>,
}

#[derive(Debug)]
pub struct DraftBlock {
    pub comments: Vec<String>,
    pub kind: DraftBlockKind,
    pub steps: Vec<DraftStep>,
}

#[derive(Debug)]
pub enum DraftBlockKind {
    Group(String),
    If(String),
    /// Number of repetitions, or a template.
    Loop(Value),
}

#[derive(Debug)]
pub struct DraftBranch {
    pub weight: u32,
    pub steps: Vec<DraftStep>,
}

impl DraftRequest {
    /// Appends a pair to the URL's query. The value is not encoded.
    pub fn add_to_query(&mut self, name: &str, value: &str) {
        let mark = if self.url.contains('?') { '&' } else { '?' };
        let name = crate::address::encoded(name);
        self.url.push_str(&format!("{mark}{name}={value}"));
    }
}

impl DraftThink {
    pub fn fixed(time: String) -> DraftStep {
        DraftStep::Think(DraftThink { time, jitter: None })
    }
}

impl DraftStep {
    /// Returns the nested steps of this step, one list for each branch.
    pub fn inner(&self) -> Vec<&[DraftStep]> {
        match self {
            DraftStep::Block(block) => vec![&block.steps],
            DraftStep::Choose(branches) => branches.iter().map(|one| &one.steps[..]).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether the step is active and not commented out.
    pub fn is_active(&self) -> bool {
        match self {
            DraftStep::Request(request) => !request.off,
            DraftStep::Think(_) => true,
            DraftStep::Note(_) => false,
            DraftStep::Block(_) | DraftStep::Choose(_) => {
                self.inner().into_iter().flatten().any(DraftStep::is_active)
            }
        }
    }
}

fn collect<'d>(steps: &'d [DraftStep], out: &mut Vec<&'d DraftRequest>) {
    for step in steps {
        match step {
            DraftStep::Request(request) => out.push(request),
            other => other
                .inner()
                .into_iter()
                .for_each(|inner| collect(inner, out)),
        }
    }
}

/// Calls `change` for every request in `steps`, in order.
pub fn each_request(steps: &mut [DraftStep], change: &mut dyn FnMut(&mut DraftRequest)) {
    for step in steps {
        match step {
            DraftStep::Request(request) => change(request),
            DraftStep::Block(block) => each_request(&mut block.steps, change),
            DraftStep::Choose(branches) => {
                for branch in branches {
                    each_request(&mut branch.steps, change);
                }
            }
            DraftStep::Think(_) | DraftStep::Note(_) => {}
        }
    }
}

#[derive(Debug, Default)]
pub struct DraftRequest {
    pub comments: Vec<String>,
    pub off: bool,
    pub method: String,
    pub url: String,
    pub label: Option<String>,
    pub headers: Vec<(String, String)>,
    pub query: Vec<(String, Value)>,
    pub cookies: Vec<(String, String)>,
    pub body: DraftBody,
    pub auth: Option<(String, String)>,
    pub follow: Option<bool>,
    pub captures: Vec<(String, Value)>,
    pub checks: Vec<Value>,
    /// Maximum response time that the source allows, in milliseconds.
    pub limit_ms: Option<f64>,
    pub expect: Option<u16>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub enum DraftBody {
    #[default]
    None,
    Json(Value),
    Form(Value),
    Multipart(Vec<DraftPart>),
    Text(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct DraftPart {
    pub name: String,
    pub content: PartContent,
    pub kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    Text(String),
    File {
        path: String,
        called: Option<String>,
    },
}

impl Draft {
    #[must_use]
    pub fn unknowns(&self) -> &[Unknown] {
        self.unknowns.list()
    }

    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.yml", self.stem)
    }

    #[must_use]
    pub fn in_short(&self) -> String {
        let (mut on, mut off) = (0, 0);
        for request in self.requests() {
            *(if request.off { &mut off } else { &mut on }) += 1;
        }
        let s = if on == 1 { "" } else { "s" };
        let target = crate::placeholders::replaced(&self.target, "…");
        let rest = if off > 0 {
            format!(", {off} commented out")
        } else {
            String::new()
        };
        format!("{on} request{s} to {target}{rest}")
    }

    pub fn move_files(&mut self, plan: &str) -> bool {
        let http = &mut self.http;
        let own = [
            &mut http.unix,
            &mut http.authorities,
            &mut http.certificate,
            &mut http.key,
        ];
        let mut is_any = false;
        let up = folders_up(plan);
        let mut move_one = |file: &mut String| {
            is_any = true;
            if !Path::new(file.as_str()).is_absolute() {
                file.insert_str(0, &up);
            }
        };
        own.into_iter().flatten().for_each(&mut move_one);
        let tables = self.tables.iter_mut();
        tables.for_each(|table| move_one(&mut table.file));
        self.each_request(&mut |request| {
            let DraftBody::Multipart(parts) = &mut request.body else {
                return;
            };
            for part in parts {
                if let PartContent::File { path, .. } = &mut part.content {
                    move_one(path);
                }
            }
        });
        is_any
    }

    /// Returns the requests of the load, without those of setup and teardown.
    pub fn requests(&self) -> Vec<&DraftRequest> {
        let mut requests = Vec::new();
        for scenario in &self.scenarios {
            collect(&scenario.steps, &mut requests);
        }
        requests
    }

    fn each_request(&mut self, change: &mut dyn FnMut(&mut DraftRequest)) {
        each_request(&mut self.setup, change);
        for scenario in &mut self.scenarios {
            each_request(&mut scenario.steps, change);
        }
        each_request(&mut self.teardown, change);
    }

    pub fn shared_headers(&mut self) -> Vec<(String, String)> {
        let all = [&self.setup, &self.teardown];
        let mut sent = self.requests();
        all.into_iter().for_each(|steps| collect(steps, &mut sent));
        let sent = sent.into_iter().filter(|request| !request.off);
        let mut lists = sent.map(|request| &request.headers);
        let Some(first) = lists.next() else {
            return Vec::new();
        };
        let others: Vec<_> = lists.collect();
        if others.is_empty() {
            return Vec::new();
        }
        let is_shared = |header: &&(String, String)| {
            !header.0.eq_ignore_ascii_case("content-type")
                && others.iter().all(|headers| headers.contains(header))
        };
        let shared: Vec<_> = first.iter().filter(is_shared).cloned().collect();
        self.each_request(&mut |request| request.headers.retain(|header| !shared.contains(header)));
        shared
    }

    /// Sets the steps of a plan with a single scenario.
    pub fn set_steps(&mut self, steps: Vec<DraftStep>) {
        self.scenarios = vec![DraftScenario {
            steps,
            weight: 1,
            ..DraftScenario::default()
        }];
    }
}

/// Returns `../` for each folder between the plan and the current folder.
fn folders_up(plan: &str) -> String {
    let folders = Path::new(plan).parent().unwrap_or(Path::new(""));
    let is_below = folders
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if is_below {
        "../".repeat(folders.components().count())
    } else {
        String::new()
    }
}

/// Returns the name of a source, as used in comments.
pub fn file_of(name: &str) -> String {
    if name == "-" {
        return "on standard input".to_owned();
    }
    let file = Path::new(name).file_name().and_then(|file| file.to_str());
    file.unwrap_or(name).to_owned()
}

/// Returns the stem of a plan's file name, derived from its source. `None` for standard input.
pub fn stem_of_file(name: &str) -> Option<String> {
    let file = Path::new(name).file_stem().and_then(|stem| stem.to_str());
    file.filter(|_| name != "-").map(stem)
}

/// Returns the most frequent origin. If several are equally frequent, returns the first of them.
pub fn most_frequent<'o>(origins: impl Iterator<Item = &'o str> + Clone) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for origin in origins.clone() {
        *counts.entry(origin).or_default() += 1;
    }
    let most = counts.values().copied().max();
    let mut origins = origins;
    let main = origins.find(|origin| counts.get(origin).copied() == most);
    main.unwrap_or_default().to_owned()
}

/// Completes the URLs of requests to other origins than the target. `origins` contains the origin
/// of each request, in order.
pub fn complete_urls(
    steps: &mut [DraftStep],
    origins: &mut std::slice::Iter<'_, String>,
    target: &str,
) {
    each_request(steps, &mut |request| {
        if let Some(origin) = origins.next()
            && origin != target
        {
            request.url.insert_str(0, origin);
        }
    });
}

/// Returns a name that no enclosing group has. Removes templates, which group names cannot contain.
pub fn group_name(name: &str, around: &[String]) -> String {
    let plain = name.replace(char::is_control, " ").replace("{{", "{");
    let name = match plain.trim() {
        "" => "Group".to_owned(),
        name => name.to_owned(),
    };
    let numbered = (2_u32..).map(|number| format!("{name} {number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names
        .find(|name| !around.contains(name))
        .unwrap_or_default()
}

pub fn stem_of_host(host: &str) -> String {
    let host = host.strip_prefix("www.").unwrap_or(host);
    let is_address = host.parse::<std::net::Ipv4Addr>().is_ok();
    let label = if is_address {
        host
    } else {
        host.split('.').next().unwrap_or(host)
    };
    stem(label)
}

pub fn stem(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() || letter == '.' && !out.is_empty() {
            out.push(letter.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let out: String = out.chars().take(40).collect();
    let out = out.trim_end_matches(['-', '.']);
    if out.is_empty() {
        "plan".to_owned()
    } else {
        out.to_owned()
    }
}
