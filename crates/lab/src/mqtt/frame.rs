//! Where one packet ends in a stream of bytes. What is in it is the codec's business, or nobody's.

use std::io;

/// How many bytes the packet at the beginning takes, and where its body begins; none: its length has not come whole yet.
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
