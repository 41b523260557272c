//! Skips a chunked request body and its trailers. The result does not depend on how the bytes are
//! split.

const MAX_OVERHEAD: usize = 64 * 1024;

#[derive(Debug)]
enum At {
    /// Within the size of a chunk: the value so far, and whether a digit has been read.
    Size(u64, bool),
    Extension(u64),
    Data(u64),
    DataEnd,
    /// After the last chunk: whether the position is at the start of a line.
    Trailer(bool),
}

#[derive(Debug)]
pub(super) struct Chunked {
    at: At,
    overhead: usize,
}

#[derive(Debug, PartialEq)]
pub(super) struct BrokenChunk;

impl Chunked {
    pub(super) fn new() -> Self {
        Self {
            at: At::Size(0, false),
            overhead: 0,
        }
    }

    pub(super) fn skip(&mut self, input: &[u8]) -> Result<(usize, bool), BrokenChunk> {
        let mut used = 0;
        while let Some(&byte) = input.get(used) {
            if let At::Data(left) = &mut self.at {
                let here = usize::try_from(*left).unwrap_or(usize::MAX);
                let here = here.min(input.len() - used);
                *left -= here as u64;
                used += here;
                if *left == 0 {
                    self.at = At::DataEnd;
                    self.overhead = 0;
                }
                continue;
            }
            used += 1;
            self.overhead += 1;
            if self.overhead > MAX_OVERHEAD {
                return Err(BrokenChunk);
            }
            if self.step(byte)? {
                return Ok((used, true));
            }
        }
        Ok((used, false))
    }

    fn step(&mut self, byte: u8) -> Result<bool, BrokenChunk> {
        let digit = char::from(byte).to_digit(16);
        self.at = match (&self.at, byte) {
            (At::Size(size, _), _) if let Some(digit) = digit => {
                let size = size.checked_mul(16).ok_or(BrokenChunk)?;
                At::Size(size | u64::from(digit), true)
            }
            (At::Size(size, true), b'\n') | (At::Extension(size), b'\n') => match *size {
                0 => At::Trailer(true),
                size => At::Data(size),
            },
            (At::Size(size, true), b';' | b' ' | b'\t' | b'\r') | (At::Extension(size), _) => {
                At::Extension(*size)
            }
            (At::DataEnd, b'\r') => At::DataEnd,
            (At::DataEnd, b'\n') => At::Size(0, false),
            (At::Trailer(true), b'\n') => return Ok(true),
            (At::Trailer(true), b'\r') => At::Trailer(true),
            (At::Trailer(_), byte) => At::Trailer(byte == b'\n'),
            _ => return Err(BrokenChunk),
        };
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BODY: &[u8] = b"3\r\nabc\r\nA;name=\"v\"\r\n0123456789\r\n0 \r\nx-sum: 1\r\n\r\n";

    #[test]
    fn end_is_found() {
        let whole = [BODY, b"GET / HTTP/1.1"].concat();
        assert_eq!(Chunked::new().skip(&whole), Ok((BODY.len(), true)));
        assert_eq!(Chunked::new().skip(b"0\r\n\r\n"), Ok((5, true)));
        assert_eq!(Chunked::new().skip(b"0\n\n"), Ok((3, true)));
    }

    #[test]
    fn invalid_chunks_are_rejected() {
        for body in [
            &b"x"[..],
            b"\r\n",
            b";",
            b"3\r\nabcd",
            b"11111111111111111\r\n",
        ] {
            assert_eq!(Chunked::new().skip(body), Err(BrokenChunk), "{body:?}");
        }
        let endless = [b"0\r\n".to_vec(), vec![b'a'; 2 * MAX_OVERHEAD]].concat();
        assert_eq!(Chunked::new().skip(&endless), Err(BrokenChunk));
    }

    proptest! {
        #[test]
        fn result_is_independent_of_packets(mut cuts in proptest::collection::vec(0..=BODY.len(), 0..6)) {
            cuts.extend([0, BODY.len()]);
            cuts.sort_unstable();
            let mut chunked = Chunked::new();
            for pair in cuts.windows(2) {
                let part = &BODY[pair[0]..pair[1]];
                let last = pair[1] == BODY.len() && !part.is_empty();
                prop_assert_eq!(chunked.skip(part), Ok((part.len(), last)));
            }
        }

        #[test]
        fn any_bytes_are_handled(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok((used, _)) = Chunked::new().skip(&bytes) {
                prop_assert!(used <= bytes.len());
            }
        }
    }
}
