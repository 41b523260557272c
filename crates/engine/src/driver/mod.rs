//! Drivers: what a worker does. Each is one future that ends when its work is done; the worker gives it time,
//! connections and a ledger.

mod adopting;
pub mod batch;
pub mod scenario;
pub mod setup;
mod steered;

use std::{pin::Pin, rc::Rc};

use crate::worker::Worker;

/// The work of one worker.
pub trait Driver {
    /// Does it. Ends when everything is done, or was given up because the run is over.
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>>;
}
