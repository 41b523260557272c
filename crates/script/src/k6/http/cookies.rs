//! Cookie jars of scripts.

use std::{cell::RefCell, rc::Rc};

use codec::{cookie_date, cookies::Jar, url::Target};
use rquickjs::{
    Class, Coerced, Ctx, Object, Result, Value as Js,
    function::Constructor,
    prelude::{Func, Opt, This},
};

use super::super::{
    errors::throw,
    state::{Stage, State},
};
use crate::js::edge::{Native, native_class};

/// A cookie jar, as scripts see it.
pub struct CookieJar {
    pub jar: Rc<RefCell<Jar>>,
    state: Rc<State>,
}

type JarInstance<'js> = Class<'js, Native<CookieJar>>;

native_class!(CookieJar, "CookieJar", add_methods);

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    prototype.set("cookiesForURL", Func::from(cookies_for_url))?;
    prototype.set("set", Func::from(set))?;
    let clear = |ctx: Ctx<'js>, this: This<JarInstance<'js>>, url: Coerced<String>| -> Result<()> {
        remove(&ctx, &this.0, &url.0, None)
    };
    prototype.set("clear", Func::from(clear))?;
    let delete = |ctx: Ctx<'js>,
                  this: This<JarInstance<'js>>,
                  url: Coerced<String>,
                  name: Coerced<String>|
     -> Result<()> { remove(&ctx, &this.0, &url.0, Some(&name.0)) };
    prototype.set("delete", Func::from(delete))?;
    Ok(())
}

/// Adds `cookieJar` and `CookieJar` to the module.
pub fn define<'js>(module: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let ctx = module.ctx();
    let own = Rc::clone(state);
    let current = move |ctx: Ctx<'js>| {
        let message = "getting a cookie jar in the init context is not supported";
        own.host(&ctx, message)?;
        let jar = CookieJar {
            jar: Rc::clone(&own.jar.borrow()),
            state: Rc::clone(&own),
        };
        Class::instance(ctx, Native(jar))
    };
    module.set("cookieJar", Func::from(current))?;
    let own = Rc::clone(state);
    let create = move |ctx: Ctx<'js>| {
        if own.stage.get() == Stage::Init {
            let message = "Making cookie jars in the init context is not supported";
            return Err(throw(&ctx, message));
        }
        let jar = CookieJar {
            jar: Rc::default(),
            state: Rc::clone(&own),
        };
        Class::instance(ctx, Native(jar))
    };
    let constructor = Constructor::new_class::<Native<CookieJar>, _, _>(ctx.clone(), create)?;
    module.set("CookieJar", constructor)
}

fn target(ctx: &Ctx<'_>, url: &str) -> Result<Target> {
    codec::url::parse(url).ok_or_else(|| throw(ctx, &format!("invalid URL: {url}")))
}

/// Returns the current time in seconds since 1970.
pub fn now_s(state: &State) -> i64 {
    let host = state.host.as_ref();
    host.map_or(0, |host| host.wall_ns() / 1_000_000_000)
}

fn cookies_for_url<'js>(
    ctx: Ctx<'js>,
    this: This<JarInstance<'js>>,
    url: Coerced<String>,
) -> Result<Object<'js>> {
    let this = this.0.borrow();
    let target = target(&ctx, &url.0)?;
    let header = this
        .0
        .jar
        .borrow()
        .header(&target.origin, &target.path, now_s(&this.0.state));
    let cookies = Object::new(ctx.clone())?;
    for (name, value) in pairs(header.as_deref().unwrap_or_default()) {
        let known: Option<rquickjs::Array<'js>> = cookies.get(name)?;
        let values = match known {
            Some(values) => values,
            None => {
                let values = rquickjs::Array::new(ctx.clone())?;
                cookies.set(name, values.clone())?;
                values
            }
        };
        values.set(values.len(), value)?;
    }
    Ok(cookies)
}

/// Returns the names and values in a `Cookie` header.
pub fn pairs(header: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = header.split("; ").filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or(("", pair)))
}

fn set<'js>(
    ctx: Ctx<'js>,
    this: This<JarInstance<'js>>,
    url: Coerced<String>,
    name: Coerced<String>,
    value: Coerced<String>,
    options: Opt<Js<'js>>,
) -> Result<bool> {
    let this = this.0.borrow();
    let target = target(&ctx, &url.0)?;
    let mut line = format!(
        "{}={}",
        name.0.replace([';', '=', '\r', '\n'], ""),
        value.0.replace([';', '\r', '\n'], "")
    );
    let options = options.0.and_then(Js::into_object);
    let mut path = "/".to_owned();
    if let Some(options) = options {
        let text = |key: &str| -> Result<Option<String>> {
            let value: Js<'js> = options.get(key)?;
            if value.is_undefined() || value.is_null() {
                return Ok(None);
            }
            let text = value.get::<Coerced<String>>()?.0;
            Ok(Some(text.replace(';', "")))
        };
        if let Some(domain) = text("domain")? {
            line.push_str(&format!("; Domain={domain}"));
        }
        if let Some(own) = text("path")? {
            path = own;
        }
        if let Some(expires) = text("expires")? {
            if cookie_date::parse(&expires).is_none() {
                let message = format!("unable to parse \"expires\" date string \"{expires}\"");
                return Err(throw(&ctx, &message));
            }
            line.push_str(&format!("; Expires={expires}"));
        }
        if let Some(age) = text("max_age")?.filter(|age| age != "0") {
            line.push_str(&format!("; Max-Age={age}"));
        }
        if text("secure")?.is_some_and(|secure| secure == "true") {
            line.push_str("; Secure");
        }
    }
    line.push_str(&format!("; Path={path}"));
    let now_s = now_s(&this.0.state);
    let mut jar = this.0.jar.borrow_mut();
    Ok(jar.set(&line, &target.origin, &target.path, now_s))
}

fn remove(ctx: &Ctx<'_>, this: &JarInstance<'_>, url: &str, name: Option<&str>) -> Result<()> {
    let target = target(ctx, url)?;
    let this = this.borrow();
    let mut jar = this.0.jar.borrow_mut();
    jar.remove(&target.origin, &target.path, name);
    Ok(())
}
