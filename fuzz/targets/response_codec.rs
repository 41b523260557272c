#![no_main]

libfuzzer_sys::fuzz_target!(|input: (u8, bool, &[u8])| {
    let (piece, to_head, bytes) = input;
    fuzz_targets::response_codec::check(piece, to_head, bytes);
});
