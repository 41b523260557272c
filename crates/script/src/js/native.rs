//! Native functions for the JavaScript in `surface`: files, hashes, text encodings, URLs, timers,
//! metrics and output.

use std::rc::Rc;

use measure::accumulator::Event;
use plan::{
    rng::{Purpose, Rng},
    template::Template,
};
use rquickjs::{
    Array, Ctx, Exception, Function, Object, Persistent, Result, TypedArray, Value as Js,
    prelude::Func,
};
use serde_json::{Map, Value};
use url::quirks;

use super::{
    edge::bytes,
    files, hashes, http, signatures,
    state::State,
    text,
    values::{from_js, to_js},
};

type Bytes<'js> = TypedArray<'js, u8>;

/// Creates the object with all native functions.
pub fn object<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    output(&native, state)?;
    timers(&native, state)?;
    files::add(&native, state)?;
    http::add(&native, state)?;
    native.set("hash", Func::from(hash))?;
    native.set("hmac", Func::from(hmac))?;
    native.set("sign", Func::from(signatures::sign))?;
    native.set("randomBytes", Func::from(random_bytes))?;
    native.set("encode", Func::from(text::encode))?;
    native.set("decode", Func::from(text::decode))?;
    native.set("template", Func::from(template))?;
    native.set("parseUrl", Func::from(parse_url))?;
    native.set("changeUrl", Func::from(change_url))?;
    let environment = Object::new(ctx.clone())?;
    for (name, value) in &state.settings.environment {
        environment.set(name.as_str(), value.as_str())?;
    }
    native.set("environment", environment)?;
    native.set("testId", state.settings.test_id.as_str())?;
    native.set("version", state.settings.version.as_str())?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    native.set("cores", cores as u32)?;
    native.set("pid", std::process::id())?;
    let arch = if std::env::consts::ARCH == "aarch64" {
        "arm64"
    } else {
        "x64"
    };
    native.set("arch", arch)?;
    let folder = std::env::current_dir().unwrap_or_default();
    native.set("folder", folder.to_string_lossy().into_owned())?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    native.set("hostname", host.trim())?;
    Ok(native)
}

/// Throws an `Error` with a `code`, as Node.js does.
pub fn throw_coded(ctx: &Ctx<'_>, code: &str, message: &str) -> rquickjs::Error {
    let error = Exception::from_message(ctx.clone(), message);
    match error.and_then(|error| error.as_object().set("code", code).map(|()| error)) {
        Ok(error) => error.throw(),
        Err(error) => error,
    }
}

fn output<'js>(native: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let own = Rc::clone(state);
    native.set(
        "print",
        Func::from(move |text: String, is_error: bool| own.print(text, is_error)),
    )?;
    let own = Rc::clone(state);
    native.set(
        "emit",
        Func::from(
            move |ctx: Ctx<'js>, kind: String, name: String, value: f64| {
                emit(&ctx, &own, &kind, &name, value)
            },
        ),
    )?;
    let own = Rc::clone(state);
    native.set("now", Func::from(move || own.now_ns() as f64 / 1e6))
}

/// Reports a custom metric.
fn emit(ctx: &Ctx<'_>, state: &State, kind: &str, name: &str, value: f64) -> Result<()> {
    // Artillery cuts names at this length.
    let name: String = name.chars().take(1024).collect();
    let name = name.as_str();
    match kind {
        "counter" if value >= 0.0 && value.fract() == 0.0 => state.report(&Event::Count {
            name,
            n: value as u64,
        }),
        "counter" => {
            let message = format!("the counter `{name}` takes whole numbers from 0, not {value}");
            return Err(Exception::throw_range(ctx, &message));
        }
        "histogram" if value.is_finite() => state.report(&Event::Value { name, value }),
        "histogram" => {
            let message = format!("the histogram `{name}` takes numbers, not {value}");
            return Err(Exception::throw_range(ctx, &message));
        }
        "rate" => state.report(&Event::Rate { name }),
        _ => state.report(&Event::Remark { name }),
    }
    Ok(())
}

fn timers<'js>(native: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let own = Rc::clone(state);
    let start = move |ctx: Ctx<'js>,
                      function: Function<'js>,
                      delay_ms: f64,
                      repeats: bool,
                      arguments: Array<'js>|
          -> Result<f64> {
        let mut kept = Vec::new();
        for argument in arguments.iter::<Js<'js>>() {
            kept.push(Persistent::save(&ctx, argument?));
        }
        let function = Persistent::save(&ctx, function);
        Ok(own.start_timer(function, kept, delay_ms, repeats) as f64)
    };
    native.set("startTimer", Func::from(start))?;
    let own = Rc::clone(state);
    let clear = move |id: f64| own.clear_timer(id as u64);
    native.set("clearTimer", Func::from(clear))
}

fn hash<'js>(ctx: Ctx<'js>, name: String, content: Bytes<'js>) -> Result<Option<Bytes<'js>>> {
    let digest = hashes::digest(&name, &bytes(&content));
    digest
        .map(|digest| TypedArray::new(ctx, digest))
        .transpose()
}

fn hmac<'js>(
    ctx: Ctx<'js>,
    name: String,
    key: Bytes<'js>,
    content: Bytes<'js>,
) -> Result<Option<Bytes<'js>>> {
    let code = hashes::hmac(&name, &bytes(&key), &bytes(&content));
    code.map(|code| TypedArray::new(ctx, code)).transpose()
}

/// Expands a template with variables. If it has no value, the result is `undefined`.
fn template<'js>(ctx: Ctx<'js>, value: Js<'js>, variables: Js<'js>) -> Result<Js<'js>> {
    let Some(value) = from_js(&value)? else {
        return Ok(Js::new_undefined(ctx));
    };
    let template =
        Template::parse(&value).map_err(|error| Exception::throw_message(&ctx, &error.message))?;
    let variables = match from_js(&variables)? {
        Some(Value::Object(variables)) => variables,
        _ => Map::new(),
    };
    let mut seed = [0; 8];
    let _ = getrandom::fill(&mut seed);
    let mut rng = Rng::keyed(u64::from_ne_bytes(seed), Purpose::User, 0, 0);
    match template.eval(&variables, &mut rng) {
        Some(value) => to_js(&ctx, &value),
        None => Ok(Js::new_undefined(ctx)),
    }
}

/// Maximum number of random bytes per call.
const MOST_RANDOM: usize = 16 << 20;

fn random_bytes(ctx: Ctx<'_>, length: usize) -> Result<Bytes<'_>> {
    let mut bytes = vec![0; length.min(MOST_RANDOM)];
    if length > MOST_RANDOM || getrandom::fill(&mut bytes).is_err() {
        return Err(Exception::throw_range(
            &ctx,
            "too many random bytes requested",
        ));
    }
    TypedArray::new(ctx, bytes)
}

/// Returns the parts of a URL, or `null` if it is invalid.
pub fn parse_url<'js>(
    ctx: Ctx<'js>,
    text: String,
    base: Option<String>,
) -> Result<Option<Object<'js>>> {
    let base = base.map(|base| url::Url::parse(&base));
    let parsed = match base {
        None => url::Url::parse(&text),
        Some(Ok(base)) => base.join(&text),
        Some(Err(_)) => return Ok(None),
    };
    parsed.ok().map(|url| url_object(&ctx, &url)).transpose()
}

fn url_object<'js>(ctx: &Ctx<'js>, url: &url::Url) -> Result<Object<'js>> {
    let parts = Object::new(ctx.clone())?;
    parts.set("href", quirks::href(url))?;
    parts.set("origin", quirks::origin(url))?;
    parts.set("protocol", quirks::protocol(url))?;
    parts.set("username", quirks::username(url))?;
    parts.set("password", quirks::password(url))?;
    parts.set("host", quirks::host(url))?;
    parts.set("hostname", quirks::hostname(url))?;
    parts.set("port", quirks::port(url))?;
    parts.set("pathname", quirks::pathname(url))?;
    parts.set("search", quirks::search(url))?;
    parts.set("hash", quirks::hash(url))?;
    Ok(parts)
}

/// Changes one part of a URL, like the setters of `URL`. Returns the parts of the new URL.
pub fn change_url<'js>(
    ctx: Ctx<'js>,
    href: String,
    part: String,
    value: String,
) -> Result<Option<Object<'js>>> {
    let Ok(mut url) = url::Url::parse(&href) else {
        return Ok(None);
    };
    // An invalid value changes nothing, as in browsers and Node.js.
    let _ = match part.as_str() {
        "href" => return parse_url(ctx, value, None),
        "protocol" => quirks::set_protocol(&mut url, &value),
        "username" => quirks::set_username(&mut url, &value),
        "password" => quirks::set_password(&mut url, &value),
        "hostname" => quirks::set_hostname(&mut url, &value),
        "host" => quirks::set_host(&mut url, &value),
        "port" => quirks::set_port(&mut url, &value),
        part => {
            match part {
                "pathname" => quirks::set_pathname(&mut url, &value),
                "search" => quirks::set_search(&mut url, &value),
                _ => quirks::set_hash(&mut url, &value),
            }
            Ok(())
        }
    };
    url_object(&ctx, &url).map(Some)
}
