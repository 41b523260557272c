//! Message header in the first 28 bytes of a payload: run, publisher, sequence number, intended
//! start. With this header, receivers detect loss, duplicates and reordering, and measure delivery
//! times.

/// Size of the header in bytes.
pub const BYTES: usize = 28;

const MAGIC: [u8; 4] = *b"LDM\x01";

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Identifier of the run.
    pub run: u32,
    /// Number of the publisher.
    pub publisher: u32,
    /// Sequence number of the message, counted from 0 for each publisher.
    pub sequence: u64,
    /// Intended start in nanoseconds from the start of the run.
    pub intended_ns: u64,
}

impl Stamp {
    /// Encodes the header.
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

    /// Parses the header at the start of a payload. Returns `None` if the payload has no header.
    #[inline]
    #[must_use]
    pub fn from_payload(payload: &[u8]) -> Option<Stamp> {
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
    fn foreign_payload_has_no_header() {
        assert_eq!(Stamp::from_payload(b"LDM\x01 and then too little"), None);
        assert_eq!(Stamp::from_payload(&[7; 40]), None);
    }

    proptest! {
        #[test]
        fn header_round_trips(run: u32, publisher: u32, sequence: u64, intended_ns: u64, more: Vec<u8>) {
            let stamp = Stamp { run, publisher, sequence, intended_ns };
            let mut payload = stamp.bytes().to_vec();
            payload.extend(more);
            prop_assert_eq!(Stamp::from_payload(&payload), Some(stamp));
        }
    }
}
