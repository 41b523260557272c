//! Reads `mocks`: routes, responses and faults, for `loadline mock` and for plans.

mod latency;
pub(super) mod schema;

use plan::{
    Template,
    mocks::{Fault, Mock, MockBody, MockLatency, MockRoute, Reference, RouteSegment, parse_fault},
};

use super::{
    model, open_plan,
    read::{self, entries, list},
};
use crate::{
    Inputs, LoadErrors,
    document::{Entry, Node},
    files::{ReadFile, from_disk, from_text},
    findings::Findings,
    methods::METHODS,
    nearest::nearest,
    templates::{Templates, UnsetVariable},
};

pub(super) const KEY: &str = "mocks";
const KNOWN: [&str; 4] = ["query", "body", "remembered", "$uuid"];
const NO_BODY: [u16; 2] = [204, 304];

pub type Recorded<'a> = &'a dyn Fn(&Reference) -> Result<MockLatency, String>;

/// Loads the mocks of a plan. Returns an empty list if the plan has none.
///
/// On failure, returns all problems of the mocks with their positions.
pub fn load(inputs: &Inputs, recorded: Recorded<'_>) -> Result<Vec<Mock>, LoadErrors> {
    load_with(inputs, recorded, &from_disk)
}

/// Returns the names of a plan's mocks, without looking up recorded runs.
pub fn names(inputs: &Inputs) -> Result<Vec<String>, LoadErrors> {
    let mocks = load_with(inputs, &unread, &from_disk)?;
    Ok(mocks.into_iter().map(|mock| mock.name).collect())
}

pub fn of_text(name: &str, text: &str, recorded: Recorded<'_>) -> Result<Vec<Mock>, LoadErrors> {
    let inputs = Inputs {
        files: vec![name.into()],
        ..Inputs::default()
    };
    load_with(&inputs, recorded, &from_text(name, text))
}

fn load_with(
    inputs: &Inputs,
    recorded: Recorded<'_>,
    read: ReadFile<'_>,
) -> Result<Vec<Mock>, LoadErrors> {
    let mut findings = Findings::default();
    let mut mocks = Vec::new();
    if let Some(root) = open_plan(inputs, read, &mut findings) {
        entries(&root, "plan", model::PLAN, &mut findings);
        if root
            .entries()
            .first()
            .is_none_or(|entry| entry.key != super::KEY)
        {
            findings.problem(root.mark, "a plan must start with `loadline: 1`");
        }
        mocks = read_mocks(root.get(KEY), recorded, &mut findings);
    }
    let (_, problems) = findings.into_notes();
    problems.map_or(Ok(mocks), Err)
}

pub(super) fn names_of(node: Option<&Node>, findings: &mut Findings) -> Vec<String> {
    let mocks = read_mocks(node, &unread, findings).into_iter();
    mocks.map(|mock| mock.name).collect()
}

/// Returns a placeholder for recorded latencies, for plans whose mocks are not served.
#[expect(
    clippy::unnecessary_wraps,
    reason = "must have the same signature as the function that reads a record"
)]
fn unread(_: &Reference) -> Result<MockLatency, String> {
    Ok(MockLatency::Constant(0))
}

fn read_mocks(node: Option<&Node>, recorded: Recorded<'_>, findings: &mut Findings) -> Vec<Mock> {
    let Some(node) = node else { return Vec::new() };
    let named = read::map(node, KEY, findings).iter();
    named.map(|entry| mock(entry, recorded, findings)).collect()
}

fn mock(entry: &Entry, recorded: Recorded<'_>, findings: &mut Findings) -> Mock {
    let node = &entry.value;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !entry.key.bytes().all(is_plain) || entry.key.starts_with(|c: char| c.is_ascii_digit()) {
        let text = format!(
            "`{}` cannot be used in `{{{{ mocks.NAME }}}}`: use letters, digits and `_`",
            entry.key
        );
        findings.problem(entry.key_mark, text);
    }
    entries(node, "a mock", model::MOCK, findings);
    let port = node.get("port").and_then(|node| {
        let port = read::whole_number(node, "port", 1, findings)?;
        let fits = u16::try_from(port).ok();
        if fits.is_none() {
            findings.problem(node.mark, format!("`port: {port}` is above 65535"));
        }
        fits
    });
    let usual = node
        .get("latency")
        .and_then(|node| latency::read(node, recorded, findings));
    let routes: Vec<MockRoute> = match node.get("routes") {
        Some(routes) => list(routes, "routes", findings)
            .iter()
            .filter_map(|item| route(item, usual.as_ref(), recorded, findings))
            .collect(),
        None => {
            let help = "this mock has no `routes`: add `routes: [{ get: /data, json: {} }]`";
            read::missing(node, model::MOCK, help, findings);
            Vec::new()
        }
    };
    if let Some(items) = node.get("routes").and_then(Node::as_list)
        && items.is_empty()
    {
        findings.problem(node.mark, "`routes` is empty");
    }
    let faults = node.get("faults").map_or_else(Vec::new, |node| {
        let items = list(node, "faults", findings).iter();
        items.filter_map(|item| fault(item, findings)).collect()
    });
    Mock {
        name: entry.key.clone(),
        port: port.unwrap_or(0),
        routes,
        faults,
    }
}

fn route(
    node: &Node,
    usual: Option<&MockLatency>,
    recorded: Recorded<'_>,
    findings: &mut Findings,
) -> Option<MockRoute> {
    let is_method = |entry: &&Entry| METHODS.contains(&entry.key.as_str());
    let methods: Vec<&Entry> = node.entries().iter().filter(is_method).collect();
    let keys: Vec<&str> = model::ROUTE.iter().chain(METHODS).copied().collect();
    unknown(node, &keys, findings);
    let entry = match methods.as_slice() {
        [entry] => *entry,
        [] if node.is_map() => {
            let help = "a route must start with its method and path: `get: /data/{id}`";
            read::missing(node, &keys, help, findings);
            return None;
        }
        [] => return None,
        [_, second, ..] => {
            findings.problem(second.key_mark, "a route can have only one method");
            return None;
        }
    };
    let path = path(&entry.value, findings)?;
    let pattern = MockRoute::pieces(&path);
    let mut templates = Templates {
        strict: true,
        ..Templates::default()
    };
    let mut of = |key: &str, findings: &mut Findings| -> Option<Template> {
        node.get(key).map(|node| templates.parse(node, findings))
    };
    let (remember, recall, forget) = (
        of("remember", findings),
        of("recall", findings),
        of("forget", findings),
    );
    let body = match (of("json", findings), of("body", findings)) {
        (Some(_), Some(_)) => {
            findings.problem(
                node.mark,
                "an answer cannot have both `json` and `body`: remove one",
            );
            MockBody::Empty
        }
        (Some(json), None) => MockBody::Json(json),
        (None, Some(text)) => MockBody::Text(text),
        (None, None) => MockBody::Empty,
    };
    let headers = node.get("headers").map_or_else(Vec::new, |node| {
        let named = read::map(node, "headers", findings).iter();
        let named: Vec<_> = named
            .map(|entry| (entry.key.clone(), templates.parse(&entry.value, findings)))
            .collect();
        named
    });
    variables(&templates, &pattern, recall.is_some(), findings);
    let status = status(node.get("status"), &body, findings);
    let latency = match node.get("latency") {
        Some(node) => latency::read(node, recorded, findings),
        None => usual.cloned(),
    };
    Some(MockRoute {
        method: entry.key.to_ascii_uppercase(),
        path,
        pattern,
        status,
        headers,
        body,
        latency: latency.unwrap_or(MockLatency::Constant(0)),
        remember,
        recall,
        forget,
    })
}

fn variables(
    templates: &Templates,
    pattern: &[RouteSegment],
    recalls: bool,
    findings: &mut Findings,
) {
    let mut known: std::collections::BTreeSet<String> =
        KNOWN.iter().map(|name| (*name).to_owned()).collect();
    for piece in pattern {
        if let RouteSegment::Variable(name) = piece {
            known.insert(name.clone());
        }
    }
    for UnsetVariable { name, mark, hint } in templates.unset(&known) {
        let all: Vec<&str> = known.iter().map(String::as_str).collect();
        let text = format!(
            "the request has no `{name}`; available: {}{hint}",
            all.join(", ")
        );
        findings.problem(mark, text);
    }
    let remembered = templates
        .uses
        .iter()
        .find(|(path, _)| path.root() == "remembered");
    if let Some((_, mark)) = remembered.filter(|_| !recalls) {
        let text = "`remembered` needs a stored body: add `recall: '{{ id }}'` to the route";
        findings.problem(*mark, text);
    }
}

fn unknown(node: &Node, keys: &[&str], findings: &mut Findings) {
    if !node.is_map() {
        let text = format!("a route must be a mapping, not {}", node.kind());
        findings.problem(node.mark, text);
    }
    for entry in node.entries() {
        if keys.contains(&entry.key.as_str()) {
            continue;
        }
        let lower = entry.key.to_ascii_lowercase();
        let help = match nearest(&lower, keys.iter().copied()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!(
                "besides its method, a route can have {}",
                model::ROUTE.join(", ")
            ),
        };
        findings.problem(
            entry.key_mark,
            format!("unknown key `{}`: {help}", entry.key),
        );
    }
}

fn path(node: &Node, findings: &mut Findings) -> Option<String> {
    let path = read::text(node, "the path", findings)?;
    let mut names = std::collections::BTreeSet::new();
    let problem = if !path.starts_with('/') {
        Some("a path begins with `/`".to_owned())
    } else if path.contains(['?', '#']) {
        Some("a path cannot contain a query: use `{{ query.NAME }}` for its values".to_owned())
    } else {
        path.split('/').find_map(|piece| {
            let name = piece
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'));
            let is_plain = |name: &str| {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                !name.is_empty() && name.bytes().all(plain)
            };
            match name {
                Some(name) if !is_plain(name) => Some(format!(
                    "`{piece}` is not a variable: use the form `{{id}}`, with letters, digits and `_`"
                )),
                Some(name) if KNOWN.contains(&name) => {
                    Some(format!("`{name}` is reserved: use another name"))
                }
                Some(name) if !names.insert(name) => Some(format!("`{name}` is defined twice")),
                Some(_) => None,
                None if piece.contains(['{', '}']) => Some(format!(
                    "`{piece}`: a variable must be the whole path segment between two slashes"
                )),
                None => None,
            }
        })
    };
    if let Some(problem) = problem {
        findings.problem(node.mark, format!("`{path}`: {problem}"));
        return None;
    }
    Some(path)
}

fn status(node: Option<&Node>, body: &MockBody, findings: &mut Findings) -> u16 {
    const USUAL: u16 = 200;
    let Some(node) = node else { return USUAL };
    let Some(status) = read::whole_number(node, "status", 200, findings) else {
        return USUAL;
    };
    match u16::try_from(status).ok().filter(|status| *status <= 599) {
        Some(status) if NO_BODY.contains(&status) && !matches!(body, MockBody::Empty) => {
            findings.problem(
                node.mark,
                format!("an answer with status {status} cannot have a body"),
            );
            USUAL
        }
        Some(status) => status,
        None => {
            findings.problem(node.mark, format!("`status: {status}` is above 599"));
            USUAL
        }
    }
}

fn fault(item: &Node, findings: &mut Findings) -> Option<Fault> {
    let node = read::rule(item);
    let text = read::text(&node, "a fault", findings)?;
    read::grammar(&node, parse_fault(&text), findings)
}

#[must_use]
pub(super) fn nowhere() -> String {
    "http://127.0.0.1:0".to_owned()
}
