//! Asks a person for confirmation before load leaves this machine. Clients of protocol 2026-07-28
//! receive the question as the result of their call and repeat the call with the reply. Older
//! clients receive a request.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use plan::units::MINUTE;
use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
        InputRequest, InputRequests, InputRequiredResult, ProtocolVersion,
    },
    service::{ElicitationMode, RequestContext},
};
use serde_json::json;
use worker::clock;

/// Name of the question among the replies in a call.
const QUESTION: &str = "confirm";
const PATIENCE: Duration = Duration::from_secs(10 * 60);
const MOST_OPEN: usize = 20;

/// A person's reply.
#[derive(Debug)]
pub(crate) enum Confirmation {
    /// The person agreed.
    Granted,
    /// The question still has to be sent to the client.
    Asked(Box<InputRequiredResult>),
    /// The person declined or cannot be asked. The value is the reason.
    Denied(String),
}

#[derive(Debug)]
struct OpenQuestion {
    text: String,
    digest: String,
    asked_ns: u64,
}

/// Questions to which clients have not yet replied. A token identifies a question. It is valid only
/// once, and only for the same plan and question.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<BTreeMap<String, OpenQuestion>>);

impl Questions {
    /// Asks a person, or reads the reply to an earlier question.
    pub async fn confirm(
        &self,
        text: &str,
        digest: &str,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Confirmation {
        let version = context.protocol_version();
        let is_new = version
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if !is_new {
            return ask_now(text, context).await;
        }
        if let Some(token) = &request.request_state {
            let reply = request.input_responses.as_ref();
            let reply = reply.and_then(|replies| replies.get(QUESTION)).cloned();
            let reply = reply.and_then(|reply| serde_json::from_value(reply).ok());
            return self.reply(token, text, digest, reply);
        }
        let capabilities = context.client_capabilities();
        if capabilities.is_none_or(|capabilities| capabilities.elicitation.is_none()) {
            return Confirmation::Denied(cannot_ask());
        }
        self.ask(text, digest)
    }

    fn ask(&self, text: &str, digest: &str) -> Confirmation {
        let (Some(token), Some(params)) = (token(), form(text)) else {
            return Confirmation::Denied("The question could not be created.".to_owned());
        };
        let question = OpenQuestion {
            text: text.to_owned(),
            digest: digest.to_owned(),
            asked_ns: clock::monotonic_ns(),
        };
        let Ok(mut open) = self.0.lock() else {
            return Confirmation::Denied("The server failed earlier.".to_owned());
        };
        let now_ns = clock::monotonic_ns();
        open.retain(|_, question| now_ns.saturating_sub(question.asked_ns) < 10 * MINUTE);
        if open.len() >= MOST_OPEN {
            return Confirmation::Denied("Too many questions are open.".to_owned());
        }
        open.insert(token.clone(), question);
        let asked = InputRequest::Elicitation(ElicitRequest::new(params));
        let asked = InputRequests::from([(QUESTION.to_owned(), asked)]);
        Confirmation::Asked(Box::new(InputRequiredResult::new(Some(asked), Some(token))))
    }

    fn reply(
        &self,
        token: &str,
        text: &str,
        digest: &str,
        reply: Option<ElicitResult>,
    ) -> Confirmation {
        let question = self.0.lock().ok().and_then(|mut open| open.remove(token));
        let is_same = |question: &OpenQuestion| {
            let waited_ns = clock::monotonic_ns().saturating_sub(question.asked_ns);
            question.text == text && question.digest == digest && waited_ns < 10 * MINUTE
        };
        match (question.filter(is_same), reply) {
            (Some(_), Some(reply)) => read(&reply),
            (Some(_), None) => Confirmation::Denied("The question has no reply.".to_owned()),
            (None, _) => Confirmation::Denied(
                "The reply belongs to no open question, or the plan has changed: call again without it.".to_owned(),
            ),
        }
    }
}

async fn ask_now(text: &str, context: &RequestContext<RoleServer>) -> Confirmation {
    let modes = context.peer.supported_elicitation_modes();
    if !modes.contains(&ElicitationMode::Form) {
        return Confirmation::Denied(cannot_ask());
    }
    let Some(params) = form(text) else {
        return Confirmation::Denied("The question could not be created.".to_owned());
    };
    let peer = &context.peer;
    match peer
        .create_elicitation_with_timeout(params, Some(PATIENCE))
        .await
    {
        Ok(reply) => read(&reply),
        Err(error) => Confirmation::Denied(format!("The person could not be asked: {error}.")),
    }
}

fn read(reply: &ElicitResult) -> Confirmation {
    let content = reply.content.as_ref();
    let agrees = content.and_then(|content| content.get(QUESTION)) == Some(&json!(true));
    match reply.action {
        ElicitationAction::Accept if agrees => Confirmation::Granted,
        _ => Confirmation::Denied("The person did not agree.".to_owned()),
    }
}

fn cannot_ask() -> String {
    "A person must confirm load on another machine, but this client cannot ask one: use another client, or a person must restart the server with --no-ask.".to_owned()
}

fn form(text: &str) -> Option<ElicitRequestParams> {
    let schema = json!({
        "type": "object",
        "properties": {
            QUESTION: { "type": "boolean", "title": "Send this load", "default": false },
        },
        "required": [QUESTION],
    });
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: text.to_owned(),
        requested_schema: serde_json::from_value(schema).ok()?,
    })
}

fn token() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(agrees: bool) -> Option<ElicitResult> {
        let reply = ElicitResult::new(ElicitationAction::Accept);
        Some(reply.with_content(json!({ QUESTION: agrees })))
    }

    fn asked(questions: &Questions) -> String {
        match questions.ask("Send it?", "digest") {
            Confirmation::Asked(asked) => asked.request_state.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reply_counts_once_and_only_for_its_question() {
        let questions = Questions::default();
        let token = asked(&questions);
        let reply = |token: &str, text: &str, digest: &str, reply| {
            matches!(
                questions.reply(token, text, digest, reply),
                Confirmation::Granted
            )
        };
        assert!(reply(&token, "Send it?", "digest", agreed(true)));
        assert!(!reply(&token, "Send it?", "digest", agreed(true)), "twice");
        assert!(!reply(
            &asked(&questions),
            "Send more?",
            "digest",
            agreed(true)
        ));
        assert!(!reply(
            &asked(&questions),
            "Send it?",
            "other",
            agreed(true)
        ));
        assert!(!reply(
            &asked(&questions),
            "Send it?",
            "digest",
            agreed(false)
        ));
        assert!(!reply(&asked(&questions), "Send it?", "digest", None));
        assert!(!reply("forged", "Send it?", "digest", agreed(true)));
    }

    #[test]
    fn only_an_explicit_yes_is_agreement() {
        for action in [ElicitationAction::Decline, ElicitationAction::Cancel] {
            let reply = ElicitResult::new(action).with_content(json!({ QUESTION: true }));
            assert!(matches!(read(&reply), Confirmation::Denied(_)));
        }
        let reply = ElicitResult::new(ElicitationAction::Accept);
        assert!(matches!(read(&reply), Confirmation::Denied(_)));
    }
}
