//! Reads any text as an Artillery script. The result is a plan or problems. A plan compiles, or the
//! error says why not.

pub fn check(text: &str) {
    if let Ok(plan) = frontend_artillery::translate_text("fuzz.yml", text) {
        let _ = plan.problems();
    }
}
