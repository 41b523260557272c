//! Variable-length integers: seven bits per byte, lowest bits first.

/// Appends a number, in 1 to 10 bytes.
pub fn push(bytes: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

/// Removes and returns the first number. Returns `None` if the bytes end within the number.
pub fn pull(bytes: &mut &[u8]) -> Option<u64> {
    let (mut n, mut shift) = (0u64, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(n);
        }
        shift += 7;
    }
}
