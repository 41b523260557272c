//! Settings for reading a response that arrives as a stream of events.

use serde::{Serialize, Serializer};

/// Settings with which a request step reads a streamed response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventStream {
    /// Format of the events.
    pub format: StreamFormat,
    /// JSON path of the content in an event. `None` means that each event is content. Used only by
    /// the general formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Data of the event that ends the stream. `None` means that the stream ends with the response.
    /// Used only by the general formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// JSON path of the number of output tokens in an event. Used only by the general formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<String>,
    /// Maximum time between two events in nanoseconds. `None` means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
    /// Point at which the client stops reading the stream. Stopping is not a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<StreamUntil>,
    /// Maximum duration of the response in nanoseconds, which replaces the plan's time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_ns: Option<u64>,
}

impl EventStream {
    /// Creates settings for this format, without limits.
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
    /// One event per line, for example JSON lines.
    Lines,
    /// OpenAI completions and chat completions.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Ollama generate and chat.
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

    /// Returns whether the format defines the location of the content, the end marker and the token
    /// counts.
    #[must_use]
    pub fn is_of_model_api(self) -> bool {
        !matches!(self, StreamFormat::Sse | StreamFormat::Lines)
    }

    /// Returns whether the events are server-sent events.
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

/// Condition on which the client stops reading a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamUntil {
    /// When this time has passed since the request was sent, in nanoseconds.
    TimeNs(u64),
    /// After this number of events.
    Events(u64),
}
