//! Integers of HPACK (RFC 7541, section 5.1).

use super::HpackError;

/// Largest integer that the decoder accepts.
const MAX: usize = 1 << 28;

/// Decodes an integer whose first byte has a prefix of `prefix` bits, and advances `bytes`.
#[inline]
pub(super) fn decode(bytes: &mut &[u8], prefix: u32) -> Result<usize, HpackError> {
    let mask = (1_usize << prefix) - 1;
    let (first, mut rest) = bytes.split_first().ok_or(HpackError::Truncated)?;
    let mut value = usize::from(*first) & mask;
    if value == mask {
        let mut shift = 0;
        loop {
            let (byte, after) = rest.split_first().ok_or(HpackError::Truncated)?;
            rest = after;
            // Four bytes contain 28 bits. A fifth byte exceeds the limit, even if it is zero.
            if shift > 21 {
                return Err(HpackError::Integer);
            }
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
        }
    }
    *bytes = rest;
    if value > MAX {
        return Err(HpackError::Integer);
    }
    Ok(value)
}

/// Appends an integer with a prefix of `prefix` bits. `pattern` contains the bits before the
/// prefix.
#[inline]
pub(super) fn encode(out: &mut Vec<u8>, pattern: u8, prefix: u32, value: usize) {
    let mask = (1_usize << prefix) - 1;
    if value < mask {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn examples_of_the_specification_are_encoded() {
        for (prefix, value, bytes) in [
            (5, 10, &[0x0a][..]),
            (5, 1337, &[0x1f, 0x9a, 0x0a]),
            (8, 42, &[0x2a]),
        ] {
            let mut out = Vec::new();
            encode(&mut out, 0, prefix, value);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn large_integers_are_refused() {
        let mut limit = Vec::new();
        encode(&mut limit, 0, 7, MAX);
        assert_eq!(decode(&mut &limit[..], 7), Ok(MAX));
        for bytes in [
            &[0x7f, 0xff, 0xff, 0xff, 0xff, 0x0f][..],
            &[0x7f, 0x80, 0x80, 0x80, 0x80, 0x00],
            &[0x7f, 0xff, 0xff, 0xff, 0x7f],
        ] {
            assert_eq!(
                decode(&mut &bytes[..], 7),
                Err(HpackError::Integer),
                "{bytes:x?}"
            );
        }
        assert_eq!(
            decode(&mut &[0x7f, 0x80][..], 7),
            Err(HpackError::Truncated)
        );
        assert_eq!(decode(&mut &[][..], 7), Err(HpackError::Truncated));
    }

    proptest! {
        #[test]
        fn integers_are_restored(value in 0..=MAX, prefix in 1_u32..=8) {
            let mut out = Vec::new();
            encode(&mut out, 0, prefix, value);
            out.push(0xff);
            let mut rest = &out[..];
            prop_assert_eq!(decode(&mut rest, prefix), Ok(value));
            prop_assert_eq!(rest, &[0xff]);
        }
    }
}
