//! The built-in modules by name.

use std::rc::Rc;

use rquickjs::{Ctx, Object, Result};

use super::{
    core, crypto, data, encoding, errors::throw, execution, html, http, jslib, metrics,
    state::State, timers, websocket,
};

/// Creates the exports of a built-in module. `default` is the object itself.
pub fn module<'js>(ctx: &Ctx<'js>, state: &Rc<State>, name: &str) -> Result<Object<'js>> {
    let exports = match name {
        "k6" => core::module(ctx, state)?,
        "k6/metrics" => metrics::module(ctx, state)?,
        "k6/timers" => timers::module(ctx)?,
        jslib::NATIVE => jslib::native(ctx, state)?,
        "k6/crypto" => crypto::module(ctx)?,
        "k6/data" => data::module(ctx, state)?,
        "k6/encoding" => encoding::module(ctx)?,
        "k6/execution" => execution::module(ctx, state)?,
        "k6/html" => html::module(ctx)?,
        "k6/http" => http::module(ctx, state)?,
        "k6/experimental/websockets" => websocket::experimental(ctx, state)?,
        "k6/websockets" => websocket::event_loop(ctx, state)?,
        "k6/ws" => websocket::blocking(ctx, state)?,
        _ => return Err(throw(ctx, &format!("the module `{name}` does not exist"))),
    };
    Ok(exports)
}
