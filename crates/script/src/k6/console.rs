//! `console`: messages of scripts to the log.

use std::rc::Rc;

use ::k6::log::Level;
use rquickjs::{
    ArrayBuffer, Coerced, Ctx, Function, Object, Result, Value as Js,
    function::This,
    prelude::{Func, Rest},
};

use super::state::State;
use crate::js::{edge::buffer_bytes, values::text_of};

/// Maximum nesting of values to show.
const MAX_DEPTH: usize = 20;

/// Defines `console`.
pub fn define<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<()> {
    let console = Object::new(ctx.clone())?;
    let levels = [
        ("log", Level::Info),
        ("info", Level::Info),
        ("debug", Level::Debug),
        ("warn", Level::Warning),
        ("error", Level::Error),
    ];
    for (name, level) in levels {
        let own = Rc::clone(state);
        let write = move |values: Rest<Js<'js>>| -> Result<()> {
            let texts: Result<Vec<String>> = values.iter().map(shown).collect();
            own.log(level, &texts?.join(" "), &[("source", "console")]);
            Ok(())
        };
        console.set(name, Func::from(write))?;
    }
    ctx.globals().set("console", console)
}

/// Returns the text of a value, as the log shows it.
pub fn shown(value: &Js<'_>) -> Result<String> {
    if let Some(text) = value.as_string() {
        return Ok(text_of(text));
    }
    if value.is_undefined() {
        return Ok("undefined".to_owned());
    }
    let mut out = String::new();
    write(&mut out, value, &mut Vec::new())?;
    Ok(out)
}

fn write<'js>(out: &mut String, value: &Js<'js>, outer: &mut Vec<Js<'js>>) -> Result<()> {
    if let Some(text) = value.as_string() {
        out.push_str(&serde_json::Value::from(text_of(text)).to_string());
        return Ok(());
    }
    if value.is_undefined() {
        out.push_str("null");
        return Ok(());
    }
    if value.is_function() {
        out.push_str("[object Function]");
        return Ok(());
    }
    let Some(object) = value.as_object() else {
        match value.is_symbol() {
            true => out.push_str("Symbol()"),
            false => out.push_str(&value.get::<Coerced<String>>()?.0),
        }
        return Ok(());
    };
    if value.is_error() {
        out.push_str(&value.get::<Coerced<String>>()?.0);
        return Ok(());
    }
    if outer.contains(value) || outer.len() >= MAX_DEPTH {
        out.push_str("[Circular]");
        return Ok(());
    }
    outer.push(value.clone());
    let written = write_object(out, object, outer);
    outer.pop();
    written
}

fn write_object<'js>(
    out: &mut String,
    object: &Object<'js>,
    outer: &mut Vec<Js<'js>>,
) -> Result<()> {
    if let Some(buffer) = ArrayBuffer::from_object(object.clone()) {
        let bytes = buffer_bytes(&buffer);
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        out.push_str(&format!(
            "ArrayBuffer {{ [Uint8Contents]: <{}>, byteLength: {} }}",
            digits.join(" "),
            bytes.len()
        ));
        return Ok(());
    }
    if let Some(array) = object.as_array() {
        return write_items(out, "", array.iter::<Js<'js>>(), outer);
    }
    if let Some(name) = typed_array_name(object)? {
        let length: usize = object.get("length")?;
        let items = (0..length).map(|index| object.get::<_, Js<'js>>(index as u32));
        return write_items(out, &format!("{name}({length}) "), items, outer);
    }
    let own_form: Js<'js> = object.get("toJSON")?;
    if let Some(function) = own_form.as_function() {
        let plain: Js<'js> = function.call((This(object.clone()),))?;
        return write(out, &plain, outer);
    }
    let mut separator = "{ ";
    for entry in object.props::<String, Js<'js>>() {
        let (name, item) = entry?;
        out.push_str(separator);
        out.push_str(&name);
        out.push_str(": ");
        write(out, &item, outer)?;
        separator = ", ";
    }
    out.push_str(if separator == ", " { " }" } else { "{}" });
    Ok(())
}

fn write_items<'js>(
    out: &mut String,
    prefix: &str,
    items: impl Iterator<Item = Result<Js<'js>>>,
    outer: &mut Vec<Js<'js>>,
) -> Result<()> {
    out.push_str(prefix);
    let mut separator = "[ ";
    for item in items {
        out.push_str(separator);
        write(out, &item?, outer)?;
        separator = ", ";
    }
    out.push_str(if separator == ", " { " ]" } else { "[]" });
    Ok(())
}

/// Returns the name of a typed array's type. `None` for other objects.
fn typed_array_name(object: &Object<'_>) -> Result<Option<String>> {
    let buffer: Object<'_> = object.ctx().globals().get("ArrayBuffer")?;
    let is_view: Function<'_> = buffer.get("isView")?;
    if !is_view.call::<_, bool>((object.clone(),))? {
        return Ok(None);
    }
    let constructor: Object<'_> = object.get("constructor")?;
    let name: String = constructor.get("name")?;
    Ok((name != "DataView").then_some(name))
}
