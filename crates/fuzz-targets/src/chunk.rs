//! Bytes that claim to be an interval of another process, or a piece of its record: a leaf or none, and what it holds can be written down again.

use record::{RecordChunk, RecordPiece};

/// Checks one input. Panics if a property does not hold.
pub fn check(bytes: &[u8]) {
    // The same behind a head, as a node sends it; or whatever else of a record.
    let headed = [&b"{\"leaf\":{\"under_way\":{}}}\n"[..], bytes].concat();
    for bytes in [bytes, headed.as_slice()] {
        if let Some(piece) = RecordPiece::from_bytes(bytes) {
            assert_eq!(RecordPiece::from_bytes(&piece.to_bytes()), Some(piece));
        }
    }
    let Some(leaf) = RecordChunk::from_bytes(bytes) else {
        return;
    };
    assert_eq!(
        RecordChunk::from_bytes(&leaf.to_bytes()),
        Some(leaf.clone())
    );
    if let Some(unfolded) = leaf.unfold() {
        assert!(unfolded.frame.span.0 <= unfolded.frame.span.1);
        let _ = unfolded.frame.row();
    }
}
