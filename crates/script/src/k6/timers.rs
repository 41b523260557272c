//! `setTimeout`, `setInterval` and the functions that clear them, which are also in the module
//! `k6/timers`.

use std::rc::Rc;

use rquickjs::{
    Coerced, Ctx, Exception, Function, Object, Persistent, Result, Value as Js,
    function::Args,
    prelude::{Func, Opt, Rest},
};

use super::{background::Completion, state::State};

const NAMES: [&str; 4] = ["setTimeout", "clearTimeout", "setInterval", "clearInterval"];

/// The function that a timer calls, with its arguments.
#[derive(Clone)]
struct Callback {
    function: Persistent<Function<'static>>,
    arguments: Vec<Persistent<Js<'static>>>,
}

impl Callback {
    fn call(&self, ctx: &Ctx<'_>) -> Result<()> {
        let mut arguments = Args::new(ctx.clone(), self.arguments.len());
        for argument in &self.arguments {
            arguments.push_arg(argument.clone().restore(ctx)?)?;
        }
        self.function
            .clone()
            .restore(ctx)?
            .call_arg::<()>(arguments)
    }
}

/// Defines the global functions.
pub fn define<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<()> {
    let globals = ctx.globals();
    for (name, repeats) in [("setTimeout", false), ("setInterval", true)] {
        let own = Rc::clone(state);
        let start = move |ctx: Ctx<'js>,
                          function: Opt<Js<'js>>,
                          delay: Opt<Coerced<f64>>,
                          arguments: Rest<Js<'js>>| {
            let Some(function) = function.0.and_then(Js::into_function) else {
                let message = format!("{name} requires a function as its first argument");
                return Err(Exception::throw_type(&ctx, &message));
            };
            let arguments = arguments.0.into_iter();
            let callback = Callback {
                function: Persistent::save(&ctx, function),
                arguments: arguments
                    .map(|argument| Persistent::save(&ctx, argument))
                    .collect(),
            };
            let delay_ms = delay.0.map_or(0.0, |delay| delay.0);
            Ok(start(&own, callback, delay_ms, repeats) as f64)
        };
        globals.set(name, Func::from(start))?;
    }
    for name in ["clearTimeout", "clearInterval"] {
        let own = Rc::clone(state);
        let clear = move |id: Opt<Coerced<f64>>| {
            own.cancel_timer(id.0.map_or(0, |id| id.0 as u64));
        };
        globals.set(name, Func::from(clear))?;
    }
    Ok(())
}

/// Creates the module `k6/timers`.
pub fn module<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let module = Object::new(ctx.clone())?;
    for name in NAMES {
        let function: Js<'js> = ctx.globals().get(name)?;
        module.set(name, function)?;
    }
    Ok(module)
}

fn start(state: &Rc<State>, callback: Callback, delay_ms: f64, repeats: bool) -> u64 {
    let number = state.new_timer();
    schedule(state, number, callback, delay_ms, repeats);
    number
}

fn schedule(state: &Rc<State>, number: u64, callback: Callback, delay_ms: f64, repeats: bool) {
    // NaN and less than a millisecond count as one millisecond.
    let delay_ns = (delay_ms.max(1.0) * 1e6) as u64;
    let sleep = state.host.as_ref().map(|host| host.sleep(delay_ns));
    let own = Rc::clone(state);
    let task = state.background.start(async move {
        if let Some(sleep) = sleep {
            sleep.await;
        }
        let completion: Completion = Box::new(move |ctx| {
            // The timer may have been cleared after it became due.
            if !own.ends_timer(number) {
                return Ok(());
            }
            if repeats {
                schedule(&own, number, callback.clone(), delay_ms, repeats);
            }
            callback.call(ctx)
        });
        completion
    });
    state.timers.borrow_mut().insert(number, task);
}
