//! Rejected promises without a handler.

use std::cell::RefCell;

use rquickjs::{Ctx, Persistent, Value as Js};

/// The rejected promises without a handler, each with its reason.
#[derive(Default)]
pub struct Rejections(RefCell<Vec<(Persistent<Js<'static>>, Persistent<Js<'static>>)>>);

impl Rejections {
    /// Records that a promise was rejected, or that it has received a handler.
    pub fn track<'js>(&self, ctx: &Ctx<'js>, promise: Js<'js>, reason: Js<'js>, is_handled: bool) {
        let mut unhandled = self.0.borrow_mut();
        if is_handled {
            unhandled.retain(|(known, _)| {
                known
                    .clone()
                    .restore(ctx)
                    .is_ok_and(|known| known != promise)
            });
        } else {
            let entry = (
                Persistent::save(ctx, promise),
                Persistent::save(ctx, reason),
            );
            unhandled.push(entry);
        }
    }

    /// Forgets all promises, and returns the reason of the last one.
    pub fn take<'js>(&self, ctx: &Ctx<'js>) -> Option<Js<'js>> {
        let mut unhandled = self.0.take();
        let (_, reason) = unhandled.pop()?;
        reason.restore(ctx).ok()
    }

    /// Forgets all promises.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}
