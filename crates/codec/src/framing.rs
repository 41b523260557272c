//! Detects the end of a response body that is delimited by length, by chunks, or by the end of the
//! connection. A state machine without I/O.

use measure::outcome::ProtocolFault;

/// How the current body is delimited, and the position in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// By length. Contains the number of remaining bytes.
    Length(u64),
    /// By chunks. Contains the state of the chunk parser.
    Chunked(Chunk),
    /// By the end of the connection.
    UntilClose,
}

/// Position in the chunked transfer coding (RFC 9112 §7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk {
    /// In the size line. Contains the size so far and the number of digits read.
    Size(u64, u8),
    /// In the size line after the digits. Contains the size.
    Extension(u64),
    /// At the line feed of a size line. Contains the size.
    SizeEnd(u64),
    /// In the data. Contains the number of remaining bytes.
    Data(u64),
    /// At the carriage return after the data.
    DataCr,
    /// At the line feed after the data.
    DataLf,
    /// At the start of a trailer line.
    TrailerStart,
    /// In a trailer line.
    Trailer,
    /// At the final line feed.
    FinalLf,
}

/// Result of [`Framing::take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Number of bytes consumed.
    pub used: usize,
    /// Whether the body is complete.
    pub done: bool,
}

impl Framing {
    /// State at the start of a chunked body.
    pub const CHUNKED: Framing = Framing::Chunked(Chunk::Size(0, 0));

    /// Consumes available bytes of the body and passes the data to `data`.
    pub fn take(&mut self, bytes: &[u8], data: impl FnMut(&[u8])) -> Result<Taken, ProtocolFault> {
        self.take_all(bytes, data, |_| {})
    }

    /// Consumes bytes like [`Framing::take`], and also passes complete trailer lines to `trailer`.
    pub fn take_all(
        &mut self,
        bytes: &[u8],
        mut data: impl FnMut(&[u8]),
        trailer: impl FnMut(u8),
    ) -> Result<Taken, ProtocolFault> {
        match self {
            Framing::Length(left) => {
                let used = bytes
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                data(&bytes[..used]);
                *left -= used as u64;
                Ok(Taken {
                    used,
                    done: *left == 0,
                })
            }
            Framing::UntilClose => {
                data(bytes);
                Ok(Taken {
                    used: bytes.len(),
                    done: false,
                })
            }
            Framing::Chunked(chunk) => take_chunks(chunk, bytes, data, trailer),
        }
    }
}

fn take_chunks(
    chunk: &mut Chunk,
    bytes: &[u8],
    mut data: impl FnMut(&[u8]),
    mut trailer: impl FnMut(u8),
) -> Result<Taken, ProtocolFault> {
    let mut at = 0;
    while at < bytes.len() {
        if let Chunk::Data(left) = *chunk {
            let n = (bytes.len() - at).min(usize::try_from(left).unwrap_or(usize::MAX));
            data(&bytes[at..at + n]);
            at += n;
            *chunk = if left == n as u64 {
                Chunk::DataCr
            } else {
                Chunk::Data(left - n as u64)
            };
            continue;
        }
        let byte = bytes[at];
        at += 1;
        let was = *chunk;
        *chunk = match (*chunk, byte) {
            (Chunk::FinalLf, b'\n') | (Chunk::TrailerStart, b'\n') => {
                return Ok(Taken {
                    used: at,
                    done: true,
                });
            }
            (state, byte) => step(state, byte)?,
        };
        if *chunk == Chunk::Trailer || was == Chunk::Trailer {
            trailer(byte);
        }
    }
    Ok(Taken {
        used: at,
        done: false,
    })
}

fn step(state: Chunk, byte: u8) -> Result<Chunk, ProtocolFault> {
    Ok(match (state, byte) {
        (Chunk::Size(value, digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
            // 15 hexadecimal digits cannot overflow. No real chunk is larger.
            if digits >= 15 {
                return Err(ProtocolFault::ChunkSize);
            }
            let digit = (byte as char).to_digit(16).map_or(0, u64::from);
            Chunk::Size(value * 16 + digit, digits + 1)
        }
        (Chunk::Size(_, 0), _) => return Err(ProtocolFault::ChunkSize),
        (Chunk::Size(value, _) | Chunk::Extension(value), b'\r') => Chunk::SizeEnd(value),
        (Chunk::Size(value, _), b';' | b' ' | b'\t') => Chunk::Extension(value),
        // As in most clients, a line feed alone also ends the line.
        (Chunk::Size(0, _) | Chunk::Extension(0) | Chunk::SizeEnd(0), b'\n') => Chunk::TrailerStart,
        (Chunk::Size(value, _) | Chunk::Extension(value) | Chunk::SizeEnd(value), b'\n') => {
            Chunk::Data(value)
        }
        (Chunk::Extension(value), _) => Chunk::Extension(value),
        (Chunk::Size(..) | Chunk::SizeEnd(_), _) => return Err(ProtocolFault::ChunkSize),
        (Chunk::DataCr, b'\r') => Chunk::DataLf,
        (Chunk::DataCr | Chunk::DataLf, b'\n') => Chunk::Size(0, 0),
        (Chunk::DataCr | Chunk::DataLf, _) => return Err(ProtocolFault::ChunkEnd),
        (Chunk::TrailerStart, b'\r') => Chunk::FinalLf,
        (Chunk::Trailer, b'\n') => Chunk::TrailerStart,
        (Chunk::TrailerStart | Chunk::Trailer, _) => Chunk::Trailer,
        (Chunk::FinalLf, _) => return Err(ProtocolFault::ChunkSize),
        (Chunk::Data(left), _) => Chunk::Data(left),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(bytes: &[u8]) -> Result<(Vec<u8>, Taken), ProtocolFault> {
        let mut body = Vec::new();
        let taken = { Framing::CHUNKED }.take(bytes, |data| body.extend_from_slice(data))?;
        Ok((body, taken))
    }

    #[test]
    fn chunked_bodies_are_decoded() {
        let (body, taken) =
            whole(b"4\r\nWiki\r\n6;x=y\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\n\r\nNEXT")
                .expect("chunks");
        assert_eq!(body, b"Wikipedia in \r\n\r\nchunks.");
        assert!(taken.done);
        let (_, taken) = whole(b"0\r\nTrailer: x\r\n\r\n").expect("trailer");
        assert_eq!(
            taken,
            Taken {
                used: 17,
                done: true
            }
        );
    }

    #[test]
    fn malformed_chunks_are_reported() {
        assert_eq!(whole(b"4\r\nWikiX"), Err(ProtocolFault::ChunkEnd));
        for bytes in [
            &b"x\r\n"[..],
            b"\r\n",
            b"fffffffffffffffff\r\n",
            b"4x\r\n",
            b"0\r\n\rX",
        ] {
            assert_eq!(whole(bytes), Err(ProtocolFault::ChunkSize), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn result_is_independent_of_splits(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8), cut in 1usize..9) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                wire.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                wire.extend_from_slice(chunk);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\n\r\n");
            let mut framing = Framing::CHUNKED;
            let (mut body, mut done) = (Vec::new(), false);
            for piece in wire.chunks(cut) {
                prop_assert!(!done);
                let taken = framing.take(piece, |data| body.extend_from_slice(data)).expect("valid");
                prop_assert_eq!(taken.used, piece.len());
                done = taken.done;
            }
            prop_assert!(done);
            prop_assert_eq!(body, chunks.concat());
        }
    }
}
