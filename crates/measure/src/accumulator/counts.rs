//! Exact counts of whole numbers, for front ends that need one counter per microsecond.
//!
//! [`Cells`] counts during the run. [`ValueCounts`] is the form that is sent, merged and stored.

const PAGE: usize = 4096;

/// A dense array of counters, divided into pages. A page is allocated on first use, and
/// [`Cells::take`] keeps it allocated.
#[derive(Debug, Default)]
pub struct Cells {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    count: u64,
}

impl Cells {
    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let page = (value / PAGE as u64) as usize;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let cells = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]));
        let cell = &mut cells[(value % PAGE as u64) as usize];
        *cell = cell.saturating_add(1);
        self.count += 1;
    }

    /// Returns the total number of counted values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the counts and resets them.
    pub fn take(&mut self) -> ValueCounts {
        let mut pairs = Vec::new();
        if self.count > 0 {
            for (page, cells) in self.pages.iter_mut().enumerate() {
                let Some(cells) = cells else { continue };
                for (at, n) in cells.iter_mut().enumerate().filter(|(_, n)| **n > 0) {
                    pairs.push(((page * PAGE + at) as u64, u64::from(*n)));
                    *n = 0;
                }
            }
            self.count = 0;
        }
        ValueCounts { pairs }
    }
}

/// Values with their counts, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ValueCounts {
    pairs: Vec<(u64, u64)>,
}

impl ValueCounts {
    /// Creates counts from (value, count) pairs in any order. The counts of equal values are added
    /// up.
    #[must_use]
    pub fn from_pairs(mut pairs: Vec<(u64, u64)>) -> ValueCounts {
        pairs.sort_unstable();
        pairs.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                first.1 += next.1;
            }
            same
        });
        ValueCounts { pairs }
    }

    /// Returns (value, count) pairs in ascending order of values.
    #[must_use]
    pub fn pairs(&self) -> &[(u64, u64)] {
        &self.pairs
    }

    /// Returns the total number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.pairs.iter().map(|(_, n)| n).sum()
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &ValueCounts) {
        if self.pairs.is_empty() {
            self.pairs.clone_from(&other.pairs);
            return;
        }
        let mut merged = Vec::with_capacity(self.pairs.len().max(other.pairs.len()));
        let (mut mine, mut theirs) = (self.pairs.iter().peekable(), other.pairs.iter().peekable());
        loop {
            let pair = match (mine.peek(), theirs.peek()) {
                (None, None) => break,
                (Some(a), Some(b)) if a.0 == b.0 => {
                    let both = (a.0, a.1 + b.1);
                    mine.next();
                    theirs.next();
                    both
                }
                (Some(a), b) if b.is_none_or(|b| a.0 < b.0) => {
                    let pair = **a;
                    mine.next();
                    pair
                }
                (_, Some(b)) => {
                    let pair = **b;
                    theirs.next();
                    pair
                }
                (Some(_), None) => break,
            };
            merged.push(pair);
        }
        self.pairs = merged;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counted(values: &[u64]) -> ValueCounts {
        let mut cells = Cells::default();
        values.iter().for_each(|v| cells.record(*v));
        assert_eq!(cells.count(), values.len() as u64);
        let counts = cells.take();
        assert_eq!((cells.count(), cells.take()), (0, ValueCounts::default()));
        counts
    }

    #[test]
    fn counts_are_exact() {
        let counts = counted(&[5, 70_000, 5, 0, 4096, 4095]);
        assert_eq!(
            counts.pairs(),
            [(0, 1), (5, 2), (4095, 1), (4096, 1), (70_000, 1)]
        );
        assert_eq!(counts.count(), 6);
    }

    proptest! {
        #[test]
        fn merge_equals_counting_together(
            a in prop::collection::vec(0..9_000u64, 0..60),
            b in prop::collection::vec(0..9_000u64, 0..60),
        ) {
            let mut merged = counted(&a);
            merged.merge(&counted(&b));
            prop_assert_eq!(&merged, &counted(&[a.clone(), b.clone()].concat()));
            let pairs = a.iter().chain(&b).map(|v| (*v, 1)).collect();
            prop_assert_eq!(merged, ValueCounts::from_pairs(pairs));
        }
    }
}
