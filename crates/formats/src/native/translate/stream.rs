//! Reads `stream`: how to read the events of a streamed response.

use codec::events::JsonPath;
use plan::{
    EventStream, Request, Template,
    event_stream::{StreamFormat, StreamUntil},
    scenario::CaptureSource,
};
use serde_json::Value;

use super::{Translator, http::set_header, model};
use crate::{
    document::Node,
    native::read::{self, entries},
};

/// Keys that only the general formats have.
const GENERAL: [&str; 3] = ["data", "end", "tokens"];

impl Translator<'_> {
    /// Reads the stream settings of a request, and adds the header that requests events.
    pub(super) fn stream(&mut self, node: &Node, request: &mut Request) {
        let Some(stream) = self.event_stream(node) else {
            return;
        };
        let mut headers = request.headers.iter();
        let has_accept = headers.any(|(name, _)| name.eq_ignore_ascii_case("accept"));
        if stream.format.is_sse() && !has_accept {
            let accept = Template::from("text/event-stream");
            set_header(&mut request.headers, "accept".to_owned(), accept);
        }
        request.stream = Some(stream);
    }

    fn event_stream(&mut self, node: &Node) -> Option<EventStream> {
        if !node.is_map() {
            return self.stream_format(node).map(EventStream::new);
        }
        entries(node, "stream", model::STREAM, self.findings);
        let Some(format) = node.get("format") else {
            let help = "`format` is missing: add, for example, format: sse";
            read::missing(node, model::STREAM, help, self.findings);
            return None;
        };
        let format = self.stream_format(format)?;
        let mut stream = EventStream::new(format);
        if format.is_of_model_api() {
            for key in GENERAL {
                if let Some(entry) = node.entry(key) {
                    let text = format!(
                        "`{key}` is only for sse and lines: the format {} defines it",
                        format.name()
                    );
                    self.findings.problem(entry.key_mark, text);
                }
            }
        }
        stream.data = node.get("data").and_then(|path| self.event_path(path));
        stream.tokens = node.get("tokens").and_then(|path| self.event_path(path));
        let end = node.get("end");
        stream.end = end.and_then(|end| read::text(end, "end", self.findings));
        let mut duration = |key: &str| {
            let node = node.get(key)?;
            read::duration(node, key, self.findings)
        };
        stream.idle_ns = duration("idle");
        stream.max_time_ns = duration("max-time");
        stream.until = node.get("until").and_then(|until| self.until(until));
        Some(stream)
    }

    fn stream_format(&mut self, node: &Node) -> Option<StreamFormat> {
        let text = read::scalar(node, "stream", self.findings)?;
        let format = StreamFormat::named(&text);
        if format.is_none() {
            let names = StreamFormat::ALL.map(StreamFormat::name).join(", ");
            self.findings.problem(
                node.mark,
                format!("`stream: {text}` is not a format of streams: use one of {names}"),
            );
        }
        format
    }

    fn until(&mut self, node: &Node) -> Option<StreamUntil> {
        if let Some(events) = node.as_scalar().and_then(Value::as_u64) {
            if events == 0 {
                let text = "`until: 0` never reads an event: use at least 1, or a duration";
                self.findings.problem(node.mark, text);
                return None;
            }
            return Some(StreamUntil::Events(events));
        }
        read::duration(node, "until", self.findings).map(StreamUntil::TimeNs)
    }

    pub(super) fn event_path(&mut self, node: &Node) -> Option<String> {
        let text = read::text(node, "path", self.findings)?;
        if JsonPath::parse(&text).is_err() {
            self.findings.problem(
                node.mark,
                format!(
                    "`{text}` is not a path into an event: use names and indices, for example \
                    $.choices[0].text"
                ),
            );
            return None;
        }
        Some(text)
    }

    /// Reads the source of a value to capture from a stream.
    pub(super) fn stream_capture(&mut self, node: &Node) -> Option<CaptureSource> {
        if node.as_str() == Some("text") {
            return Some(CaptureSource::StreamText);
        }
        self.event_path(node).map(CaptureSource::StreamEvent)
    }
}
