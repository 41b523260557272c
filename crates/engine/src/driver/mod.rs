//! Drivers: the work of a worker, as one future each.

mod adjustable;
pub mod batch;
pub mod scenario;
pub mod setup;
mod takeover;

use std::{pin::Pin, rc::Rc};

use crate::worker::Worker;

/// The work of one worker.
pub trait Driver {
    /// Runs until everything is done, or was given up because the run ended.
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>>;
}
