//! Drafts a plan with captures and pauses from a HAR recording.

mod chain;
mod choose;
mod entry;
mod html;

use std::collections::{BTreeSet, HashMap};

use formats::{
    LoadErrors,
    document::{Mark, Node},
};
use serde_json::Value;

use crate::{
    body, destructive,
    draft::{self, Draft, DraftBody, DraftRequest, DraftStep, DraftThink},
    headers::{self, HeaderUse},
    placeholders, problem,
    unknowns::Unknowns,
};
use chain::Chain;
use choose::LeftOut;
use entry::HarEntry;

/// Minimum pause in milliseconds. Shorter pauses are dropped.
const SHORTEST_PAUSE: f64 = 500.0;
const LONGEST_PAUSE: f64 = 60_000.0;
const COUNTERS: [&str; 16] = [
    "_ga",
    "_gid",
    "_gat",
    "_gcl",
    "_fbp",
    "_fbc",
    "_hj",
    "_pk_",
    "__utm",
    "ajs_",
    "mp_",
    "intercom-",
    "amplitude",
    "optanon",
    "_clck",
    "_clsk",
];

const HOLDERS: [&str; 8] = [
    "data",
    "result",
    "results",
    "item",
    "items",
    "entry",
    "attributes",
    "node",
];

pub fn from_document(name: &str, root: &Node) -> Result<Draft, LoadErrors> {
    let reported = |(mark, message): (Mark, String)| problem::problem(name, mark, message);
    let log = root.get("log").unwrap_or(root);
    let Some(items) = log.get("entries").and_then(Node::as_list) else {
        return Err(reported((
            log.mark,
            "`log` in a HAR file needs a list of `entries`".to_owned(),
        )));
    };
    let mut entries = Vec::new();
    let (incomplete, complete): (Vec<&Node>, Vec<&Node>) =
        items.iter().partition(|item| entry::is_incomplete(item));
    for item in complete {
        entries.extend(entry::read(item).map_err(reported)?);
    }
    let (entries, mut left) = choose::choose(entries);
    left.incomplete = incomplete.len();
    let Some(first) = entries.first() else {
        return Err(reported((
            log.mark,
            format!(
                "this recording contains no request to a service{}",
                left_out(&left)
            ),
        )));
    };
    let mut draft = Draft {
        from: format!("the recording {}", draft::file_of(name)),
        name: first.address.host.clone(),
        stem: draft::stem_of_file(name).unwrap_or_else(|| draft::stem_of_host(&first.address.host)),
        target: draft::most_frequent(entries.iter().map(|entry| entry.address.origin.as_str())),
        ..Draft::default()
    };
    draft.remarks = remarks(&entries, &left);
    let pages = pages(log);
    let requests = requests(&entries, &draft.target.clone(), &mut draft.unknowns).map_err(
        |(index, reason)| {
            let mark = items.get(index).map_or(log.mark, |item| item.mark);
            reported((mark, reason))
        },
    )?;
    let mut steps = with_pauses(&entries, requests, &pages);
    let disabling = destructive::comment_out(&mut steps);
    draft.remarks.extend(disabling.remark());
    draft.set_steps(steps);
    Ok(draft)
}

fn left_out(left: &LeftOut) -> String {
    let mut parts = Vec::new();
    let mut part = |count: usize, one: &str, many: &str| {
        if count > 0 {
            parts.push(format!("{count} {}", if count == 1 { one } else { many }));
        }
    };
    part(
        left.files,
        "asset (image, font, style, script)",
        "assets (images, fonts, styles, scripts)",
    );
    let hosts: Vec<&str> = left.hosts.iter().map(String::as_str).take(5).collect();
    let more = if left.hosts.len() > hosts.len() {
        ", …"
    } else {
        ""
    };
    let hosts = format!("to other hosts ({}{more})", hosts.join(", "));
    part(left.others, &hosts, &hosts);
    part(left.preflights, "OPTIONS request", "OPTIONS requests");
    part(left.unanswered, "without an answer", "without an answer");
    part(
        left.incomplete,
        "without a method or URL",
        "without a method or URL",
    );
    if parts.is_empty() {
        String::new()
    } else {
        format!(" (left out: {})", parts.join(", "))
    }
}

fn remarks(entries: &[HarEntry], left: &LeftOut) -> Vec<String> {
    let mut remarks = Vec::new();
    let left = left_out(left);
    if let Some(left) = left
        .strip_prefix(" (")
        .and_then(|left| left.strip_suffix(')'))
    {
        remarks.push(format!("{}{}.", left[..1].to_uppercase(), &left[1..]));
    }
    remarks.push("Cookies that the service sets are stored automatically. Other cookies, authorization and headers added by browsers are not copied.".to_owned());
    if entries
        .iter()
        .any(|entry| entry.address.origin != entries[0].address.origin)
    {
        remarks.push(
            "Some steps send requests to hosts other than the target: check that you may load them."
                .to_owned(),
        );
    }
    remarks
}

fn pages(log: &Node) -> HashMap<String, String> {
    let items = log.get("pages").and_then(Node::as_list).unwrap_or_default();
    let pair = |page: &Node| {
        let title = page.get("title")?.as_str()?;
        let title = title.split(['?', '#']).next().unwrap_or_default();
        Some((
            page.get("id")?.as_str()?.to_owned(),
            title.chars().take(80).collect(),
        ))
    };
    items.iter().filter_map(pair).collect()
}

fn requests(
    entries: &[HarEntry],
    target: &str,
    unknowns: &mut Unknowns,
) -> Result<Vec<DraftRequest>, (usize, String)> {
    let mut chain = Chain::default();
    for (number, entry) in entries.iter().enumerate() {
        sends(entry, &mut chain);
        let is_json = entry.mime.contains("json") || entry.mime.is_empty();
        let answer = entry.answer.as_deref().filter(|_| is_json);
        if let Some(answer) = answer.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
            chain.says(number, &answer);
        }
        if let Some(page) = entry
            .answer
            .as_deref()
            .filter(|_| entry.mime.contains("html"))
        {
            chain.shows(number, page);
        }
    }
    let mut requests = Vec::new();
    let mut jar = BTreeSet::new();
    for (number, entry) in entries.iter().enumerate() {
        let mut maker = Maker {
            entries,
            number,
            chain: &mut chain,
            unknowns: &mut *unknowns,
        };
        let mut request = maker.request(target).map_err(|reason| (number, reason))?;
        for cookie in &entry.cookies {
            let is_counter = COUNTERS
                .iter()
                .any(|counter| cookie.to_ascii_lowercase().starts_with(counter));
            if !is_counter && jar.insert(cookie.clone()) {
                let value = unknowns.missing(cookie, &format!("the cookie {cookie}"));
                request.cookies.push((cookie.clone(), value));
            }
        }
        jar.extend(entry.sets.iter().cloned());
        requests.push(request);
    }
    for captured in chain.captured() {
        requests[captured.step]
            .captures
            .push((captured.name, captured.path.to_value()));
    }
    Ok(requests)
}

fn sends(entry: &HarEntry, chain: &mut Chain) {
    chain.sends(&entry.url);
    chain.sends(&entry.address.path);
    for (_, value) in &entry.headers {
        chain.sends(value);
        value.split(' ').for_each(|word| chain.sends(word));
    }
    if let Some(text) = &entry.body {
        chain.sends(text);
        if let Some(value) = body::structured(text) {
            each_text(&value, &mut |text| chain.sends(text));
        }
    }
}

fn each_text(value: &Value, emit: &mut dyn FnMut(&str)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_text(item, emit)),
        Value::Object(map) => map.values().for_each(|item| each_text(item, emit)),
        Value::String(_) | Value::Number(_) => emit(&query::value::text(Some(value))),
        _ => {}
    }
}

struct Maker<'a> {
    entries: &'a [HarEntry],
    number: usize,
    chain: &'a mut Chain,
    unknowns: &'a mut Unknowns,
}

impl Maker<'_> {
    fn request(&mut self, target: &str) -> Result<DraftRequest, String> {
        let entry = &self.entries[self.number];
        if !formats::methods::METHODS.contains(&entry.method.as_str()) {
            return Err(format!(
                "`{}` is not a method that plans support: remove the entry",
                entry.method
            ));
        }
        let mut request = DraftRequest {
            method: entry.method.clone(),
            url: self.url(target),
            ..DraftRequest::default()
        };
        for (name, value) in &entry.headers {
            let has_breaks = value.contains(|c: char| c.is_control());
            if !headers::is_name(name)
                || has_breaks
                || headers::of_browser(name, value) == HeaderUse::No
            {
                continue;
            }
            let value = self.header(name, value);
            headers::join(&mut request.headers, name, value);
        }
        if let Some(text) = &entry.body {
            let reported = body::structured(text);
            let linked = reported.as_ref().map(|value| self.value(value));
            let is_linked = linked != reported;
            let text = match linked.filter(|_| is_linked) {
                Some(linked) => query::value::json(&linked),
                None if reported.is_some() => text.clone(),
                None => self.link(text),
            };
            let has_kind = |headers: &[(String, String)]| {
                let mut names = headers.iter().map(|(name, _)| name);
                names.any(|name| name.eq_ignore_ascii_case("content-type"))
            };
            if let Some(kind) = &entry.body_kind
                && !has_kind(&request.headers)
            {
                let header = ("content-type".to_owned(), kind.clone());
                request.headers.push(header);
            }
            request.body = match body::draft(&text, &mut request.headers, self.unknowns, "the body")
            {
                DraftBody::Text(text) if is_linked => {
                    body::structured(&text).map_or(DraftBody::Text(text), DraftBody::Json)
                }
                body => body,
            };
        }
        if entry.body_is_missing {
            request.comments.push(
                "TO FILL IN: the request body, which the recording does not contain".to_owned(),
            );
        }
        if entry.status >= 400 {
            request
                .comments
                .push(format!("The recorded status was {}.", entry.status));
            request.expect = Some(entry.status).filter(|status| *status < 600);
        }
        Ok(request)
    }

    fn url(&mut self, target: &str) -> String {
        let entry = &self.entries[self.number];
        let whole = self.link(&entry.url);
        if placeholders::has_variables(&whole) && placeholders::replaced(&whole, "").is_empty() {
            return whole;
        }
        let path = self.link(&entry.address.path);
        let path = body::path(&path, self.unknowns);
        if entry.address.origin == target {
            path
        } else {
            format!("{}{path}", entry.address.origin)
        }
    }

    fn header(&mut self, name: &str, value: &str) -> String {
        let linked = match value.split_once(' ') {
            Some((scheme, rest)) if crate::unknowns::is_secret(name) => {
                format!("{scheme} {}", self.link(rest))
            }
            _ => self.link(value),
        };
        let is_used = placeholders::has_variables(&linked);
        if is_used {
            linked
        } else {
            self.unknowns.header(name, value, "")
        }
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => Value::Object(
                map.iter()
                    .map(|(key, item)| (key.clone(), self.value(item)))
                    .collect(),
            ),
            Value::String(text) => Value::String(self.link(text)),
            Value::Number(_) => {
                let text = query::value::text(Some(value));
                let linked = self.link(&text);
                if linked == text {
                    value.clone()
                } else {
                    Value::String(linked)
                }
            }
            other => other.clone(),
        }
    }

    fn link(&mut self, text: &str) -> String {
        let entries = self.entries;
        let name = |step: usize, key: &str, path: &str| variable_of(&entries[step], key, path);
        self.chain.linked(self.number, text, &name, self.unknowns)
    }
}

/// Returns the variable name for a capture: `cart_id` for `id` of `POST /carts`, `user_id` for
/// `$.user.id`.
fn variable_of(entry: &HarEntry, key: &str, path: &str) -> String {
    if !matches!(key, "id" | "uuid" | "") {
        return key.to_owned();
    }
    let is_word = |part: &&str| {
        part.len() > 1
            && part.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
            && !HOLDERS.contains(part)
    };
    let above = path.strip_suffix(key).unwrap_or(path);
    let mut parts = above.split(['.', '[', ']', '\'', '$']);
    let url = entry.address.path.split('?').next().unwrap_or_default();
    let noun = parts
        .rfind(is_word)
        .or_else(|| url.rsplit('/').find(is_word));
    match noun {
        Some(noun) => format!(
            "{}_id",
            noun.strip_suffix('s').unwrap_or(noun).to_ascii_lowercase()
        ),
        None => "id".to_owned(),
    }
}

fn with_pauses(
    entries: &[HarEntry],
    requests: Vec<DraftRequest>,
    pages: &HashMap<String, String>,
) -> Vec<DraftStep> {
    let mut steps = Vec::new();
    let mut ended: Option<f64> = None;
    let mut page: Option<&String> = None;
    for (entry, mut request) in entries.iter().zip(requests) {
        if let Some(((began, _), ended)) = entry.time.zip(ended) {
            let pause = (began - ended).min(LONGEST_PAUSE);
            if pause >= SHORTEST_PAUSE {
                let time = format!("{}s", (pause / 100.0).round() / 10.0);
                steps.push(DraftThink::fixed(time));
            }
        }
        if let Some((_, end)) = entry.time {
            ended = Some(ended.map_or(end, |before| before.max(end)));
        }
        if entry.page.is_some() && entry.page.as_ref() != page {
            page = entry.page.as_ref();
            let title = page
                .and_then(|page| pages.get(page))
                .filter(|title| !title.is_empty());
            if let Some(title) = title {
                request.comments.insert(0, format!("Page: {title}"));
            }
        }
        steps.push(DraftStep::Request(Box::new(request)));
    }
    steps
}
