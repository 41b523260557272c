#![no_main]

libfuzzer_sys::fuzz_target!(|input: (bool, u8, &[u8])| fuzz_targets::mqtt_packets::check(input));
