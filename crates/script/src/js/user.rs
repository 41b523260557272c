//! A virtual user of a script, with its `context` object, whose variables are those of the
//! templates.

use std::{any::Any, cell::RefCell, rc::Rc};

use engine::{hook::Vars, script::ScriptUser};
use query::Scope;
use rquickjs::{
    Coerced, Ctx, Object, Persistent, Result as JsResult, String as JsString, Value as Js,
    function::Args,
};
use serde_json::Value;

use super::{
    failure::Thrown,
    instance::Instance,
    state::Caller,
    values::{from_js, function_of, is_same, text_of, to_js},
};

/// A virtual user of a script.
pub struct JsUser {
    objects: RefCell<Option<UserObjects>>,
    pub caller: Rc<Caller>,
    scenario: String,
    pub instance: Rc<Instance>,
}

struct UserObjects {
    context: Persistent<Object<'static>>,
    vars: Persistent<Object<'static>>,
    /// Names and values in `vars` when it was last compared with the template variables.
    synced: Vec<(Persistent<Js<'static>>, Persistent<Js<'static>>)>,
    /// Parameters of the request that the user's `beforeRequest` functions received.
    request: Option<Persistent<Object<'static>>>,
}

impl ScriptUser for JsUser {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn call(
        &self,
        function: &str,
        arguments: &[Option<i64>],
        vars: &Vars<'_>,
    ) -> Result<Option<String>, String> {
        let Some((context, object)) = self.known_objects() else {
            return Ok(None);
        };
        let instance = &self.instance;
        instance.enter(Some(&self.caller), |ctx| {
            let call = || -> JsResult<Option<String>> {
                show(ctx, &object.restore(ctx)?, vars.changed(), vars)?;
                let functions: Object<'_> = context.restore(ctx)?.get("funcs")?;
                let Some(function) = function_of(&functions, function)? else {
                    return Ok(None);
                };
                let mut all = Args::new(ctx.clone(), arguments.len());
                for argument in arguments {
                    all.push_arg(argument.map(|number| number as f64))?;
                }
                let text: Coerced<String> = function.call_arg(all)?;
                Ok(Some(text.0))
            };
            call().map_err(|error| {
                let thrown = Thrown::new(ctx, &error);
                instance.report(function, &thrown);
                instance.counted(&thrown)
            })
        })
    }
}

/// Copies variables of the templates to the object that functions see.
fn show<'js>(
    ctx: &Ctx<'js>,
    object: &Object<'js>,
    names: &[String],
    vars: &Vars<'_>,
) -> JsResult<()> {
    for name in names {
        match vars.get(name) {
            Some(value) => object.set(name.as_str(), to_js(ctx, value)?)?,
            None => object.remove(name.as_str())?,
        }
    }
    Ok(())
}

impl JsUser {
    pub fn new(instance: Rc<Instance>, scenario: &str) -> JsUser {
        JsUser {
            objects: RefCell::default(),
            caller: Rc::default(),
            scenario: scenario.to_owned(),
            instance,
        }
    }

    /// Returns the user's `context` and `vars`. `None` before the first call.
    fn known_objects(&self) -> Option<(Persistent<Object<'static>>, Persistent<Object<'static>>)> {
        let objects = self.objects.borrow();
        let objects = objects.as_ref()?;
        Some((objects.context.clone(), objects.vars.clone()))
    }

    /// Returns the user's `context`, updated with the changed variables.
    pub fn context<'js>(&self, ctx: &Ctx<'js>, vars: &mut Vars<'_>) -> JsResult<Object<'js>> {
        if let Some((context, known_vars)) = self.known_objects() {
            let changed = vars.take_changed();
            show(ctx, &known_vars.restore(ctx)?, &changed, vars)?;
            return context.restore(ctx);
        }
        vars.track_changes();
        let object = Object::new(ctx.clone())?;
        for (name, value) in vars.all(&[]) {
            let Some(value) = value else { continue };
            let value = match value {
                Value::Array(_) | Value::Object(_) if !vars.is_set(name) => {
                    self.constant(ctx, name, value)?
                }
                value => to_js(ctx, value)?,
            };
            object.set(name, value)?;
        }
        if self.instance.state.settings.is_artillery {
            for name in ["$processEnvironment", "$env"] {
                if vars.get(name).is_none() {
                    object.set(name, self.environment(ctx, name)?)?;
                }
            }
        }
        let uuid = to_js(ctx, vars.get("$uuid").unwrap_or(&Value::Null))?;
        let make = self.instance.makers()?.context.clone().restore(ctx)?;
        let context: Object<'js> = make.call((object.clone(), self.scenario.as_str(), uuid))?;
        self.objects.replace(Some(UserObjects {
            context: Persistent::save(ctx, context.clone()),
            vars: Persistent::save(ctx, object),
            synced: Vec::new(),
            request: None,
        }));
        Ok(context)
    }

    /// Returns the environment of the process, if the Artillery variable with this name contains
    /// it.
    fn environment<'js>(&self, ctx: &Ctx<'js>, name: &str) -> JsResult<Js<'js>> {
        let environment = self.instance.state.settings.environment.iter();
        let entries = environment.map(|(name, value)| (name.clone(), value.as_str().into()));
        self.constant(ctx, name, &Value::Object(entries.collect()))
    }

    /// Returns the object for a constant, which all virtual users share.
    fn constant<'js>(&self, ctx: &Ctx<'js>, name: &str, value: &Value) -> JsResult<Js<'js>> {
        let known = self.instance.constants.borrow().get(name).cloned();
        if let Some(known) = known {
            return known.restore(ctx);
        }
        let object = to_js(ctx, value)?;
        let kept = Persistent::save(ctx, object.clone());
        self.instance
            .constants
            .borrow_mut()
            .insert(name.to_owned(), kept);
        Ok(object)
    }

    /// Copies back the variables that functions have changed.
    pub fn take_over(&self, ctx: &Ctx<'_>, vars: &mut Vars<'_>) -> JsResult<()> {
        let Some(context) = self
            .objects
            .borrow()
            .as_ref()
            .map(|objects| objects.context.clone())
        else {
            return Ok(());
        };
        let value: Js<'_> = context.restore(ctx)?.get("vars")?;
        let Some(object) = value.as_object() else {
            return Ok(());
        };
        // A function may have replaced the whole object.
        if let Some(objects) = self.objects.borrow_mut().as_mut() {
            objects.vars = Persistent::save(ctx, object.clone());
        }
        let Some(mut synced) = self
            .objects
            .borrow_mut()
            .as_mut()
            .map(|objects| std::mem::take(&mut objects.synced))
        else {
            return Ok(());
        };
        let mut seen = 0;
        for entry in object.props::<JsString<'_>, Js<'_>>() {
            let (name, value) = entry?;
            let pair = (
                Persistent::save(ctx, name.clone().into_value()),
                Persistent::save(ctx, value.clone()),
            );
            // Texts and numbers cannot change in place.
            let is_fixed = !value.is_object();
            if !(is_fixed && synced.get(seen) == Some(&pair)) {
                self.compare(ctx, vars, &text_of(&name), &value)?;
                match synced.get_mut(seen) {
                    Some(known) => *known = pair,
                    None => synced.push(pair),
                }
            }
            seen += 1;
        }
        let has_fewer = seen < synced.len();
        synced.truncate(seen);
        if let Some(objects) = self.objects.borrow_mut().as_mut() {
            objects.synced = synced;
        }
        if has_fewer || seen < vars.own().count() {
            let own: Vec<String> = vars.own().map(|(name, _)| name.clone()).collect();
            for name in own {
                if !object.contains_key(name.as_str())? {
                    vars.forget(&name);
                }
            }
        }
        Ok(())
    }

    /// Copies back a variable if it has changed.
    fn compare<'js>(
        &self,
        ctx: &Ctx<'js>,
        vars: &mut Vars<'_>,
        name: &str,
        value: &Js<'js>,
    ) -> JsResult<()> {
        let known = vars.get(name);
        let is_unchanged = match known {
            _ if value.is_object() && self.is_constant(ctx, name, value) => true,
            Some(known) => is_same(value, known)?,
            None => false,
        };
        if is_unchanged {
            return Ok(());
        }
        match from_js(value)? {
            Some(value) => vars.adopt(name, value),
            // Functions stay only in JavaScript.
            None if value.is_undefined() && known.is_some() => vars.forget(name),
            None => {}
        }
        Ok(())
    }

    fn is_constant<'js>(&self, ctx: &Ctx<'js>, name: &str, value: &Js<'js>) -> bool {
        let known = self.instance.constants.borrow().get(name).cloned();
        known.is_some_and(|known| known.restore(ctx).is_ok_and(|known| known == *value))
    }

    /// Stores the parameters of a request for the functions that receive its response.
    pub fn keep_request<'js>(&self, ctx: &Ctx<'js>, request: Object<'js>) {
        if let Some(objects) = self.objects.borrow_mut().as_mut() {
            objects.request = Some(Persistent::save(ctx, request));
        }
    }

    /// Returns and removes the stored parameters.
    pub fn take_request<'js>(&self, ctx: &Ctx<'js>) -> Option<Object<'js>> {
        let kept = self.objects.borrow_mut().as_mut()?.request.take()?;
        kept.restore(ctx).ok()
    }
}
