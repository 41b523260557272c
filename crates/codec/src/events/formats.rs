//! Interpretation of the events of language-model APIs.

use super::{
    json::{Json, NotJson, Text},
    reader::{Content, ContentKind, Event, EventKind, Usage},
};

type Interpreted<'a> = Result<Event<'a>, NotJson>;

/// Interprets an event of OpenAI chat completions or completions.
pub(super) fn openai(data: &[u8]) -> Interpreted<'_> {
    if data == b"[DONE]" {
        return Ok(Event::new(EventKind::End));
    }
    let mut event = Event::new(EventKind::Metadata);
    let mut json = Json::new(data);
    json.object(|name, json| match name {
        b"choices" => json.array(|index, json| match index {
            0 => json.object(|name, json| match name {
                b"delta" => openai_delta(json, &mut event),
                b"text" => set(&mut event, ContentKind::Answer, json.string()?),
                _ => json.skip(),
            }),
            _ => json.skip(),
        }),
        b"usage" => {
            let usage = usage(json, b"prompt_tokens", b"completion_tokens")?;
            event.usage = event.usage.or(usage);
            Ok(())
        }
        b"error" if json.is_present()? => {
            event.kind = EventKind::Error;
            Ok(())
        }
        b"error" => Ok(()),
        _ => json.skip(),
    })?;
    json.finish()?;
    Ok(event)
}

fn openai_delta<'a>(json: &mut Json<'a>, event: &mut Event<'a>) -> Result<(), NotJson> {
    json.object(|name, json| match name {
        b"content" | b"refusal" => set(event, ContentKind::Answer, json.string()?),
        b"reasoning_content" | b"reasoning" => set(event, ContentKind::Reasoning, json.string()?),
        b"tool_calls" | b"function_call" => set(event, ContentKind::ToolCall, json.text()?),
        _ => json.skip(),
    })
}

/// Interprets an event of Anthropic messages.
pub(super) fn anthropic(data: &[u8]) -> Interpreted<'_> {
    let mut event = Event::new(EventKind::Metadata);
    let mut kind: &[u8] = b"";
    let mut json = Json::new(data);
    json.object(|name, json| match name {
        b"type" => {
            if let Some(Text::Escaped(text)) = json.string()? {
                kind = text;
            }
            Ok(())
        }
        b"delta" => json.object(|name, json| match name {
            b"text" => set(&mut event, ContentKind::Answer, json.string()?),
            b"thinking" => set(&mut event, ContentKind::Reasoning, json.string()?),
            b"partial_json" => set(&mut event, ContentKind::ToolCall, json.string()?),
            _ => json.skip(),
        }),
        b"usage" => {
            event.usage = usage(json, b"input_tokens", b"output_tokens")?;
            Ok(())
        }
        b"message" => json.object(|name, json| match name {
            b"usage" => {
                event.usage = usage(json, b"input_tokens", b"output_tokens")?;
                Ok(())
            }
            _ => json.skip(),
        }),
        _ => json.skip(),
    })?;
    json.finish()?;
    if kind != b"content_block_delta" {
        event.content = None;
        event.kind = match kind {
            b"message_stop" => EventKind::End,
            b"error" => EventKind::Error,
            b"ping" => EventKind::Ping,
            _ => EventKind::Metadata,
        };
    }
    Ok(event)
}

/// Interprets a line of Ollama generate or chat.
pub(super) fn ollama(line: &[u8]) -> Interpreted<'_> {
    let mut event = Event::new(EventKind::Metadata);
    let (mut is_done, mut is_error) = (false, false);
    let mut tokens = Usage::default();
    let mut json = Json::new(line);
    json.object(|name, json| match name {
        b"response" => set(&mut event, ContentKind::Answer, json.string()?),
        b"thinking" => set(&mut event, ContentKind::Reasoning, json.string()?),
        b"message" => json.object(|name, json| match name {
            b"content" => set(&mut event, ContentKind::Answer, json.string()?),
            b"thinking" => set(&mut event, ContentKind::Reasoning, json.string()?),
            b"tool_calls" => set(&mut event, ContentKind::ToolCall, json.text()?),
            _ => json.skip(),
        }),
        b"done" => {
            is_done = json.is_true()?;
            Ok(())
        }
        b"prompt_eval_count" => {
            tokens.input = json.unsigned()?;
            Ok(())
        }
        b"eval_count" => {
            tokens.output = json.unsigned()?;
            Ok(())
        }
        b"error" => {
            is_error = json.is_present()?;
            Ok(())
        }
        _ => json.skip(),
    })?;
    json.finish()?;
    event.usage = (tokens != Usage::default()).then_some(tokens);
    if is_error {
        event.kind = EventKind::Error;
    } else if is_done {
        event.kind = EventKind::End;
    }
    Ok(event)
}

/// Sets the content of an event, unless it is empty or content of a higher priority is set.
fn set<'a>(
    event: &mut Event<'a>,
    kind: ContentKind,
    text: Option<Text<'a>>,
) -> Result<(), NotJson> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    let is_better = |content: &Content<'_>| kind < content.kind;
    if event.content.as_ref().is_none_or(is_better) {
        event.content = Some(Content { kind, text });
        event.kind = EventKind::Content;
    }
    Ok(())
}

/// Reads the numbers of input and output tokens. `None` means that they are missing.
fn usage(json: &mut Json<'_>, input: &[u8], output: &[u8]) -> Result<Option<Usage>, NotJson> {
    let mut usage = Usage::default();
    json.object(|name, json| {
        if name == input {
            usage.input = json.unsigned()?;
            Ok(())
        } else if name == output {
            usage.output = json.unsigned()?;
            Ok(())
        } else {
            json.skip()
        }
    })?;
    Ok((usage != Usage::default()).then_some(usage))
}
