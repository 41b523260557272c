//! The front door of Locust: the real Locust reads a locustfile, starts users and prints what it prints; its requests are sent and timed
//! by our engine. [`interpreter`] hands a command line over to the Python package, [`Running`] is what that package holds while a test
//! runs.
//!
//! Python is the crate `loadline-python`'s and the package's; nothing here knows it.

#![forbid(unsafe_code)]

pub mod arrivals;
mod conducting;
mod files;
pub mod interpreter;
mod natively;
mod running;
mod test;

use formats::TestFileReader;
use record::Run;
use session::{ExternalTool, FrontEnd, FrontEndInfo, SharedVoice, exit};

pub use conducting::Conducting;
pub use files::Locustfiles;
pub use running::{RunningTest, TestSummary};
pub use test::{LocustTest, check_wishes};

/// The door, for whoever lists the front doors.
#[derive(Debug)]
pub struct Locust;

impl FrontEnd for Locust {
    fn card(&self) -> FrontEndInfo {
        FrontEndInfo {
            name: "locust",
            about: "Run a locustfile as `locust` does, on Loadline's engine",
            usage: "OPTIONS",
            takes: "What locust takes; see docs/reference/locust.md",
            explains_itself: true,
            ..FrontEndInfo::default()
        }
    }

    fn reader(&self) -> &'static dyn TestFileReader {
        &Locustfiles
    }

    fn programs(&self) -> Option<&'static dyn ExternalTool> {
        Some(&natively::PythonFiles)
    }

    fn run(&self, _: &str, arguments: &[String], voice: &SharedVoice) -> u8 {
        match interpreter::become_locust(arguments, &[]) {
            Ok(never) => match never {},
            Err(line) => {
                voice.error(&line);
                exit::BAD_INPUT
            }
        }
    }

    /// Locust's own tables are not kept.
    fn printed(&self, _: &Run) -> String {
        String::new()
    }
}
