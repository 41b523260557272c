//! A distribution in a few bytes, for keeping many of them: pairs of (distance from the last filled cell, count) as varints,
//! and the exact figures. Nothing is lost; it can only be unpacked.

use crate::Histogram;

/// A packed distribution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packed {
    cells: Box<[u8]>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Packed {
    /// Packs a distribution.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Packed {
        let mut cells = Vec::new();
        let mut next = 0;
        for (index, n) in histogram.indexed() {
            push(&mut cells, (index - next) as u64);
            push(&mut cells, n);
            next = index + 1;
        }
        Packed {
            cells: cells.into_boxed_slice(),
            sum: histogram.sum(),
            min: histogram.min().unwrap_or(u64::MAX),
            max: histogram.max().unwrap_or(0),
        }
    }

    /// Adds it to a distribution.
    pub fn add_to(&self, histogram: &mut Histogram) {
        let mut rest = &self.cells[..];
        let mut next = 0;
        while let (Some(gap), Some(n)) = (pull(&mut rest), pull(&mut rest)) {
            let index = next + gap as usize;
            histogram.add_cell(index, n);
            next = index + 1;
        }
        histogram.add_exact(self.sum, self.min, self.max);
    }
}

fn push(bytes: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

fn pull(bytes: &mut &[u8]) -> Option<u64> {
    let (mut n, mut shift) = (0u64, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(n);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::histogram::MAX_VALUE;

    fn recorded(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn a_second_of_answers_takes_little_room() {
        let values: Vec<u64> = (0..1_000).map(|i| 1_000_000 + i * 1_000).collect();
        let packed = Packed::of(&recorded(&values));
        assert!(packed.cells.len() < 3_000, "{}", packed.cells.len());
        assert_eq!(Packed::of(&Histogram::default()).cells.len(), 0);
    }

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(
            a in prop::collection::vec(0..2 * MAX_VALUE, 0..200),
            b in prop::collection::vec(0..10_000_000u64, 0..200),
        ) {
            let mut unpacked = Histogram::default();
            Packed::of(&recorded(&a)).add_to(&mut unpacked);
            Packed::of(&recorded(&b)).add_to(&mut unpacked);
            let together = recorded(&[a, b].concat());
            prop_assert_eq!(unpacked.cells().collect::<Vec<_>>(), together.cells().collect::<Vec<_>>());
            prop_assert_eq!((unpacked.count(), unpacked.sum(), unpacked.min(), unpacked.max()),
                (together.count(), together.sum(), together.min(), together.max()));
        }
    }
}
