//! Payloads that several consecutive messages of a client share, as in Pepeunit's load test.

use serde::Serialize;

use crate::rng::{Purpose, Rng};

/// Settings for payloads in groups of identical messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Groups {
    /// Type of the payload.
    pub value: PayloadKind,
    /// Number of characters in a text payload.
    pub letters: u32,
    /// Number of consecutive messages of a client with the same payload.
    pub copies: u32,
}

/// Type of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum PayloadKind {
    /// Letters and digits that identify the client and the group, if the length is sufficient.
    Text,
    /// Number of the group.
    Number,
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const GROUP: usize = 6;
const CLIENT: usize = 3;

impl Groups {
    /// Returns the group that a client's message with this sequence number belongs to.
    #[must_use]
    pub fn group(&self, sequence: u64) -> u64 {
        sequence / u64::from(self.copies.max(1))
    }

    /// Appends the payload of one group of a client.
    pub fn write(&self, out: &mut Vec<u8>, client: u64, group: u64) {
        out.clear();
        if self.value == PayloadKind::Number {
            out.extend_from_slice(group.to_string().as_bytes());
            return;
        }
        let letters = self.letters as usize;
        digits(out, group, GROUP.min(letters));
        digits(out, client, CLIENT.min(letters - out.len()));
        let mut rng = Rng::keyed(client, Purpose::User, group, u64::from(self.letters));
        out.resize_with(letters, || DIGITS[rng.below(62) as usize]);
    }

    /// Returns the payload of one group of a client as text.
    #[must_use]
    pub fn text(&self, client: u64, group: u64) -> String {
        let mut out = Vec::new();
        self.write(&mut out, client, group);
        String::from_utf8_lossy(&out).into_owned()
    }
}

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

    fn groups(value: PayloadKind, letters: u32) -> Groups {
        Groups {
            value,
            letters,
            copies: 10,
        }
    }

    #[test]
    fn equal_messages_form_a_group() {
        let numbers = groups(PayloadKind::Number, 15);
        assert_eq!([0, 9, 10, 25].map(|n| numbers.group(n)), [0, 0, 1, 2]);
        assert_eq!(numbers.text(7, 12), "12");
    }

    #[test]
    fn text_identifies_client_and_group() {
        let texts = groups(PayloadKind::Text, 15);
        let text = texts.text(61, 62);
        assert!(text.starts_with("00001000z") && text.len() == 15, "{text}");
        assert_eq!(text, texts.text(61, 62));
        assert_ne!(text[9..], texts.text(61, 63)[9..]);
        assert_eq!(groups(PayloadKind::Text, 2).text(9, 63), "11");
        assert_eq!(groups(PayloadKind::Text, 0).text(9, 63), "");
    }
}
