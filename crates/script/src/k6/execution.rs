//! The module `k6/execution`: the running test, scenario and virtual user.

use std::rc::Rc;

use rquickjs::{
    Array, Coerced, Ctx, Exception, Object, Proxy, Result, Value as Js,
    object::Accessor,
    prelude::{Func, Opt},
    proxy::ProxyHandler,
};

use super::{
    errors::{throw, throw_interrupted},
    host::{InstanceInfo, ScenarioInfo},
    state::{IterationInfo, Stage, State},
    tags,
};

/// Creates the module.
pub fn module<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let module = Object::new(ctx.clone())?;
    module.set("instance", instance(ctx, state)?)?;
    module.set("scenario", scenario(ctx, state)?)?;
    module.set("vu", vu(ctx, state)?)?;
    module.set("test", test(ctx, state)?)?;
    Ok(module)
}

fn refusal(what: &str) -> String {
    format!("getting {what} in the init context is not supported")
}

fn instance<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    type ReadInstance = fn(&InstanceInfo) -> f64;
    let fields: [(&str, ReadInstance); 5] = [
        ("currentTestRunDuration", |info| {
            info.current_test_run_duration_ms
        }),
        ("iterationsCompleted", |info| {
            info.iterations_completed as f64
        }),
        ("iterationsInterrupted", |info| {
            info.iterations_interrupted as f64
        }),
        ("vusActive", |info| info.vus_active as f64),
        ("vusInitialized", |info| info.vus_initialized as f64),
    ];
    for (name, read) in fields {
        let own = Rc::clone(state);
        let get = move |ctx: Ctx<'js>| -> Result<f64> {
            let host = own.host(&ctx, &refusal("instance information"))?;
            Ok(read(&host.instance()))
        };
        object.prop(name, Accessor::from(get).enumerable())?;
    }
    Ok(object)
}

fn scenario<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    type ReadScenario =
        for<'a, 'js> fn(&'a Ctx<'js>, &'a IterationInfo, &'a ScenarioInfo) -> Result<Js<'js>>;
    let fields: [(&str, ReadScenario); 6] = [
        ("name", |ctx, info, _| {
            crate::js::values::text_to_js(ctx, &info.scenario)
        }),
        ("executor", |ctx, _, of| {
            crate::js::values::text_to_js(ctx, &of.executor)
        }),
        ("startTime", |ctx, _, of| {
            Ok(Js::new_number(ctx.clone(), of.start_time_ms))
        }),
        ("progress", |ctx, _, of| {
            Ok(Js::new_number(ctx.clone(), of.progress))
        }),
        ("iterationInInstance", |ctx, info, _| {
            Ok(Js::new_number(ctx.clone(), info.in_instance as f64))
        }),
        ("iterationInTest", |ctx, info, _| {
            Ok(Js::new_number(ctx.clone(), info.in_test as f64))
        }),
    ];
    for (name, read) in fields {
        let own = Rc::clone(state);
        let get = move |ctx: Ctx<'js>| -> Result<Js<'js>> {
            let host = own.host(&ctx, &refusal("scenario information"))?;
            let info = own.iteration.borrow().clone();
            let Some(scenario) = host.scenario(&info.scenario) else {
                let message = "getting scenario information outside of the VU context is not \
                               supported";
                return Err(throw(&ctx, message));
            };
            read(&ctx, &info, &scenario)
        };
        object.prop(name, Accessor::from(get).enumerable())?;
    }
    Ok(object)
}

fn vu<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    type ReadVu = fn(&State) -> f64;
    let fields: [(&str, ReadVu); 4] = [
        ("idInInstance", |state| state.id.instance as f64),
        ("idInTest", |state| state.id.test as f64),
        ("iterationInInstance", |state| {
            state.iteration.borrow().in_vu as f64
        }),
        ("iterationInScenario", |state| {
            state.iteration.borrow().in_vu_scenario as f64
        }),
    ];
    for (name, read) in fields {
        let own = Rc::clone(state);
        let get = move |ctx: Ctx<'js>| -> Result<f64> {
            own.host(&ctx, &refusal("VU information"))?;
            Ok(read(&own))
        };
        object.prop(name, Accessor::from(get).enumerable())?;
    }
    let tags = tags_object(ctx, state)?;
    object.prop(
        "tags",
        rquickjs::object::Property::from(tags.clone()).enumerable(),
    )?;
    let metrics = Object::new(ctx.clone())?;
    metrics.set("tags", tags)?;
    metrics.set("metadata", Object::new(ctx.clone())?)?;
    object.set("metrics", metrics)?;
    Ok(object)
}

/// Creates the object whose properties are the tags of the virtual user's samples.
fn tags_object<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Proxy<'js>> {
    let own = Rc::clone(state);
    let get = move |ctx: Ctx<'js>, _: Object<'js>, name: Js<'js>, _: Js<'js>| -> Result<Js<'js>> {
        let name = name.get::<Coerced<String>>().map(|name| name.0);
        let tags = own.tags.borrow();
        let value = name
            .ok()
            .and_then(|name| tags.get(&name).map(str::to_owned));
        match value {
            Some(value) => crate::js::values::text_to_js(&ctx, &value),
            None => Ok(Js::new_undefined(ctx)),
        }
    };
    let own = Rc::clone(state);
    let set = move |ctx: Ctx<'js>,
                    _: Object<'js>,
                    name: Coerced<String>,
                    value: Js<'js>,
                    _: Js<'js>|
          -> Result<bool> {
        own.host(&ctx, &refusal("VU information"))?;
        let text = tags::text(&ctx, &name.0, &value);
        let text = text.map_err(|_| {
            ctx.catch();
            Exception::throw_type(
                &ctx,
                &format!(
                    "invalid value for metric tag '{}': only String, Boolean and Number types \
                     are accepted as a metric tag values",
                    name.0
                ),
            )
        })?;
        own.set_tag(&name.0, &text);
        Ok(true)
    };
    let own = Rc::clone(state);
    let delete = move |_: Object<'js>, name: Coerced<String>| {
        own.set_tag(&name.0, "");
        true
    };
    let own = Rc::clone(state);
    let has = move |_: Object<'js>, name: Coerced<String>| own.tags.borrow().get(&name.0).is_some();
    let own = Rc::clone(state);
    let keys = move |ctx: Ctx<'js>, _: Object<'js>| -> Result<Array<'js>> {
        let keys = Array::new(ctx)?;
        for (index, (name, _)) in own.tags.borrow().iter().enumerate() {
            keys.set(index, name)?;
        }
        Ok(keys)
    };
    let own = Rc::clone(state);
    let describe = move |ctx: Ctx<'js>, _: Object<'js>, name: Coerced<String>| -> Result<Js<'js>> {
        let tags = own.tags.borrow();
        let Some(value) = tags.get(&name.0) else {
            return Ok(Js::new_undefined(ctx));
        };
        let descriptor = Object::new(ctx)?;
        descriptor.set("value", value)?;
        for flag in ["writable", "enumerable", "configurable"] {
            descriptor.set(flag, true)?;
        }
        Ok(descriptor.into_value())
    };
    let handler = Object::new(ctx.clone())?;
    handler.set("get", Func::from(get))?;
    handler.set("set", Func::from(set))?;
    handler.set("deleteProperty", Func::from(delete))?;
    handler.set("has", Func::from(has))?;
    handler.set("ownKeys", Func::from(keys))?;
    handler.set("getOwnPropertyDescriptor", Func::from(describe))?;
    let target = Object::new(ctx.clone())?;
    Proxy::new(ctx.clone(), target, ProxyHandler::from_object(handler)?)
}

fn test<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let own = Rc::clone(state);
    let abort = move |ctx: Ctx<'js>, reason: Opt<Coerced<String>>| -> Result<()> {
        let text = reason.0.map_or(String::new(), |reason| reason.0);
        match &own.host {
            Some(host) => host.abort(&text),
            // While the script is loaded, the caller reports this.
            None => *own.aborted.borrow_mut() = Some(text),
        }
        own.waiter.end();
        Err(throw_interrupted(&ctx))
    };
    object.set("abort", Func::from(abort))?;
    let own = Rc::clone(state);
    let fail = move |reason: Opt<Coerced<String>>| {
        if let Some(host) = &own.host {
            host.mark_failed(&reason.0.map_or(String::new(), |reason| reason.0));
        }
    };
    object.set("fail", Func::from(fail))?;
    let own = Rc::clone(state);
    let options = move |ctx: Ctx<'js>| -> Result<Js<'js>> {
        if own.stage.get() == Stage::Init {
            return Err(throw(&ctx, &refusal("test options")));
        }
        let host = own.host(&ctx, &refusal("test options"))?;
        ctx.json_parse(host.options())
    };
    object.prop("options", Accessor::from(options).enumerable())?;
    Ok(object)
}
