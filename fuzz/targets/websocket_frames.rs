#![no_main]

libfuzzer_sys::fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    fuzz_targets::websocket_frames::check(piece, bytes);
});
