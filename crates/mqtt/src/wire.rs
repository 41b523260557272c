//! Primitive types of the protocol: integers, variable-length integers, strings and binary data.

use std::fmt;

/// Maximum remaining length of a packet. It takes four bytes.
pub const MAX_LENGTH: usize = 268_435_455;

/// Why bytes are not valid MQTT. The client must then close the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// A length field takes more than four bytes or is not minimal.
    Length,
    /// The packet is truncated.
    Short,
    /// The packet has excess bytes.
    Long,
    /// A string is not UTF-8 or contains U+0000.
    Text,
    /// The packet type is reserved, or servers do not send it.
    Type(u8),
    /// The flags or the quality of service are invalid.
    Flags(u8),
    /// A property is unknown, misplaced or duplicate.
    Property(u32),
    /// The value of a property is invalid.
    PropertyValue(u32),
    /// The packet identifier is 0.
    NoIdentifier,
    /// A code is invalid in this version or packet.
    Code(u8),
    /// The topic is empty or contains a wildcard.
    Topic,
    /// The packet exceeds the maximum size.
    TooLarge(usize),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Length => write!(f, "a remaining length of more than four bytes"),
            Malformed::Short => write!(f, "a packet that is too short for its fields"),
            Malformed::Long => write!(f, "a packet that is longer than its fields"),
            Malformed::Text => write!(f, "text that is not UTF-8"),
            Malformed::Type(kind) => write!(f, "packet type {kind}, which servers do not send"),
            Malformed::Flags(first) => write!(f, "reserved flags (first byte 0x{first:02x})"),
            Malformed::Property(id) => write!(f, "property {id}, which is not allowed there"),
            Malformed::PropertyValue(id) => write!(f, "property {id} with an invalid value"),
            Malformed::NoIdentifier => write!(f, "packet identifier 0"),
            Malformed::Code(code) => write!(f, "code 0x{code:02x}, which is not allowed there"),
            Malformed::Topic => write!(f, "a topic that is empty or contains a wildcard"),
            Malformed::TooLarge(bytes) => {
                write!(f, "a packet of {bytes} bytes, which is too large")
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// Reads the fields of a packet in order.
#[derive(Debug, Clone, Copy)]
pub struct PacketReader<'a> {
    /// The remaining bytes.
    pub rest: &'a [u8],
}

impl<'a> PacketReader<'a> {
    /// Creates a reader for these bytes.
    #[must_use]
    pub fn new(rest: &'a [u8]) -> PacketReader<'a> {
        PacketReader { rest }
    }

    /// Reads a number of bytes.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads one byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.rest.split_first().ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(*first)
    }

    /// Reads a two-byte number, big-endian.
    #[inline]
    pub fn two(&mut self) -> Result<u16, Malformed> {
        let (two, rest) = self.rest.split_first_chunk().ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(u16::from_be_bytes(*two))
    }

    /// Reads a four-byte number, big-endian.
    pub fn four(&mut self) -> Result<u32, Malformed> {
        let (four, rest) = self.rest.split_first_chunk().ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(u32::from_be_bytes(*four))
    }

    /// Reads a packet identifier, which is never 0.
    #[inline]
    pub fn identifier(&mut self) -> Result<u16, Malformed> {
        match self.two()? {
            0 => Err(Malformed::NoIdentifier),
            id => Ok(id),
        }
    }

    /// Reads binary data that starts with a two-byte length.
    #[inline]
    pub fn binary(&mut self) -> Result<&'a [u8], Malformed> {
        let bytes = self.two()?;
        self.take(usize::from(bytes))
    }

    /// Reads a string that starts with a two-byte length.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        let text = std::str::from_utf8(self.binary()?).map_err(|_| Malformed::Text)?;
        if text.as_bytes().contains(&0) {
            return Err(Malformed::Text);
        }
        Ok(text)
    }

    /// Reads a variable-length integer.
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

    /// Fails if there are bytes left.
    #[inline]
    pub fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Long)
        }
    }
}

/// Reads a variable-length integer. Returns its value and size, or `None` if it is incomplete.
#[inline]
pub fn length(bytes: &[u8]) -> Result<Option<(usize, usize)>, Malformed> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(4).enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
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

/// Returns the number of bytes that a variable-length integer takes.
#[must_use]
pub fn length_of_length(value: usize) -> usize {
    match value {
        0..128 => 1,
        128..16_384 => 2,
        16_384..2_097_152 => 3,
        _ => 4,
    }
}

/// Appends a variable-length integer of at most [`MAX_LENGTH`].
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

/// Appends a two-byte number, big-endian.
pub fn put_two(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// The error for a string or binary value that exceeds its maximum size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Size of the value in bytes.
    pub bytes: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes;
        write!(f, "{bytes} bytes, more than the maximum of this MQTT field")
    }
}

impl std::error::Error for TooLong {}

/// Appends binary data with a two-byte length.
pub fn put_binary(out: &mut Vec<u8>, data: &[u8]) -> Result<(), TooLong> {
    let bytes = data.len();
    let length = u16::try_from(bytes).map_err(|_| TooLong { bytes })?;
    put_two(out, length);
    out.extend_from_slice(data);
    Ok(())
}

/// Appends a packet with its first byte, length and body.
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

    #[test]
    fn lengths_at_edges_are_encoded() {
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
    fn too_long_data_is_rejected() {
        let mut out = Vec::new();
        assert!(put_binary(&mut out, &[0; 65_535]).is_ok());
        let bytes = 65_536;
        assert_eq!(put_binary(&mut out, &[0; 65_536]), Err(TooLong { bytes }));
    }

    proptest! {
        #[test]
        fn lengths_round_trip(value in 0..=MAX_LENGTH) {
            let mut out = Vec::new();
            put_length(&mut out, value);
            prop_assert_eq!(length(&out), Ok(Some((value, length_of_length(value)))));
        }
    }
}
