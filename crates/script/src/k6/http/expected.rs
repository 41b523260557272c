//! Statuses that count as expected: `expectedStatuses` and `setResponseCallback`.

use std::rc::Rc;

use rquickjs::{
    Class, Ctx, Object, Result, Value as Js,
    prelude::{Func, Opt, Rest},
};

use super::super::{errors::throw, host::StatusRange, state::State};
use crate::js::edge::{Native, native_class};

/// The result of `expectedStatuses`.
pub struct ExpectedStatuses(pub Rc<[StatusRange]>);

native_class!(ExpectedStatuses, "ExpectedStatuses", |_| Ok(()));

/// Adds both functions to the module.
pub fn define<'js>(module: &Object<'js>, state: &Rc<State>) -> Result<()> {
    module.set("expectedStatuses", Func::from(expected_statuses))?;
    let own = Rc::clone(state);
    let set = move |ctx: Ctx<'js>, callback: Opt<Js<'js>>| -> Result<()> {
        let Some(callback) = callback.0 else {
            return Err(throw(&ctx, UNSUPPORTED));
        };
        *own.expected.borrow_mut() = read(&ctx, &callback)?;
        Ok(())
    };
    module.set("setResponseCallback", Func::from(set))
}

const UNSUPPORTED: &str = "unsupported argument, expected http.expectedStatuses";

/// Reads a response callback. `None` means that no status counts as unexpected.
///
/// # Errors
///
/// Throws if the value is neither `null` nor a result of `expectedStatuses`.
pub fn read<'js>(ctx: &Ctx<'js>, value: &Js<'js>) -> Result<Option<Rc<[StatusRange]>>> {
    if value.is_null() {
        return Ok(None);
    }
    let object = value.as_object();
    let found = object.and_then(Class::<Native<ExpectedStatuses>>::from_object);
    match found {
        Some(found) => Ok(Some(Rc::clone(&found.borrow().0.0))),
        None => Err(throw(ctx, UNSUPPORTED)),
    }
}

fn expected_statuses<'js>(
    ctx: Ctx<'js>,
    values: Rest<Js<'js>>,
) -> Result<Class<'js, Native<ExpectedStatuses>>> {
    if values.is_empty() {
        return Err(throw(&ctx, "no arguments"));
    }
    let whole = |value: &Js<'js>| -> Option<u16> {
        let number = value.as_number().filter(|number| number.fract() == 0.0)?;
        (0.0..=65535.0).contains(&number).then_some(number as u16)
    };
    let mut ranges = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let number = index + 1;
        if let Some(status) = whole(value) {
            ranges.push(StatusRange {
                min: status,
                max: status,
            });
            continue;
        }
        let Some(object) = value.as_object() else {
            let message = format!(
                "argument number {number} to expectedStatuses was neither an integer nor an \
                 object like {{min:100, max:329}}"
            );
            return Err(throw(&ctx, &message));
        };
        let (Some(min), Some(max)) = (whole(&object.get("min")?), whole(&object.get("max")?))
        else {
            let message =
                format!("both min and max need to be integers for argument number {number}");
            return Err(throw(&ctx, &message));
        };
        ranges.push(StatusRange { min, max });
    }
    Class::instance(ctx, Native(ExpectedStatuses(ranges.into())))
}
