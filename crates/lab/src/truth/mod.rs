//! The lab `truth`: a reference server that responds after a known time, and logs the arrival and
//! release of each request on one clock. It has its own event loop and shares no code with the
//! engine.

mod answers;
mod chunked;
mod conn;
mod conns;
mod journal;
mod ledger;
mod mode;
mod poll;
mod reader;
mod serve;
mod settings;
mod spread;
mod stall;
mod table;

use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

use crate::log::RequestLog;
use crate::random::seed_or_fresh;
use crate::{Bound, LabEntry, LabError, LabKind, LabOptions, listen, plain_token};
use journal::Journal;
use ledger::LabLedger;
use serve::Serve;
use settings::TruthConfig;

const NAME: &str = "truth";

pub(crate) const LAB: LabEntry = LabEntry {
    name: NAME,
    help: "reference server: answers any path after a known time, and logs arrival and release; mode=constant|table|exponential|stall|slow|never|reset|error",
    extra: settings::OPTIONS,
    kind: LabKind::OwnLoop(bind),
    token: plain_token,
};

fn bind(options: &LabOptions) -> Result<Bound, LabError> {
    let settings = TruthConfig::read(options)?;
    let seed = seed_or_fresh(options.seed);
    let log = options.log.as_deref().map(RequestLog::create).transpose()?;
    let (listener, address) = listen::on(options)?;
    let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
    let stop = Arc::new(stop.map_err(|error| LabError::Runtime(error.into()))?);
    let stopped = Arc::clone(&stop);
    Ok(Bound {
        scheme: "http",
        address,
        sidecar: None,
        serve: Box::new(move || {
            let journal = log.map(Journal::start).transpose()?;
            let ledger = LabLedger::new(seed, journal);
            Serve::new(listener, &stopped, settings, seed, ledger)?.run()
        }),
        stop: Box::new(move || {
            let _ = rustix::io::write(&stop, &1_u64.to_ne_bytes());
        }),
    })
}
