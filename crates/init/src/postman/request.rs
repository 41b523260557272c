//! Drafts the request of an item: method, URL, headers and body.

use std::path::Path;

use formats::{document::Node, methods::METHODS};
use serde_json::{Map, Value, json};

use super::{
    BrokenItem, RequestContext, auth,
    collection::CollectionRequest,
    script::{Assertion, ScriptValue},
    variables::PostmanSyntax,
};
use crate::{
    address, body,
    draft::{DraftBody, DraftPart, DraftRequest, PartContent},
    headers::{self, HeaderUse},
    scope::VariableSyntax,
};

/// A request and the origin of its URL. `request.url` contains only the path.
pub(super) struct DraftedRequest {
    pub origin: String,
    pub request: DraftRequest,
}

pub(super) fn draft(
    item: &CollectionRequest<'_>,
    context: &mut RequestContext<'_>,
) -> Result<DraftedRequest, BrokenItem> {
    let node = item.node;
    for assignment in &item.before.assignments {
        context.assign(&assignment.name, &assignment.value);
    }
    let method = node.get("method").and_then(Node::as_str).unwrap_or("GET");
    let method = method.to_ascii_lowercase();
    if !METHODS.contains(&method.as_str()) {
        return Err(BrokenItem {
            mark: node.get("method").map_or(node.mark, |method| method.mark),
            message: format!("`{method}` is not a method that plans support: remove the request"),
        });
    }
    let url = url(node, context)?;
    let mut request = DraftRequest {
        method,
        url: body::path(&url.path, context.unknowns),
        // Criteria write labels in double quotes.
        label: Some(item.name.replace('"', "'")).filter(|name| !name.is_empty()),
        ..DraftRequest::default()
    };
    if let Some((user, password)) = &url.user {
        request.auth = Some(body::user(user, password.as_deref(), context.unknowns));
    }
    add_headers(node, &mut request, context);
    if let Some(body) = node.get("body").filter(|body| body.is_map()) {
        add_body(body, &mut request, context);
    }
    if let Some(auth) = item.auth {
        auth::add(auth, &mut request, context);
    }
    add_tests(item, &mut request, context);
    Ok(DraftedRequest {
        origin: url.origin,
        request,
    })
}

fn is_disabled(node: &Node) -> bool {
    node.get("disabled").and_then(Node::as_bool) == Some(true)
}

/// Returns the text of a member, or `""` if it is missing.
fn text(node: &Node, key: &str) -> String {
    let member = node.get(key).filter(|member| !member.is_null());
    member.map(Node::text).unwrap_or_default()
}

fn url(node: &Node, context: &mut RequestContext<'_>) -> Result<address::Address, BrokenItem> {
    let written = if node.is_map() {
        node.get("url")
    } else {
        Some(node)
    };
    let Some(written) = written.filter(|url| !url.is_null()) else {
        return Err(BrokenItem {
            mark: node.mark,
            message: "this request has no `url`: add it, or remove the request".to_owned(),
        });
    };
    let raw = raw_url(written);
    let with_path = path_variables(raw.trim(), written);
    let resolved = context.scope.resolve_url(&with_path, context.unknowns);
    let resolved = address::with_stray_encoded(&resolved);
    address::read(&resolved).map_err(|message| BrokenItem {
        mark: written.mark,
        message,
    })
}

/// Returns the URL as text. If only its parts are given, joins them.
fn raw_url(url: &Node) -> String {
    if !url.is_map() {
        return url.text();
    }
    let raw = text(url, "raw");
    if !raw.is_empty() {
        return raw;
    }
    let joined = |key: &str, between: &str| match url.get(key) {
        Some(node) => match node.as_list() {
            Some(items) => items
                .iter()
                .map(Node::text)
                .collect::<Vec<_>>()
                .join(between),
            None => node.text(),
        },
        None => String::new(),
    };
    let mut out = String::new();
    let protocol = text(url, "protocol");
    if !protocol.is_empty() {
        out.push_str(&format!("{protocol}://"));
    }
    out.push_str(&joined("host", "."));
    let port = text(url, "port");
    if !port.is_empty() {
        out.push_str(&format!(":{port}"));
    }
    out.push_str(&format!("/{}", joined("path", "/")));
    let query = url.get("query").and_then(Node::as_list).unwrap_or_default();
    let pairs = query.iter().filter(|pair| !is_disabled(pair));
    let pairs: Vec<String> = pairs
        .map(|pair| format!("{}={}", text(pair, "key"), text(pair, "value")))
        .collect();
    if !pairs.is_empty() {
        out.push_str(&format!("?{}", pairs.join("&")));
    }
    out
}

/// Replaces `:name` in the path with the value of the path variable.
fn path_variables(url: &str, node: &Node) -> String {
    let variables = node
        .get("variable")
        .and_then(Node::as_list)
        .unwrap_or_default();
    let end = url.find('?').unwrap_or(url.len());
    let begin = url.find("://").map_or(0, |at| at + 3);
    let begin = begin + url[begin..end].find('/').unwrap_or(end - begin);
    let parts = url[begin..end].split('/').map(|part| {
        let variable = part.strip_prefix(':').and_then(|name| {
            variables
                .iter()
                .find(|one| text(one, "key") == name)
                .map(|one| (name, text(one, "value")))
        });
        match variable {
            Some((name, value)) if value.is_empty() => PostmanSyntax::write(name),
            Some((_, value)) => value,
            None => part.to_owned(),
        }
    });
    let path: Vec<String> = parts.collect();
    format!("{}{}{}", &url[..begin], path.join("/"), &url[end..])
}

fn add_headers(node: &Node, request: &mut DraftRequest, context: &mut RequestContext<'_>) {
    let list = node
        .get("header")
        .and_then(Node::as_list)
        .unwrap_or_default();
    for header in list.iter().filter(|header| !is_disabled(header)) {
        let name = text(header, "key");
        let value = context.resolve(&text(header, "value"));
        let is_valid = headers::is_name(&name) && !value.text.contains(char::is_control);
        if !is_valid {
            let name = name.replace(char::is_control, " ");
            let text = format!("Left out: the header `{name}`, which is not valid");
            request.comments.push(text);
        } else if headers::of_curl(&name, &value.text) == HeaderUse::Yes && !value.is_unset {
            let value = context.unknowns.header(&name, &value.text, "");
            headers::join(&mut request.headers, &name, value);
        }
    }
}

fn has_content_type(request: &DraftRequest) -> bool {
    let mut names = request.headers.iter().map(|(name, _)| name);
    names.any(|name| name.eq_ignore_ascii_case("content-type"))
}

fn add_content_type(kind: &str, request: &mut DraftRequest) {
    if !has_content_type(request) {
        request
            .headers
            .push(("content-type".to_owned(), kind.to_owned()));
    }
}

fn add_body(node: &Node, request: &mut DraftRequest, context: &mut RequestContext<'_>) {
    if is_disabled(node) {
        return;
    }
    let mode = text(node, "mode");
    match mode.as_str() {
        "" | "none" => {}
        "raw" => {
            let language = node
                .get("options")
                .and_then(|options| options.get("raw"))
                .map(|raw| text(raw, "language"));
            let kind = match language.as_deref() {
                Some("json") => Some("application/json"),
                Some("xml") => Some("application/xml"),
                Some("html") => Some("text/html"),
                Some("javascript") => Some("application/javascript"),
                _ => None,
            };
            let raw = context.resolve(&text(node, "raw")).text;
            if let Some(kind) = kind {
                add_content_type(kind, request);
            } else if !has_content_type(request) && !raw.is_empty() {
                add_content_type("text/plain", request);
            }
            request.body = body::draft(&raw, &mut request.headers, context.unknowns, "the body");
        }
        "urlencoded" => request.body = form(node, context),
        "formdata" => request.body = multipart(node, request, context),
        "graphql" => {
            let graphql = node.get("graphql");
            let part = |key: &str| {
                graphql
                    .map(|graphql| text(graphql, key))
                    .unwrap_or_default()
            };
            let query = context.resolve(&part("query")).text;
            let variables = context.resolve(&part("variables")).text;
            let mut sent = Map::from_iter([("query".to_owned(), Value::String(query))]);
            if let Ok(variables) = serde_json::from_str::<Value>(&variables) {
                sent.insert("variables".to_owned(), variables);
            } else if !variables.trim().is_empty() {
                let text = "TO FILL IN: the GraphQL variables, which are not JSON by themselves";
                request.comments.push(text.to_owned());
            }
            let name = part("operationName");
            if !name.is_empty() {
                sent.insert("operationName".to_owned(), Value::String(name));
            }
            let sent = context.unknowns.json("", &Value::Object(sent), "the body");
            request.body = DraftBody::Json(sent);
        }
        "file" => {
            let file = node.get("file").map(|file| text(file, "src"));
            let file = file.unwrap_or_default().replace(char::is_control, " ");
            request.comments.push(format!(
                "TO FILL IN: the body, which is the file {file}. Plans send files only in multipart forms."
            ));
        }
        other => {
            let other = other.replace(char::is_control, " ");
            let text = format!("TO FILL IN: the body of type {other}, which is unknown");
            request.comments.push(text);
        }
    }
}

fn form(node: &Node, context: &mut RequestContext<'_>) -> DraftBody {
    let mut pairs = Map::new();
    let list = node.get("urlencoded").and_then(Node::as_list);
    for field in list
        .unwrap_or_default()
        .iter()
        .filter(|one| !is_disabled(one))
    {
        let name = context.resolve(&text(field, "key")).text;
        let value = Value::String(context.resolve(&text(field, "value")).text);
        let value = context.unknowns.json(&name, &value, "the form");
        match pairs.get_mut(&name) {
            None => {
                pairs.insert(name, value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = json!([first.take(), value]),
        }
    }
    DraftBody::Form(Value::Object(pairs))
}

fn multipart(
    node: &Node,
    request: &mut DraftRequest,
    context: &mut RequestContext<'_>,
) -> DraftBody {
    let mut parts = Vec::new();
    let list = node.get("formdata").and_then(Node::as_list);
    for field in list
        .unwrap_or_default()
        .iter()
        .filter(|one| !is_disabled(one))
    {
        let name = text(field, "key");
        let kind = Some(text(field, "contentType")).filter(|kind| !kind.is_empty());
        let mut add = |content| {
            parts.push(DraftPart {
                name: name.clone(),
                content,
                kind: kind.clone(),
            });
        };
        if text(field, "type") != "file" {
            let value = Value::String(context.resolve(&text(field, "value")).text);
            let value = context.unknowns.json(&name, &value, "the form");
            add(PartContent::Text(
                value.as_str().unwrap_or_default().to_owned(),
            ));
            continue;
        }
        let source = field.get("src").filter(|source| !source.is_null());
        let files: Vec<String> = match source.map(|source| (source, source.as_list())) {
            Some((_, Some(items))) => items.iter().map(Node::text).collect(),
            Some((source, None)) => vec![source.text()],
            None => Vec::new(),
        };
        let files: Vec<String> = files.into_iter().filter(|file| !file.is_empty()).collect();
        if files.is_empty() {
            let name = name.replace(char::is_control, " ");
            request
                .comments
                .push(format!("TO FILL IN: the file of the form field `{name}`"));
        }
        for file in files {
            let path = context.folder.join(Path::new(&file));
            add(PartContent::File {
                path: path.to_string_lossy().into_owned(),
                called: None,
            });
        }
    }
    // The plan writes this header itself, with a boundary.
    request
        .headers
        .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    DraftBody::Multipart(parts)
}

/// Adds captures, checks and the limit on the response time.
fn add_tests(
    item: &CollectionRequest<'_>,
    request: &mut DraftRequest,
    context: &mut RequestContext<'_>,
) {
    for assertion in &item.after.assertions {
        let check = match assertion {
            Assertion::Check(check) | Assertion::Weaker { check, .. } => check.clone(),
            Assertion::EqualsVariable { path, name } => {
                let wanted = context.resolve(&PostmanSyntax::write(name));
                json!({"json": {path: wanted.text}})
            }
            Assertion::Limit(most) => {
                let limit = request.limit_ms.unwrap_or(*most).min(*most);
                request.limit_ms = Some(limit);
                continue;
            }
        };
        if !request.checks.contains(&check) {
            request.checks.push(check);
        }
    }
    for capture in &item.after.captures {
        let name = context.scope.capture(&capture.name, context.unknowns);
        let source = match (&capture.source, capture.is_optional) {
            (Value::String(path), true) => json!({"json": path, "optional": true}),
            (Value::Object(map), true) => {
                let mut map = map.clone();
                map.insert("optional".to_owned(), Value::Bool(true));
                Value::Object(map)
            }
            (source, _) => source.clone(),
        };
        request.captures.retain(|(known, _)| *known != name);
        request.captures.push((name, source));
    }
}

impl RequestContext<'_> {
    fn assign(&mut self, name: &str, value: &ScriptValue) {
        match value {
            ScriptValue::Literal(Value::String(text)) | ScriptValue::Text(text) => {
                self.scope.define_text(name, text.clone(), "a script");
            }
            ScriptValue::Literal(value) => {
                let text = query::value::text(Some(value));
                self.scope.define_text(name, text, "a script");
            }
            ScriptValue::Variable(other) => {
                let text = PostmanSyntax::write(other);
                self.scope.define_text(name, text, "a script");
            }
            _ => {}
        }
    }
}
