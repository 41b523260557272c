//! What a message of ours says of itself, in the first 28 bytes of its payload: which run, whose, which one, and when it should have been
//! sent. Who receives it can tell by these what is lost, repeated or out of order, and how long it took.

/// The bytes of a stamp.
pub const BYTES: usize = 28;

/// "LDM" and the version of what follows.
const MAGIC: [u8; 4] = *b"LDM\x01";

/// A message's stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Which run's message it is.
    pub run: u32,
    /// Whose.
    pub publisher: u32,
    /// Which of its publisher's, from 0.
    pub sequence: u64,
    /// When it should have been sent, in nanoseconds from the start of the run.
    pub intended_ns: u64,
}

impl Stamp {
    /// Its bytes.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.run.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.publisher.to_be_bytes());
        bytes[12..20].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[20..].copy_from_slice(&self.intended_ns.to_be_bytes());
        bytes
    }

    /// The stamp at the beginning of a payload; none: it is not one of ours.
    #[inline]
    #[must_use]
    pub fn of(payload: &[u8]) -> Option<Stamp> {
        let bytes: &[u8; BYTES] = payload.first_chunk()?;
        let (magic, rest) = bytes.split_first_chunk()?;
        let (run, rest) = rest.split_first_chunk()?;
        let (publisher, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let intended = rest.first_chunk()?;
        (*magic == MAGIC).then(|| Stamp {
            run: u32::from_be_bytes(*run),
            publisher: u32::from_be_bytes(*publisher),
            sequence: u64::from_be_bytes(*sequence),
            intended_ns: u64::from_be_bytes(*intended),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_stamp_is_none() {
        assert_eq!(Stamp::of(b"LDM\x01 and then too little"), None);
        assert_eq!(Stamp::of(&[7; 40]), None);
    }

    proptest! {
        #[test]
        fn a_stamp_is_read_as_it_was_written(run: u32, publisher: u32, sequence: u64, intended_ns: u64, more: Vec<u8>) {
            let stamp = Stamp { run, publisher, sequence, intended_ns };
            let mut payload = stamp.bytes().to_vec();
            payload.extend(more);
            prop_assert_eq!(Stamp::of(&payload), Some(stamp));
        }
    }
}
