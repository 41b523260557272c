//! Any text as an Artillery script: a plan or a list of problems with places, never a panic or a hang. A plan that comes
//! out must also compile or say why not.

/// Checks one input. Panics if a property does not hold.
pub fn check(text: &str) {
    if let Ok(plan) = frontend_artillery::translate_text("fuzz.yml", text) {
        let _ = plan.problems();
    }
}
