#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| fuzz_targets::script_source::check(input));
