//! Reads the events of a streamed response, whatever its format.

use measure::outcome::StreamFault;

use super::{EventLimit, JsonPath, LineParser, SseParser, Text, formats, json::NotJson};

/// The format of a streamed response.
#[derive(Debug, Clone)]
pub enum Format {
    /// Server-sent events.
    Sse(Selectors),
    /// Lines, for example of JSON.
    Lines(Selectors),
    /// OpenAI's chat completions and completions: server-sent events that end with `[DONE]`.
    OpenAi,
    /// Anthropic's messages: server-sent events that end with `message_stop`.
    Anthropic,
    /// Ollama's generate and chat: lines that end with `"done": true`.
    Ollama,
}

/// Which parts of the events of a general format matter.
#[derive(Debug, Clone, Default)]
pub struct Selectors {
    /// The content in the JSON of an event. `None` means that each event is content as it is.
    pub content: Option<JsonPath>,
    /// The data that ends the stream. `None` means that the stream ends with the response.
    pub end: Option<Vec<u8>>,
    /// The number of output tokens in the JSON of an event.
    pub tokens: Option<JsonPath>,
}

/// An event of a streamed response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// The data as received.
    pub data: &'a [u8],
    /// What the event means for the stream.
    pub kind: EventKind,
    /// The content. The last event of a stream may have content, too.
    pub content: Option<Content<'a>>,
    /// Numbers of tokens that the server reports, for the response up to this event.
    pub usage: Option<Usage>,
}

/// What an event means for its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// It carries content: at least a part of a token.
    Content,
    /// It carries no content, such as a role, a reason for the end, or numbers of tokens.
    Metadata,
    /// It keeps the connection alive, and does not count as an event of the response.
    Ping,
    /// It is the end mark.
    End,
    /// The server reports an error.
    Error,
    /// It is not JSON, although the format requires that.
    Malformed,
}

/// The content of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content<'a> {
    /// What the content is part of.
    pub kind: ContentKind,
    /// The text, or the JSON of tool calls.
    pub text: Text<'a>,
}

/// What content is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentKind {
    /// The answer.
    Answer,
    /// A call of a tool.
    ToolCall,
    /// Reasoning before the answer.
    Reasoning,
}

/// Numbers of tokens that the server reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Number of prompt tokens. `None` if the server did not report it.
    pub input: Option<u64>,
    /// Number of response tokens. `None` if the server did not report it.
    pub output: Option<u64>,
}

impl Usage {
    /// Adds the numbers of a later event, which replace earlier ones.
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
    /// The end mark arrived, or the format has none.
    Complete,
    /// The response ended without its end mark.
    NoEndMark,
    /// The server reported an error.
    Error,
    /// An event was not JSON.
    Malformed,
}

impl Completion {
    /// Returns the fault. `None` if the stream is complete.
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

    /// Consumes a part of the body, and passes on the events that it completes.
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

    /// Ends the stream when its response has ended, and returns whether it is complete. A last line
    /// without a line end is still an event.
    pub fn finish(&mut self, mut on_event: impl FnMut(&Event<'_>)) -> Completion {
        let state = &mut self.state;
        if let EventFraming::Lines(parser) = &mut self.framing {
            parser.finish(|line| on_event(&state.interpret(line)));
        }
        state.completion()
    }

    /// Returns the memory of the reader in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match &self.framing {
            EventFraming::Sse(parser) => parser.capacity(),
            EventFraming::Lines(parser) => parser.capacity(),
        }
    }

    /// Whether the end mark has arrived. The response may still continue.
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
