//! The module `k6/data`: arrays that all virtual users share.

use std::{rc::Rc, sync::Arc};

use rquickjs::{
    Array, Atom, Class, Coerced, Ctx, Exception, Function, IntoAtom, Object, Result, Value as Js,
    class::{ClassKind, JsCell, JsClass, PropertyDescriptor, PropertyName, Readable},
    function::Constructor,
    object::Property,
    prelude::{Func, Opt, This},
};

use super::{
    errors::throw,
    state::{Stage, State},
};
use crate::js::edge::Native;

/// The elements of a shared array as JSON.
pub struct SharedArray(Arc<Vec<Box<str>>>);

type ArrayInstance<'js> = Class<'js, Native<SharedArray>>;

/// Creates the module.
pub fn module<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let module = Object::new(ctx.clone())?;
    let own = Rc::clone(state);
    let create = move |ctx: Ctx<'js>, name: Opt<Coerced<String>>, create: Opt<Js<'js>>| {
        let name = name.0.map_or(String::new(), |name| name.0);
        let elements = elements(&ctx, &own, &name, create.0)?;
        Class::instance(ctx, Native(SharedArray(elements)))
    };
    let constructor = Constructor::new_class::<Native<SharedArray>, _, _>(ctx.clone(), create)?;
    module.set("SharedArray", constructor)?;
    Ok(module)
}

/// Returns the elements of an array, and creates them if no virtual user has done so yet.
fn elements<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    name: &str,
    create: Option<Js<'js>>,
) -> Result<Arc<Vec<Box<str>>>> {
    if state.stage.get() != Stage::Init {
        let message = "new SharedArray must be called in the init context";
        return Err(throw(ctx, message));
    }
    if name.is_empty() {
        let message = "empty name provided to SharedArray's constructor";
        return Err(throw(ctx, message));
    }
    let Some(create) = create.and_then(Js::into_function) else {
        let message = "a function is expected as the second argument of SharedArray's constructor";
        return Err(throw(ctx, message));
    };
    if let Some(known) = state.shared.array(name) {
        return Ok(known);
    }
    let value: Js<'js> = create.call(())?;
    let Some(array) = value.as_array() else {
        return Err(throw(ctx, "only arrays can be made into SharedArray"));
    };
    let mut elements = Vec::with_capacity(array.len());
    for item in array.iter::<Js<'js>>() {
        let json = ctx.json_stringify(item?)?;
        let json = json.map(|json| json.to_string()).transpose()?;
        elements.push(json.map_or("null".into(), String::into_boxed_str));
    }
    Ok(state.shared.add_array(name, elements))
}

impl<'js> JsClass<'js> for Native<SharedArray> {
    const NAME: &'static str = "SharedArray";
    const KIND: ClassKind = ClassKind::Exotic;
    type Mutable = Readable;

    fn prototype(ctx: &Ctx<'js>) -> Result<Option<Object<'js>>> {
        // The methods of arrays work on any object that has a length and elements.
        let array: Object<'js> = ctx.globals().get("Array")?;
        let methods: Object<'js> = array.get("prototype")?;
        let prototype = Object::new_proto(ctx.clone(), Some(&methods))?;
        // `JSON.stringify` must show an array.
        let plain = |this: This<Object<'js>>| -> Result<Array<'js>> {
            let plain = Array::new(this.0.ctx().clone())?;
            let length: u32 = this.0.get("length")?;
            for index in 0..length {
                let element: Js<'js> = this.0.get(index)?;
                plain.set(index as usize, element)?;
            }
            Ok(plain)
        };
        prototype.prop("toJSON", Property::from(Func::from(plain)))?;
        Ok(Some(prototype))
    }

    fn constructor(_: &Ctx<'js>) -> Result<Option<Constructor<'js>>> {
        Ok(None)
    }

    fn exotic_get_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        atom: Atom<'js>,
        _: Js<'js>,
    ) -> Result<Js<'js>> {
        match property(this, ctx, &atom)? {
            Some(value) => Ok(value),
            None => {
                let prototype = ArrayInstance::prototype(ctx)?;
                match prototype {
                    Some(prototype) => prototype.get(atom),
                    None => Ok(Js::new_undefined(ctx.clone())),
                }
            }
        }
    }

    fn exotic_set_property(
        _: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        _: Atom<'js>,
        _: Js<'js>,
        _: Js<'js>,
    ) -> Result<bool> {
        Err(immutable(ctx))
    }

    fn exotic_delete_property(_: &JsCell<'js, Self>, ctx: &Ctx<'js>, _: Atom<'js>) -> Result<bool> {
        Err(immutable(ctx))
    }

    fn exotic_has_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        atom: Atom<'js>,
    ) -> Result<bool> {
        if let Some(name) = atom_text(&atom) {
            let count = this.borrow().0.0.len();
            if name == "length" || index(&name).is_some_and(|index| index < count) {
                return Ok(true);
            }
        }
        match ArrayInstance::prototype(ctx)? {
            Some(prototype) => prototype.contains_key(atom),
            None => Ok(false),
        }
    }

    fn exotic_get_own_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        atom: Atom<'js>,
    ) -> Result<Option<PropertyDescriptor<'js>>> {
        let value = property(this, ctx, &atom)?;
        // The length is a number, and an element may be a number too. Only the name distinguishes
        // them.
        let is_length = atom_text(&atom).as_deref() == Some("length");
        Ok(value.map(|value| PropertyDescriptor::new_value(value, true, !is_length, false)))
    }

    fn exotic_get_own_property_names(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
    ) -> Result<Vec<PropertyName<'js>>> {
        let count = this.borrow().0.0.len();
        let names = (0..count).map(|index| {
            Ok(PropertyName {
                atom: index.to_string().into_atom(ctx)?,
                is_enumerable: true,
            })
        });
        names.collect()
    }
}

fn immutable(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_type(ctx, "SharedArray is immutable")
}

/// Returns the name of a property. `None` for symbols.
fn atom_text(atom: &Atom<'_>) -> Option<String> {
    let name = atom.to_value().ok()?;
    match name.is_symbol() {
        true => None,
        false => atom.to_string().ok(),
    }
}

fn index(name: &str) -> Option<usize> {
    let is_index = name.bytes().all(|byte| byte.is_ascii_digit());
    name.parse().ok().filter(|_| is_index)
}

/// Returns the length or a new frozen copy of an element. `None` for other names.
fn property<'js>(
    this: &JsCell<'js, Native<SharedArray>>,
    ctx: &Ctx<'js>,
    atom: &Atom<'js>,
) -> Result<Option<Js<'js>>> {
    let Some(name) = atom_text(atom) else {
        return Ok(None);
    };
    let elements = Arc::clone(&this.borrow().0.0);
    if name == "length" {
        return Ok(Some(Js::new_number(ctx.clone(), elements.len() as f64)));
    }
    let Some(element) = index(&name).and_then(|index| elements.get(index)) else {
        return Ok(None);
    };
    let value = ctx.json_parse(element.as_bytes())?;
    let object: Object<'js> = ctx.globals().get("Object")?;
    freeze(&object.get("freeze")?, &value, 0)?;
    Ok(Some(value))
}

/// Freezes a value and all nested values. Values from JSON have no cycles.
fn freeze<'js>(freeze_one: &Function<'js>, value: &Js<'js>, depth: u32) -> Result<()> {
    let Some(object) = value.as_object().filter(|_| depth < 500) else {
        return Ok(());
    };
    for item in object.props::<Atom<'js>, Js<'js>>() {
        freeze(freeze_one, &item?.1, depth + 1)?;
    }
    freeze_one.call((value.clone(),))
}
