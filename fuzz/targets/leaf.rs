//! Bytes that claim to be an interval of another process: a leaf or none, and what it holds can be written down again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use record::Leaf;

fuzz_target!(|bytes: &[u8]| {
    let Some(leaf) = Leaf::from_bytes(bytes) else {
        return;
    };
    assert_eq!(Leaf::from_bytes(&leaf.to_bytes()), Some(leaf.clone()));
    if let Some(unfolded) = leaf.unfold() {
        assert!(unfolded.frame.span.0 <= unfolded.frame.span.1);
        let _ = unfolded.frame.row();
    }
});
