//! The modules `k6/ws` and `k6/websockets`: native functions, and the JavaScript on top of them.

mod arguments;
mod handle;
mod open;
mod session;

use std::rc::Rc;

use ::k6::log::Level;
use rquickjs::{
    Ctx, Function, Object, Persistent, Result, Value as Js, context::EvalOptions, prelude::Func,
};

use super::{
    background::Completion,
    errors::throw,
    http::response::header_object,
    state::{Stage, State},
};
use crate::js::values::text_to_js;
use handle::SocketHandle;
use open::OpenedSession;
pub use session::SocketSession;

/// k6's error text for connections in the init code.
const NO_INIT: &str = "using websockets in the init context is not supported";

/// Creates the module `k6/ws`.
pub fn blocking<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    evaluate(ctx, state, "k6/ws", include_str!("blocking.js"))
}

/// Creates the module `k6/websockets`.
pub fn event_loop<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let name = "k6/websockets";
    let known = state.kept.borrow().get(name).cloned();
    if let Some(module) = known {
        return module.restore(ctx)?.get();
    }
    let module = evaluate(ctx, state, name, include_str!("event_loop.js"))?;
    let kept = Persistent::save(ctx, module.clone().into_value());
    state.kept.borrow_mut().insert(name, kept);
    Ok(module)
}

/// Creates the module under its former name.
pub fn experimental<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    // Print one warning for all virtual users.
    if state.id.instance == 1 && state.stage.get() == Stage::Init {
        let message = "k6/experimental/websockets is now k6/websockets: change the import";
        state.log(Level::Warning, message, &[]);
    }
    event_loop(ctx, state)
}

fn evaluate<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    name: &str,
    source: &str,
) -> Result<Object<'js>> {
    let mut options = EvalOptions::default();
    options.global = true;
    options.strict = true;
    options.filename = Some(name.to_owned());
    let create: Function<'js> = ctx.eval_with_options(source, options)?;
    create.call((native(ctx, state)?,))
}

/// Creates the object with the native functions of both modules.
fn native<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    let fail = |ctx: Ctx<'js>, message: String| -> Result<()> { Err(throw(&ctx, &message)) };
    native.set("fail", Func::from(fail))?;
    let quoted = |text: String| format!("{text:?}");
    native.set("quoted", Func::from(quoted))?;
    let own = Rc::clone(state);
    let require_running = move |ctx: Ctx<'js>| own.host(&ctx, NO_INIT).map(|_| ());
    native.set("requireRunning", Func::from(require_running))?;
    let own = Rc::clone(state);
    let warn = move |message: String| own.log(Level::Warning, &message, &[]);
    native.set("warn", Func::from(warn))?;
    let own = Rc::clone(state);
    let now_ms = move || {
        own.host
            .as_ref()
            .map_or(0.0, |host| host.now_ns() as f64 / 1e6)
    };
    native.set("now", Func::from(now_ms))?;
    let own = Rc::clone(state);
    let open = move |ctx: Ctx<'js>, url: String, parameters: Js<'js>| {
        let host = own.host(&ctx, NO_INIT)?;
        let protocols = Js::new_undefined(ctx.clone());
        let call = arguments::read(&ctx, &own, &url, &protocols, &parameters)?;
        let opened = own.wait(&ctx, open::open(Rc::clone(&own), host, call))?;
        if let Some(error) = &opened.response.error
            && own.options.throw
        {
            return Err(throw(&ctx, &error.text));
        }
        result(&ctx, &own, &opened)
    };
    native.set("open", Func::from(open))?;
    let own = Rc::clone(state);
    let open_later = move |ctx: Ctx<'js>,
                           url: String,
                           protocols: Js<'js>,
                           parameters: Js<'js>,
                           callback: Function<'js>|
          -> Result<()> {
        let host = own.host(&ctx, NO_INIT)?;
        let call = arguments::read(&ctx, &own, &url, &protocols, &parameters)?;
        let callback = Persistent::save(&ctx, callback);
        let state = Rc::clone(&own);
        own.background.start(async move {
            let opened = open::open(Rc::clone(&state), host, call).await;
            let completion: Completion = Box::new(move |ctx| {
                let result = result(ctx, &state, &opened)?;
                callback.restore(ctx)?.call((result,))
            });
            completion
        });
        Ok(())
    };
    native.set("openLater", Func::from(open_later))?;
    Ok(native)
}

/// Returns the response of the server, with the connection if there is one.
fn result<'js>(ctx: &Ctx<'js>, state: &Rc<State>, opened: &OpenedSession) -> Result<Object<'js>> {
    let (outcome, error) = (&opened.response, opened.response.error.as_ref());
    let response = Object::new(ctx.clone())?;
    response.set("url", opened.url.as_str())?;
    response.set("status", outcome.status)?;
    response.set("headers", header_object(ctx, outcome)?)?;
    let body = String::from_utf8_lossy(&outcome.body);
    response.set("body", text_to_js(ctx, &body)?)?;
    response.set("error", error.map_or("", |error| error.text.as_str()))?;
    let result = Object::new(ctx.clone())?;
    result.set("response", response)?;
    result.set("protocol", opened.subprotocol())?;
    if let Some(session) = &opened.session {
        result.set("handle", SocketHandle::create(ctx, state, session)?)?;
    }
    Ok(result)
}
