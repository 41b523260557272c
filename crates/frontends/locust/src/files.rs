//! Recognizes locustfiles by name, without reading the Python code.

use formats::{Inputs, LoadErrors, TestFileReader};
use plan::Plan;

#[derive(Debug)]
pub struct Locustfiles;

impl TestFileReader for Locustfiles {
    fn reads(&self) -> &'static str {
        "a locustfile must end in .py"
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["py"]
    }

    /// A locustfile is a program, so its requests are unknown until it runs.
    fn load(&self, inputs: &Inputs) -> Result<Plan, LoadErrors> {
        let file = inputs.files.first();
        let name = file.map(|file| file.display().to_string());
        let name = name.unwrap_or_default();
        Err(LoadErrors::refused(format!(
            "{name}: Locust must run a locustfile itself: use `loadline run {name}` or `loadline locust -f {name}`"
        )))
    }
}
