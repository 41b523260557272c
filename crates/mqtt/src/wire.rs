//! The primitive types of the wire: integers, lengths of one to four bytes, texts, binary data; read in place, written into a buffer.
//! Knows no packet.

use std::fmt;

/// The largest remaining length that four bytes can say.
pub const MAX_LENGTH: usize = 268_435_455;

/// Why bytes are no MQTT. A connection on which this came is of no use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// A length of more than four bytes.
    Length,
    /// A packet ends before what it has to hold.
    Short,
    /// A packet goes on behind what it may hold.
    Long,
    /// A text that is not UTF-8, or holds U+0000.
    Text,
    /// A packet type that a server does not send, or a reserved one.
    Type(u8),
    /// Flags that are reserved, or no quality of service.
    Flags(u8),
    /// A property that does not exist, does not belong here, or comes twice.
    Property(u32),
    /// A value that its property cannot have.
    PropertyValue(u32),
    /// Packet identifier 0.
    NoIdentifier,
    /// A return code that this version does not have here.
    Code(u8),
    /// A topic that is empty, or holds a wildcard.
    Topic,
    /// A packet of more bytes than were agreed on.
    TooLarge(usize),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Length => write!(f, "a remaining length of more than four bytes"),
            Malformed::Short => write!(f, "a packet shorter than what it has to hold"),
            Malformed::Long => write!(f, "a packet longer than what it may hold"),
            Malformed::Text => write!(f, "a text that is no UTF-8"),
            Malformed::Type(kind) => write!(f, "packet type {kind}, which no server sends"),
            Malformed::Flags(first) => write!(f, "reserved flags (first byte 0x{first:02x})"),
            Malformed::Property(id) => write!(f, "property {id}, which does not belong there"),
            Malformed::PropertyValue(id) => write!(f, "property {id} with an impossible value"),
            Malformed::NoIdentifier => write!(f, "packet identifier 0"),
            Malformed::Code(code) => write!(f, "code 0x{code:02x}, which does not belong there"),
            Malformed::Topic => write!(f, "a topic that is empty or holds a wildcard"),
            Malformed::TooLarge(bytes) => write!(f, "a packet of {bytes} bytes, too large"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Bytes of a packet, read from the front.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// What is left.
    pub rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Over bytes.
    #[must_use]
    pub fn of(rest: &'a [u8]) -> Reader<'a> {
        Reader { rest }
    }

    /// So many bytes.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// One byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.rest.split_first().ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(*first)
    }

    /// Two bytes, big end first.
    #[inline]
    pub fn two(&mut self) -> Result<u16, Malformed> {
        let (two, rest) = self.rest.split_first_chunk().ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(u16::from_be_bytes(*two))
    }

    /// Four bytes, big end first.
    pub fn four(&mut self) -> Result<u32, Malformed> {
        let (four, rest) = self.rest.split_first_chunk().ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(u32::from_be_bytes(*four))
    }

    /// A packet identifier, which is never 0.
    #[inline]
    pub fn identifier(&mut self) -> Result<u16, Malformed> {
        match self.two()? {
            0 => Err(Malformed::NoIdentifier),
            id => Ok(id),
        }
    }

    /// Binary data behind its length of two bytes.
    #[inline]
    pub fn binary(&mut self) -> Result<&'a [u8], Malformed> {
        let bytes = self.two()?;
        self.take(usize::from(bytes))
    }

    /// A text behind its length of two bytes.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        let text = std::str::from_utf8(self.binary()?).map_err(|_| Malformed::Text)?;
        if text.as_bytes().contains(&0) {
            return Err(Malformed::Text);
        }
        Ok(text)
    }

    /// A length of one to four bytes.
    #[inline]
    pub fn length(&mut self) -> Result<usize, Malformed> {
        match length(self.rest)? {
            Some((value, bytes)) => {
                self.rest = &self.rest[bytes..];
                Ok(value)
            }
            None => Err(Malformed::Short),
        }
    }

    /// Nothing may be left.
    #[inline]
    pub fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Long)
        }
    }
}

/// A length at the beginning of bytes, and how many bytes it takes; none: there is more of it to come.
#[inline]
pub fn length(bytes: &[u8]) -> Result<Option<(usize, usize)>, Malformed> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(4).enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            // A length has to be said in as few bytes as it fits into.
            if at > 0 && *byte == 0 {
                return Err(Malformed::Length);
            }
            return Ok(Some((value, at + 1)));
        }
    }
    if bytes.len() < 4 {
        Ok(None)
    } else {
        Err(Malformed::Length)
    }
}

/// How many bytes a length takes.
#[must_use]
pub fn length_of_length(value: usize) -> usize {
    match value {
        0..128 => 1,
        128..16_384 => 2,
        16_384..2_097_152 => 3,
        _ => 4,
    }
}

/// Writes a length; whoever calls has made sure that it is at most [`MAX_LENGTH`].
pub fn put_length(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

/// Writes two bytes, big end first.
pub fn put_two(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// A text or binary data that is longer than its length of two bytes can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// How many bytes there are.
    pub bytes: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes;
        write!(f, "{bytes} bytes, more than MQTT can say there")
    }
}

impl std::error::Error for TooLong {}

/// Writes binary data behind its length of two bytes.
pub fn put_binary(out: &mut Vec<u8>, data: &[u8]) -> Result<(), TooLong> {
    let bytes = data.len();
    let length = u16::try_from(bytes).map_err(|_| TooLong { bytes })?;
    put_two(out, length);
    out.extend_from_slice(data);
    Ok(())
}

/// Writes a whole packet: its first byte, its length, its body.
pub fn put_packet(out: &mut Vec<u8>, first: u8, body: &[u8]) -> Result<(), TooLong> {
    let bytes = body.len();
    if bytes > MAX_LENGTH {
        return Err(TooLong { bytes });
    }
    out.reserve(bytes + 5);
    out.push(first);
    put_length(out, bytes);
    out.extend_from_slice(body);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The edges that the specification's table has, and what stands there.
    #[test]
    fn lengths_at_their_edges() {
        let edges: [(usize, &[u8]); 8] = [
            (0, &[0]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (16_383, &[0xff, 0x7f]),
            (16_384, &[0x80, 0x80, 1]),
            (2_097_151, &[0xff, 0xff, 0x7f]),
            (2_097_152, &[0x80, 0x80, 0x80, 1]),
            (MAX_LENGTH, &[0xff, 0xff, 0xff, 0x7f]),
        ];
        for (value, bytes) in edges {
            let mut out = Vec::new();
            put_length(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(length_of_length(value), bytes.len());
            assert_eq!(length(bytes), Ok(Some((value, bytes.len()))));
            for part in 0..bytes.len() {
                assert_eq!(length(&bytes[..part]), Ok(None), "{value}, {part} bytes");
            }
        }
        assert_eq!(length(&[0xff; 4]), Err(Malformed::Length));
        assert_eq!(length(&[0x80, 0]), Err(Malformed::Length));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let mut out = Vec::new();
        assert!(put_binary(&mut out, &[0; 65_535]).is_ok());
        let bytes = 65_536;
        assert_eq!(put_binary(&mut out, &[0; 65_536]), Err(TooLong { bytes }));
    }

    proptest! {
        #[test]
        fn a_length_is_read_as_it_was_written(value in 0..=MAX_LENGTH) {
            let mut out = Vec::new();
            put_length(&mut out, value);
            prop_assert_eq!(length(&out), Ok(Some((value, length_of_length(value)))));
        }
    }
}
