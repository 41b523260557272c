//! The response to a request. Its fields become JavaScript values when they are read.

use std::rc::Rc;

use rquickjs::{
    Array, ArrayBuffer, Class, Ctx, Object, Result, Value as Js,
    object::{Accessor, Property},
    prelude::{Func, Opt, This},
};

use super::{
    super::{errors::throw, host::HttpOutcome, json_path, state::State},
    array_of, pages,
    params::{ResponseType, canonical},
    perform::Finished,
};
use crate::js::{
    edge::{Native, native_class},
    values::{text_to_js, to_js},
};

/// The response to a request, as scripts see it.
pub struct Response {
    finished: Rc<Finished>,
    state: Rc<State>,
}

type ResponseInstance<'js> = Class<'js, Native<Response>>;

/// Name of the property that stores the parsed body.
const PARSED: &str = "loadline:json";

type ReadField = for<'a, 'js> fn(&'a Ctx<'js>, &'a Finished) -> Result<Js<'js>>;

/// Fields in the order in which they are listed.
const FIELDS: [(&str, ReadField); 16] = [
    ("remote_ip", |ctx, of| {
        text_to_js(ctx, &of.outcome.remote_ip)
    }),
    ("remote_port", |ctx, of| {
        number(ctx, f64::from(of.outcome.remote_port))
    }),
    ("url", |ctx, of| text_to_js(ctx, &of.request.url)),
    ("status", |ctx, of| {
        number(ctx, f64::from(of.outcome.status))
    }),
    ("status_text", status_text),
    ("proto", |ctx, of| text_to_js(ctx, &of.outcome.proto)),
    ("headers", headers),
    ("cookies", cookies),
    ("body", body),
    ("timings", timings),
    ("tls_version", |ctx, of| {
        text_to_js(ctx, &of.outcome.tls_version)
    }),
    ("tls_cipher_suite", |ctx, of| {
        text_to_js(ctx, &of.outcome.tls_cipher_suite)
    }),
    ("ocsp", ocsp),
    ("error", |ctx, of| {
        let error = of.outcome.error.as_ref();
        text_to_js(ctx, error.map_or("", |error| error.text.as_str()))
    }),
    ("error_code", |ctx, of| {
        number(ctx, f64::from(of.error_code))
    }),
    ("request", request),
];

native_class!(Response, "Response", add_methods);

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    for (name, read) in FIELDS {
        let get = move |ctx: Ctx<'js>, this: This<ResponseInstance<'js>>| -> Result<Js<'js>> {
            let value = read(&ctx, &this.0.borrow().0.finished)?;
            keep(&this.0, name, value.clone())?;
            Ok(value)
        };
        let set =
            move |this: This<ResponseInstance<'js>>, value: Js<'js>| keep(&this.0, name, value);
        prototype.prop(name, Accessor::new(get, set).enumerable().configurable())?;
    }
    prototype.prop("json", Property::from(Func::from(json)).writable())?;
    prototype.prop("toJSON", Property::from(Func::from(plain)).writable())?;
    let html = |ctx: Ctx<'js>, this: This<ResponseInstance<'js>>, selector: Opt<Js<'js>>| {
        let finished = Rc::clone(&this.0.borrow().0.finished);
        pages::html_of(&ctx, &finished, selector.0)
    };
    prototype.prop("html", Property::from(Func::from(html)).writable())?;
    let submit = |ctx: Ctx<'js>, this: This<ResponseInstance<'js>>, options: Opt<Js<'js>>| {
        let (finished, state) = parts(&this.0);
        pages::submit_form(&ctx, &state, &finished, options.0)
    };
    prototype.prop("submitForm", Property::from(Func::from(submit)).writable())?;
    let click = |ctx: Ctx<'js>, this: This<ResponseInstance<'js>>, options: Opt<Js<'js>>| {
        let (finished, state) = parts(&this.0);
        pages::click_link(&ctx, &state, &finished, options.0)
    };
    prototype.prop("clickLink", Property::from(Func::from(click)).writable())?;
    Ok(())
}

/// Stores the value of a field in the object itself, where the script may change it.
fn keep<'js>(this: &ResponseInstance<'js>, name: &str, value: Js<'js>) -> Result<()> {
    let property = Property::from(value).writable().enumerable();
    this.prop(name, property.configurable())
}

fn parts(this: &ResponseInstance<'_>) -> (Rc<Finished>, Rc<State>) {
    let this = this.borrow();
    (Rc::clone(&this.0.finished), Rc::clone(&this.0.state))
}

/// Creates a response.
pub fn create<'js>(ctx: &Ctx<'js>, state: &Rc<State>, finished: Finished) -> Result<Js<'js>> {
    let response = Native(Response {
        finished: Rc::new(finished),
        state: Rc::clone(state),
    });
    Ok(Class::instance(ctx.clone(), response)?.into_value())
}

/// Returns a plain object with all fields, for `JSON.stringify`.
fn plain<'js>(ctx: Ctx<'js>, this: This<ResponseInstance<'js>>) -> Result<Object<'js>> {
    let plain = Object::new(ctx)?;
    for (name, _) in FIELDS {
        let value: Js<'js> = this.0.get(name)?;
        plain.set(name, value)?;
    }
    Ok(plain)
}

fn number<'js>(ctx: &Ctx<'js>, value: f64) -> Result<Js<'js>> {
    Ok(Js::new_number(ctx.clone(), value))
}

fn status_text<'js>(ctx: &Ctx<'js>, of: &Finished) -> Result<Js<'js>> {
    let status = of.outcome.status;
    if status == 0 {
        return text_to_js(ctx, "");
    }
    let text = super::status::reason(status);
    text_to_js(ctx, format!("{status} {text}").trim_end())
}

fn headers<'js>(ctx: &Ctx<'js>, of: &Finished) -> Result<Js<'js>> {
    Ok(header_object(ctx, &of.outcome)?.into_value())
}

/// Returns the headers of a response as an object with canonical names.
pub fn header_object<'js>(ctx: &Ctx<'js>, outcome: &HttpOutcome) -> Result<Object<'js>> {
    let mut joined: Vec<(String, String)> = Vec::new();
    for (name, value) in outcome.headers.iter() {
        let name = canonical(name);
        match joined.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => {
                all.push_str(", ");
                all.push_str(value);
            }
            None => joined.push((name, value.to_owned())),
        }
    }
    let object = Object::new(ctx.clone())?;
    for (name, value) in joined {
        object.set(name, value)?;
    }
    Ok(object)
}

fn body<'js>(ctx: &Ctx<'js>, of: &Finished) -> Result<Js<'js>> {
    if of.outcome.status == 0 || of.outcome.error.is_some() {
        return Ok(Js::new_null(ctx.clone()));
    }
    match of.response_type {
        ResponseType::Text => text_to_js(ctx, &String::from_utf8_lossy(&of.outcome.body)),
        ResponseType::Binary => {
            Ok(ArrayBuffer::new_copy(ctx.clone(), &of.outcome.body)?.into_value())
        }
        ResponseType::None => Ok(Js::new_null(ctx.clone())),
    }
}

fn timings<'js>(ctx: &Ctx<'js>, of: &Finished) -> Result<Js<'js>> {
    let timings = &of.outcome.timings;
    let parts = [
        ("duration", timings.duration()),
        ("blocked", timings.blocked),
        ("looking_up", 0),
        ("connecting", timings.connecting),
        ("tls_handshaking", timings.tls_handshaking),
        ("sending", timings.sending),
        ("waiting", timings.waiting),
        ("receiving", timings.receiving),
    ];
    let object = Object::new(ctx.clone())?;
    for (name, ns) in parts {
        object.set(name, ns as f64 / 1e6)?;
    }
    Ok(object.into_value())
}

fn ocsp<'js>(ctx: &Ctx<'js>, _: &Finished) -> Result<Js<'js>> {
    let object = Object::new(ctx.clone())?;
    for name in ["produced_at", "this_update", "next_update", "revoked_at"] {
        object.set(name, 0)?;
    }
    object.set("revocation_reason", "")?;
    object.set("status", "unknown")?;
    Ok(object.into_value())
}

fn cookies<'js>(ctx: &Ctx<'js>, of: &Finished) -> Result<Js<'js>> {
    let object = Object::new(ctx.clone())?;
    let headers = of.outcome.headers.iter();
    for (_, line) in headers.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
        let mut parts = line.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            continue;
        };
        let cookie = Object::new(ctx.clone())?;
        cookie.set("name", name)?;
        cookie.set("value", value.trim_matches('"'))?;
        let (mut domain, mut path, mut max_age, mut expires) = ("", "", 0.0, 0.0);
        let (mut http_only, mut secure) = (false, false);
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key.to_ascii_lowercase().as_str() {
                "domain" => domain = value.trim_start_matches('.'),
                "path" => path = value,
                "max-age" => max_age = value.parse().unwrap_or(0.0),
                "expires" => {
                    let seconds = codec::cookie_date::parse(value).unwrap_or(0);
                    expires = seconds as f64 * 1000.0;
                }
                "httponly" => http_only = true,
                "secure" => secure = true,
                _ => {}
            }
        }
        cookie.set("domain", domain)?;
        cookie.set("path", path)?;
        cookie.set("http_only", http_only)?;
        cookie.set("secure", secure)?;
        cookie.set("max_age", max_age)?;
        cookie.set("expires", expires)?;
        let known: Option<Array<'js>> = object.get(name)?;
        match known {
            Some(list) => list.set(list.len(), cookie)?,
            None => object.set(name, array_of(ctx, vec![cookie.into_value()])?)?,
        }
    }
    Ok(object.into_value())
}

fn request<'js>(ctx: &Ctx<'js>, of: &Finished) -> Result<Js<'js>> {
    let sent = &of.request;
    let object = Object::new(ctx.clone())?;
    object.set("method", sent.method.as_str())?;
    object.set("url", sent.url.as_str())?;
    let headers = Object::new(ctx.clone())?;
    for (name, value) in &sent.headers {
        let value = text_to_js(ctx, value)?;
        headers.set(name.as_str(), array_of(ctx, vec![value])?)?;
    }
    object.set("headers", headers)?;
    let body = sent.body.as_deref().unwrap_or_default();
    object.set("body", text_to_js(ctx, &String::from_utf8_lossy(body))?)?;
    let cookies = Object::new(ctx.clone())?;
    for cookie in &sent.cookies {
        let own = Object::new(ctx.clone())?;
        own.set("name", cookie.name.as_str())?;
        own.set("value", cookie.value.as_str())?;
        own.set("replace", cookie.replaces)?;
        cookies.set(cookie.name.as_str(), array_of(ctx, vec![own.into_value()])?)?;
    }
    object.set("cookies", cookies)?;
    Ok(object.into_value())
}

/// Returns the body as JSON, or the value at a path in it.
fn json<'js>(
    ctx: Ctx<'js>,
    this: This<ResponseInstance<'js>>,
    path: Opt<Js<'js>>,
) -> Result<Js<'js>> {
    let this = this.0;
    let finished = Rc::clone(&this.borrow().0.finished);
    let is_missing = finished.outcome.status == 0
        || finished.outcome.error.is_some()
        || finished.response_type == ResponseType::None;
    if is_missing {
        return Err(throw(
            &ctx,
            "the body is null so we can't transform it to JSON - this likely was because of a \
             request error getting the response",
        ));
    }
    let bytes = &finished.outcome.body;
    let path = path
        .0
        .filter(|path| !path.is_undefined() && !path.is_null());
    if let Some(path) = path {
        let path = path.get::<rquickjs::Coerced<String>>()?.0;
        return match json_path::find(bytes, &path) {
            Some(value) => to_js(&ctx, &value),
            None => Ok(Js::new_undefined(ctx)),
        };
    }
    let known: Option<Js<'js>> = this.get(PARSED)?;
    if let Some(known) = known {
        return Ok(known);
    }
    let parsed = ctx.json_parse(bytes.as_slice());
    let Ok(parsed) = parsed else {
        ctx.catch();
        return Err(throw(&ctx, &json_path::describe_error(bytes)));
    };
    this.prop(PARSED, Property::from(parsed.clone()).configurable())?;
    Ok(parsed)
}
