//! Payloads that come in groups of equal messages, as Pepeunit's load test sends them: which group a message is of, and what it says.

use serde::Serialize;

use crate::rng::{Purpose, Rng};

/// What is sent by groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Groups {
    /// Texts or numbers.
    pub value: Value,
    /// The letters of a text.
    pub letters: u32,
    /// So many messages of a client one after the other are equal.
    pub copies: u32,
}

/// What messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Value {
    /// Letters and digits, which say whose group it is and which, as far as there is room.
    Text,
    /// The number of the group.
    Number,
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Digits of the group, and of the client, in a text.
const GROUP: usize = 6;
const CLIENT: usize = 3;

impl Groups {
    /// Which group a client's message of this number is of.
    #[must_use]
    pub fn of(&self, sequence: u64) -> u64 {
        sequence / u64::from(self.copies.max(1))
    }

    /// Writes what the messages of a client's group say.
    pub fn write(&self, out: &mut Vec<u8>, client: u64, group: u64) {
        out.clear();
        if self.value == Value::Number {
            out.extend_from_slice(group.to_string().as_bytes());
            return;
        }
        let letters = self.letters as usize;
        digits(out, group, GROUP.min(letters));
        digits(out, client, CLIENT.min(letters - out.len()));
        let mut rng = Rng::keyed(client, Purpose::User, group, u64::from(self.letters));
        out.resize_with(letters, || DIGITS[rng.below(62) as usize]);
    }

    /// The same, as a text.
    #[must_use]
    pub fn text(&self, client: u64, group: u64) -> String {
        let mut out = Vec::new();
        self.write(&mut out, client, group);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// The last so many digits of a number.
fn digits(out: &mut Vec<u8>, mut number: u64, count: usize) {
    let at = out.len();
    out.resize(at + count, b'0');
    for place in out[at..].iter_mut().rev() {
        *place = DIGITS[(number % 62) as usize];
        number /= 62;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(value: Value, letters: u32) -> Groups {
        Groups {
            value,
            letters,
            copies: 10,
        }
    }

    #[test]
    fn equal_messages_are_one_group() {
        let numbers = groups(Value::Number, 15);
        assert_eq!([0, 9, 10, 25].map(|n| numbers.of(n)), [0, 0, 1, 2]);
        assert_eq!(numbers.text(7, 12), "12");
    }

    #[test]
    fn a_text_says_whose_it_is_and_is_always_the_same() {
        let texts = groups(Value::Text, 15);
        let text = texts.text(61, 62);
        assert!(text.starts_with("00001000z") && text.len() == 15, "{text}");
        assert_eq!(text, texts.text(61, 62));
        assert_ne!(text[9..], texts.text(61, 63)[9..]);
        assert_eq!(groups(Value::Text, 2).text(9, 63), "11");
        assert_eq!(groups(Value::Text, 0).text(9, 63), "");
    }
}
