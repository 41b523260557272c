//! Finds the end of a packet in a byte stream.

use std::io;

/// Returns the size of the packet and the offset of its body, or `None` if the length field is
/// incomplete.
pub(super) fn whole(bytes: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let mut length = 0usize;
    for (at, byte) in bytes.iter().skip(1).take(4).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(Some((2 + at + length, 2 + at)));
        }
    }
    if bytes.len() >= 5 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(None)
}
