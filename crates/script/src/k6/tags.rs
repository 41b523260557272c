//! Tags that scripts set on samples.

use rquickjs::{Coerced, Ctx, Result, Value as Js};

use super::errors::throw;

/// Reads tags from an object. `null` and `undefined` mean no tags.
///
/// # Errors
///
/// Throws if a value is not a text, boolean or number.
pub fn read<'js>(ctx: &Ctx<'js>, value: Option<&Js<'js>>) -> Result<Vec<(String, String)>> {
    let Some(object) = value.and_then(Js::as_object) else {
        return Ok(Vec::new());
    };
    let pairs = object.props::<String, Js<'js>>().map(|entry| {
        let (name, value) = entry?;
        let text = text(ctx, &name, &value)?;
        Ok((name, text))
    });
    pairs.collect()
}

/// Converts owned pairs to borrowed pairs.
pub fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    let pairs = pairs.iter().map(|(name, value)| (&**name, &**value));
    pairs.collect()
}

/// Returns the value of a tag as text.
///
/// # Errors
///
/// Throws if the value is not a text, boolean or number.
pub fn text<'js>(ctx: &Ctx<'js>, name: &str, value: &Js<'js>) -> Result<String> {
    if value.is_string() || value.is_number() || value.is_bool() {
        return Ok(value.get::<Coerced<String>>()?.0);
    }
    Err(throw(
        ctx,
        &format!(
            "invalid value for metric tag '{name}': only String, Boolean and Number types are \
             accepted as a metric tag values"
        ),
    ))
}
