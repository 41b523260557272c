//! A plan before it is written: steps and their comments. Strings may contain variables, see
//! [`crate::placeholders`].

use std::path::{Component, Path};

use serde_json::Value;

use crate::unknowns::{Unknown, Unknowns};

#[derive(Debug, Default)]
pub struct Draft {
    pub(crate) from: String,
    pub(crate) name: String,
    pub(crate) stem: String,
    pub(crate) target: String,
    pub(crate) remarks: Vec<String>,
    pub(crate) http: Http,
    pub(crate) unknowns: Unknowns,
    pub(crate) steps: Vec<DraftStep>,
}

#[derive(Debug, Default)]
pub(crate) struct Http {
    pub insecure: bool,
    pub no_redirects: Option<&'static str>,
    pub max_redirects: Option<u32>,
    pub timeout: Option<String>,
    pub resolve: Vec<String>,
    pub unix: Option<String>,
    pub authorities: Option<String>,
    pub certificate: Option<String>,
    pub key: Option<String>,
}

#[derive(Debug)]
pub(crate) enum DraftStep {
    Request(Box<DraftRequest>),
    Think(String),
    Log(String),
}

#[derive(Debug, Default)]
pub(crate) struct DraftRequest {
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
    pub expect: Option<u16>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) enum DraftBody {
    #[default]
    None,
    Json(Value),
    Form(Value),
    Multipart(Vec<DraftPart>),
    Text(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DraftPart {
    pub name: String,
    pub content: PartContent,
    pub kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PartContent {
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

    pub(crate) fn move_files(&mut self, plan: &str) -> bool {
        let http = &mut self.http;
        let own = [
            &mut http.unix,
            &mut http.authorities,
            &mut http.certificate,
            &mut http.key,
        ];
        let mut files: Vec<&mut String> = own.into_iter().flatten().collect();
        for step in &mut self.steps {
            let DraftStep::Request(request) = step else {
                continue;
            };
            let DraftBody::Multipart(parts) = &mut request.body else {
                continue;
            };
            files.extend(parts.iter_mut().filter_map(|part| match &mut part.content {
                PartContent::File { path, .. } => Some(path),
                PartContent::Text(_) => None,
            }));
        }
        let folders = Path::new(plan).parent().unwrap_or(Path::new(""));
        let is_below = folders
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let up = if is_below {
            "../".repeat(folders.components().count())
        } else {
            String::new()
        };
        let is_any = !files.is_empty();
        for file in files {
            if !Path::new(file.as_str()).is_absolute() {
                file.insert_str(0, &up);
            }
        }
        is_any
    }

    pub(crate) fn requests(&self) -> impl Iterator<Item = &DraftRequest> {
        self.steps.iter().filter_map(|step| match step {
            DraftStep::Request(request) => Some(&**request),
            DraftStep::Think(_) | DraftStep::Log(_) => None,
        })
    }

    pub(crate) fn shared_headers(&mut self) -> Vec<(String, String)> {
        let sent = self.requests().filter(|request| !request.off);
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
        for step in &mut self.steps {
            if let DraftStep::Request(request) = step {
                request.headers.retain(|header| !shared.contains(header));
            }
        }
        shared
    }
}

pub(crate) fn nothing_yet() -> DraftStep {
    DraftStep::Log("No requests are sent yet: remove the # from a step below".to_owned())
}

pub(crate) fn stem_of_host(host: &str) -> String {
    let host = host.strip_prefix("www.").unwrap_or(host);
    let is_address = host.parse::<std::net::Ipv4Addr>().is_ok();
    let label = if is_address {
        host
    } else {
        host.split('.').next().unwrap_or(host)
    };
    stem(label)
}

pub(crate) fn stem(text: &str) -> String {
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
