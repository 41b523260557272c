//! Runs promise jobs, timers and finished requests until there is nothing left to wait for.

use std::rc::Rc;

use rquickjs::{Ctx, Error, Exception, Promise, Result, Value as Js, promise::PromiseState};

use super::{
    errors::{self, ScriptError},
    state::State,
};

/// Waits until a value is settled, if it is a promise, and until the virtual user's background work
/// has finished. Returns the value, or the value of the fulfilled promise.
///
/// # Errors
///
/// Throws the reason of a rejected promise.
pub fn settle<'js>(ctx: &Ctx<'js>, state: &Rc<State>, value: Js<'js>) -> Result<Js<'js>> {
    let promise = value.as_promise().cloned();
    run(ctx, state, None)?;
    finish(ctx, state, promise, value)
}

/// Waits until a promise is settled, as the init code does for `await` at the top level.
///
/// # Errors
///
/// Throws the reason if it was rejected.
pub fn settle_promise<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    promise: Promise<'js>,
) -> Result<Js<'js>> {
    run(ctx, state, Some(&promise))?;
    if promise.state() == PromiseState::Rejected {
        return promise.finish();
    }
    finish(ctx, state, Some(promise.clone()), promise.into_value())
}

/// Runs events until a promise is settled, or until no events are left.
fn run<'js>(ctx: &Ctx<'js>, state: &Rc<State>, until: Option<&Promise<'js>>) -> Result<()> {
    loop {
        run_jobs(ctx, state, until)?;
        if until.is_some_and(|promise| promise.state() != PromiseState::Pending)
            || state.background.is_empty()
        {
            return Ok(());
        }
        if let Some(completion) = state.background.take_finished() {
            completion(ctx)?;
            continue;
        }
        state.begin_stretch();
        let waited = state.waiter.wait(state.background.wait());
        waited.ok_or_else(|| errors::throw_interrupted(ctx))?;
    }
}

fn run_jobs<'js>(ctx: &Ctx<'js>, state: &State, until: Option<&Promise<'js>>) -> Result<()> {
    while ctx.execute_pending_job() {
        if state.waiter.ends() || state.stopped.get().is_some() {
            return Err(errors::throw_interrupted(ctx));
        }
    }
    if until.is_some_and(|promise| promise.state() == PromiseState::Rejected) {
        // The caller reports this promise.
        state.unhandled.clear();
    }
    match state.unhandled.take(ctx) {
        Some(reason) => Err(reject(ctx, &reason)),
        None => Ok(()),
    }
}

fn finish<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    promise: Option<Promise<'js>>,
    value: Js<'js>,
) -> Result<Js<'js>> {
    let Some(promise) = promise else {
        return Ok(value);
    };
    match promise.state() {
        // Nothing can settle the promise any more.
        PromiseState::Pending => Ok(Js::new_undefined(ctx.clone())),
        PromiseState::Resolved => promise.finish(),
        PromiseState::Rejected => {
            let _ = promise.finish::<Js<'js>>();
            let reason = ctx.catch();
            // The reason is reported here, not as a rejection without a handler.
            state.unhandled.clear();
            Err(reject(ctx, &reason))
        }
    }
}

/// Throws the reason of a rejected promise, with k6's prefix.
fn reject(ctx: &Ctx<'_>, reason: &Js<'_>) -> Error {
    let described = ScriptError::from_value(reason);
    let message = format!("Uncaught (in promise) {}", described.message);
    let error = Exception::from_message(ctx.clone(), &message);
    let named = error.and_then(|error| {
        // The text of the error consists only of its message.
        error.as_object().set("name", "")?;
        error.as_object().set("stack", described.stack)?;
        Ok(error)
    });
    match named {
        Ok(error) => error.throw(),
        Err(error) => error,
    }
}
