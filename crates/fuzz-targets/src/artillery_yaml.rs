//! Translates arbitrary text as an Artillery script. The result must be a plan that compiles, or an
//! error that states why it does not.

pub fn check(text: &str) {
    if let Ok(plan) = frontend_artillery::translate_text("fuzz.yml", text) {
        let _ = plan.problems();
    }
}
