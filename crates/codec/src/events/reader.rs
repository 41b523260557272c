//! Reader for the events of a streamed response in any supported format.

use measure::outcome::StreamFault;

use super::{EventLimit, JsonPath, LineParser, SseParser, Text, formats, json::NotJson};

/// The format of a streamed response.
#[derive(Debug, Clone)]
pub enum Format {
    /// Server-sent events.
    Sse(Selectors),
    /// One event per line, for example JSON lines.
    Lines(Selectors),
    /// OpenAI chat completions and completions: server-sent events that end with `[DONE]`.
    OpenAi,
    /// Anthropic messages: server-sent events that end with `message_stop`.
    Anthropic,
    /// Ollama generate and chat: lines that end with `"done": true`.
    Ollama,
}

/// Where the events of a general format contain the content, the end marker and the token count.
#[derive(Debug, Clone, Default)]
pub struct Selectors {
    /// JSON path of the content in an event. `None` means that the whole event is content.
    pub content: Option<JsonPath>,
    /// Data of the event that ends the stream. `None` means that the stream ends with the response.
    pub end: Option<Vec<u8>>,
    /// JSON path of the number of output tokens in an event.
    pub tokens: Option<JsonPath>,
}

/// An event of a streamed response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// The data as received.
    pub data: &'a [u8],
    /// Meaning of the event for the stream.
    pub kind: EventKind,
    /// The content. The last event of a stream may also have content.
    pub content: Option<Content<'a>>,
    /// Token counts reported by the server, for the response up to this event.
    pub usage: Option<Usage>,
}

/// The meaning of an event for its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The event contains content: at least part of a token.
    Content,
    /// The event contains no content, but for example a role, a finish reason or token counts.
    Metadata,
    /// The event keeps the connection alive. It does not count as an event of the response.
    Ping,
    /// The event is the end marker.
    End,
    /// The event reports an error of the server.
    Error,
    /// The event is not JSON, although the format requires JSON.
    Malformed,
}

/// The content of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content<'a> {
    /// Type of the content.
    pub kind: ContentKind,
    /// The text, or the JSON of tool calls.
    pub text: Text<'a>,
}

/// Type of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentKind {
    /// Part of the answer.
    Answer,
    /// Part of a tool call.
    ToolCall,
    /// Part of the reasoning before the answer.
    Reasoning,
}

/// Token counts that the server reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Number of prompt tokens. `None` if the server did not report it.
    pub input: Option<u64>,
    /// Number of response tokens. `None` if the server did not report it.
    pub output: Option<u64>,
}

impl Usage {
    /// Updates the counts with those of a later event, which replace earlier ones.
    pub fn update(&mut self, later: Usage) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
    }
}

impl Event<'_> {
    pub(super) fn new<'a>(kind: EventKind) -> Event<'a> {
        Event {
            data: &[],
            kind,
            content: None,
            usage: None,
        }
    }
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Completion {
    /// The end marker arrived, or the format has none.
    Complete,
    /// The response ended without the end marker.
    NoEndMark,
    /// The server reported an error.
    Error,
    /// An event was not JSON.
    Malformed,
}

impl Completion {
    /// Returns the fault of the stream. `None` if the stream is complete.
    #[must_use]
    pub fn fault(self) -> Option<StreamFault> {
        match self {
            Completion::Complete => None,
            Completion::NoEndMark => Some(StreamFault::NoEndMark),
            Completion::Error => Some(StreamFault::ErrorEvent),
            Completion::Malformed => Some(StreamFault::Malformed),
        }
    }
}

/// Reads the events of one streamed response.
#[derive(Debug)]
pub struct EventReader {
    framing: EventFraming,
    state: ReaderState,
}

#[derive(Debug)]
enum EventFraming {
    Sse(SseParser),
    Lines(LineParser),
}

#[derive(Debug)]
struct ReaderState {
    format: Format,
    has_end: bool,
    has_error: bool,
    has_malformed: bool,
}

impl EventReader {
    /// Creates a reader for one response.
    #[must_use]
    pub fn new(format: Format) -> EventReader {
        let framing = match format {
            Format::Sse(_) | Format::OpenAi | Format::Anthropic => {
                EventFraming::Sse(SseParser::default())
            }
            Format::Lines(_) | Format::Ollama => EventFraming::Lines(LineParser::default()),
        };
        EventReader {
            framing,
            state: ReaderState {
                format,
                has_end: false,
                has_error: false,
                has_malformed: false,
            },
        }
    }

    /// Consumes a part of the body, and calls `on_event` for each completed event.
    pub fn read(
        &mut self,
        bytes: &[u8],
        mut on_event: impl FnMut(&Event<'_>),
    ) -> Result<(), EventLimit> {
        let state = &mut self.state;
        match &mut self.framing {
            EventFraming::Sse(parser) => {
                parser.read(bytes, |event| on_event(&state.interpret(event.data)))
            }
            EventFraming::Lines(parser) => {
                parser.read(bytes, |line| on_event(&state.interpret(line)))
            }
        }
    }

    /// Ends the stream after the response has ended, and returns whether the stream is complete. A
    /// last line without a line end still counts as an event.
    pub fn finish(&mut self, mut on_event: impl FnMut(&Event<'_>)) -> Completion {
        let state = &mut self.state;
        if let EventFraming::Lines(parser) = &mut self.framing {
            parser.finish(|line| on_event(&state.interpret(line)));
        }
        state.completion()
    }

    /// Returns the allocated memory in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match &self.framing {
            EventFraming::Sse(parser) => parser.capacity(),
            EventFraming::Lines(parser) => parser.capacity(),
        }
    }

    /// Returns whether the end marker has arrived. The response may still continue.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.state.has_end
    }
}

impl ReaderState {
    fn completion(&self) -> Completion {
        let needs_end = match &self.format {
            Format::Sse(selectors) | Format::Lines(selectors) => selectors.end.is_some(),
            Format::OpenAi | Format::Anthropic | Format::Ollama => true,
        };
        if self.has_error {
            Completion::Error
        } else if self.has_malformed {
            Completion::Malformed
        } else if needs_end && !self.has_end {
            Completion::NoEndMark
        } else {
            Completion::Complete
        }
    }

    fn interpret<'a>(&mut self, data: &'a [u8]) -> Event<'a> {
        let event = match &self.format {
            Format::Sse(selectors) | Format::Lines(selectors) => select(selectors, data),
            Format::OpenAi => formats::openai(data),
            Format::Anthropic => formats::anthropic(data),
            Format::Ollama => formats::ollama(data),
        };
        let mut event = event.unwrap_or_else(|NotJson| Event::new(EventKind::Malformed));
        event.data = data;
        self.has_end |= event.kind == EventKind::End;
        self.has_error |= event.kind == EventKind::Error;
        self.has_malformed |= event.kind == EventKind::Malformed;
        event
    }
}

fn select<'a>(selectors: &Selectors, data: &'a [u8]) -> Result<Event<'a>, NotJson> {
    if selectors.end.as_deref() == Some(data) {
        return Ok(Event::new(EventKind::End));
    }
    let text = match &selectors.content {
        Some(path) => path.text(data)?,
        None => Some(Text::Plain(data)).filter(|text| !text.is_empty()),
    };
    let mut event = Event::new(match text {
        Some(_) => EventKind::Content,
        None => EventKind::Metadata,
    });
    event.content = text.map(|text| Content {
        kind: ContentKind::Answer,
        text,
    });
    if let Some(path) = &selectors.tokens {
        let output = path.unsigned(data)?;
        event.usage = output.map(|_| Usage {
            input: None,
            output,
        });
    }
    Ok(event)
}
