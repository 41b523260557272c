//! The built-in modules by name.

use std::rc::Rc;

use rquickjs::{Ctx, IntoJs, Object, Result};

use super::{core, metrics, state::State, timers};

/// Creates the exports of a built-in module. `default` is the object itself.
pub fn module<'js>(ctx: &Ctx<'js>, state: &Rc<State>, name: &str) -> Result<Object<'js>> {
    let exports = match name {
        "k6" => core::module(ctx, state)?,
        "k6/metrics" => metrics::module(ctx, state)?,
        "k6/timers" => timers::module(ctx)?,
        _ => Object::new(ctx.clone())?,
    };
    Ok(exports)
}

/// Sets a property that `for…in` and `Object.keys` do not show.
pub fn set_hidden<'js>(
    object: &Object<'js>,
    name: &str,
    value: impl IntoJs<'js>,
) -> Result<()> {
    object.prop(
        name,
        rquickjs::object::Property::from(value)
            .writable()
            .configurable(),
    )
}
