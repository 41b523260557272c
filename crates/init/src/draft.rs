//! A plan as it is put together, before it is text: steps with their comments, in the order in which they are written. Texts may hold
//! variables ([`crate::marks`]). How it is laid out is said elsewhere.

use std::path::{Component, Path};

use serde_json::Value;

use crate::unknowns::{Unknown, Unknowns};

/// A plan that is about to be written.
#[derive(Debug, Default)]
pub struct Draft {
    /// What it was made from, for the first line.
    pub(crate) from: String,
    /// Its title.
    pub(crate) name: String,
    /// A name for its file, without the suffix.
    pub(crate) stem: String,
    /// The base URL.
    pub(crate) target: String,
    /// What is to be known before it is run, as comments.
    pub(crate) remarks: Vec<String>,
    pub(crate) http: Http,
    pub(crate) unknowns: Unknowns,
    pub(crate) steps: Vec<DraftStep>,
}

/// How requests travel.
#[derive(Debug, Default)]
pub(crate) struct Http {
    pub insecure: bool,
    /// Redirects are not followed, and why.
    pub no_redirects: Option<&'static str>,
    pub max_redirects: Option<u32>,
    /// With its unit.
    pub timeout: Option<String>,
    /// `HOST:PORT:ADDRESS` each.
    pub resolve: Vec<String>,
    /// Files: a socket, authorities, a certificate and its key.
    pub unix: Option<String>,
    pub authorities: Option<String>,
    pub certificate: Option<String>,
    pub key: Option<String>,
}

#[derive(Debug)]
pub(crate) enum DraftStep {
    Request(Box<DraftRequest>),
    /// A pause, with its unit.
    Think(String),
    /// A line that is printed: of a plan that has nothing to send yet.
    Log(String),
}

#[derive(Debug, Default)]
pub(crate) struct DraftRequest {
    /// Lines above it.
    pub comments: Vec<String>,
    /// Written as a comment.
    pub off: bool,
    /// In small letters.
    pub method: String,
    /// From the path on, or whole.
    pub url: String,
    pub label: Option<String>,
    pub headers: Vec<(String, String)>,
    pub query: Vec<(String, Value)>,
    pub cookies: Vec<(String, String)>,
    pub body: DraftBody,
    pub auth: Option<(String, String)>,
    pub follow: Option<bool>,
    /// Names, and where in the answer they are: JSONPaths, or mappings as a plan has them.
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

/// A part of a multipart form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DraftPart {
    pub name: String,
    pub content: PartContent,
    /// Its content type.
    pub kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PartContent {
    Text(String),
    File {
        path: String,
        /// Instead of its own name.
        called: Option<String>,
    },
}

impl Draft {
    /// What must be exported before the plan runs.
    #[must_use]
    pub fn unknowns(&self) -> &[Unknown] {
        self.unknowns.list()
    }

    /// A name for its file.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.yml", self.stem)
    }

    /// What it comes to, in a few words: `3 steps to https://shop.example`.
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

    /// Files are named from where the plan lies, not from where it was made. Whether any is named.
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

    /// Headers that all requests that are sent have in common move to where they are said once.
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

/// The only step of a plan all of whose requests are comments.
pub(crate) fn nothing_yet() -> DraftStep {
    DraftStep::Log("Nothing is sent yet: take the # away from a step below".to_owned())
}

/// A file's name of a host: `shop` of `www.shop.example`.
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

/// A file's name of any text.
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
