//! Recognizes wrk scripts as test files by file name.

use formats::{Inputs, LoadErrors, TestFileReader};
use plan::Plan;

#[derive(Debug)]
pub struct LuaScripts;

impl TestFileReader for LuaScripts {
    fn reads(&self) -> &'static str {
        "a wrk script (.lua)"
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["lua"]
    }

    fn load(&self, inputs: &Inputs) -> Result<Plan, LoadErrors> {
        let file = inputs.files.first().map(|file| file.display().to_string());
        let file = file.unwrap_or_default();
        Err(LoadErrors::refused(format!(
            "{file}: a wrk script needs `loadline wrk`, or `loadline run {file} --target URL`"
        )))
    }
}
