//! k6 scripts: virtual users that run their JavaScript, with blocking calls on fibers.
//!
//! [`Script::load`] reads a script once per process. Each [`Vu`] has its own JavaScript runtime.
//! The [`Host`] sends its requests and receives its samples and messages.

mod background;
mod console;
mod core;
mod crypto;
mod data;
mod encoding;
mod errors;
mod event_loop;
mod execution;
mod globals;
mod host;
mod html;
mod http;
mod jslib;
mod json_path;
mod loader;
mod metrics;
mod names;
mod script;
mod shared;
mod state;
mod surface;
mod tags;
mod timers;
mod vu;
mod web_crypto;
mod websocket;

#[cfg(test)]
mod tests;

pub use errors::ScriptError;
pub use host::{
    Headers, Host, HostFuture, HostSocket, HttpError, HttpOutcome, HttpRequest, InstanceInfo,
    OpenedSocket, ScenarioInfo, SocketEvent, SocketRequest, StatusRange, Timings, VuConnections,
    VuId,
};
pub use script::{LoadError, Script};
pub use shared::{Fetch, ScriptFile, Settings};
pub use state::{IterationInfo, VuOptions};
pub use vu::{CallError, Ended, Iteration, SummaryOutput, Vu};
