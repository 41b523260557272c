//! A compiled request whose constant parts are encoded before the run.

use std::{borrow::Cow, sync::Arc};

use measure::LabelId;
use plan::{
    HttpVersion, Plan, Problem,
    listen::stamps_of_request,
    rng::{Purpose, Rng},
    scenario::{PairValues, Request, RequestBody},
    template::Template,
};
use query::Scope;
use serde_json::{Map, Value};

use super::{
    Interest,
    captures::ContentRules,
    change::{RequestChange, RequestParts},
    head_template::HeadTemplate,
    known::{goes_to_target, is_fixed, is_fixed_body, want},
    multipart,
    stream::stream_rules,
    values::{is_falsy, plain_origin},
};
use codec::{
    Origin, Target, Want,
    encode::{self, Charset},
    url,
};
use worker::client::{BuildError, Built, Override, RequestHead, StreamRules};

/// A compiled request step.
#[derive(Debug, Clone)]
pub struct RequestStep {
    /// Index of the step among all request steps.
    pub index: u32,
    /// Label of the samples.
    pub label: LabelId,
    /// Request as described in the plan.
    pub spec: Request,
    /// The encoded request. `None` if any part has templates.
    pub fixed: Option<Built>,
    /// Template of the encoded request. `None` unless templates occur only in text values of
    /// headers and body.
    pub(super) head_template: Option<HeadTemplate>,
    /// Whether the request certainly goes to the test's target.
    pub goes_to_target: bool,
    /// Parts of the response that the step needs.
    pub want: Want,
    /// How to read a streamed response. `None` if the step expects no stream.
    pub stream: Option<Arc<StreamRules>>,
    /// Whether the request publishes a message that listeners recognize.
    pub publishes: bool,
    /// Captures and checks of the response.
    pub content: ContentRules,
    /// Name of the step, if it has one.
    pub name: Option<Template>,
    /// Data that the front end's hook needs.
    pub looks: Interest,
    /// Encoding of header values.
    pub charset: Charset,
}

impl RequestStep {
    pub(super) fn compile(
        spec: &Request,
        index: usize,
        label: LabelId,
        plan: &Plan,
        looks: Interest,
        origins: &mut Vec<Origin>,
    ) -> Result<RequestStep, Problem> {
        let problem = |message: String| Problem {
            at: spec.at.clone(),
            message,
        };
        framing(spec).map_err(problem)?;
        let mut paths = Vec::new();
        let content = ContentRules::compile(&spec.captures, &spec.checks, looks, &mut paths)
            .map_err(problem)?;
        let stream = stream_rules(spec, paths).map_err(problem)?;
        let mut step = RequestStep {
            stream: stream.map(Arc::new),
            index: index as u32,
            label,
            spec: spec.clone(),
            fixed: None,
            head_template: None,
            goes_to_target: goes_to_target(&spec.url),
            want: want(spec, looks),
            publishes: stamps_of_request(spec) > 0,
            content,
            name: spec
                .name
                .as_deref()
                .map(|name| Template::parse_text(name).unwrap_or_else(|_| Template::from(name))),
            looks,
            charset: Charset::from_latin1(plan.http.dialect.latin1),
        };
        if is_fixed(spec) {
            // An invalid constant request fails only when it is due, like a templated request.
            step.fixed = step
                .build(
                    plan.target.expose(),
                    &Map::new(),
                    &mut Rng::keyed(0, Purpose::User, 0, 0),
                    None,
                    None,
                )
                .ok();
        }
        if step.fixed.is_none() {
            step.head_template = HeadTemplate::compile(spec, plan.target.expose(), step.charset);
        }
        let fixed = step.fixed.as_ref().map(|built| &built.target.origin);
        let known = fixed.or(step.head_template.as_ref().map(HeadTemplate::origin));
        if let Some(origin) = known.filter(|origin| !origin.tls)
            && plan.http.versions.of_origin(&origin.text()) == HttpVersion::Http2
        {
            return Err(problem(format!(
                "HTTP/2 without TLS ({}) needs the version `2-prior-knowledge`",
                origin.text()
            )));
        }
        if let Some(origin) = known.filter(|origin| !origins.contains(origin)) {
            origins.push(origin.clone());
        }
        Ok(step)
    }

    /// Builds the request of one virtual user, from the encoded template if possible. A script may
    /// have changed the request.
    ///
    /// # Errors
    ///
    /// Fails like [`RequestStep::build`].
    pub fn make(
        &self,
        base: &str,
        scope: &dyn Scope,
        rng: &mut Rng,
        change: Option<&RequestChange>,
    ) -> Result<Cow<'_, Built>, BuildError> {
        if change.is_some() {
            return self.build(base, scope, rng, change, None).map(Cow::Owned);
        }
        if let Some(fixed) = &self.fixed {
            return Ok(Cow::Borrowed(fixed));
        }
        let head_template = self.head_template.as_ref();
        match head_template.and_then(|head_template| head_template.fill(scope, rng)) {
            Some(filled) => Ok(Cow::Owned(filled)),
            None => self.build(base, scope, rng, None, None).map(Cow::Owned),
        }
    }

    /// Takes back the memory of a finished request for reuse.
    pub fn take_back(&self, built: Built) {
        if let Some(head_template) = &self.head_template {
            head_template.take_back(built);
        }
    }

    /// Builds the request of one virtual user, or a request that follows a redirect.
    ///
    /// # Errors
    ///
    /// Fails if the expanded templates do not form a valid request.
    pub fn build(
        &self,
        base: &str,
        scope: &dyn Scope,
        rng: &mut Rng,
        change: Option<&RequestChange>,
        redirect: Option<Override<'_>>,
    ) -> Result<Built, BuildError> {
        let parts = RequestParts::new(&self.spec, change);
        // Expand these for redirects too, so that headers and body get the same random numbers.
        let target = request_target(parts, base, scope, rng);
        let target = match redirect {
            Some(redirect) => parse_url(redirect.url)?,
            None => target?,
        };
        let method = redirect.map_or(parts.method, |r| r.method);
        let credentials = redirect.is_none_or(|r| r.credentials);
        let mut headers = Vec::with_capacity(parts.headers.len() + 1);
        for (name, value) in parts.headers {
            // A `host` header and credentials are only for the first host.
            let hidden = !credentials
                && ["authorization", "cookie", "host"]
                    .iter()
                    .any(|h| name.eq_ignore_ascii_case(h));
            // Send the body's actual length, even if a script sets another one.
            let hidden = hidden || parts.is_changed && frames(name);
            if let Some(text) = header_text(value, scope, rng).filter(|_| !hidden) {
                headers.push((name.as_str(), text));
            }
        }
        let auth = parts
            .basic_auth
            .map(|(user, password)| (user.to_text(scope, rng), password.to_text(scope, rng)));
        if let Some((user, password)) = auth
            .as_ref()
            .or(target.userinfo.as_ref())
            .filter(|_| credentials)
        {
            headers.push(("Authorization", encode::basic(user, password)));
        }
        let body = if redirect.is_none_or(|r| r.body) {
            body_bytes(parts, scope, rng, &mut headers)?
        } else {
            None
        };
        if body.is_none() {
            // Without a body, remove its headers too. Otherwise, a server would wait for a body.
            headers.retain(|(name, _)| {
                matches!(parts.body, RequestBody::None)
                    || !["content-type", "content-length", "transfer-encoding"]
                        .iter()
                        .any(|h| name.eq_ignore_ascii_case(h))
            });
        }
        let head = RequestHead {
            method,
            target,
            headers: &headers,
        };
        head.encode(body.as_deref(), self.charset)
    }
}

fn request_target(
    parts: RequestParts<'_>,
    base: &str,
    scope: &dyn Scope,
    rng: &mut Rng,
) -> Result<Target, BuildError> {
    let mut text = String::with_capacity(base.len() + 64);
    if parts.url.write_text(scope, rng, &mut text).is_err() {
        text.push_str("undefined");
    }
    if text.starts_with('/') {
        text.insert_str(0, base);
    }
    if parts.is_websocket {
        text = http_url(text);
    }
    if let Some(pairs) = parts.query {
        let pairs = Pairs {
            pairs,
            values: parts.pair_values,
            is_query: true,
        };
        text = with_query(&text, &pairs, scope, rng);
    }
    parse_url(&text)
}

/// Converts the URL of a WebSocket connection to the URL of the request that opens it.
fn http_url(text: String) -> String {
    let http = [("ws://", "http://"), ("wss://", "https://")];
    let begins = |scheme: &str| {
        let start = text.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    match http.into_iter().find(|(scheme, _)| begins(scheme)) {
        Some((scheme, http)) => format!("{http}{}", &text[scheme.len()..]),
        None => text,
    }
}

fn frames(header: &str) -> bool {
    ["content-length", "transfer-encoding"]
        .iter()
        .any(|name| header.eq_ignore_ascii_case(name))
}

/// Checks the framing headers, because a wrong `content-length` would corrupt the next request.
fn framing(spec: &Request) -> Result<(), String> {
    for (name, value) in &spec.headers {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(format!(
                "`{name}` cannot be set: bodies are sent in one piece, with their length; remove it"
            ));
        }
        if !name.eq_ignore_ascii_case("content-length") {
            continue;
        }
        let Some(literal) = value
            .as_literal()
            .map(|value| query::value::text(Some(value)))
        else {
            return Err(format!(
                "`{name}` cannot be a template: remove it, and the length of the body is sent"
            ));
        };
        let sent = if is_fixed_body(&spec.body) {
            let mut rng = Rng::keyed(0, Purpose::User, 0, 0);
            let parts = RequestParts::new(spec, None);
            let body = body_bytes(parts, &Map::new(), &mut rng, &mut Vec::new());
            body.ok().flatten().map_or(0, |body| body.len())
        } else {
            return Err(format!(
                "`{name}: {literal}` may be wrong, because the length of this body can vary: remove it"
            ));
        };
        if literal.trim() != sent.to_string() {
            return Err(format!(
                "`{name}: {literal}` is not the length of the body, {sent} bytes: remove it"
            ));
        }
    }
    Ok(())
}

fn parse_url(text: &str) -> Result<Target, BuildError> {
    if let Some(fast) = url::split(text)
        && let Some(origin) = plain_origin(fast.tls, fast.authority)
    {
        return Ok(Target {
            origin,
            path: fast.path.to_owned(),
            userinfo: None,
        });
    }
    url::parse(text).ok_or_else(|| BuildError::Url(text.to_owned()))
}

fn with_query(url: &str, pairs: &Pairs<'_>, scope: &dyn Scope, rng: &mut Rng) -> String {
    let mut query = String::new();
    pairs.write(&mut query, scope, rng);
    let without_fragment = url.split('#').next().unwrap_or(url);
    let path = without_fragment
        .split('?')
        .next()
        .unwrap_or(without_fragment);
    if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{query}")
    }
}

struct Pairs<'a> {
    pairs: &'a [(Template, Template)],
    values: PairValues,
    is_query: bool,
}

impl Pairs<'_> {
    /// Appends encoded pairs. An undefined value is sent as `undefined` in a form and as empty text
    /// in a query, as in Node.js.
    fn write(&self, out: &mut String, scope: &dyn Scope, rng: &mut Rng) {
        for (name, value) in self.pairs {
            let name = name.to_text(scope, rng);
            let text = match (value.eval(scope, rng), self.values) {
                (None | Some(Value::Null), _) if self.is_query => String::new(),
                (None, _) => "undefined".to_owned(),
                (Some(Value::Array(items)), PairValues::Native) => {
                    items.iter().for_each(|item| {
                        url::push_pair(out, &name, &query::value::text(Some(item)))
                    });
                    continue;
                }
                (Some(Value::Array(items)), PairValues::NodeJs) if self.is_query => {
                    items
                        .iter()
                        .for_each(|item| url::push_pair(out, &name, &primitive(item)));
                    continue;
                }
                (Some(value), PairValues::Native) => query::value::text(Some(&value)),
                (Some(value), PairValues::NodeJs) if self.is_query => primitive(&value),
                (Some(value), PairValues::NodeJs) => query::value::string_of(Some(&value)),
            };
            url::push_pair(out, &name, &text);
        }
    }
}

/// Formats a value like Node.js' `querystring`. Values other than strings, numbers and booleans
/// become empty.
fn primitive(value: &Value) -> String {
    match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => query::value::text(Some(value)),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}

fn header_text(template: &Template, scope: &dyn Scope, rng: &mut Rng) -> Option<String> {
    let mut text = String::new();
    template
        .write_text(scope, rng, &mut text)
        .ok()
        .map(|()| text)
}

/// Encodes the body. A JSON value that is falsy in JavaScript (`0`, `""`, `false`, `null`) gives no
/// body.
fn body_bytes(
    request: RequestParts<'_>,
    scope: &dyn Scope,
    rng: &mut Rng,
    headers: &mut Vec<(&str, String)>,
) -> Result<Option<Vec<u8>>, BuildError> {
    if let Some(bytes) = request.bytes {
        return Ok(Some(bytes.to_vec()));
    }
    let mut text = String::new();
    match request.body {
        RequestBody::None => return Ok(None),
        RequestBody::Multipart(parts) => {
            let boundary = multipart::boundary(rng);
            if !headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
            {
                let value = format!("multipart/form-data; boundary={boundary}");
                headers.insert(usize::from(!headers.is_empty()), ("content-type", value));
            }
            let bytes = multipart::body(parts, &boundary, scope, rng);
            return bytes.map(Some).map_err(BuildError::File);
        }
        RequestBody::Json(template) => {
            let written = template.write_json(scope, rng, &mut text);
            if written.is_err() || is_falsy(&text) {
                return Ok(None);
            }
        }
        RequestBody::Text(template) => {
            if template.write_text(scope, rng, &mut text).is_err() {
                return Ok(None);
            }
        }
        RequestBody::Form(pairs) => Pairs {
            pairs,
            values: request.pair_values,
            is_query: false,
        }
        .write(&mut text, scope, rng),
    }
    Ok(Some(text.into_bytes()))
}
