//! Reads intervals on a second thread, because decoding takes as long as adding up.

use std::{
    ops::ControlFlow,
    sync::{Mutex, mpsc},
    thread,
};

use super::{IntervalReader, IntervalRecord};

/// Intervals that are decoded before they are needed.
const AHEAD: usize = 16;

/// Passes all intervals to `take`, until it stops. Returns whether the record was read to its end
/// and contains unreadable data.
pub(super) fn read(
    mut reader: IntervalReader,
    mut take: impl FnMut(IntervalRecord) -> ControlFlow<()>,
) -> bool {
    let shared = Mutex::new(&mut reader);
    let flow = thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(AHEAD);
        let reader = &shared;
        let decode = move || {
            let mut reader = reader.lock().ok()?;
            reader.try_for_each(|frame| sender.send(frame).ok())
        };
        match thread::Builder::new().spawn_scoped(scope, decode) {
            Ok(_) => receiver.into_iter().try_for_each(&mut take),
            // Without another thread, decode and add in turns.
            Err(_) => match shared.lock() {
                Ok(mut reader) => reader.try_for_each(&mut take),
                Err(_) => ControlFlow::Continue(()),
            },
        }
    });
    flow.is_continue() && reader.is_broken()
}
