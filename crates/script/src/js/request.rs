//! The parameters of a request that functions can read and change before the request is built.

use std::{
    cell::{Cell, OnceCell},
    rc::Rc,
};

use engine::program::{RequestChange, RequestStep};
use plan::{
    Request,
    dialect::{BodyRule, DeclaredError},
    scenario::RequestBody,
    template::{Functions, Template},
};
use rquickjs::{Atom, Ctx, Function, Object, Persistent, Result, String as JsString, Value as Js};
use serde_json::{Map, Value};

use super::{
    dialect::BODY_ERROR,
    edge::bytes,
    instance::Instance,
    values::{from_js, is_same, to_js},
};

/// Headers that stay even if a function replaces all headers, because the client adds them itself.
const OF_CLIENT: [&str; 4] = [
    "user-agent",
    "accept-encoding",
    "connection",
    "content-type",
];

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Names of the properties that functions can change.
pub const REQUEST_NAMES: [&str; 11] = [
    "url",
    "method",
    "headers",
    "json",
    "body",
    "form",
    "qs",
    "cookie",
    "auth",
    "followRedirect",
    "allowGetBody",
];

/// Names and values of an object, in JavaScript form.
type Entries = Vec<(Persistent<JsString<'static>>, Persistent<Js<'static>>)>;

/// Values of a step that functions cannot change in place. Comparing identities shows whether
/// functions replaced them.
struct SharedValues {
    values: Entries,
    headers: Entries,
    /// Values by their index in [`REQUEST_NAMES`].
    by_name: [Option<Persistent<Js<'static>>>; REQUEST_NAMES.len()],
}

/// The data of a request step that functions receive. Templates are not expanded.
pub struct StepSource {
    values: Map<String, Value>,
    /// Empty until the first request.
    shared: OnceCell<SharedValues>,
    /// The request of the step.
    spec: Request,
}

impl StepSource {
    /// Describes a request step.
    pub fn new(step: &RequestStep, base: &str) -> Rc<StepSource> {
        let spec = &step.spec;
        let mut values = Map::new();
        let url = match spec.url.source() {
            Value::String(url) if url.starts_with('/') => Value::String(format!("{base}{url}")),
            other => other,
        };
        values.insert("url".into(), url);
        values.insert("method".into(), spec.method.as_str().into());
        values.insert("headers".into(), named(&spec.headers));
        if let Some(name) = &spec.name {
            values.insert("name".into(), name.as_str().into());
        }
        match &spec.body {
            RequestBody::None | RequestBody::Multipart(_) => {}
            RequestBody::Json(template) => drop(values.insert("json".into(), template.source())),
            RequestBody::Text(template) => drop(values.insert("body".into(), template.source())),
            RequestBody::Form(pairs) => drop(values.insert("form".into(), paired(pairs))),
        }
        if let Some(query) = &spec.query {
            values.insert("qs".into(), paired(query));
        }
        if !spec.cookies.is_empty() {
            values.insert("cookie".into(), named(&spec.cookies));
        }
        if let Some((user, password)) = &spec.basic_auth {
            let auth = serde_json::json!({"user": user.source(), "pass": password.source()});
            values.insert("auth".into(), auth);
        }
        values.insert("followRedirect".into(), spec.follow_redirects.into());
        if spec.body_rule == BodyRule::NoneWithHead {
            values.insert("allowGetBody".into(), true.into());
        }
        Rc::new(StepSource {
            values,
            shared: OnceCell::new(),
            spec: spec.clone(),
        })
    }

    /// Creates the object that functions receive. Its JSON body is created when it is first read or
    /// replaced, which sets the flag.
    pub fn object<'js>(
        self: &Rc<StepSource>,
        ctx: &Ctx<'js>,
        instance: &Instance,
    ) -> Result<(Object<'js>, Rc<Cell<bool>>)> {
        let shared = self.shared(ctx)?;
        let object = object_of(ctx, &shared.values)?;
        object.set("headers", object_of(ctx, &shared.headers)?)?;
        let has_seen_json = Rc::<Cell<bool>>::default();
        for (name, value) in &self.values {
            if name == "headers" || !is_own(name, value) {
                continue;
            }
            if name == "json" {
                let (own, seen) = (Rc::clone(self), Rc::clone(&has_seen_json));
                let read = move |ctx: Ctx<'js>, _: String| {
                    seen.set(true);
                    to_js(&ctx, own.values.get("json").unwrap_or(&Value::Null))
                };
                let read = Function::new(ctx.clone(), read)?;
                let once = instance.makers()?.once.clone().restore(ctx)?;
                once.call::<_, ()>((object.clone(), "json", read))?;
            } else {
                object.set(name.as_str(), to_js(ctx, value)?)?;
            }
        }
        Ok((object, has_seen_json))
    }

    /// Returns the values that all requests of the step share.
    fn shared(&self, ctx: &Ctx<'_>) -> Result<&SharedValues> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let empty = Map::new();
        let headers = self.values.get("headers").and_then(Value::as_object);
        let fixed = self
            .values
            .iter()
            .filter(|(name, value)| !is_own(name, value));
        let values = entries(ctx, fixed.clone())?;
        let by_name = REQUEST_NAMES.map(|name| {
            let mut known = fixed.clone().zip(&values);
            let found = known.find(|((known, _), _)| *known == name);
            found.map(|(_, (_, value))| value.clone())
        });
        let shared = SharedValues {
            by_name,
            values,
            headers: entries(ctx, headers.unwrap_or(&empty))?,
        };
        Ok(self.shared.get_or_init(|| shared))
    }

    /// Returns whether functions left the headers unchanged.
    fn has_same_headers<'js>(&self, ctx: &Ctx<'js>, headers: &Object<'js>) -> Result<bool> {
        let known = &self.shared(ctx)?.headers;
        for (name, value) in known {
            let now: Js<'js> = headers.get(name.clone().restore(ctx)?)?;
            if now != value.clone().restore(ctx)? {
                return Ok(false);
            }
        }
        Ok(headers.keys::<Atom<'js>>().count() == known.len())
    }

    /// Returns the changes that functions made. `None` if there are none.
    ///
    /// # Errors
    ///
    /// Returns the reason if a changed value cannot be sent.
    pub fn change<'js>(
        &self,
        ctx: &Ctx<'js>,
        instance: &Instance,
        object: &Object<'js>,
        has_seen_json: &Cell<bool>,
    ) -> Result<std::result::Result<Option<Box<RequestChange>>, String>> {
        let mut changed = Map::new();
        let mut bytes = None;
        let shared = &self.shared(ctx)?.by_name;
        for ((name, key), shared) in instance.makers()?.names.iter().zip(shared) {
            let key = key.clone().restore(ctx)?;
            let is_shared = match shared {
                Some(shared) => {
                    object.get::<_, Js<'js>>(key.clone())? == shared.clone().restore(ctx)?
                }
                None => false,
            };
            if is_shared {
                continue;
            }
            let known = self.values.get(*name);
            let is_unread = *name == "json" && known.is_some() && !has_seen_json.get();
            if is_unread && object.contains_key(key.clone())? {
                continue;
            }
            let value: Js<'js> = object.get(key)?;
            let is_unchanged = match known {
                Some(_) if *name == "headers" => match value.as_object() {
                    Some(headers) => self.has_same_headers(ctx, headers)?,
                    None => false,
                },
                Some(known) => is_same(&value, known)?,
                None => value.is_undefined() || value.is_null(),
            };
            if is_unchanged {
                continue;
            }
            if *name == "body"
                && let Some(array) = byte_array(&value)
            {
                bytes = Some(array);
                // Stands for the bytes when the kind of body is chosen.
                changed.insert("body".to_owned(), Value::from("bytes"));
                continue;
            }
            let value = if value.is_null() {
                None
            } else {
                from_js(&value)?
            };
            if value.as_ref() != known {
                changed.insert((*name).to_owned(), value.unwrap_or(Value::Null));
            }
        }
        if changed.is_empty() {
            return Ok(Ok(None));
        }
        let is_artillery = instance.state.settings.is_artillery;
        let change = self.request_change(&changed, is_artillery);
        Ok(change.map(|mut change| {
            let is_text = matches!(change.body, Some(RequestBody::Text(_)));
            change.bytes = bytes.filter(|_| is_text);
            Some(Box::new(change))
        }))
    }

    fn request_change(
        &self,
        changed: &Map<String, Value>,
        is_artillery: bool,
    ) -> std::result::Result<RequestChange, String> {
        let mut change = RequestChange::default();
        for (name, value) in changed {
            match (name.as_str(), value) {
                ("url", Value::String(url)) => change.url = Some(text_template(url)?),
                ("method", Value::String(method)) => {
                    change.method = Some(method.to_ascii_uppercase())
                }
                ("headers", headers) => {
                    change.headers = Some(changed_headers(headers, &self.spec.headers)?)
                }
                // Artillery builds the query before its hooks.
                ("qs", _) if is_artillery => {}
                ("qs", Value::Null) => change.query = Some(None),
                ("qs", pairs) => change.query = Some(Some(pairs_of(pairs)?)),
                ("cookie", cookies) => {
                    let cookies = pairs_of(cookies)?.into_iter();
                    change.cookies = Some(
                        cookies
                            .map(|(name, value)| (literal(&name), value))
                            .collect(),
                    );
                }
                ("auth", Value::Null) => change.basic_auth = Some(None),
                ("auth", auth) => {
                    let part = |name: &str| template(auth.get(name).unwrap_or(&Value::Null));
                    change.basic_auth = Some(Some((part("user")?, part("pass")?)));
                }
                ("followRedirect", value) => change.follow_redirects = Some(is_truthy(value)),
                ("json" | "body" | "form" | "allowGetBody", _) => {}
                (name, value) => {
                    return Err(format!("`requestParams.{name}` must be text, not {value}"));
                }
            }
        }
        if ["json", "body", "form"]
            .iter()
            .any(|name| changed.contains_key(*name))
        {
            self.change_body(changed, &mut change)?;
        }
        change.fails_with = self.fails_with(changed, &change);
        Ok(change)
    }

    /// Returns the current value of a property, if the value is true in JavaScript.
    fn current<'v>(&'v self, changed: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
        let value = changed.get(name).or_else(|| self.values.get(name));
        value.filter(|value| is_truthy(value))
    }

    /// Returns the error with which the changed request fails.
    fn fails_with(
        &self,
        changed: &Map<String, Value>,
        change: &RequestChange,
    ) -> Option<DeclaredError> {
        let known = self.spec.fails_with.as_ref();
        if let Some(error) = known.filter(|error| !error.is_of_client) {
            return change.url.is_none().then(|| error.clone());
        }
        let has = |name: &str| self.current(changed, name).is_some();
        let rule = match self.spec.body_rule {
            BodyRule::Any => BodyRule::Any,
            _ if has("allowGetBody") => BodyRule::NoneWithHead,
            _ => BodyRule::NoneWithGet,
        };
        let is_multipart = matches!(self.spec.body, RequestBody::Multipart(_));
        let bodies = [has("json") || has("body"), has("form"), is_multipart];
        let bodies = bodies.iter().filter(|has| **has).count();
        let method = change.method.as_deref().unwrap_or(&self.spec.method);
        rule.refuses(method, bodies).then(|| DeclaredError {
            name: BODY_ERROR.to_owned(),
            is_of_client: true,
        })
    }

    /// Chooses the body as Artillery does: `json` takes precedence over `body`, which takes
    /// precedence over `form`.
    fn change_body(
        &self,
        changed: &Map<String, Value>,
        change: &mut RequestChange,
    ) -> std::result::Result<(), String> {
        let current = |name: &str| self.current(changed, name);
        let (body, content_type) = if let Some(json) = current("json") {
            (RequestBody::Json(template(json)?), Some(JSON))
        } else if let Some(text) = current("body") {
            let Value::String(text) = text else {
                return Err(
                    "`requestParams.body` must be text or bytes: use `requestParams.json` for other values"
                        .to_owned(),
                );
            };
            (RequestBody::Text(text_template(text)?), None)
        } else if let Some(pairs) = current("form") {
            (RequestBody::Form(pairs_of(pairs)?), Some(FORM))
        } else if matches!(self.spec.body, RequestBody::Multipart(_)) {
            return Ok(());
        } else {
            (RequestBody::None, None)
        };
        let before = content_type_of(&self.spec.body);
        change.body = Some(body);
        let headers = change
            .headers
            .get_or_insert_with(|| self.spec.headers.clone());
        if before != content_type {
            // The content type of the step's own body does not describe the new body.
            headers.retain(|(name, value)| {
                let text = value.as_literal().and_then(Value::as_str);
                !is_content_type(name) || before.is_none() || text != before
            });
        }
        let has_type = headers.iter().any(|(name, _)| is_content_type(name));
        if let Some(content_type) = content_type.filter(|_| !has_type) {
            headers.push(("content-type".to_owned(), Template::from(content_type)));
        }
        Ok(())
    }
}

/// Returns the content of a `Buffer` or another `Uint8Array`.
fn byte_array(value: &Js<'_>) -> Option<Vec<u8>> {
    let array = value.as_object()?.as_typed_array::<u8>()?;
    Some(bytes(array))
}

fn entries<'v>(
    ctx: &Ctx<'_>,
    values: impl IntoIterator<Item = (&'v String, &'v Value)>,
) -> Result<Entries> {
    let entry = |(name, value): (&String, &Value)| {
        let name = Atom::from_str(ctx.clone(), name)?.to_js_string()?;
        let value = Persistent::save(ctx, to_js(ctx, value)?);
        Ok((Persistent::save(ctx, name), value))
    };
    values.into_iter().map(entry).collect()
}

fn object_of<'js>(ctx: &Ctx<'js>, entries: &Entries) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, value) in entries {
        object.set(name.clone().restore(ctx)?, value.clone().restore(ctx)?)?;
    }
    Ok(object)
}

/// Returns whether each request needs its own copy of the value, because functions may change it in
/// place.
fn is_own(name: &str, value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_)) || name == "json"
}

/// Returns the content type that the client adds for a body.
fn content_type_of(body: &RequestBody) -> Option<&'static str> {
    match body {
        RequestBody::Json(_) => Some(JSON),
        RequestBody::Form(_) => Some(FORM),
        RequestBody::None | RequestBody::Text(_) | RequestBody::Multipart(_) => None,
    }
}

fn is_content_type(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-type")
}

fn named(pairs: &[(String, Template)]) -> Value {
    pairs
        .iter()
        .map(|(name, value)| (name.clone(), value.source()))
        .collect::<Map<_, _>>()
        .into()
}

fn paired(pairs: &[(Template, Template)]) -> Value {
    let pairs = pairs
        .iter()
        .map(|(name, value)| (literal(name), value.source()));
    pairs.collect::<Map<_, _>>().into()
}

fn literal(template: &Template) -> String {
    query::value::text(Some(&template.source()))
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn template(value: &Value) -> std::result::Result<Template, String> {
    Template::parse_with(value, Functions::Script).map_err(|error| error.message)
}

fn text_template(text: &str) -> std::result::Result<Template, String> {
    Template::parse_text_with(text, Functions::Script).map_err(|error| error.message)
}

fn pairs_of(value: &Value) -> std::result::Result<Vec<(Template, Template)>, String> {
    let Value::Object(pairs) = value else {
        return Ok(Vec::new());
    };
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| Ok((Template::from(name.as_str()), template(value)?)))
        .collect()
}

/// Returns the headers to send. Names are compared without regard to case, and sent in lower case.
fn changed_headers(
    changed: &Value,
    before: &[(String, Template)],
) -> std::result::Result<Vec<(String, Template)>, String> {
    let empty = Map::new();
    let changed = changed.as_object().unwrap_or(&empty);
    let mut headers: Vec<(String, Template)> = Vec::new();
    let is_kept = |name: &str| OF_CLIENT.iter().any(|own| name.eq_ignore_ascii_case(own));
    for (name, value) in before {
        let found = changed
            .iter()
            .rfind(|(known, _)| known.eq_ignore_ascii_case(name));
        match found {
            Some((_, value)) => headers.push((name.clone(), header(value)?)),
            None if is_kept(name) => headers.push((name.clone(), value.clone())),
            None => {}
        }
    }
    for (name, value) in changed {
        if !headers
            .iter()
            .any(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            headers.push((name.to_ascii_lowercase(), header(value)?));
        }
    }
    Ok(headers)
}

fn header(value: &Value) -> std::result::Result<Template, String> {
    match value {
        Value::String(text) => text_template(text),
        other => Ok(Template::Literal(Value::String(query::value::text(Some(
            other,
        ))))),
    }
}
