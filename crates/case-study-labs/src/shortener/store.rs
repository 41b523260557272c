//! URLs by number. The store recognizes duplicates and limits its size.

use std::collections::HashMap;

use serde_json::{Value, json};

use lab::random::{mix, seed_or_fresh};

const MOST: usize = 4_000_000;
const MOST_BYTES: usize = 1 << 30;

pub(super) struct StoredUrl {
    pub(super) url: Box<str>,
    pub(super) expires_s: i64,
}

pub(super) struct Store {
    stored: HashMap<u64, StoredUrl>,
    bytes: usize,
    seed: u64,
    drawn: u64,
    collisions: u64,
}

impl Store {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            stored: HashMap::new(),
            bytes: 0,
            seed: mix(seed_or_fresh(seed)),
            drawn: 0,
            collisions: 0,
        }
    }

    pub(super) fn keep(&mut self, url: &str, expires_s: i64) -> Option<u64> {
        if self.stored.len() >= MOST || self.bytes + url.len() > MOST_BYTES {
            return None;
        }
        let id = self.fresh();
        self.bytes += url.len();
        let url = url.into();
        self.stored.insert(id, StoredUrl { url, expires_s });
        Some(id)
    }

    fn fresh(&mut self) -> u64 {
        loop {
            let id = mix(self.seed.wrapping_add(self.drawn));
            self.drawn += 1;
            if !self.stored.contains_key(&id) {
                return id;
            }
            self.collisions += 1;
        }
    }

    pub(super) fn get(&self, id: u64) -> Option<&StoredUrl> {
        self.stored.get(&id)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "stored": self.stored.len(), "stored_bytes": self.bytes, "id_collisions": self.collisions })
    }
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LENGTH: usize = 11;

pub(super) fn text_of(id: u64) -> String {
    let mut rest = id;
    let mut digits = [0; LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    String::from_utf8_lossy(&digits).into_owned()
}

pub(super) fn number_of(text: &str) -> Option<u64> {
    if text.len() != LENGTH {
        return None;
    }
    text.bytes().try_fold(0u64, |number, byte| {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        number.checked_mul(62)?.checked_add(digit as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers_and_back() {
        for id in [0, 1, 61, 62, u64::MAX] {
            assert_eq!(number_of(&text_of(id)), Some(id));
        }
        for text in ["", "1", "zzzzzzzzzzz", "0000000000/", "000000000000"] {
            assert_eq!(number_of(text), None, "{text}");
        }
    }

    #[test]
    fn duplicate_number_is_counted_and_skipped() {
        let mut store = Store::new(7);
        let first = store.keep("http://a", 0).unwrap();
        store.drawn = 0;
        let second = store.keep("http://b", 0).unwrap();
        assert_ne!(first, second);
        assert_eq!(&*store.get(first).unwrap().url, "http://a");
        let reported = store.to_json();
        assert_eq!(
            (&reported["stored"], &reported["id_collisions"]),
            (&json!(2), &json!(1))
        );
    }

    #[test]
    fn what_is_full_says_so() {
        let mut store = Store::new(7);
        store.bytes = MOST_BYTES - 8;
        assert!(store.keep("http://ab", 0).is_none());
        assert!(store.keep("http://a", 0).is_some());
    }
}
