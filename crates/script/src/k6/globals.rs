//! Global objects and functions of scripts.

use std::rc::Rc;

use rquickjs::{
    ArrayBuffer, Ctx, Object, Result, Value as Js,
    prelude::{Func, Opt},
};

use super::{
    console, encoding,
    errors::throw,
    loader::{Modules, caller, only_in_init},
    names,
    state::State,
    timers, web_crypto,
};
use crate::js::values::text_to_js;

/// Defines all globals. Must be called before the script is imported.
pub fn define<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<()> {
    let globals = ctx.globals();
    let environment = Object::new(ctx.clone())?;
    for (name, value) in &state.shared.settings.environment {
        environment.set(name.as_str(), value.as_str())?;
    }
    globals.set("__ENV", environment)?;
    globals.set("__VU", state.id.instance as f64)?;
    if !state.shared.settings.is_base {
        globals.set("global", globals.clone())?;
    }
    Modules(Rc::clone(state)).attach(ctx)?;
    console::define(ctx, state)?;
    timers::define(ctx, state)?;
    web_crypto::define(ctx)?;
    encoding::define(ctx)?;
    let own = Rc::clone(state);
    let open_file = move |ctx: Ctx<'js>, path: String, mode: Opt<String>| {
        let is_binary = mode.0.is_some_and(|mode| mode.contains('b'));
        open(&ctx, &own, &path, is_binary)
    };
    globals.set("open", Func::from(open_file))
}

/// Reads a file. The path is relative to the calling module.
fn open<'js>(ctx: &Ctx<'js>, state: &State, path: &str, is_binary: bool) -> Result<Js<'js>> {
    state.require_init(ctx, &only_in_init("open"))?;
    let path = path.strip_prefix("file://").unwrap_or(path);
    if path.is_empty() {
        return Err(throw(ctx, "open() can't be used with an empty filename"));
    }
    let base = caller(ctx).unwrap_or_else(|| state.shared.main.clone());
    let folder = names::path(&base).and_then(std::path::Path::parent);
    let Some(folder) = folder else {
        let message = format!("`{base}` is on another host, so it cannot open local files");
        return Err(throw(ctx, &message));
    };
    let name = names::of_file(&names::normal(&folder.join(path)));
    let content = state.shared.read(&name);
    let content = content.map_err(|message| throw(ctx, &message))?;
    match is_binary {
        true => Ok(ArrayBuffer::new_copy(ctx.clone(), &content)?.into_value()),
        false => text_to_js(ctx, &String::from_utf8_lossy(&content)),
    }
}
