//! Reads arbitrary bytes as a record chunk or part of one. Valid input must be written back as the
//! same bytes.

use record::{RecordChunk, RecordPiece};

pub fn check(bytes: &[u8]) {
    let headed = [&b"{\"chunk\":{\"in_flight_ages\":{}}}\n"[..], bytes].concat();
    for bytes in [bytes, headed.as_slice()] {
        if let Some(piece) = RecordPiece::from_bytes(bytes) {
            assert_eq!(RecordPiece::from_bytes(&piece.to_bytes()), Some(piece));
        }
    }
    let Some(chunk) = RecordChunk::from_bytes(bytes) else {
        return;
    };
    assert_eq!(
        RecordChunk::from_bytes(&chunk.to_bytes()),
        Some(chunk.clone())
    );
    if let Some(unfolded) = chunk.unfold() {
        assert!(unfolded.frame.span.from_ns <= unfolded.frame.span.to_ns);
        let _ = unfolded.frame.row();
    }
}
