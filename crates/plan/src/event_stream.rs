//! How a request step reads a response that arrives as a stream of events.

use serde::{Serialize, Serializer};

/// How a request step reads a streamed response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventStream {
    /// Format of the events.
    pub format: StreamFormat,
    /// JSON path of the content in an event. `None` means that each event is content. Only for the
    /// general formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Data of the event that ends the stream. `None` means that the response ends it. Only for the
    /// general formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// JSON path of the number of output tokens in an event. Only for the general formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<String>,
    /// Longest time between two events in nanoseconds. `None` means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
    /// When the client ends the stream without a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<StreamUntil>,
    /// Longest duration of the response in nanoseconds, instead of the plan's time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_ns: Option<u64>,
}

impl EventStream {
    /// Creates a stream of this format without limits of its own.
    #[must_use]
    pub fn new(format: StreamFormat) -> EventStream {
        EventStream {
            format,
            data: None,
            end: None,
            tokens: None,
            idle_ns: None,
            until: None,
            max_time_ns: None,
        }
    }
}

/// Format of the events of a streamed response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFormat {
    /// Server-sent events.
    Sse,
    /// Lines, for example of JSON.
    Lines,
    /// OpenAI's completions and chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Ollama's generate and chat.
    Ollama,
}

impl StreamFormat {
    /// All formats, in the order in which they are listed for users.
    pub const ALL: [StreamFormat; 5] = [
        StreamFormat::Sse,
        StreamFormat::Lines,
        StreamFormat::OpenAi,
        StreamFormat::Anthropic,
        StreamFormat::Ollama,
    ];

    /// Returns the name in plans and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StreamFormat::Sse => "sse",
            StreamFormat::Lines => "lines",
            StreamFormat::OpenAi => "openai",
            StreamFormat::Anthropic => "anthropic",
            StreamFormat::Ollama => "ollama",
        }
    }

    /// Returns the format with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<StreamFormat> {
        StreamFormat::ALL
            .into_iter()
            .find(|format| format.name() == name)
    }

    /// Whether the format says where content, end mark and numbers of tokens are.
    #[must_use]
    pub fn is_of_model_api(self) -> bool {
        !matches!(self, StreamFormat::Sse | StreamFormat::Lines)
    }

    /// Whether the events are server-sent events.
    #[must_use]
    pub fn is_sse(self) -> bool {
        !matches!(self, StreamFormat::Lines | StreamFormat::Ollama)
    }
}

impl Serialize for StreamFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// When the client ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamUntil {
    /// This time after the request was sent, in nanoseconds.
    TimeNs(u64),
    /// After this number of events.
    Events(u64),
}
