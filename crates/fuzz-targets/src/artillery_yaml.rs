//! Translates arbitrary text as an Artillery script. A resulting plan must compile, or the error
//! must say why not.

pub fn check(text: &str) {
    if let Ok(plan) = frontend_artillery::translate_text("fuzz.yml", text) {
        let _ = plan.problems();
    }
}
