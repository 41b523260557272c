//! Translates the authorization of a request: bearer, basic and API keys.

use formats::document::Node;

use super::RequestContext;
use crate::{body, draft::DraftRequest, headers};

/// Adds the authorization to a request. Kinds that are not supported are listed in its comments.
pub(super) fn add(auth: &Node, request: &mut DraftRequest, context: &mut RequestContext<'_>) {
    let kind = auth.get("type").and_then(Node::as_str).unwrap_or_default();
    let parameters = auth.get(kind);
    let mut parameter = |name: &str| {
        let value = parameters.and_then(|parameters| find(parameters, name));
        context.resolve(&value.unwrap_or_default())
    };
    match kind {
        "" | "noauth" => {}
        "bearer" => {
            let token = parameter("token");
            // The request that fetches the token is sent without it.
            if token.is_unset {
                return;
            }
            let value = match token.text.as_str() {
                "" => context.unknowns.missing("token", "token of the user"),
                token => token.to_owned(),
            };
            bearer(&value, request, context);
        }
        "oauth2" => {
            let token = parameter("accessToken");
            if token.is_unset {
                return;
            }
            request.comments.push(
                "Postman fetches its OAuth 2 token itself; this plan needs a valid one.".to_owned(),
            );
            let value = match token.text.as_str() {
                "" => context
                    .unknowns
                    .missing("token", "OAuth 2 token of the user"),
                token => token.to_owned(),
            };
            bearer(&value, request, context);
        }
        "basic" => {
            let (user, password) = (parameter("username"), parameter("password"));
            let (user, password) = (user.text, password.text);
            request.auth = Some(body::user(&user, Some(&password), context.unknowns));
        }
        "apikey" => {
            let (key, place) = (parameter("key").text, parameter("in").text);
            let value = parameter("value");
            if value.is_unset {
                return;
            }
            let what = format!("the API key {key}");
            let value = context.unknowns.unless_named(&key, &value.text, &what);
            if place == "query" {
                request.add_to_query(&key, &value);
            } else if headers::is_name(&key) {
                headers::join(&mut request.headers, &key, value);
            } else {
                let text = "TO FILL IN: the API key, whose header has no valid name";
                request.comments.push(text.to_owned());
            }
        }
        other => {
            let other = other.replace(|c: char| !c.is_ascii_alphanumeric(), " ");
            request.comments.push(format!(
                "TO FILL IN: authorization of type {other}, which plans do not support"
            ));
        }
    }
}

fn bearer(token: &str, request: &mut DraftRequest, context: &mut RequestContext<'_>) {
    let value = context
        .unknowns
        .header("authorization", &format!("Bearer {token}"), "");
    headers::join(&mut request.headers, "authorization", value);
}

/// Returns a parameter, which is an item of a list (version 2.1) or a member (version 2.0).
fn find(parameters: &Node, name: &str) -> Option<String> {
    match parameters.as_list() {
        Some(items) => items
            .iter()
            .find(|item| item.get("key").and_then(Node::as_str) == Some(name))
            .and_then(|item| item.get("value"))
            .map(Node::text),
        None => parameters.get(name).map(Node::text),
    }
}
