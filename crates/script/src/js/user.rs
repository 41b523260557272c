//! A virtual user of a script: its `context` object, whose variables are those of the templates.

use std::{any::Any, cell::RefCell, rc::Rc};

use engine::{hook::Vars, script::ScriptUser};
use query::Scope;
use rquickjs::{Ctx, Object, Persistent, Result, Value as Js};
use serde_json::Value;

use super::{
    instance::Instance,
    state::Caller,
    values::{from_js, to_js},
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
    /// The parameters of the request that its `beforeRequest` functions saw.
    request: Option<Persistent<Object<'static>>>,
}

impl ScriptUser for JsUser {
    fn as_any(&self) -> &dyn Any {
        self
    }
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

    /// Returns the user's `context` after it has received the variables that changed.
    pub fn context<'js>(&self, ctx: &Ctx<'js>, vars: &mut Vars<'_>) -> Result<Object<'js>> {
        let known = self
            .objects
            .borrow()
            .as_ref()
            .map(|objects| (objects.context.clone(), objects.vars.clone()));
        if let Some((context, known_vars)) = known {
            let object = known_vars.restore(ctx)?;
            for name in vars.take_changed() {
                match vars.get(&name) {
                    Some(value) => object.set(name.as_str(), to_js(ctx, value)?)?,
                    None => object.remove(name.as_str())?,
                }
            }
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
        let context = Object::new(ctx.clone())?;
        context.set("vars", object.clone())?;
        context.set("funcs", Object::new(ctx.clone())?)?;
        let scenario = Object::new(ctx.clone())?;
        scenario.set("name", self.scenario.as_str())?;
        context.set("scenario", scenario)?;
        context.set(
            "_uid",
            to_js(ctx, vars.get("$uuid").unwrap_or(&Value::Null))?,
        )?;
        self.objects.replace(Some(UserObjects {
            context: Persistent::save(ctx, context.clone()),
            vars: Persistent::save(ctx, object),
            request: None,
        }));
        Ok(context)
    }

    /// Returns the object of a constant, which all virtual users share.
    fn constant<'js>(&self, ctx: &Ctx<'js>, name: &str, value: &Value) -> Result<Js<'js>> {
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

    /// Takes over the variables that functions have changed.
    pub fn take_over(&self, ctx: &Ctx<'_>, vars: &mut Vars<'_>) -> Result<()> {
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
        let mut seen = 0;
        for entry in object.props::<String, Js<'_>>() {
            let (name, value) = entry?;
            seen += usize::from(vars.get(&name).is_some());
            if value.is_object() && self.is_constant(ctx, &name, &value) {
                continue;
            }
            match from_js(&value)? {
                Some(value) if vars.get(&name) == Some(&value) => {}
                Some(value) => vars.adopt(&name, value),
                // Functions stay in JavaScript only.
                None if value.is_undefined() && vars.get(&name).is_some() => vars.forget(&name),
                None => {}
            }
        }
        let own: Vec<String> = vars.own().map(|(name, _)| name.clone()).collect();
        if seen < own.len() {
            for name in own {
                if !object.contains_key(name.as_str())? {
                    vars.forget(&name);
                }
            }
        }
        Ok(())
    }

    fn is_constant<'js>(&self, ctx: &Ctx<'js>, name: &str, value: &Js<'js>) -> bool {
        let known = self.instance.constants.borrow().get(name).cloned();
        known.is_some_and(|known| known.restore(ctx).is_ok_and(|known| known == *value))
    }

    /// Keeps the parameters of a request for the functions that receive its response.
    pub fn keep_request<'js>(&self, ctx: &Ctx<'js>, request: Object<'js>) {
        if let Some(objects) = self.objects.borrow_mut().as_mut() {
            objects.request = Some(Persistent::save(ctx, request));
        }
    }

    /// Takes the parameters that were kept.
    pub fn take_request<'js>(&self, ctx: &Ctx<'js>) -> Option<Object<'js>> {
        let kept = self.objects.borrow_mut().as_mut()?.request.take()?;
        kept.restore(ctx).ok()
    }
}
