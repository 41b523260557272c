#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| fuzz_targets::socketio_packets::check(input));
