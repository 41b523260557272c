//! The usual request to an API of language models, for `loadline run URL --stream FORMAT`.

use plan::event_stream::StreamFormat;
use serde_json::{Value, json};

/// Prompt of the usual request.
const PROMPT: &str = "Explain in a few sentences what a load test is.";
/// Maximum number of tokens of its response.
const MOST_TOKENS: u64 = 256;
/// Model that it names if none is chosen.
pub const USUAL_MODEL: &str = "default";

/// Path and body of a request.
pub(crate) struct StreamRequest {
    pub path: &'static str,
    pub body: String,
    /// Headers that the API requires.
    pub headers: &'static [(&'static str, &'static str)],
}

impl StreamRequest {
    /// Returns the usual request. `None` if the format is not of a model API.
    pub(crate) fn usual(format: StreamFormat, model: Option<&str>) -> Option<StreamRequest> {
        let model = model.unwrap_or(USUAL_MODEL);
        let messages = json!([{ "role": "user", "content": PROMPT }]);
        let (path, body, headers): (_, Value, &'static [_]) = match format {
            StreamFormat::OpenAi => (
                "/v1/chat/completions",
                json!({
                    "model": model,
                    "messages": messages,
                    "max_tokens": MOST_TOKENS,
                    "stream": true,
                    "stream_options": { "include_usage": true },
                }),
                &[],
            ),
            StreamFormat::Anthropic => (
                "/v1/messages",
                json!({
                    "model": model,
                    "messages": messages,
                    "max_tokens": MOST_TOKENS,
                    "stream": true,
                }),
                &[("anthropic-version", "2023-06-01")],
            ),
            StreamFormat::Ollama => (
                "/api/chat",
                json!({
                    "model": model,
                    "messages": messages,
                    "options": { "num_predict": MOST_TOKENS },
                    "stream": true,
                }),
                &[],
            ),
            StreamFormat::Sse | StreamFormat::Lines => return None,
        };
        Some(StreamRequest {
            path,
            body: body.to_string(),
            headers,
        })
    }
}
