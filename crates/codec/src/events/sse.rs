//! Server-sent events (WHATWG HTML, section 9.2.6).

use super::{EventLimit, MAX_EVENT, MAX_LINE};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Name of the event. Empty means `message`.
    pub name: &'a [u8],
    /// Lines of data, joined by LF.
    pub data: &'a [u8],
    /// Identifier of this event, or else the last identifier that the stream contained.
    pub id: &'a [u8],
}

/// Splits a stream into events. An empty line ends an event, so an incomplete last event is
/// dropped.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    /// Whether the last byte was CR, so that a following LF belongs to the same line end.
    ends_with_cr: bool,
    has_lines: bool,
    event: PendingEvent,
    retry_ms: Option<u64>,
}

#[derive(Debug, Default)]
struct PendingEvent {
    name: Vec<u8>,
    data: Vec<u8>,
    id: Vec<u8>,
}

impl SseParser {
    /// Returns the allocated memory in bytes.
    pub(super) fn capacity(&self) -> usize {
        let event = &self.event;
        let parts = [&self.line, &event.name, &event.data, &event.id];
        parts.into_iter().map(Vec::capacity).sum()
    }

    /// Consumes a part of the stream, and calls `on_event` for each completed event.
    pub fn read(
        &mut self,
        mut bytes: &[u8],
        mut on_event: impl FnMut(SseEvent<'_>),
    ) -> Result<(), EventLimit> {
        if self.ends_with_cr
            && let Some((first, rest)) = bytes.split_first()
        {
            self.ends_with_cr = false;
            if *first == b'\n' {
                bytes = rest;
            }
        }
        while let Some(end) = memchr::memchr2(b'\r', b'\n', bytes) {
            if self.line.len() + end > MAX_LINE {
                return Err(EventLimit::Line);
            }
            if self.line.is_empty() {
                self.line(&bytes[..end], &mut on_event)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.line(&line, &mut on_event)?;
                line.clear();
                self.line = line;
            }
            let is_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_cr {
                match bytes.split_first() {
                    Some((b'\n', rest)) => bytes = rest,
                    Some(_) => {}
                    None => self.ends_with_cr = true,
                }
            }
        }
        if self.line.len() + bytes.len() > MAX_LINE {
            return Err(EventLimit::Line);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the reconnection time that the server requested, in milliseconds.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Interprets a line without its line end.
    fn line(
        &mut self,
        line: &[u8],
        on_event: &mut impl FnMut(SseEvent<'_>),
    ) -> Result<(), EventLimit> {
        let line = if std::mem::replace(&mut self.has_lines, true) {
            line
        } else {
            line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
        };
        if line.is_empty() {
            self.dispatch(on_event);
            return Ok(());
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        let event = &mut self.event;
        match name {
            b"data" => {
                if event.data.len() + value.len() >= MAX_EVENT {
                    return Err(EventLimit::Event);
                }
                event.data.extend_from_slice(value);
                event.data.push(b'\n');
            }
            b"event" => {
                event.name.clear();
                event.name.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => {
                event.id.clear();
                event.id.extend_from_slice(value);
            }
            b"retry" => self.retry_ms = parse_retry(value).or(self.retry_ms),
            // A comment has an empty name. Unknown fields are ignored.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, on_event: &mut impl FnMut(SseEvent<'_>)) {
        let PendingEvent { name, data, id } = &mut self.event;
        if let Some((_, data)) = data.split_last() {
            on_event(SseEvent { name, data, id });
        }
        name.clear();
        data.clear();
    }
}

fn parse_retry(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| is_number)?;
    text.parse().ok()
}
