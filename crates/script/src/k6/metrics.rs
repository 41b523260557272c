//! The module `k6/metrics`: metrics that the script defines.

use std::rc::Rc;

use ::k6::{
    log::Level,
    metric::{Contains, MetricId, MetricType},
};
use rquickjs::{
    Class, Coerced, Ctx, Object, Result, Value as Js,
    function::Constructor,
    object::Accessor,
    prelude::{Func, Opt, This},
};

use super::{
    errors::throw,
    state::{Stage, State},
    tags,
};
use crate::js::edge::{Native, native_class};

/// A metric that the script defines.
pub struct ScriptMetric {
    state: Rc<State>,
    id: MetricId,
    name: String,
    metric_type: MetricType,
}

native_class!(ScriptMetric, "Metric", add_methods);

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    prototype.set("add", Func::from(add))?;
    let name = |this: This<Class<'js, Native<ScriptMetric>>>| this.0.borrow().0.name.clone();
    prototype.prop("name", Accessor::from(name).enumerable())?;
    Ok(())
}

/// Creates the module.
pub fn module<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let module = Object::new(ctx.clone())?;
    let types = [
        ("Counter", MetricType::Counter),
        ("Gauge", MetricType::Gauge),
        ("Rate", MetricType::Rate),
        ("Trend", MetricType::Trend),
    ];
    for (name, metric_type) in types {
        let own = Rc::clone(state);
        let create = move |ctx: Ctx<'js>, name: Coerced<String>, is_time: Opt<Coerced<bool>>| {
            let is_time = is_time.0.is_some_and(|is_time| is_time.0);
            declare(&ctx, &own, name.0, metric_type, is_time)
        };
        let constructor =
            Constructor::new_class::<Native<ScriptMetric>, _, _>(ctx.clone(), create)?;
        // All types share one class, but each constructor has its own name.
        constructor.set_name(name)?;
        module.set(name, constructor)?;
    }
    Ok(module)
}

fn declare<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    name: String,
    metric_type: MetricType,
    is_time: bool,
) -> Result<Class<'js, Native<ScriptMetric>>> {
    if state.stage.get() != Stage::Init {
        return Err(throw(ctx, "metrics must be declared in the init context"));
    }
    let contains = match is_time {
        true => Contains::Time,
        false => Contains::Default,
    };
    let declared = state
        .shared
        .registry()
        .declare(&name, metric_type, contains);
    let id = declared.map_err(|error| throw(ctx, &error.to_string()))?;
    let metric = ScriptMetric {
        state: Rc::clone(state),
        id,
        name,
        metric_type,
    };
    Class::instance(ctx.clone(), Native(metric))
}

fn add<'js>(
    ctx: Ctx<'js>,
    this: This<Class<'js, Native<ScriptMetric>>>,
    value: Opt<Js<'js>>,
    own_tags: Opt<Js<'js>>,
) -> Result<bool> {
    let cell = this.0.borrow();
    let metric = &cell.0;
    let state = &metric.state;
    if state.stage.get() == Stage::Init {
        let message = "Adding to metrics in the init context is not supported";
        return Err(throw(&ctx, message));
    }
    let value = value.0.unwrap_or_else(|| Js::new_undefined(ctx.clone()));
    let number = match (value.as_bool(), value.as_number()) {
        (Some(yes), _) => Some(f64::from(u8::from(yes))),
        (None, Some(number)) => Some(number),
        (None, None) if value.is_string() => {
            let number = value.get::<Coerced<f64>>()?.0;
            Some(number).filter(|number| !number.is_nan())
        }
        (None, None) => None,
    };
    let Some(number) = number.filter(|number| !number.is_nan()) else {
        let shown = value.get::<Coerced<String>>()?.0;
        let message = format!(
            "'{shown}' is an invalid value for metric '{}', a number or a boolean value is \
             expected",
            metric.name
        );
        if state.options.throw {
            return Err(throw(&ctx, &message));
        }
        state.log(Level::Warning, &message, &[]);
        return Ok(false);
    };
    let own = tags::read(&ctx, own_tags.0.as_ref())?;
    let tags = state.tags_with(&tags::borrowed(&own));
    let number = match metric.metric_type {
        MetricType::Rate => f64::from(u8::from(number != 0.0)),
        _ => number,
    };
    state.report(&tags, &[(metric.id, number)]);
    Ok(true)
}
