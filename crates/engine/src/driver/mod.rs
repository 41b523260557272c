//! Drivers: the code that a worker runs, with one implementation for each type of work.

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
    /// Runs until all work has finished, or has been given up because the run ended.
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>>;
}
