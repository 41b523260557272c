//! The content encoding zstd (RFC 8878), with the window limit for HTTP (RFC 9659).

use ruzstd::decoding::StreamingDecoder;

use super::unpack::{UnpackError, read};

/// Maximum window size. HTTP forbids larger windows, so no memory is allocated for them.
const MOST_WINDOW: u64 = 8 << 20;

pub(crate) fn decoded(mut rest: &[u8], most: usize) -> Result<Vec<u8>, UnpackError> {
    let mut out = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = skipped(rest) {
            rest = after?;
            continue;
        }
        let decoder = StreamingDecoder::new_with_max_window_size(&mut rest, MOST_WINDOW);
        let mut decoder = decoder.map_err(|_| UnpackError::Broken)?;
        read(&mut decoder, most, &mut out)?;
        let frame = &decoder.decoder;
        let sent = frame.get_checksum_from_data();
        if sent.is_some() && sent != frame.get_calculated_checksum() {
            return Err(UnpackError::Broken);
        }
    }
    Ok(out)
}

/// Returns the bytes after a skippable frame. Returns `None` for a frame of another type.
fn skipped(bytes: &[u8]) -> Option<Result<&[u8], UnpackError>> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*magic) & !0xf != 0x184d_2a50 {
        return None;
    }
    let after = rest.split_first_chunk::<4>().and_then(|(length, rest)| {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        rest.get(length..)
    });
    Some(after.ok_or(UnpackError::Broken))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    #[test]
    fn frames_are_joined_and_skippable_ones_skipped() {
        let text = "hello, hello, hello ".repeat(100);
        let skip = [0x5a, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
        let body = [packed(text.as_bytes()), skip.to_vec(), packed(b"end")].concat();
        let whole = format!("{text}end");
        assert_eq!(decoded(&body, 1 << 20).as_deref(), Ok(whole.as_bytes()));
        assert_eq!(decoded(&body, whole.len() - 1), Err(UnpackError::TooLarge));
        for cut in [1, 5, body.len() - 14, body.len() - 1] {
            assert_eq!(
                decoded(&body[..cut], 1 << 20),
                Err(UnpackError::Broken),
                "{cut}"
            );
        }
        assert_eq!(decoded(&skip[..9], 1 << 20), Err(UnpackError::Broken));
    }

    #[test]
    fn output_of_zstd_is_decoded() {
        let body = [
            0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o',
        ];
        let with = |checksum: [u8; 4]| [body.as_slice(), &checksum].concat();
        let right = decoded(&with([0xa3, 0x6d, 0x9f, 0x88]), 1 << 20);
        assert_eq!(right.as_deref(), Ok(b"hello".as_slice()));
        assert_eq!(decoded(&with([0; 4]), 1 << 20), Err(UnpackError::Broken));
    }

    #[test]
    fn oversized_window_is_rejected() {
        let body = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0x01, 0x00, 0x00];
        assert_eq!(decoded(&body, 1 << 20), Err(UnpackError::Broken));
    }

    proptest! {
        #[test]
        fn any_bytes_are_handled(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..96),
            at in any::<prop::sample::Index>(),
            value in any::<u8>(),
        ) {
            let _ = decoded(&bytes, 1 << 16);
            bytes = packed(&bytes.repeat(3));
            let at = at.index(bytes.len());
            bytes[at] = value;
            let _ = decoded(&bytes, 1 << 16);
        }
    }
}
