//! Drafts a plan from an OpenAPI 3 description, with a step for each operation. Read operations are
//! active. Create operations are active only if their body is given. Replace and delete operations
//! are commented out.

mod bundle;
mod media;
mod operation;
mod reference;
mod sample;
mod style;

use std::path::Path;

use formats::{LoadErrors, document::Node, files::ReadFile};
use url::Url;

use crate::{
    draft::{self, Draft, DraftRequest, DraftStep},
    load::DraftLoad,
    problem,
    unknowns::Unknowns,
};
use operation::Operation;
use reference::{BrokenReference, resolved};

const METHODS: [&str; 8] = [
    "post", "get", "head", "put", "patch", "delete", "options", "trace",
];

pub fn from_document(name: &str, root: &Node, read: ReadFile<'_>) -> Result<Draft, LoadErrors> {
    bundle::bundled(name, root, read)
        .and_then(|root| made(name, &root))
        .map_err(|(mark, message)| problem::problem(name, mark, message))
}

fn made(name: &str, root: &Node) -> Result<Draft, BrokenReference> {
    let version = root.get("openapi").map(Node::text).unwrap_or_default();
    if !version.starts_with("3.") {
        let mark = root.get("openapi").map_or(root.mark, |node| node.mark);
        return Err((
            mark,
            format!("`openapi: {version}` is not supported: use version 3.0 or 3.1"),
        ));
    }
    let title = root
        .get("info")
        .and_then(|info| info.get("title"))
        .and_then(Node::as_str);
    let title = title.unwrap_or("API").trim();
    let mut draft = Draft {
        from: format!("the OpenAPI description {}", draft::file_of(name)),
        name: if title.is_empty() {
            "API".to_owned()
        } else {
            title.to_owned()
        },
        stem: stem(name, title),
        ..Draft::default()
    };
    draft.target = target(root, &mut draft)?;
    let mut operations = operations(root)?;
    link(&mut operations, &mut draft.unknowns);
    // Put active steps first, because steps in comments may use their variables.
    let (on, off): (Vec<_>, Vec<_>) = operations
        .into_iter()
        .enumerate()
        .partition(|(_, operation)| !operation.is_off());
    let mut requests = Vec::new();
    for (number, operation) in on.into_iter().chain(off) {
        requests.push((number, operation.request(root, &mut draft.unknowns)?));
    }
    requests.sort_by_key(|(number, _)| *number);
    let requests: Vec<DraftRequest> = requests.into_iter().map(|(_, request)| request).collect();
    remarks(&mut draft, &requests);
    draft.load = DraftLoad::Requests;
    let steps = requests.into_iter();
    draft.set_steps(
        steps
            .map(|request| DraftStep::Request(Box::new(request)))
            .collect(),
    );
    Ok(draft)
}

fn stem(name: &str, title: &str) -> String {
    let path = Path::new(name);
    let file = draft::stem(
        path.file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default(),
    );
    let says_nothing = ["openapi", "swagger", "api", "plan", "spec"].contains(&file.as_str());
    if says_nothing || path.extension().is_some_and(|end| end == "yml") {
        let title = draft::stem(title);
        return if title == file {
            format!("{title}-load")
        } else {
            title
        };
    }
    file
}

fn target(root: &Node, draft: &mut Draft) -> Result<String, BrokenReference> {
    let server = root
        .get("servers")
        .and_then(Node::as_list)
        .and_then(<[Node]>::first);
    let Some(url) = server.and_then(|server| server.get("url")) else {
        return Ok(draft
            .unknowns
            .environment("TARGET", "URL of the service: https://…"));
    };
    let mut text = url.as_str().unwrap_or_default().to_owned();
    let variables = server.and_then(|server| server.get("variables"));
    for variable in variables.map(Node::entries).unwrap_or_default() {
        let value = variable
            .value
            .get("default")
            .map(Node::text)
            .unwrap_or_default();
        text = text.replace(&format!("{{{}}}", variable.key), &value);
    }
    let text = text.trim_end_matches('/').to_owned();
    if text.is_empty() || text.starts_with('/') {
        let target = draft
            .unknowns
            .environment("TARGET", "URL of the service: https://…");
        return Ok(format!("{target}{text}"));
    }
    let is_url = Url::parse(&text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if !is_url || text.contains(['{', '}', '@']) {
        let reason = format!(
            "`{}` is not a server URL: it must start with http:// or https://, or with /",
            url.text()
        );
        return Err((url.mark, reason));
    }
    Ok(text)
}

fn operations(root: &Node) -> Result<Vec<Operation<'_>>, BrokenReference> {
    let paths = root.get("paths").map(Node::entries).unwrap_or_default();
    let mut operations = Vec::new();
    for entry in paths.iter().filter(|entry| !entry.key.starts_with("x-")) {
        if !entry.key.starts_with('/') {
            return Err((
                entry.key_mark,
                format!("`{}` is not a path: it must start with /", entry.key),
            ));
        }
        let item = resolved(root, &entry.value)?;
        for method in METHODS {
            if let Some(node) = item.get(method) {
                operations.push(Operation::read(root, &entry.key, method, item, node)?);
            }
        }
    }
    if operations.is_empty() {
        let mark = root.get("paths").map_or(root.mark, |paths| paths.mark);
        return Err((
            mark,
            "this OpenAPI description has no operation in `paths`".to_owned(),
        ));
    }
    Ok(operations)
}

/// Links the IDs of created resources to later operations: `POST /pets` returns the `id` for
/// `/pets/{petId}`.
fn link(operations: &mut [Operation<'_>], unknowns: &mut Unknowns) {
    for maker in 0..operations.len() {
        let (before, after) = operations.split_at_mut(maker + 1);
        let Some(maker) = before.last_mut().filter(|maker| maker.is_maker()) else {
            continue;
        };
        for user in after {
            if let Some((parameter, member)) = user.made_by(maker) {
                let variable = maker.capture(&parameter, &member, unknowns);
                user.give(&parameter, &variable);
            }
        }
    }
}

fn remarks(draft: &mut Draft, requests: &[DraftRequest]) {
    let off = requests.iter().filter(|request| request.off).count();
    if off > 0 {
        draft.remarks.push(format!(
            "{off} of {} operations are commented out: they delete or replace data, or need data that the OpenAPI description does not contain. Remove the `# ` before each line of a step to send it.",
            requests.len()
        ));
    }
}
