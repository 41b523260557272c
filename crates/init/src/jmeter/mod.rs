//! Drafts a plan from a JMeter plan.

use formats::LoadErrors;

use crate::draft::Draft;

pub fn is_plan(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("<jmeterTestPlan")
}

pub fn from_text(name: &str, _: &str) -> Result<Draft, LoadErrors> {
    Err(LoadErrors::refused(format!(
        "{name}: JMeter plans cannot be read yet"
    )))
}
