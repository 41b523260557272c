//! A request whose constant parts are encoded before the run, with gaps for text values.
//!
//! The result equals that of [`RequestStep::build`](super::RequestStep::build), which is slower but
//! supports all requests.

use std::{cell::RefCell, fmt::Write};

use plan::{
    rng::Rng,
    scenario::{Request, RequestBody},
    template::{Piece, Template},
};
use query::Scope;
use serde_json::Value;

use super::values::{is_falsy, plain_origin};
use codec::{
    Origin, Target,
    encode::{self, Charset},
    url,
};
use worker::client::Built;

/// Maximum number of finished requests whose memory is kept for reuse.
const SPARE: usize = 64;

#[derive(Debug)]
pub(super) struct HeadTemplate {
    origin: Origin,
    method: Vec<u8>,
    path: Template,
    /// Parts from the end of the path to the body length, or to the empty line.
    head: Vec<HeadPart>,
    charset: Charset,
    body: Filling,
    spare: RefCell<Vec<Built>>,
    text: RefCell<String>,
}

#[derive(Debug, Clone)]
enum HeadPart {
    Bytes(Vec<u8>),
    Value(Template),
}

#[derive(Debug, Clone)]
enum Filling {
    /// Constant bytes, including the empty line before the body.
    Bytes(Vec<u8>),
    Json(Template),
    Text(Template),
}

impl Clone for HeadTemplate {
    fn clone(&self) -> HeadTemplate {
        HeadTemplate {
            origin: self.origin.clone(),
            method: self.method.clone(),
            path: self.path.clone(),
            head: self.head.clone(),
            charset: self.charset,
            body: self.body.clone(),
            spare: RefCell::default(),
            text: RefCell::default(),
        }
    }
}

impl HeadTemplate {
    /// Compiles a request. Returns `None` if this encoding does not support the request.
    pub(super) fn compile(spec: &Request, base: &str, charset: Charset) -> Option<HeadTemplate> {
        // If filling fails, the request is built again, so functions in the body would be called
        // twice.
        let body = match &spec.body {
            RequestBody::Json(body) | RequestBody::Text(body) => Some(body),
            _ => None,
        };
        let values = spec.headers.iter().map(|(_, value)| value);
        let mut values = values.chain(body).chain([&spec.url]);
        if values.any(|value| value.script_function().is_some()) {
            return None;
        }
        let is_usual = spec.query.is_none() && spec.basic_auth.is_none();
        let (origin, path) = address(&spec.url, base).filter(|_| is_usual)?;
        let mut head = HeadBuilder::default();
        head.bytes.extend_from_slice(b" HTTP/1.1\r\nHost: ");
        head.bytes
            .extend_from_slice(origin.host_header().as_bytes());
        head.bytes.extend_from_slice(b"\r\n");
        let mut says_length = false;
        for (name, value) in &spec.headers {
            if name.eq_ignore_ascii_case("host") {
                return None;
            }
            says_length |= name.eq_ignore_ascii_case("content-length");
            head.header(name, value, charset)?;
        }
        let body = filling(&spec.body)?;
        let is_empty = matches!(spec.body, RequestBody::None);
        if let Filling::Bytes(bytes) = &body
            && !says_length
            && (!is_empty || encode::says_empty(&spec.method))
        {
            encode::content_length(&mut head.bytes, bytes.len());
        }
        if says_length && !matches!(body, Filling::Bytes(_)) {
            return None;
        }
        Some(HeadTemplate {
            origin,
            method: format!("{} ", spec.method).into_bytes(),
            path,
            head: head.end(),
            charset,
            body,
            spare: RefCell::default(),
            text: RefCell::default(),
        })
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Builds the request of one user, with the same random numbers as
    /// [`RequestStep::build`](super::RequestStep::build). Returns `None` and leaves `rng` unchanged
    /// if the caller must use `build`.
    pub(super) fn fill(&self, scope: &dyn Scope, rng: &mut Rng) -> Option<Built> {
        let before = rng.clone();
        let mut built = self
            .spare
            .borrow_mut()
            .pop()
            .unwrap_or_else(|| self.blank());
        if self.write(&mut built, scope, rng).is_some() {
            return Some(built);
        }
        self.take_back(built);
        *rng = before;
        None
    }

    pub(super) fn take_back(&self, built: Built) {
        // This also holds for requests from `build`, because values cannot change the origin.
        debug_assert_eq!(built.target.origin, self.origin);
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE {
            spare.push(built);
        }
    }

    fn blank(&self) -> Built {
        Built {
            target: Target {
                origin: self.origin.clone(),
                path: String::new(),
                userinfo: None,
            },
            bytes: Vec::new(),
            cookie_at: 0,
        }
    }

    fn write(&self, built: &mut Built, scope: &dyn Scope, rng: &mut Rng) -> Option<()> {
        let (bytes, path) = (&mut built.bytes, &mut built.target.path);
        path.clear();
        self.path.write_text(scope, rng, path).ok()?;
        if !url::is_plain_path(path) {
            return None;
        }
        bytes.clear();
        bytes.extend_from_slice(&self.method);
        bytes.extend_from_slice(path.as_bytes());
        let mut text = self.text.borrow_mut();
        for part in &self.head {
            match part {
                HeadPart::Bytes(part) => bytes.extend_from_slice(part),
                HeadPart::Value(value) => {
                    text.clear();
                    value.write_text(scope, rng, &mut text).ok()?;
                    if !encode::value(bytes, &text, self.charset) {
                        return None;
                    }
                }
            }
        }
        text.clear();
        match &self.body {
            Filling::Bytes(body) => {
                built.cookie_at = bytes.len();
                bytes.extend_from_slice(b"\r\n");
                bytes.extend_from_slice(body);
                return Some(());
            }
            Filling::Json(body) => {
                body.write_json(scope, rng, &mut text).ok()?;
                if is_falsy(&text) {
                    return None;
                }
            }
            Filling::Text(body) => body.write_text(scope, rng, &mut text).ok()?,
        }
        encode::content_length(bytes, text.len());
        built.cookie_at = bytes.len();
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(text.as_bytes());
        Some(())
    }
}

#[derive(Debug, Default)]
struct HeadBuilder {
    parts: Vec<HeadPart>,
    bytes: Vec<u8>,
}

impl HeadBuilder {
    /// Appends a header. Returns `None` if the value cannot be sent unchanged.
    fn header(&mut self, name: &str, value: &Template, charset: Charset) -> Option<()> {
        if let Some(literal) = value.as_literal() {
            let text = query::value::text(Some(literal));
            return encode::header(&mut self.bytes, name, &text, charset).then_some(());
        }
        encode::header(&mut Vec::new(), name, "", charset).then_some(())?;
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b": ");
        self.parts
            .push(HeadPart::Bytes(std::mem::take(&mut self.bytes)));
        self.parts.push(HeadPart::Value(value.clone()));
        self.bytes.extend_from_slice(b"\r\n");
        Some(())
    }

    fn end(mut self) -> Vec<HeadPart> {
        self.parts.push(HeadPart::Bytes(self.bytes));
        self.parts
    }
}

/// Returns the origin of a URL and the template of its path. `None` if values may change the
/// origin.
fn address(address: &Template, base: &str) -> Option<(Origin, Template)> {
    let begins = match address {
        Template::Literal(Value::String(text)) => text,
        Template::Text(pieces) => match pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => return None,
        },
        _ => return None,
    };
    let mut whole = String::new();
    if begins.starts_with('/') {
        whole.push_str(base);
    }
    let _ = whole.write_str(begins);
    let split = url::split(&whole)?;
    let origin = plain_origin(split.tls, split.authority)?;
    let path = split.path.to_owned();
    let template = match address {
        Template::Text(pieces) => {
            let mut pieces = pieces.clone();
            *pieces.first_mut()? = Piece::Text(path);
            Template::Text(pieces)
        }
        _ => Template::Literal(Value::String(path)),
    };
    Some((origin, template))
}

/// Compiles the body. Returns `None` if the body is not plain text.
fn filling(body: &RequestBody) -> Option<Filling> {
    let fixed = |template: &Template, json: bool| {
        let literal = template.as_literal()?;
        let mut text = String::new();
        if json {
            query::value::write_json(literal, &mut text);
        } else {
            query::value::write_text(Some(literal), &mut text);
        }
        Some(text)
    };
    match body {
        RequestBody::None => Some(Filling::Bytes(Vec::new())),
        RequestBody::Json(template) => match fixed(template, true) {
            Some(text) if is_falsy(&text) => None,
            Some(text) => Some(Filling::Bytes(text.into_bytes())),
            None => Some(Filling::Json(template.clone())),
        },
        RequestBody::Text(template) => match fixed(template, false) {
            Some(text) => Some(Filling::Bytes(text.into_bytes())),
            None => Some(Filling::Text(template.clone())),
        },
        RequestBody::Form(_) | RequestBody::Multipart(_) => None,
    }
}

#[cfg(test)]
#[path = "head_template_tests.rs"]
mod tests;
