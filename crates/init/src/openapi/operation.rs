//! Converts an operation to a step. Unknown values come from the environment, or the step is
//! commented out.

use std::collections::BTreeMap;

use formats::document::Node;
use query::value;
use serde_json::{Map, Value};

use super::{
    media::{Content, answer, content},
    reference::{BrokenReference, resolved},
    sample::{self, ExampleValue},
    style::{self, ParameterStyle},
};
use crate::{
    destructive,
    draft::{DraftBody, DraftRequest},
    headers, placeholders,
    unknowns::{Unknowns, is_secret},
    yaml,
};

const OWN_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

pub struct Operation<'n> {
    path: String,
    method: &'static str,
    node: &'n Node,
    parameters: Vec<&'n Node>,
    body: Option<Content>,
    answer: Vec<String>,
    given: BTreeMap<String, String>,
    captures: Vec<(String, String)>,
}

impl<'n> Operation<'n> {
    pub fn read(
        root: &'n Node,
        path: &str,
        method: &'static str,
        item: &'n Node,
        node: &'n Node,
    ) -> Result<Operation<'n>, BrokenReference> {
        let mut parameters: Vec<&Node> = Vec::new();
        for list in [node, item].map(|node| node.get("parameters").and_then(Node::as_list)) {
            for parameter in list.unwrap_or_default() {
                let parameter = resolved(root, parameter)?;
                let same = |known: &&Node| {
                    text(known, "name") == text(parameter, "name")
                        && text(known, "in") == text(parameter, "in")
                };
                if !parameters.iter().any(same) {
                    parameters.push(parameter);
                }
            }
        }
        let body = match node.get("requestBody") {
            Some(body) => content(root, resolved(root, body)?)?,
            None => None,
        };
        Ok(Operation {
            path: path.to_owned(),
            method,
            node,
            parameters,
            body,
            answer: answer(root, node)?,
            given: BTreeMap::new(),
            captures: Vec::new(),
        })
    }

    pub fn is_off(&self) -> bool {
        if self.destructive_word().is_some() {
            return true;
        }
        match self.method {
            "get" | "head" => false,
            "post" => match &self.body {
                None => false,
                Some(body) => body.sample.as_ref().is_none_or(|sample| sample.guessed),
            },
            _ => true,
        }
    }

    fn destructive_word(&self) -> Option<&'static str> {
        let id = text(self.node, "operationId");
        destructive::word_in(&self.path).or_else(|| destructive::word_in(id))
    }

    pub fn is_maker(&self) -> bool {
        self.method == "post" && !self.is_off()
    }

    /// Returns the parameter that follows the path of `maker`, and the matching member of its
    /// response.
    pub fn made_by(&self, maker: &Operation<'_>) -> Option<(String, String)> {
        let following = self
            .path
            .strip_prefix(&maker.path)?
            .trim_start_matches('/')
            .strip_prefix('{')?;
        let (name, _) = following.split_once('}')?;
        let fits = |member: &&String| *member == name || *member == "id";
        let exact = maker.answer.iter().find(|member| *member == name);
        let member = exact.or_else(|| maker.answer.iter().find(fits))?;
        (!self.given.contains_key(name)).then(|| (name.to_owned(), member.clone()))
    }

    pub fn capture(&mut self, parameter: &str, member: &str, unknowns: &mut Unknowns) -> String {
        let path = format!("$.{member}");
        if let Some((name, _)) = self.captures.iter().find(|(_, known)| *known == path) {
            return name.clone();
        }
        let name = unknowns.reserve(&hint(&format!("{}/{{", self.path), parameter));
        self.captures.push((name.clone(), path));
        name
    }

    pub fn give(&mut self, parameter: &str, variable: &str) {
        self.given
            .insert(parameter.to_owned(), placeholders::variable(variable));
    }

    pub fn request(
        self,
        root: &Node,
        unknowns: &mut Unknowns,
    ) -> Result<DraftRequest, BrokenReference> {
        let off = self.is_off();
        let mut request = DraftRequest {
            method: self.method.to_owned(),
            off,
            captures: self
                .captures
                .iter()
                .map(|(name, path)| (name.clone(), Value::from(path.as_str())))
                .collect(),
            ..DraftRequest::default()
        };
        let about = ["summary", "operationId"]
            .iter()
            .find_map(|key| self.node.get(key)?.as_str());
        request.comments.extend(
            about
                .map(|about| about.trim().to_owned())
                .filter(|about| !about.is_empty()),
        );
        let mut asker = Asker {
            unknowns,
            off,
            asked: Vec::new(),
        };
        self.url(root, &mut request, &mut asker)?;
        self.parameters(root, &mut request, &mut asker)?;
        self.security(root, &mut request, &mut asker)?;
        let asked = asker.asked;
        if !asked.is_empty() {
            let list: Vec<String> = asked.iter().map(|name| format!("{name}=…")).collect();
            request.comments.push(format!(
                "TO FILL IN before you send it: export {}",
                list.join(" ")
            ));
        }
        self.write_body(&mut request);
        Ok(request)
    }

    fn url(
        &self,
        root: &Node,
        request: &mut DraftRequest,
        asker: &mut Asker<'_>,
    ) -> Result<(), BrokenReference> {
        let mut rest = self.path.as_str();
        while let Some((before, following)) = rest.split_once('{') {
            let Some((name, after)) = following.split_once('}') else {
                break;
            };
            request.url.push_str(before);
            let parameter = self.parameters.iter().find(|parameter| {
                text(parameter, "name") == name && text(parameter, "in") == "path"
            });
            let documented = parameter
                .map(|parameter| said_of(root, parameter))
                .transpose()?
                .flatten();
            let documented = documented
                .zip(parameter)
                .filter(|(value, _)| !value::text(Some(value)).is_empty())
                .map(|(value, parameter)| {
                    ParameterStyle::from_parameter(parameter, "path").path(name, &value)
                });
            if let Some(parameter) = parameter.filter(|_| !self.given.contains_key(name)) {
                let reported = told_of_others(name, documented.as_ref(), parameter);
                request.comments.extend(reported);
            }
            match (self.given.get(name), documented) {
                (Some(variable), _) => request.url.push_str(variable),
                (None, Some(text)) => request.url.push_str(&text),
                (None, None) => {
                    let what = format!("`{name}` in the path {}", self.path);
                    request.url.push_str(&asker.ask(&hint(before, name), &what));
                }
            }
            rest = after;
        }
        request.url.push_str(rest);
        Ok(())
    }

    fn parameters(
        &self,
        root: &Node,
        request: &mut DraftRequest,
        asker: &mut Asker<'_>,
    ) -> Result<(), BrokenReference> {
        for parameter in &self.parameters {
            let (name, place) = (text(parameter, "name"), text(parameter, "in"));
            let is_required = parameter.get("required").and_then(Node::as_bool) == Some(true);
            let has_example =
                parameter.get("example").is_some() || parameter.get("examples").is_some();
            let is_ours = OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
            if name.is_empty()
                || place == "path"
                || place == "header" && (is_ours || !headers::is_name(name))
                || !is_required && !has_example
            {
                continue;
            }
            let message = if is_secret(name) {
                None
            } else {
                said_of(root, parameter)?
            };
            request
                .comments
                .extend(told_of_others(name, message.as_ref(), parameter));
            let style = ParameterStyle::from_parameter(parameter, place);
            let is_styled = parameter.get("content").is_none();
            let value = match message {
                Some(value) if place == "query" && is_styled => {
                    request.query.extend(style.query(name, value));
                    continue;
                }
                Some(value) if is_styled => {
                    Value::String(style.header(&value).replace(char::is_control, " "))
                }
                Some(value) => {
                    Value::String(value::text(Some(&value)).replace(char::is_control, " "))
                }
                None => Value::String(asker.ask(
                    &hint_of(name, place),
                    &format!(
                        "`{name}` of {} {}",
                        self.method.to_ascii_uppercase(),
                        self.path
                    ),
                )),
            };
            match place {
                "query" => request.query.push((name.to_owned(), value)),
                "header" => headers::join(
                    &mut request.headers,
                    name,
                    value.as_str().unwrap_or_default().to_owned(),
                ),
                "cookie" => request.cookies.push((
                    name.to_owned(),
                    value.as_str().unwrap_or_default().to_owned(),
                )),
                _ => {}
            }
        }
        Ok(())
    }

    fn security(
        &self,
        root: &Node,
        request: &mut DraftRequest,
        asker: &mut Asker<'_>,
    ) -> Result<(), BrokenReference> {
        let requirements = self.node.get("security").or_else(|| root.get("security"));
        let requirements = requirements.and_then(Node::as_list).unwrap_or_default();
        if requirements.iter().any(|way| way.entries().is_empty()) {
            return Ok(());
        }
        let schemes = root
            .get("components")
            .and_then(|components| components.get("securitySchemes"));
        for entry in requirements.first().map(Node::entries).unwrap_or_default() {
            let Some(scheme) = schemes.and_then(|schemes| schemes.get(&entry.key)) else {
                return Err((
                    entry.key_mark,
                    format!(
                        "`{}` is not a scheme of components.securitySchemes",
                        entry.key
                    ),
                ));
            };
            sign_in(resolved(root, scheme)?, request, asker);
        }
        Ok(())
    }

    fn write_body(self, request: &mut DraftRequest) {
        let Some(Content {
            kind,
            sample,
            others,
        }) = self.body
        else {
            return;
        };
        let Some(ExampleValue { value, guessed }) = sample else {
            request
                .comments
                .push(format!("TO FILL IN: a body of type {kind}"));
            request.headers.push(("content-type".to_owned(), kind));
            return;
        };
        if !others.is_empty() {
            request.comments.push(format!(
                "The first example of the body is used; the others are: {}",
                others.join(", ")
            ));
        }
        if guessed {
            request.comments.push("TO FILL IN: values in the body. It has the right structure and the required properties, but placeholder values.".to_owned());
        }
        let is_form = kind.starts_with("application/x-www-form-urlencoded");
        if is_form && value.is_object() {
            request.body = DraftBody::Form(pairs(value));
            return;
        }
        if kind != "application/json" {
            request
                .headers
                .push(("content-type".to_owned(), kind.clone()));
        }
        request.body = match value {
            Value::String(text) if !kind.contains("json") && text.is_empty() => DraftBody::None,
            Value::String(text) if !kind.contains("json") => DraftBody::Text(text),
            value if yaml::holds(&value) => DraftBody::Json(value),
            value => DraftBody::Text(value::json(&value)),
        };
    }
}

struct Asker<'u> {
    unknowns: &'u mut Unknowns,
    off: bool,
    asked: Vec<String>,
}

impl Asker<'_> {
    fn ask(&mut self, hint: &str, what: &str) -> String {
        if !self.off {
            return self.unknowns.missing(hint, what);
        }
        match self.unknowns.known(hint) {
            Some(variable) => variable,
            None => {
                let env = Unknowns::env_of(hint);
                let variable = placeholders::variable(&format!("$env.{env}"));
                if !self.asked.contains(&env) {
                    self.asked.push(env);
                }
                variable
            }
        }
    }
}

fn sign_in(scheme: &Node, request: &mut DraftRequest, asker: &mut Asker<'_>) {
    let how = (
        text(scheme, "type"),
        text(scheme, "scheme").to_ascii_lowercase(),
    );
    match (how.0, how.1.as_str()) {
        ("http", "basic") => {
            let user = asker.ask("user", "user name for basic authentication");
            let password = asker.ask("password", "password of this user");
            request.auth = Some((user, password));
        }
        ("http", "bearer") | ("oauth2" | "openIdConnect", _) => {
            let token = asker.ask("token", "bearer token of a user");
            headers::join(
                &mut request.headers,
                "authorization",
                format!("Bearer {token}"),
            );
        }
        ("apiKey", _) => {
            let name = text(scheme, "name");
            let key = asker.ask(&name.to_ascii_lowercase(), &format!("API key `{name}`"));
            match text(scheme, "in") {
                "query" => request.query.push((name.to_owned(), Value::String(key))),
                "cookie" => request.cookies.push((name.to_owned(), key)),
                _ if headers::is_name(name) => headers::join(&mut request.headers, name, key),
                _ => {}
            }
        }
        (kind, _) => request.comments.push(format!(
            "TO FILL IN: it requires {kind} authentication, which this plan does not support"
        )),
    }
}

fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Node::as_str).unwrap_or_default()
}

fn said_of(root: &Node, parameter: &Node) -> Result<Option<Value>, BrokenReference> {
    if let Some(value) = sample::documented(root, parameter)? {
        return Ok(Some(value));
    }
    let media = parameter
        .get("content")
        .and_then(|content| content.entries().first());
    if let Some(media) = media
        && let Some(value) = sample::documented(root, &media.value)?
    {
        return Ok(Some(value));
    }
    let schema = parameter
        .get("schema")
        .or_else(|| media?.value.get("schema"));
    match schema {
        Some(schema) => sample::documented(root, resolved(root, schema)?),
        None => Ok(None),
    }
}

fn told_of_others<T>(name: &str, message: Option<&T>, parameter: &Node) -> Option<String> {
    let others = sample::others(parameter);
    (message.is_some() && !others.is_empty()).then(|| {
        format!(
            "{name} has several examples. The first is used; the others are: {}",
            others.join(", ")
        )
    })
}

fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(style::scalar).collect(),
        other => style::scalar(other),
    }
}

fn pairs(value: Value) -> Value {
    let Value::Object(map) = value else {
        return value;
    };
    let pairs = map.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(
        pairs
            .map(|(name, value)| (name, plain(value)))
            .collect::<Map<_, _>>(),
    )
}

fn hint_of(name: &str, place: &str) -> String {
    if place == "header" {
        name.to_ascii_lowercase()
    } else {
        name.to_owned()
    }
}

fn hint(before: &str, name: &str) -> String {
    if name != "id" {
        return name.to_owned();
    }
    let is_word = |part: &&str| {
        part.len() > 1
            && part
                .chars()
                .all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-')
    };
    match before.rsplit('/').find(is_word) {
        Some(noun) => format!(
            "{}_id",
            noun.strip_suffix('s').unwrap_or(noun).to_ascii_lowercase()
        ),
        None => name.to_owned(),
    }
}
