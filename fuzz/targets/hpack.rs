#![no_main]

libfuzzer_sys::fuzz_target!(|input: (u16, &[u8])| {
    let (list, bytes) = input;
    fuzz_targets::hpack::check(list, bytes);
});
