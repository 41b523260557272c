//! What all content encodings share: bytes out of a decoder, up to a limit.

use std::io::Read;

/// Why something cannot be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    Broken,
    TooLarge,
}

/// Appends what there is, so that there are at most so many bytes in all.
pub(crate) fn read(decoder: impl Read, most: usize, out: &mut Vec<u8>) -> Result<(), Trouble> {
    let room = most.saturating_sub(out.len()) as u64;
    decoder
        .take(room + 1)
        .read_to_end(out)
        .map_err(|_| Trouble::Broken)?;
    if out.len() > most {
        return Err(Trouble::TooLarge);
    }
    Ok(())
}
