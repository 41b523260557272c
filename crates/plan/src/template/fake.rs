//! Fake data: the functions of Artillery's plugin `fake-data`, under faker's names (category and
//! method joined) or the plugin's older names. The words come from a library, and the choice
//! depends only on the virtual user's random numbers.

use std::convert::Infallible;

use fake::rand::TryRng;
use serde::{Serialize, Serializer};

use crate::rng::Rng;
use query::value;

mod functions;

use functions::{FUNCTIONS, OLDER};

/// A function that generates fake data.
#[derive(Clone, Copy)]
pub struct Fakery {
    name: &'static str,
    make: Make,
}

type Make = fn(&mut FakeRandom<'_>) -> String;

impl Fakery {
    /// Returns the name of the function, without `$`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the function with this current or older name, without `$`.
    #[must_use]
    pub fn named(name: &str) -> Option<Fakery> {
        let known = |name: &str| FUNCTIONS.iter().find(|(known, _)| *known == name);
        let older = || OLDER.iter().find(|(older, _)| *older == name);
        let (name, make) = known(name).or_else(|| known(older()?.1))?;
        Some(Fakery { name, make: *make })
    }

    /// Returns all names without `$`, including the older ones.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let newer = FUNCTIONS.iter().map(|(name, _)| *name);
        newer.chain(OLDER.iter().map(|(name, _)| *name))
    }

    /// Appends a generated value.
    pub fn write(self, rng: &mut Rng, out: &mut String) {
        out.push_str(&(self.make)(&mut FakeRandom(rng)));
    }
}

impl std::fmt::Debug for Fakery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Fakery {
    fn eq(&self, other: &Fakery) -> bool {
        self.name == other.name
    }
}

impl Eq for Fakery {}

impl Serialize for Fakery {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name)
    }
}

struct FakeRandom<'a>(&'a mut Rng);

impl TryRng for FakeRandom<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let random = self.0.next_u64().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
        Ok(())
    }
}

impl FakeRandom<'_> {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn one_of(&mut self, words: &[&str]) -> String {
        let index = self.below(words.len() as u64) as usize;
        words[index].to_owned()
    }

    fn of_alphabet(&mut self, alphabet: &str, length: u64) -> String {
        let letters = alphabet.as_bytes();
        (0..length)
            .map(|_| char::from(letters[self.below(letters.len() as u64) as usize]))
            .collect()
    }

    fn decimal(&mut self, min: f64, max: f64, decimals: i32) -> String {
        let unit = 10f64.powi(decimals);
        let n = min + (max - min) * self.0.unit();
        let mut text = String::new();
        value::write_f64((n * unit).floor() / unit, &mut text);
        text
    }

    fn uuid(&mut self) -> String {
        let (a, b) = (self.0.next_u64(), self.0.next_u64());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            8 + (b >> 62),
            (b >> 48) & 0xfff,
            b & 0xffff_ffff_ffff
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn made(name: &str, seed: u64) -> String {
        let mut out = String::new();
        let mut rng = Rng::keyed(seed, Purpose::User, 1, 0);
        Fakery::named(name).unwrap().write(&mut rng, &mut out);
        out
    }

    #[test]
    fn every_function_has_its_own_output() {
        for name in Fakery::names() {
            assert!(!made(name, 1).is_empty(), "{name}");
            assert_eq!(made(name, 1), made(name, 1), "{name}");
        }
        for name in [
            "personFullName",
            "internetEmail",
            "stringUuid",
            "numberInt",
            "loremText",
        ] {
            assert_ne!(made(name, 1), made(name, 2), "{name}");
        }
        assert_eq!(OLDER.len(), 24);
        assert_eq!(made("randEmail", 1), made("internetEmail", 1));
        assert!(Fakery::named("randNothing").is_none());
    }

    #[test]
    fn outputs_have_expected_forms() {
        for seed in 0..200 {
            let email = made("internetEmail", seed);
            let (user, host) = email.split_once('@').unwrap();
            assert!(!user.is_empty() && host.starts_with("example."), "{email}");
            let uuid = made("stringUuid", seed);
            let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
            assert_eq!(uuid.as_bytes()[14], b'4');
            let address: Result<std::net::Ipv4Addr, _> = made("internetIpv4", seed).parse();
            assert!(address.is_ok());
            assert!(made("numberInt", seed).parse::<u64>().unwrap() < 1 << 53);
            let latitude: f64 = made("locationLatitude", seed).parse().unwrap();
            assert!((-90.0..=90.0).contains(&latitude));
            assert_eq!(made("locationZipCode", seed).len(), 5);
            assert!(made("internetUrl", seed).ends_with(".test/"));
        }
    }
}
