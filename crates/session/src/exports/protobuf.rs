//! Writes messages in the wire format of Protocol Buffers, and reads the response of a receiver.

/// A message under construction. The caller may omit fields with default values.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

impl Message {
    /// Returns the bytes of the message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn raw(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.raw(field << 3 | kind);
    }

    pub fn varint(&mut self, field: u64, value: u64) {
        self.key(field, VARINT);
        self.raw(value);
    }

    /// Writes a `sint32`.
    pub fn sint32(&mut self, field: u64, value: i32) {
        self.varint(field, u64::from((value << 1 ^ value >> 31) as u32));
    }

    pub fn fixed64(&mut self, field: u64, value: u64) {
        self.key(field, FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn double(&mut self, field: u64, value: f64) {
        self.fixed64(field, value.to_bits());
    }

    pub fn bytes(&mut self, field: u64, value: &[u8]) {
        self.key(field, BYTES);
        self.raw(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    pub fn string(&mut self, field: u64, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    /// Writes a nested message into a field.
    pub fn message(&mut self, field: u64, write: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// Writes a packed list of `uint64`.
    pub fn packed(&mut self, field: u64, values: impl Iterator<Item = u64>) {
        self.message(field, |list| values.for_each(|value| list.raw(value)));
    }
}

/// A field of a received message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Reads the next field. `None` at the end of the message, or if the rest is damaged.
pub(super) fn next_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let key = read_varint(rest)?;
    let value = match key & 7 {
        VARINT => Value::Number(read_varint(rest)?),
        FIXED64 => Value::Number(u64::from_le_bytes(take(rest, 8)?.try_into().ok()?)),
        FIXED32 => Value::Number(u64::from(u32::from_le_bytes(
            take(rest, 4)?.try_into().ok()?,
        ))),
        BYTES => {
            let length = read_varint(rest)?;
            Value::Bytes(take(rest, usize::try_from(length).ok()?)?)
        }
        _ => return None,
    };
    Some((key >> 3, value))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn read_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, left) = rest.split_first()?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples in the encoding guide of Protocol Buffers.
    #[test]
    fn bytes_are_those_of_the_encoding_guide() {
        let mut message = Message::default();
        message.varint(1, 150);
        assert_eq!(message.into_bytes(), [0x08, 0x96, 0x01]);
        let mut message = Message::default();
        message.string(2, "testing");
        assert_eq!(message.into_bytes(), b"\x12\x07testing");
        let mut message = Message::default();
        message.message(3, |inner| inner.varint(1, 150));
        assert_eq!(message.into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let mut message = Message::default();
        message.packed(6, [3, 270, 86942].into_iter());
        assert_eq!(
            message.into_bytes(),
            [0x32, 0x06, 3, 0x8e, 2, 0x9e, 0xa7, 5]
        );
        for (value, zigzag) in [(0, 0), (-1, 1), (1, 2), (-2, 3)] {
            let mut message = Message::default();
            message.sint32(1, value);
            assert_eq!(message.into_bytes(), [8, zigzag]);
        }
    }

    #[test]
    fn fields_are_read_until_the_message_is_damaged() {
        let mut message = Message::default();
        message.varint(1, u64::MAX);
        message.string(2, "full");
        message.double(3, 0.5);
        let bytes = message.into_bytes();
        let mut rest = bytes.as_slice();
        assert_eq!(next_field(&mut rest), Some((1, Value::Number(u64::MAX))));
        assert_eq!(next_field(&mut rest), Some((2, Value::Bytes(b"full"))));
        let half = 0.5_f64.to_bits();
        assert_eq!(next_field(&mut rest), Some((3, Value::Number(half))));
        assert_eq!(next_field(&mut rest), None);
        for cut in 0..bytes.len() {
            let mut rest = &bytes[..cut];
            while next_field(&mut rest).is_some() {}
        }
        assert_eq!(next_field(&mut &[0xff; 20][..]), None);
    }
}
