//! Properties of a request that are known before the run: whether it is constant, its origin, and
//! the parts of the response that it needs.

use plan::{
    Request,
    scenario::{CaptureSource, RequestBody, ResponseCheck},
    template::{Piece, Template},
};
use serde_json::Value;

use super::Interest;
use codec::Want;

pub(super) fn goes_to_target(url: &Template) -> bool {
    let begins = match url {
        Template::Literal(Value::String(text)) => Some(text),
        Template::Text(pieces) => match pieces.first() {
            Some(Piece::Text(text)) => Some(text),
            _ => None,
        },
        _ => None,
    };
    begins.is_some_and(|text| text.starts_with('/'))
}

pub(super) fn is_fixed(spec: &Request) -> bool {
    let fixed = |template: &Template| template.as_literal().is_some();
    fixed(&spec.url)
        && spec.headers.iter().all(|(_, value)| fixed(value))
        && spec.query.as_deref().is_none_or(fixed_pairs)
        && spec
            .basic_auth
            .as_ref()
            .is_none_or(|(user, password)| fixed(user) && fixed(password))
        && is_fixed_body(&spec.body)
}

pub(super) fn is_fixed_body(body: &RequestBody) -> bool {
    match body {
        RequestBody::None => true,
        RequestBody::Json(template) | RequestBody::Text(template) => {
            template.as_literal().is_some()
        }
        RequestBody::Form(form) => fixed_pairs(form),
        RequestBody::Multipart(_) => false,
    }
}

fn fixed_pairs(pairs: &[(Template, Template)]) -> bool {
    pairs
        .iter()
        .all(|(name, value)| name.as_literal().is_some() && value.as_literal().is_some())
}

pub(super) fn want(spec: &Request, looks: Interest) -> Want {
    let body = |source: &CaptureSource| {
        !matches!(
            source,
            CaptureSource::Header(_) | CaptureSource::StreamText | CaptureSource::StreamEvent(_)
        )
    };
    let header = |source: &CaptureSource| matches!(source, CaptureSource::Header(_));
    Want {
        headers: spec.captures.iter().any(|c| header(&c.from))
            || spec
                .checks
                .iter()
                .any(|c| matches!(c, ResponseCheck::Header(..)))
            || looks.headers,
        body: spec.captures.iter().any(|c| body(&c.from))
            || spec.checks.iter().any(|c| {
                matches!(
                    c,
                    ResponseCheck::JsonEquals(..)
                        | ResponseCheck::JsonExists(_)
                        | ResponseCheck::BodyContains(_)
                        | ResponseCheck::BodyMatches { .. }
                )
            })
            || looks.body,
        timing: looks.timing,
        head: false,
    }
}
