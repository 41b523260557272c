//! A call of functions by a virtual user. Functions run in order, each until it has called its
//! callback or settled its promise.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use engine::{
    hook::Vars,
    program::RequestStep,
    script::{Called, Returned, ScriptCall, ScriptError, ScriptUser, WaitingCall},
};
use measure::accumulator::Reason;
use plan::scenario::Call;
use rquickjs::{
    Coerced, Ctx, Exception, Function, Object, Persistent, Result, Value as Js,
    function::{Args, This},
    prelude::Opt,
};

use super::{
    failure::Thrown,
    fault_names::fault_name,
    instance::Instance,
    request::StepSource,
    response::{self, SentExchange},
    user::JsUser,
    values::function_of,
};

/// How the result of a function is interpreted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The result only shows that the function has ended.
    Nothing,
    /// `next(isTrue)` or a returned value decides.
    Decision,
    /// The returned value decides immediately.
    ImmediateDecision,
}

/// How a function ended: with a decision or an exception.
type Ending = std::result::Result<bool, Thrown>;

/// Receives the ending of the current function. Ignores later endings.
#[derive(Default)]
struct Slot {
    ending: RefCell<Option<Ending>>,
    has_ended: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Slot {
    fn end(&self, ending: Ending) {
        if self.has_ended.replace(true) {
            return;
        }
        self.ending.replace(Some(ending));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// A request that functions may change.
struct ShownRequest {
    object: Persistent<Object<'static>>,
    source: Rc<StepSource>,
    /// Whether its JSON body was read or replaced.
    has_seen_json: Rc<Cell<bool>>,
}

struct RunningCall {
    user: Rc<dyn ScriptUser>,
    instance: Rc<Instance>,
    waiting: VecDeque<String>,
    meaning: Meaning,
    /// Whether a missing function ends the call with [`ScriptError::Missing`].
    is_step: bool,
    arguments: Vec<Persistent<Js<'static>>>,
    changes: Option<ShownRequest>,
    current: String,
    slot: Option<Rc<Slot>>,
    result: std::result::Result<Returned, ScriptError>,
}

/// Starts a call.
pub fn start(
    instance: &Rc<Instance>,
    user: &Rc<dyn ScriptUser>,
    call: ScriptCall<'_, '_>,
    vars: &mut Vars<'_>,
) -> Called {
    let Some(own) = user.as_any().downcast_ref::<JsUser>() else {
        return Called::Done(Ok(Returned::default()));
    };
    let started = instance.enter(Some(&own.caller), |ctx| {
        let mut running = match RunningCall::new(ctx, instance, user, own, call, vars) {
            Ok(running) => running,
            Err(error) => {
                let thrown = Thrown::new(ctx, &error);
                return Err(ScriptError::Failed(instance.counted(&thrown)));
            }
        };
        if running.advance(ctx) {
            running.finish(ctx, own, vars).map(Started::Done)
        } else {
            Ok(Started::Waiting(Box::new(running)))
        }
    });
    match started {
        Ok(Started::Done(returned)) => Called::Done(Ok(returned)),
        Ok(Started::Waiting(waiting)) => Called::Waiting(waiting),
        Err(error) => Called::Done(Err(error)),
    }
}

enum Started {
    Done(Returned),
    Waiting(Box<RunningCall>),
}

impl RunningCall {
    fn new(
        ctx: &Ctx<'_>,
        instance: &Rc<Instance>,
        user: &Rc<dyn ScriptUser>,
        own: &JsUser,
        call: ScriptCall<'_, '_>,
        vars: &mut Vars<'_>,
    ) -> Result<RunningCall> {
        let context = own.context(ctx, vars)?;
        let context_value = Persistent::save(ctx, context.clone().into_value());
        let events = Persistent::save(ctx, instance.events(ctx)?);
        let names = |calls: &[Call]| calls.iter().map(|call| call.function.clone()).collect();
        let mut running = RunningCall {
            user: Rc::clone(user),
            instance: Rc::clone(instance),
            waiting: VecDeque::new(),
            meaning: Meaning::Nothing,
            is_step: false,
            arguments: vec![context_value, events],
            changes: None,
            current: String::new(),
            slot: None,
            result: Ok(Returned::default()),
        };
        match call {
            ScriptCall::Step(call) => {
                running.waiting.push_back(call.function.clone());
                running.is_step = true;
            }
            ScriptCall::While(call) => {
                running.waiting.push_back(call.function.clone());
                running.meaning = Meaning::Decision;
                running.arguments.truncate(1);
            }
            ScriptCall::Condition(call) => {
                running.waiting.push_back(call.function.clone());
                running.is_step = true;
                running.meaning = Meaning::ImmediateDecision;
                let vars: Js<'_> = context.get("vars")?;
                running.arguments = vec![Persistent::save(ctx, vars)];
            }
            ScriptCall::Before { step, base } => {
                running.waiting = names(&step.spec.before);
                let source = step_source(instance, step, base);
                let (object, has_seen_json) = source.object(ctx, instance)?;
                let kept = Persistent::save(ctx, object.clone());
                running.prepend(ctx, [object.into_value()]);
                running.changes = Some(ShownRequest {
                    object: kept,
                    source,
                    has_seen_json,
                });
            }
            ScriptCall::After {
                step,
                sent,
                response,
                moments,
            } => {
                running.waiting = names(&step.spec.after);
                let exchange = SentExchange {
                    step,
                    sent,
                    moments,
                    kept: own.take_request(ctx),
                };
                let (request, answer) = response::objects(ctx, instance, exchange, response)?;
                running.prepend(ctx, [request, answer]);
            }
            ScriptCall::Failed { calls, error } => {
                running.waiting = names(calls);
                let request = match own.take_request(ctx) {
                    Some(request) => request,
                    None => Object::new(ctx.clone())?,
                };
                let error = error_name(instance, error);
                let thrown = Exception::from_message(ctx.clone(), error)?;
                thrown.as_object().set("code", error)?;
                let thrown = thrown.into_object().into_value();
                running.prepend(ctx, [thrown, request.into_value()]);
            }
        }
        Ok(running)
    }

    fn prepend<'js, const N: usize>(&mut self, ctx: &Ctx<'js>, values: [Js<'js>; N]) {
        let values = values.map(|value| Persistent::save(ctx, value));
        self.arguments.splice(0..0, values);
    }

    /// Calls functions until one of them waits. Returns whether all have ended.
    fn advance(&mut self, ctx: &Ctx<'_>) -> bool {
        loop {
            if let Some(slot) = &self.slot {
                let Some(ending) = slot.ending.take() else {
                    return false;
                };
                match ending {
                    Ok(is_true) => {
                        if let Ok(returned) = &mut self.result {
                            returned.is_true = is_true;
                        }
                    }
                    Err(thrown) => {
                        self.instance.report(&self.current, &thrown);
                        let name = if self.instance.state.was_stopped.get() {
                            self.instance.describe(&thrown)
                        } else {
                            self.instance.counted(&thrown)
                        };
                        self.result = Err(ScriptError::Failed(name));
                        return true;
                    }
                }
                self.slot = None;
            }
            let Some(name) = self.waiting.pop_front() else {
                return true;
            };
            let Some(function) = self.instance.function(ctx, &name) else {
                self.instance
                    .report_missing(&name, self.meaning == Meaning::ImmediateDecision);
                if self.is_step {
                    self.result = Err(ScriptError::Missing(name));
                    return true;
                }
                continue;
            };
            let slot = Rc::new(Slot::default());
            self.slot = Some(Rc::clone(&slot));
            self.current = name;
            if let Err(error) = self.call(ctx, &function, &slot) {
                slot.end(Err(Thrown::new(ctx, &error)));
            }
            if let Some(thrown) = self.instance.run_jobs(ctx) {
                slot.end(Err(thrown));
            }
        }
    }

    fn call<'js>(&self, ctx: &Ctx<'js>, function: &Function<'js>, slot: &Rc<Slot>) -> Result<()> {
        let mut arguments = Args::new(ctx.clone(), self.arguments.len() + 1);
        for argument in &self.arguments {
            arguments.push_arg(argument.clone().restore(ctx)?)?;
        }
        if self.meaning != Meaning::ImmediateDecision {
            arguments.push_arg(self.callback(ctx, slot)?)?;
        }
        let returned: Js<'js> = function.call_arg(arguments)?;
        if self.meaning == Meaning::ImmediateDecision {
            slot.end(Ok(is_truthy(&returned)));
            return Ok(());
        }
        let then = match returned.as_object() {
            Some(object) => function_of(object, "then")?,
            None => None,
        };
        let Some(then) = then else {
            if self.meaning == Meaning::Decision
                && let Some(goes_on) = returned.as_bool()
            {
                slot.end(Ok(goes_on));
            }
            return Ok(());
        };
        let (fulfilled, rejected) = (Rc::clone(slot), Rc::clone(slot));
        let fulfil =
            move |value: Opt<Js<'_>>| fulfilled.end(Ok(value.0.is_some_and(|v| is_truthy(&v))));
        let reject = move |reason: Opt<Js<'_>>| rejected.end(Err(thrown_or_undefined(reason)));
        let fulfil = Function::new(ctx.clone(), fulfil)?;
        let reject = Function::new(ctx.clone(), reject)?;
        then.call((This(returned), fulfil, reject))
    }

    /// Creates the callback: `done(error)`, or `next(isTrue)` for a decision.
    fn callback<'js>(&self, ctx: &Ctx<'js>, slot: &Rc<Slot>) -> Result<Function<'js>> {
        let slot = Rc::clone(slot);
        if self.meaning == Meaning::Decision {
            let next =
                move |value: Opt<Js<'_>>| slot.end(Ok(value.0.is_some_and(|v| is_truthy(&v))));
            return Function::new(ctx.clone(), next);
        }
        let done = move |error: Opt<Js<'_>>| {
            let failed = error.0.as_ref().is_some_and(is_truthy);
            slot.end(if failed {
                Err(thrown_or_undefined(error))
            } else {
                Ok(true)
            });
        };
        Function::new(ctx.clone(), done)
    }

    /// Copies back the variables and the changes of the request.
    fn finish(
        mut self,
        ctx: &Ctx<'_>,
        own: &JsUser,
        vars: &mut Vars<'_>,
    ) -> std::result::Result<Returned, ScriptError> {
        let instance = Rc::clone(&self.instance);
        let failed = |error: &rquickjs::Error| {
            ScriptError::Failed(instance.counted(&Thrown::new(ctx, error)))
        };
        own.take_over(ctx, vars).map_err(|error| failed(&error))?;
        let mut returned = std::mem::replace(&mut self.result, Ok(Returned::default()))?;
        if let Some(shown) = self.changes.take() {
            let object = shown.object.restore(ctx).map_err(|error| failed(&error))?;
            let source = shown.source;
            let change = source.change(ctx, &self.instance, &object, &shown.has_seen_json);
            let change = change.map_err(|error| failed(&error))?;
            returned.change = change.map_err(ScriptError::Failed)?;
            own.keep_request(ctx, object);
        }
        Ok(returned)
    }

    fn own(&self) -> Option<&JsUser> {
        self.user.as_any().downcast_ref()
    }
}

impl WaitingCall for RunningCall {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(slot) = &self.slot
            && !slot.has_ended.get()
        {
            slot.waker.replace(Some(cx.waker().clone()));
            return Poll::Pending;
        }
        let instance = Rc::clone(&self.instance);
        let caller = self.own().map(|own| Rc::clone(&own.caller));
        if instance.enter(caller.as_ref(), |ctx| self.advance(ctx)) {
            return Poll::Ready(());
        }
        if let Some(slot) = &self.slot {
            slot.waker.replace(Some(cx.waker().clone()));
        }
        Poll::Pending
    }

    fn has_reason_to_wait(&self) -> bool {
        self.own().is_some_and(|own| own.caller.pending.get() > 0)
    }

    fn describe(&self) -> String {
        format!("`{}`", self.current)
    }

    fn finish(self: Box<Self>, vars: &mut Vars<'_>) -> std::result::Result<Returned, ScriptError> {
        let user = Rc::clone(&self.user);
        let Some(own) = user.as_any().downcast_ref::<JsUser>() else {
            return Ok(Returned::default());
        };
        let instance = Rc::clone(&self.instance);
        instance.enter(Some(&own.caller), |ctx| {
            RunningCall::finish(*self, ctx, own, vars)
        })
    }
}

/// Returns the name that the original tool gives to an error.
fn error_name<'e>(instance: &Instance, error: Reason<'e>) -> &'e str {
    match error {
        Reason::Fault(fault) if instance.state.settings.is_artillery => fault_name(fault),
        Reason::Fault(fault) | Reason::WebSocket(fault) => fault.text(),
        Reason::Refused(_) => "Unexpected server response",
        Reason::Capture => "Failed capture or match",
        Reason::Named(name) => name,
    }
}

fn step_source(instance: &Instance, step: &RequestStep, base: &str) -> Rc<StepSource> {
    let mut sources = instance.sources.borrow_mut();
    let source = sources
        .entry(step.index)
        .or_insert_with(|| StepSource::new(step, base));
    Rc::clone(source)
}

fn is_truthy(value: &Js<'_>) -> bool {
    value.get::<Coerced<bool>>().is_ok_and(|truth| truth.0)
}

fn thrown_or_undefined(value: Opt<Js<'_>>) -> Thrown {
    match value.0 {
        Some(value) => Thrown::from_value(&value),
        None => Thrown {
            name: None,
            message: "undefined".to_owned(),
            at: None,
        },
    }
}
