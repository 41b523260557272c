//! Front end for MQTT: `loadline mqtt conn|pub|sub` with emqtt-bench's options. [`read`] creates
//! plans, [`background`] runs clients alongside scenarios, and [`mod@print`] formats their
//! counts.

#![forbid(unsafe_code)]

pub mod background;
mod files;
mod ignored_options;
mod print;
mod read;
mod run;
mod unsupported;

use formats::{Inputs, LoadErrors, TestFileReader};
use plan::Plan;
use record::Run;
use session::{FrontEnd, FrontEndInfo, SharedMessageSink};

pub use read::{named_phase, open_load, plan_for};
pub use run::{RunPrinter, driver_counts, not_a_command, ready};

#[derive(Debug)]
pub struct Mqtt {
    pub without_command: fn(&[String], &SharedMessageSink) -> u8,
}

impl FrontEnd for Mqtt {
    fn card(&self) -> FrontEndInfo {
        FrontEndInfo {
            name: "mqtt",
            about: "Load an MQTT server; without arguments: the Pepeunit test",
            usage: "conn|pub|sub> <OPTIONS",
            takes: "Options as in emqtt-bench; see docs/reference/mqtt.md",
            explains_itself: true,
            ..FrontEndInfo::default()
        }
    }

    fn reader(&self) -> &'static dyn TestFileReader {
        &NoFiles
    }

    fn run(&self, _: &str, arguments: &[String], sink: &SharedMessageSink) -> u8 {
        run::command(arguments, self.without_command, sink)
    }

    fn printed(&self, run: &Run) -> String {
        print::ledger(run)
    }
}

#[derive(Debug)]
struct NoFiles;

impl TestFileReader for NoFiles {
    fn reads(&self) -> &'static str {
        "MQTT load has no test file: use the options of `loadline mqtt`"
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &[]
    }

    fn load(&self, _: &Inputs) -> Result<Plan, LoadErrors> {
        Err(LoadErrors::refused(self.reads()))
    }
}
