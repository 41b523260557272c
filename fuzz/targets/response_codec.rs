//! Any bytes, in any split, through the answer decoder: no panic, and the split changes nothing.
#![no_main]

use engine::http::{Answer, Decoder, Want, content::{self, Reader}};
use libfuzzer_sys::fuzz_target;

const ALL: Want = Want { headers: true, body: true, routing: true, timing: true };

fn decode(bytes: &[u8], piece: usize, method: &str) -> (Option<bool>, Answer) {
    let mut decoder = Decoder::new(method, ALL);
    let mut answer = Answer::default();
    for part in bytes.chunks(piece.max(1)) {
        match decoder.feed(part, &mut answer) {
            Err(_) => return (None, answer),
            Ok(fed) if fed.done => return (Some(true), answer),
            Ok(_) => {}
        }
    }
    (Some(decoder.closed()), answer)
}

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (piece, head, bytes) = input;
    let method = if head { "HEAD" } else { "GET" };
    let (whole, one) = decode(bytes, bytes.len(), method);
    let (split, two) = decode(bytes, usize::from(piece) + 1, method);
    if whole == Some(true) && split == Some(true) {
        assert_eq!(one.status, two.status);
        assert_eq!(one.body, two.body);
        assert_eq!(one.headers, two.headers);
    }
    for reader in [Reader::Plain, Reader::Artillery] {
        let _ = content::decoded(&one, engine::http::decode::MAX_BODY, reader);
    }
});
