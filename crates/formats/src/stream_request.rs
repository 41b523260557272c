//! The default request to a language-model API, for `loadline run URL --stream FORMAT`.

use plan::event_stream::StreamFormat;
use serde_json::{Value, json};

/// Prompt of the default request.
const PROMPT: &str = "Explain in a few sentences what a load test is.";
/// Maximum number of tokens in the response.
const MOST_TOKENS: u64 = 256;
/// Model in the request if the user does not choose one.
pub const USUAL_MODEL: &str = "default";

/// The path and body of a request to a language-model API.
pub(crate) struct StreamRequest {
    pub path: &'static str,
    pub body: String,
    /// Headers that the API requires.
    pub headers: &'static [(&'static str, &'static str)],
}

impl StreamRequest {
    /// Returns the default request. `None` if the format does not belong to a model API.
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
