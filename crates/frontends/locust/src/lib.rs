//! Front end for Locust. Locust reads the locustfile and runs users, while Loadline's engine sends
//! and measures requests. [`interpreter`] starts Locust. During a test, the Python package uses
//! [`RunningTest`].

#![forbid(unsafe_code)]

pub mod arrivals;
mod conducting;
mod files;
pub mod interpreter;
mod natively;
mod running;
mod summary;
mod test;

use formats::TestFileReader;
use record::Run;
use session::{ExternalTool, FrontEnd, FrontEndInfo, SharedMessageSink, exit};

pub use conducting::Conducting;
pub use files::Locustfiles;
pub use running::RunningTest;
pub use summary::TestSummary;
pub use test::{LocustTest, check_wishes};

#[derive(Debug)]
pub struct Locust;

impl FrontEnd for Locust {
    fn card(&self) -> FrontEndInfo {
        FrontEndInfo {
            name: "locust",
            about: "Run a locustfile as `locust` does, on Loadline's engine",
            usage: "OPTIONS",
            takes: "Arguments of locust; see docs/reference/locust.md",
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

    fn run(&self, _: &str, arguments: &[String], sink: &SharedMessageSink) -> u8 {
        match interpreter::become_locust(arguments, &[]) {
            Ok(never) => match never {},
            Err(line) => {
                sink.error(&line);
                exit::BAD_INPUT
            }
        }
    }

    /// Returns an empty text, because the record does not contain Locust's tables.
    fn printed(&self, _: &Run) -> String {
        String::new()
    }
}
