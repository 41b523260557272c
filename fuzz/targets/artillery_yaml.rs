//! Any text as an Artillery script: a plan or a list of problems with places, never a panic or a hang. A plan that comes
//! out must also compile or say why not.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(plan) = door_artillery::translate_text("fuzz.yml", text) {
        let _ = plan.problems();
    }
});
