//! The module `k6`: checks, groups, sleep, fail and random numbers.

use std::{cell::Cell, rc::Rc};

use ::k6::metric;
use rquickjs::{
    Coerced, Ctx, Function, Object, Persistent, Result, Value as Js,
    prelude::{Func, Opt, Rest},
};

use super::{errors::throw, state::State, tags};

/// Creates the module.
pub fn module<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let module = Object::new(ctx.clone())?;
    let own = Rc::clone(state);
    let check_values = move |ctx: Ctx<'js>, arguments: Rest<Js<'js>>| check(&ctx, &own, &arguments);
    module.set("check", Func::from(check_values))?;
    let own = Rc::clone(state);
    let run_group = move |ctx: Ctx<'js>, name: Coerced<String>, function: Opt<Js<'js>>| {
        group(&ctx, &own, &name.0, function.0)
    };
    module.set("group", Func::from(run_group))?;
    let own = Rc::clone(state);
    let wait = move |ctx: Ctx<'js>, seconds: Coerced<f64>| sleep(&ctx, &own, seconds.0);
    module.set("sleep", Func::from(wait))?;
    module.set("fail", Func::from(fail))?;
    module.set("randomSeed", Func::from(random_seed))?;
    Ok(module)
}

/// Returns whether a function is asynchronous. Asynchronous functions have a prototype of their
/// own.
fn is_async<'js>(ctx: &Ctx<'js>, state: &State, function: &Function<'js>) -> Result<bool> {
    const KEPT: &str = "prototype of asynchronous functions";
    let known = state.kept.borrow().get(KEPT).cloned();
    let prototype = match known {
        Some(known) => known.restore(ctx)?,
        None => {
            let prototype: Js<'js> = ctx.eval("Object.getPrototypeOf(async () => {})")?;
            let kept = Persistent::save(ctx, prototype.clone());
            state.kept.borrow_mut().insert(KEPT, kept);
            prototype
        }
    };
    Ok(function.get_prototype().map(Object::into_value) == Some(prototype))
}

/// Returns whether a value counts as true.
pub fn is_true(value: &Js<'_>) -> Result<bool> {
    Ok(value.get::<Coerced<bool>>()?.0)
}

fn check<'js>(ctx: &Ctx<'js>, state: &State, arguments: &[Js<'js>]) -> Result<bool> {
    state.host(ctx, "Using check() in the init context is not supported")?;
    let [value, sets, ..] = arguments else {
        return Err(throw(
            ctx,
            "check() requires a value and an object of checks",
        ));
    };
    let own = tags::read(ctx, arguments.get(2))?;
    let tags = state.tags_with(&tags::borrowed(&own));
    let mut all_pass = true;
    let Some(sets) = sets.as_object() else {
        return Ok(true);
    };
    for entry in sets.props::<String, Js<'js>>() {
        let (name, condition) = entry?;
        if name.contains("::") {
            return Err(throw(ctx, "group and check names may not contain '::'"));
        }
        let tags = match state.has_system_tag("check") {
            true => state.tag_cache.with(&tags, &[("check", &name)]),
            false => tags.clone(),
        };
        let outcome = pass(ctx, state, &condition, value);
        let passes = matches!(outcome, Ok(true));
        state.report(&tags, &[(metric::CHECKS, f64::from(u8::from(passes)))]);
        outcome?;
        all_pass &= passes;
    }
    Ok(all_pass)
}

fn pass<'js>(ctx: &Ctx<'js>, state: &State, condition: &Js<'js>, value: &Js<'js>) -> Result<bool> {
    let Some(function) = condition.as_function() else {
        return is_true(condition);
    };
    if is_async(ctx, state, function)? {
        return Err(throw(
            ctx,
            "the built-in check() does not support async functions as arguments. Use the \
             JavaScript utils library as a replacement. Refer to \
             https://grafana.com/docs/k6/latest/javascript-api/jslib/utils/check/ for more info",
        ));
    }
    is_true(&function.call::<_, Js<'js>>((value.clone(),))?)
}

fn group<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    name: &str,
    function: Option<Js<'js>>,
) -> Result<Js<'js>> {
    let host = state.host(ctx, "Using group() in the init context is not supported")?;
    let Some(function) = function.as_ref().and_then(Js::as_function) else {
        return Err(throw(
            ctx,
            "group() requires a callback as a second argument",
        ));
    };
    if is_async(ctx, state, function)? {
        return Err(throw(
            ctx,
            "group() does not support async functions as arguments, please see \
             https://grafana.com/docs/k6/latest/javascript-api/k6/group/ for more info",
        ));
    }
    if name.contains("::") {
        return Err(throw(ctx, "group and check names may not contain '::'"));
    }
    let outer = state.group.borrow().clone();
    state.set_group(format!("{outer}::{name}"));
    let began_ns = host.now_ns();
    let result = function.call::<_, Js<'js>>(());
    let duration_ms = host.now_ns().saturating_sub(began_ns) as f64 / 1e6;
    let tags = state.tags.borrow().clone();
    state.report(&tags, &[(metric::GROUP_DURATION, duration_ms)]);
    state.set_group(outer);
    result
}

fn sleep(ctx: &Ctx<'_>, state: &State, seconds: f64) -> Result<()> {
    // While the script is loaded, `sleep` has no clock to wait on.
    let Some(host) = &state.host else {
        return Ok(());
    };
    if seconds > 0.0 {
        // `as` saturates, so a huge number waits for centuries.
        state.wait(ctx, host.sleep((seconds * 1e9) as u64))?;
    }
    Ok(())
}

fn fail(ctx: Ctx<'_>, text: Opt<Coerced<String>>) -> Result<()> {
    Err(throw(&ctx, &text.0.map_or(String::new(), |text| text.0)))
}

/// Replaces `Math.random` with a seeded generator (SplitMix64).
fn random_seed(ctx: Ctx<'_>, seed: f64) -> Result<()> {
    let next = Cell::new(seed.to_bits());
    let random = move || {
        next.set(next.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut mixed = next.get();
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let math: Object<'_> = ctx.globals().get("Math")?;
    math.set("random", Func::from(random))
}
