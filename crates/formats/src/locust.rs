//! Locustfiles, as far as they are known: by their names, to say that they cannot be read.

use plan::Plan;

use crate::{Inputs, LoadErrors, Reader};

/// Python files.
#[derive(Debug)]
pub struct Locustfiles;

impl Reader for Locustfiles {
    fn reads(&self) -> &'static str {
        "a locustfile ends in .py"
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["py"]
    }

    fn load(&self, inputs: &Inputs) -> Result<Plan, LoadErrors> {
        let file = inputs.files.first();
        let name = file.map(|file| file.display().to_string());
        Err(LoadErrors::refused(format!(
            "{}: locustfiles are not supported yet",
            name.unwrap_or_default()
        )))
    }
}
