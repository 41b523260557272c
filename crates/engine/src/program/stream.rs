//! Compilation of the rules by which a step reads a streamed response.

use codec::events::{Format, JsonPath, Selectors};
use plan::{
    EventStream, Request,
    event_stream::StreamFormat,
    scenario::{Capture, CaptureSource},
};
use worker::client::StreamRules;

use super::captures::event_path;

/// Compiles the rules of a request. `paths` contains the event paths of its captures.
///
/// Fails if a path is invalid, or if a capture needs a streamed response that the request does not
/// have.
pub(super) fn stream_rules(
    spec: &Request,
    paths: Vec<JsonPath>,
) -> Result<Option<StreamRules>, String> {
    let is_text = |capture: &Capture| matches!(capture.from, CaptureSource::StreamText);
    let keeps_text = spec.captures.iter().any(is_text);
    let Some(stream) = &spec.stream else {
        if keeps_text || !paths.is_empty() {
            return Err("a capture reads a stream, but the request has no `stream`".to_owned());
        }
        return Ok(None);
    };
    Ok(Some(StreamRules {
        format: format(stream)?,
        idle_ns: stream.idle_ns,
        until: stream.until,
        max_time_ns: stream.max_time_ns,
        keeps_text,
        paths,
    }))
}

fn format(stream: &EventStream) -> Result<Format, String> {
    let path = |text: &Option<String>| text.as_deref().map(event_path).transpose();
    let selectors = Selectors {
        content: path(&stream.data)?,
        end: stream.end.as_ref().map(|end| end.as_bytes().to_vec()),
        tokens: path(&stream.tokens)?,
    };
    Ok(match stream.format {
        StreamFormat::Sse => Format::Sse(selectors),
        StreamFormat::Lines => Format::Lines(selectors),
        StreamFormat::OpenAi => Format::OpenAi,
        StreamFormat::Anthropic => Format::Anthropic,
        StreamFormat::Ollama => Format::Ollama,
    })
}
