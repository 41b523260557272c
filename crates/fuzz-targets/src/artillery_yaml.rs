//! Any text as an Artillery script yields a plan or problems; a plan compiles or says why not.

pub fn check(text: &str) {
    if let Ok(plan) = frontend_artillery::translate_text("fuzz.yml", text) {
        let _ = plan.problems();
    }
}
