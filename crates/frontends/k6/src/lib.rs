//! Front end for k6: `loadline k6 run script.js` with k6's options, output and exit codes.
//!
//! [`k6`] contains the rules, `script` runs the JavaScript, and this crate runs the executors on
//! the engine.

#![forbid(unsafe_code)]

mod addresses;
mod command;
mod download;
mod exchange;
mod executors;
mod faults;
mod files;
mod host;
mod http;
mod http_debug;
mod lifecycle;
mod logger;
mod observer;
mod outputs;
mod plan_of;
mod progress;
mod result;
mod run_once;
mod samples;
mod screen;
mod shared;
mod team;
mod test_file;
mod unsupported;
mod vus;
mod websocket;

use formats::TestFileReader;
use record::Run;
use session::{ExternalTool, FrontEnd, FrontEndInfo, SharedMessageSink};

/// The k6 front end.
#[derive(Debug)]
pub struct K6;

impl FrontEnd for K6 {
    fn card(&self) -> FrontEndInfo {
        FrontEndInfo {
            name: plan_of::NAME,
            about: "Run a k6 script as `k6` does, on Loadline's engine",
            usage: "run> <OPTIONS",
            takes: "Arguments of k6; see docs/reference/k6.md",
            explains_itself: true,
            wrong_usage: command::USAGE,
            ..FrontEndInfo::default()
        }
    }

    fn reader(&self) -> &'static dyn TestFileReader {
        &files::Scripts
    }

    fn programs(&self) -> Option<&'static dyn ExternalTool> {
        Some(&files::Scripts)
    }

    fn run(&self, _: &str, arguments: &[String], sink: &SharedMessageSink) -> u8 {
        command::command(arguments, sink)
    }

    /// Returns an empty text, because the record does not contain the script's metrics.
    fn printed(&self, _: &Run) -> String {
        String::new()
    }
}
