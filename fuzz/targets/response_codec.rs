#![no_main]

libfuzzer_sys::fuzz_target!(|input: (u8, bool, &[u8])| fuzz_targets::response_codec::check(input));
