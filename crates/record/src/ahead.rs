//! Reads intervals on a second thread, because decoding takes as long as adding up.

use std::{
    ops::ControlFlow,
    sync::{Mutex, mpsc},
    thread,
};

use super::{IntervalReader, IntervalRecord};

/// Number of intervals per message. Waking the other thread for each interval would take as long as
/// adding the interval.
const BATCH: usize = 16;
const BATCHES: usize = 4;

/// Passes all intervals to `take`, until `take` stops. Returns whether the record was read to its
/// end and contains unreadable data.
pub(super) fn read(
    mut reader: IntervalReader,
    mut take: impl FnMut(IntervalRecord) -> ControlFlow<()>,
) -> bool {
    let shared = Mutex::new(&mut reader);
    let flow = thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(BATCHES);
        let reader = &shared;
        let decode = move || -> Option<()> {
            let mut reader = reader.lock().ok()?;
            let batches = std::iter::from_fn(|| {
                let batch: Vec<_> = reader.by_ref().take(BATCH).collect();
                Some(batch).filter(|batch| !batch.is_empty())
            });
            batches.map(|batch| sender.send(batch).ok()).collect()
        };
        match thread::Builder::new().spawn_scoped(scope, decode) {
            Ok(_) => receiver.into_iter().flatten().try_for_each(&mut take),
            // Without another thread, alternate between decoding and adding.
            Err(_) => match shared.lock() {
                Ok(mut reader) => reader.try_for_each(&mut take),
                Err(_) => ControlFlow::Continue(()),
            },
        }
    });
    flow.is_continue() && reader.is_broken()
}
