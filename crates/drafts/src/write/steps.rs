//! Writes the steps of a plan.

use std::fmt::Write as _;

use plan::event_stream::StreamFormat;
use serde_json::{Map, Value, json};

use super::{comment, comments, text};
use crate::{
    draft::{
        DraftBlock, DraftBlockKind, DraftBody, DraftBranch, DraftPart, DraftRequest, DraftStep,
        DraftThink, PartContent,
    },
    placeholders::Templates,
    yaml,
};

/// Writes a list of steps. If no step is active, adds a `log` step, because plans do not allow
/// empty lists.
pub(crate) fn list_text(
    steps: &[DraftStep],
    indent: usize,
    templates: &mut Templates,
    out: &mut String,
) {
    let begin = out.len();
    if !steps.iter().any(DraftStep::is_active) {
        let line = "No requests are sent yet: remove the # from a step below";
        let _ = writeln!(out, "{:indent$}- log: {}", "", yaml::scalar(line));
    }
    let mut is_after_comment = false;
    for step in steps {
        let is_off = match step {
            DraftStep::Request(request) => request.off,
            DraftStep::Note(_) => true,
            _ => false,
        };
        if is_after_comment || is_off && out.len() > begin {
            out.push('\n');
        }
        is_after_comment = is_off;
        step_text(step, indent, templates, out);
    }
}

fn step_text(step: &DraftStep, indent: usize, templates: &mut Templates, out: &mut String) {
    match step {
        DraftStep::Request(request) => request_text(request, indent, templates, out),
        DraftStep::Think(think) => think_text(think, indent, templates, out),
        DraftStep::Note(lines) => comments(lines, indent, out),
        DraftStep::Block(block) => block_text(block, indent, templates, out),
        DraftStep::Choose(branches) => choose_text(branches, indent, templates, out),
    }
}

fn think_text(think: &DraftThink, indent: usize, templates: &mut Templates, out: &mut String) {
    let time = yaml::scalar(&templates.text(&think.time));
    let _ = match &think.jitter {
        None => writeln!(out, "{:indent$}- think: {time}", ""),
        Some(jitter) => {
            writeln!(
                out,
                "{:indent$}- think: {{ time: {time}, jitter: {jitter} }}",
                ""
            )
        }
    };
}

fn block_text(block: &DraftBlock, indent: usize, templates: &mut Templates, out: &mut String) {
    comments(&block.comments, indent, out);
    // A block without an active step would be empty.
    if !block.steps.iter().any(DraftStep::is_active) {
        let named = match &block.kind {
            DraftBlockKind::Group(name) => format!("Group {name}: no step is active."),
            DraftBlockKind::If(_) | DraftBlockKind::Loop(_) => "No step is active.".to_owned(),
        };
        comment(&named, indent, out);
        for step in &block.steps {
            step_text(step, indent, templates, out);
        }
        return;
    }
    let inner = match &block.kind {
        DraftBlockKind::Group(name) => {
            let _ = writeln!(out, "{:indent$}- group: {}", "", yaml::scalar(name));
            let _ = writeln!(out, "{:indent$}  steps:", "");
            indent + 4
        }
        DraftBlockKind::If(condition) => {
            let _ = writeln!(out, "{:indent$}- if: {}", "", yaml::scalar(condition));
            let _ = writeln!(out, "{:indent$}  steps:", "");
            indent + 4
        }
        DraftBlockKind::Loop(count) => {
            let count = yaml::flow(&templates.value(count));
            let _ = writeln!(out, "{:indent$}- loop:", "");
            let _ = writeln!(out, "{:indent$}    count: {count}", "");
            let _ = writeln!(out, "{:indent$}    steps:", "");
            indent + 6
        }
    };
    list_text(&block.steps, inner, templates, out);
}

fn choose_text(
    branches: &[DraftBranch],
    indent: usize,
    templates: &mut Templates,
    out: &mut String,
) {
    let _ = writeln!(out, "{:indent$}- choose:", "");
    for branch in branches {
        let _ = writeln!(out, "{:indent$}    - weight: {}", "", branch.weight);
        let _ = writeln!(out, "{:indent$}      steps:", "");
        list_text(&branch.steps, indent + 8, templates, out);
    }
}

fn request_text(
    request: &DraftRequest,
    indent: usize,
    templates: &mut Templates,
    out: &mut String,
) {
    comments(&request.comments, indent, out);
    let mut step = String::new();
    let url = text(&templates.text(&request.url));
    let keys = keys(request, templates);
    if keys.is_empty() {
        yaml::entry(&request.method, &url, indent + 2, &mut step);
    } else {
        let _ = writeln!(
            step,
            "{:1$}{method}:",
            "",
            indent + 2,
            method = request.method
        );
        yaml::entry("url", &url, indent + 4, &mut step);
        for (key, value) in keys {
            yaml::entry(key, &value, indent + 4, &mut step);
        }
    }
    // The dash replaces two spaces, so that comments keep their columns.
    let step = format!("{:indent$}- {}", "", &step[indent + 2..]);
    if request.off {
        for line in step.lines() {
            let line = line.get(indent..).unwrap_or_default();
            let _ = writeln!(out, "{}", format!("{:indent$}# {line}", "").trim_end());
        }
    } else {
        out.push_str(&step);
    }
}

fn keys(request: &DraftRequest, templates: &mut Templates) -> Vec<(&'static str, Value)> {
    let mut keys = Vec::new();
    if let Some(label) = &request.label {
        keys.push(("name", text(label)));
    }
    if !request.query.is_empty() {
        let pairs = request.query.iter();
        let pairs = pairs.map(|(name, value)| (templates.text(name), templates.value(value)));
        keys.push(("query", Value::Object(pairs.collect::<Map<_, _>>())));
    }
    if !request.headers.is_empty() {
        let pairs = request.headers.iter();
        let pairs = pairs.map(|(name, value)| (name.clone(), text(&templates.text(value))));
        keys.push(("headers", Value::Object(pairs.collect::<Map<_, _>>())));
    }
    if !request.cookies.is_empty() {
        let pairs = request.cookies.iter();
        let pairs = pairs.map(|(name, value)| (name.clone(), text(&templates.text(value))));
        keys.push(("cookies", Value::Object(pairs.collect::<Map<_, _>>())));
    }
    if let Some((user, password)) = &request.auth {
        let auth = json!({"user": templates.text(user), "password": templates.text(password)});
        keys.push(("auth", auth));
    }
    match &request.body {
        DraftBody::None => {}
        DraftBody::Json(value) => keys.push(("json", templates.value(value))),
        DraftBody::Form(value) => keys.push(("form", templates.value(value))),
        DraftBody::Multipart(parts) => keys.push(("multipart", multipart(parts, templates))),
        DraftBody::Text(body) => keys.push(("body", text(&templates.text(body)))),
    }
    if let Some(format) = stream_format(request) {
        // Long texts take longer than the default time limit.
        keys.push(("stream", json!({"format": format, "max-time": "5m"})));
    }
    if let Some(follow) = request.follow {
        keys.push(("redirects", Value::from(follow)));
    }
    if !request.captures.is_empty() {
        let pairs = request.captures.iter();
        let pairs = pairs.map(|(name, from)| (name.clone(), from.clone()));
        keys.push(("capture", Value::Object(pairs.collect::<Map<_, _>>())));
    }
    if let Some(status) = request.expect {
        keys.push(("expect", Value::from(status)));
    }
    match request.checks.as_slice() {
        [] => {}
        [check] => keys.push(("check", templates.value(check))),
        checks => {
            let checks = checks.iter().map(|check| templates.value(check));
            keys.push(("check", checks.collect()));
        }
    }
    keys
}

/// Returns the format in which a model API streams the response to a request.
fn stream_format(request: &DraftRequest) -> Option<&'static str> {
    let body: Value = match &request.body {
        DraftBody::Json(body) => body.clone(),
        DraftBody::Text(text) => serde_json::from_str(text).ok()?,
        _ => return None,
    };
    let asks = body.get("stream").and_then(Value::as_bool);
    let path = request.url.split(['?', '#']).next()?;
    let of = |format: StreamFormat, by_default: bool| asks.unwrap_or(by_default).then_some(format);
    let ends = |ending: &str| path.ends_with(ending);
    let format = if ends("/completions") {
        of(StreamFormat::OpenAi, false)
    } else if ends("/v1/messages") {
        of(StreamFormat::Anthropic, false)
    } else if ends("/api/chat") || ends("/api/generate") {
        // Ollama streams unless the request disables it. Other services have such paths, too.
        of(StreamFormat::Ollama, body.get("model").is_some())
    } else {
        None
    };
    format.map(StreamFormat::name)
}

fn multipart(parts: &[DraftPart], templates: &mut Templates) -> Value {
    let mut all = Map::new();
    for part in parts {
        let mut map = Map::new();
        match &part.content {
            PartContent::Text(value) => {
                map.insert("value".to_owned(), text(&templates.text(value)))
            }
            PartContent::File { path, .. } => map.insert("file".to_owned(), text(path)),
        };
        if let PartContent::File {
            called: Some(called),
            ..
        } = &part.content
        {
            map.insert("filename".to_owned(), text(called));
        }
        if let Some(kind) = &part.kind {
            map.insert("type".to_owned(), text(&templates.text(kind)));
        }
        let value = match (map.len(), map.get("value")) {
            (1, Some(value)) => value.clone(),
            _ => Value::Object(map),
        };
        match all.get_mut(&part.name) {
            None => {
                all.insert(part.name.clone(), value);
            }
            Some(Value::Array(items)) => items.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_for_streams_read_them() {
        let format = |url: &str, body: Value| {
            stream_format(&DraftRequest {
                url: url.to_owned(),
                body: DraftBody::Json(body),
                ..DraftRequest::default()
            })
        };
        let streamed = || json!({"model": "m", "stream": true});
        let chat = "https://a.test/v1/chat/completions?x=1";
        assert_eq!(format(chat, streamed()), Some("openai"));
        assert_eq!(format(chat, json!({"model": "m"})), None);
        assert_eq!(format("/v1/messages", streamed()), Some("anthropic"));
        assert_eq!(format("/api/chat", json!({"model": "m"})), Some("ollama"));
        assert_eq!(
            format("/api/chat", json!({"model": "m", "stream": false})),
            None
        );
        assert_eq!(format("/api/chat", json!({"text": "hello"})), None);
        assert_eq!(format("/orders", streamed()), None);
    }
}
