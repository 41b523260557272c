//! Conversion of values between JSON and JavaScript.

use rquickjs::{Array, Ctx, Function, Object, Result, String as JsString, Value as Js};
use serde_json::{Map, Number, Value};

/// Maximum nesting of a value. Deeper parts become `null`, also in values that contain themselves.
const MAX_DEPTH: u32 = 200;

/// Converts a JSON value to JavaScript.
pub fn to_js<'js>(ctx: &Ctx<'js>, value: &Value) -> Result<Js<'js>> {
    Ok(match value {
        Value::Null => Js::new_null(ctx.clone()),
        Value::Bool(yes) => Js::new_bool(ctx.clone(), *yes),
        Value::Number(number) => Js::new_number(ctx.clone(), number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => text_to_js(ctx, text)?,
        Value::Array(items) => {
            let array = Array::new(ctx.clone())?;
            for (index, item) in items.iter().enumerate() {
                array.set(index, to_js(ctx, item)?)?;
            }
            array.into_value()
        }
        Value::Object(entries) => {
            let object = Object::new(ctx.clone())?;
            for (name, item) in entries {
                object.set(name.as_str(), to_js(ctx, item)?)?;
            }
            object.into_value()
        }
    })
}

/// Converts a text to JavaScript.
pub fn text_to_js<'js>(ctx: &Ctx<'js>, text: &str) -> Result<Js<'js>> {
    Ok(JsString::from_str(ctx.clone(), text)?.into_value())
}

/// Converts a JavaScript value to JSON, as `JSON.stringify` would. `None` for `undefined` and
/// functions.
///
/// # Errors
///
/// Fails if a getter or `toJSON` throws.
pub fn from_js(value: &Js<'_>) -> Result<Option<Value>> {
    convert(value, 0)
}

fn convert(value: &Js<'_>, depth: u32) -> Result<Option<Value>> {
    if value.is_undefined() || value.is_function() || value.is_symbol() {
        return Ok(None);
    }
    if let Some(yes) = value.as_bool() {
        return Ok(Some(Value::Bool(yes)));
    }
    if let Some(whole) = value.as_int() {
        return Ok(Some(Value::from(whole)));
    }
    if let Some(number) = value.as_number() {
        return Ok(Some(number_value(number)));
    }
    if let Some(text) = value.as_string() {
        return Ok(Some(Value::String(text_of(text))));
    }
    let Some(object) = value.as_object().filter(|_| depth < MAX_DEPTH) else {
        if value.is_big_int() {
            let text: rquickjs::Coerced<String> = value.get()?;
            return Ok(Some(Value::String(text.0)));
        }
        return Ok(Some(Value::Null));
    };
    if let Some(array) = object.as_array() {
        let mut items = Vec::with_capacity(array.len());
        for item in array.iter::<Js<'_>>() {
            items.push(convert(&item?, depth + 1)?.unwrap_or(Value::Null));
        }
        return Ok(Some(Value::Array(items)));
    }
    let own_form: Js<'_> = object.get("toJSON")?;
    if let Some(own_form) = own_form.as_function() {
        let plain: Js<'_> = own_form.call((rquickjs::function::This(value.clone()),))?;
        return convert(&plain, depth + 1);
    }
    let mut entries = Map::new();
    for entry in object.props::<String, Js<'_>>() {
        let (name, item) = entry?;
        if let Some(item) = convert(&item, depth + 1)? {
            entries.insert(name, item);
        }
    }
    Ok(Some(Value::Object(entries)))
}

/// Returns whether a JavaScript value equals a JSON value, without converting it.
///
/// # Errors
///
/// Fails if a getter throws.
pub fn is_same(value: &Js<'_>, known: &Value) -> Result<bool> {
    Ok(match known {
        Value::Null => value.is_null(),
        Value::Bool(known) => value.as_bool() == Some(*known),
        Value::Number(known) => value.as_number().is_some_and(|n| Some(n) == known.as_f64()),
        Value::String(known) => match value.as_string() {
            Some(text) => text_of(text) == *known,
            None => false,
        },
        Value::Array(known) => {
            let Some(array) = value.as_array().filter(|array| array.len() == known.len()) else {
                return Ok(false);
            };
            for (index, known) in known.iter().enumerate() {
                if !is_same(&array.get(index)?, known)? {
                    return Ok(false);
                }
            }
            true
        }
        Value::Object(known) => {
            let plain = |object: &&Object<'_>| !object.is_array() && !object.is_function();
            let Some(object) = value.as_object().filter(plain) else {
                return Ok(false);
            };
            if object.keys::<rquickjs::Atom<'_>>().count() != known.len() {
                return Ok(false);
            }
            for (name, known) in known {
                if !is_same(&object.get(name.as_str())?, known)? {
                    return Ok(false);
                }
            }
            true
        }
    })
}

fn number_value(number: f64) -> Value {
    // JSON has no other numbers. Whole numbers stay exact, and print without a fraction.
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// Returns a string. Unpaired surrogates become the replacement character.
pub fn text_of(text: &JsString<'_>) -> String {
    text.to_string()
        .or_else(|_| {
            let prototype: Object<'_> = text
                .ctx()
                .globals()
                .get::<_, Object<'_>>("String")?
                .get("prototype")?;
            let well_formed: Function<'_> = prototype.get("toWellFormed")?;
            well_formed.call((rquickjs::function::This(text.clone()),))
        })
        .unwrap_or_default()
}

/// Returns a property that should be a function.
pub fn function_of<'js>(object: &Object<'js>, name: &str) -> Result<Option<Function<'js>>> {
    let value: Js<'js> = object.get(name)?;
    Ok(value.into_function())
}
