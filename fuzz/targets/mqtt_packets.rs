#![no_main]

libfuzzer_sys::fuzz_target!(|input: (bool, u8, &[u8])| {
    let (is_v5, piece, bytes) = input;
    fuzz_targets::mqtt_packets::check(is_v5, piece, bytes);
});
