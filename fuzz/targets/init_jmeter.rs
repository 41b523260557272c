#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| fuzz_targets::init_jmeter::check(input));
