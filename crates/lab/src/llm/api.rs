//! Formats of the streamed responses.

use serde_json::{Value, json};

/// An API that the lab imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    OpenAiChat,
    OpenAiCompletions,
    Anthropic,
    OllamaChat,
    OllamaGenerate,
}

/// Contents of a request that affect the response.
pub(super) struct Prompt {
    /// Length of the prompt in tokens of four bytes.
    pub(super) tokens: u64,
    /// Maximum number of tokens of the response. `None` if unlimited.
    pub(super) max_tokens: Option<u64>,
    includes_usage: bool,
}

impl Api {
    pub(super) fn for_path(path: &str) -> Option<Api> {
        Some(match path {
            "/v1/chat/completions" => Api::OpenAiChat,
            "/v1/completions" => Api::OpenAiCompletions,
            "/v1/messages" => Api::Anthropic,
            "/api/chat" => Api::OllamaChat,
            "/api/generate" => Api::OllamaGenerate,
            _ => return None,
        })
    }

    pub(super) fn path(self) -> &'static str {
        match self {
            Api::OpenAiChat => "/v1/chat/completions",
            Api::OpenAiCompletions => "/v1/completions",
            Api::Anthropic => "/v1/messages",
            Api::OllamaChat => "/api/chat",
            Api::OllamaGenerate => "/api/generate",
        }
    }

    fn is_ollama(self) -> bool {
        matches!(self, Api::OllamaChat | Api::OllamaGenerate)
    }

    pub(super) fn content_type(self) -> &'static str {
        if self.is_ollama() {
            "application/x-ndjson"
        } else {
            "text/event-stream"
        }
    }

    /// Parses a request body. The error is a message for the client.
    pub(super) fn prompt(self, body: &[u8]) -> Result<Prompt, &'static str> {
        let Ok(request) = serde_json::from_slice::<Value>(body) else {
            return Err("the body is not JSON");
        };
        let streams = request["stream"].as_bool().unwrap_or(self.is_ollama());
        if !streams {
            return Err("this lab only streams: set \"stream\" to true");
        }
        let limits = [
            &request["max_tokens"],
            &request["max_completion_tokens"],
            &request["options"]["num_predict"],
        ];
        let prompt = match self {
            Api::OpenAiCompletions | Api::OllamaGenerate => text_len(&request["prompt"]),
            _ => text_len(&request["messages"]),
        };
        Ok(Prompt {
            tokens: prompt.div_ceil(4),
            max_tokens: limits.into_iter().find_map(Value::as_u64),
            includes_usage: request["stream_options"]["include_usage"] == true,
        })
    }

    /// Returns the event before the first token, or an empty string if the API has none.
    pub(super) fn opening(self, prompt: &Prompt) -> String {
        if self != Api::Anthropic {
            return String::new();
        }
        let usage = json!({ "input_tokens": prompt.tokens, "output_tokens": 0 });
        let message = json!({ "id": "msg_lab", "role": "assistant", "usage": usage });
        let block = json!({ "type": "text", "text": "" });
        [
            named("message_start", json!({ "message": message })),
            named(
                "content_block_start",
                json!({ "index": 0, "content_block": block }),
            ),
        ]
        .concat()
    }

    /// Returns the event of a token.
    pub(super) fn token(self, n: u64) -> String {
        let text = format!("t{n} ");
        match self {
            Api::OpenAiChat => openai(json!([{ "index": 0, "delta": { "content": text } }])),
            Api::OpenAiCompletions => openai(json!([{ "index": 0, "text": text }])),
            Api::Anthropic => {
                let delta = json!({ "type": "text_delta", "text": text });
                named("content_block_delta", json!({ "index": 0, "delta": delta }))
            }
            Api::OllamaChat => {
                let message = json!({ "role": "assistant", "content": text });
                format!(
                    "{}\n",
                    json!({ "model": "lab", "message": message, "done": false })
                )
            }
            Api::OllamaGenerate => {
                format!(
                    "{}\n",
                    json!({ "model": "lab", "response": text, "done": false })
                )
            }
        }
    }

    /// Returns the events after the last token: finish reason, usage and end marker.
    pub(super) fn closing(self, prompt: &Prompt, tokens: u64) -> String {
        match self {
            Api::OpenAiChat | Api::OpenAiCompletions => {
                let stop = json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]);
                let usage = json!({
                    "choices": [],
                    "usage": { "prompt_tokens": prompt.tokens, "completion_tokens": tokens },
                });
                let usage = if prompt.includes_usage {
                    format!("data: {usage}\n\n")
                } else {
                    String::new()
                };
                [openai(stop), usage, "data: [DONE]\n\n".to_owned()].concat()
            }
            Api::Anthropic => {
                let delta = json!({
                    "delta": { "stop_reason": "end_turn" },
                    "usage": { "output_tokens": tokens },
                });
                [
                    named("content_block_stop", json!({ "index": 0 })),
                    named("message_delta", delta),
                    named("message_stop", json!({})),
                ]
                .concat()
            }
            Api::OllamaChat | Api::OllamaGenerate => {
                let end = json!({
                    "model": "lab",
                    "done": true,
                    "prompt_eval_count": prompt.tokens,
                    "eval_count": tokens,
                });
                format!("{end}\n")
            }
        }
    }
}

fn openai(choices: Value) -> String {
    let chunk = json!({ "id": "lab", "object": "chunk", "choices": choices });
    format!("data: {chunk}\n\n")
}

fn named(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}

/// Returns the total length of all texts within a value in bytes.
fn text_len(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(text_len).sum(),
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| matches!(name.as_str(), "content" | "text"))
            .map(|(_, value)| text_len(value))
            .sum(),
        _ => 0,
    }
}
