//! Parser for streams of lines, such as newline-delimited JSON.

use super::{EventLimit, MAX_LINE};

/// Splits a stream into lines that end with LF or CRLF. Skips empty lines.
#[derive(Debug, Default)]
pub struct LineParser {
    rest: Vec<u8>,
}

impl LineParser {
    /// Returns the allocated memory in bytes.
    pub(super) fn capacity(&self) -> usize {
        self.rest.capacity()
    }

    /// Consumes the next bytes of the stream, and calls `on_line` for each completed line.
    pub fn read(
        &mut self,
        mut bytes: &[u8],
        mut on_line: impl FnMut(&[u8]),
    ) -> Result<(), EventLimit> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, after) = (&bytes[..end], &bytes[end + 1..]);
            bytes = after;
            if self.rest.is_empty() {
                check(line.len())?;
                pass_on(line, &mut on_line);
            } else {
                check(self.rest.len() + line.len())?;
                self.rest.extend_from_slice(line);
                pass_on(&self.rest, &mut on_line);
                self.rest.clear();
            }
        }
        check(self.rest.len() + bytes.len())?;
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the stream. The last line does not need a line end.
    pub fn finish(&mut self, mut on_line: impl FnMut(&[u8])) {
        pass_on(&self.rest, &mut on_line);
        self.rest.clear();
    }
}

fn check(length: usize) -> Result<(), EventLimit> {
    if length > MAX_LINE {
        return Err(EventLimit::Line);
    }
    Ok(())
}

fn pass_on(line: &[u8], on_line: &mut impl FnMut(&[u8])) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.is_empty() {
        on_line(line);
    }
}
