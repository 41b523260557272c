//! Decodes arbitrary header blocks of one connection. The decoded list must not exceed its limit.

use codec::h2::{
    Fields,
    hpack::{Decoder, Limits},
};

pub fn check(list: u16, blocks: &[u8]) {
    let limits = Limits {
        list: usize::from(list),
    };
    let (mut decoder, mut fields) = (Decoder::default(), Fields::default());
    // Each block is preceded by a byte with its length.
    let mut rest = blocks;
    while let Some((length, after)) = rest.split_first() {
        let (block, after) = after.split_at(after.len().min(usize::from(*length)));
        rest = after;
        let result = decoder.decode(block, limits, &mut fields);
        assert!(fields.byte_len() + 32 * fields.len() <= limits.list);
        if result.is_err() {
            return;
        }
    }
}
