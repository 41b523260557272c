//! Rows of whole numbers, packed as differences from the previous row.
//!
//! A long run has one row per second. Most numbers differ little from the previous row, so a
//! difference takes one to three bytes instead of eight.

use measure::varint::{pull, push};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NumberTable {
    bytes: Box<[u8]>,
}

impl NumberTable {
    pub fn pack<R: AsRef<[u64]>>(rows: impl IntoIterator<Item = R>) -> NumberTable {
        let mut bytes = Vec::new();
        let mut previous: Vec<u64> = Vec::new();
        for row in rows {
            let row = row.as_ref();
            push(&mut bytes, row.len() as u64);
            for (i, n) in row.iter().enumerate() {
                let before = previous.get(i).copied().unwrap_or(0);
                push(&mut bytes, fold_sign(n.wrapping_sub(before)));
            }
            previous.clear();
            previous.extend_from_slice(row);
        }
        NumberTable {
            bytes: bytes.into_boxed_slice(),
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn rows(&self) -> impl Iterator<Item = Vec<u64>> + '_ {
        let mut rest = &self.bytes[..];
        let mut previous: Vec<u64> = Vec::new();
        std::iter::from_fn(move || {
            let length = pull(&mut rest)? as usize;
            previous.resize(length, 0);
            for n in &mut previous {
                *n = n.wrapping_add(unfold_sign(pull(&mut rest)?));
            }
            Some(previous.clone())
        })
    }
}

/// Maps small differences of either sign to small numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
fn fold_sign(difference: u64) -> u64 {
    (difference << 1) ^ (difference.cast_signed() >> 63).cast_unsigned()
}

fn unfold_sign(n: u64) -> u64 {
    (n >> 1) ^ (n & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_packed(
            rows in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..9), 0..20),
        ) {
            let read: Vec<Vec<u64>> = NumberTable::pack(&rows).rows().collect();
            prop_assert_eq!(read, rows);
        }
    }

    #[test]
    fn unchanged_number_takes_one_byte() {
        let rows = [[u64::MAX; 50], [u64::MAX; 50]];
        let (one, two) = (NumberTable::pack(&rows[..1]), NumberTable::pack(rows));
        assert_eq!(two.len() - one.len(), 51);
    }
}
