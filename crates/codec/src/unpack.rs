//! Reads decoded bytes up to a limit. All content encodings use it.

use std::io::Read;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnpackError {
    Broken,
    TooLarge,
}

/// Appends decoded bytes until `out` contains `most` bytes.
pub(crate) fn read(decoder: impl Read, most: usize, out: &mut Vec<u8>) -> Result<(), UnpackError> {
    let room = most.saturating_sub(out.len()) as u64;
    decoder
        .take(room + 1)
        .read_to_end(out)
        .map_err(|_| UnpackError::Broken)?;
    if out.len() > most {
        return Err(UnpackError::TooLarge);
    }
    Ok(())
}
