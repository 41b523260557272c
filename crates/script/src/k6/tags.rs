//! Tags that scripts give to samples.

use ::k6::tags::Tags;
use rquickjs::{Coerced, Ctx, Result, Value as Js};

use super::errors::throw;

/// Reads tags from an object and adds them to others. `null` and `undefined` mean none.
///
/// # Errors
///
/// Throws if a value is not a text, boolean or number.
pub fn add<'js>(ctx: &Ctx<'js>, tags: &mut Tags, value: &Js<'js>) -> Result<()> {
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    for entry in object.props::<String, Js<'js>>() {
        let (name, value) = entry?;
        tags.set(&name, &text(ctx, &name, &value)?);
    }
    Ok(())
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
