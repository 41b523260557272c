//! Drivers, which determine what a worker does. There is one implementation for each kind of work.

mod adjustable;
pub mod batch;
pub(crate) mod listen;
pub mod scenario;
pub mod setup;
mod takeover;

use std::{pin::Pin, rc::Rc};

use worker::Worker;

/// The work of one worker.
pub trait Driver {
    /// Runs until all work has finished, or has been abandoned because the run ended.
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>>;
}
