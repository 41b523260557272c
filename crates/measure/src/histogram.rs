//! Histograms of nanoseconds in HdrHistogram's log-linear layout (3 significant digits, 1 ns to 1
//! h).
//!
//! A histogram is stored in sparse pages, or as a short list of filled buckets if it was read from
//! a record. Workers record into `Histogram<u32>`, and merged intervals use `Histogram<u64>`.
//! Count, sum, minimum and maximum are exact. Values above an hour count in the last bucket, but
//! the maximum stays exact.

/// Highest value that the buckets distinguish. Higher values count in the last bucket.
pub const MAX_VALUE: u64 = 3_600_000_000_000;

/// Values below this have buckets of width 1. Each octave above has 1,024 buckets, which are twice
/// as wide as in the octave below.
const SUB_BUCKETS: u64 = 2048;
const HALF: usize = 1024;
const CELLS_PER_PAGE: usize = 256;
const PAGES: usize = index_of(MAX_VALUE) / CELLS_PER_PAGE + 1;

/// Maximum number of filled buckets in a list. A larger histogram is stored in pages.
const LONGEST_LIST: usize = 64;

/// The counter of one bucket.
pub trait Cell: Copy + Default + Into<u64> {
    /// Adds `n`, and saturates at the type's maximum.
    fn add(&mut self, n: u64);
}

impl Cell for u32 {
    fn add(&mut self, n: u64) {
        *self = self.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
    }
}

impl Cell for u64 {
    fn add(&mut self, n: u64) {
        *self = self.saturating_add(n);
    }
}

/// A filled bucket of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramCell {
    /// Lowest value of the bucket.
    pub low: u64,
    /// Highest value of the bucket.
    pub high: u64,
    /// Number of values in the bucket.
    pub count: u64,
}

/// A histogram of durations in nanoseconds.
#[derive(Debug, Clone)]
pub struct Histogram<C: Cell = u64> {
    /// Index in `cells` of each page, plus one. 0 if the page does not exist.
    directory: [u8; PAGES],
    cells: Vec<[C; CELLS_PER_PAGE]>,
    /// Filled buckets in ascending order. Empty if the histogram is stored in pages.
    list: Vec<(u16, C)>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl<C: Cell> Default for Histogram<C> {
    fn default() -> Self {
        Histogram {
            directory: [0; PAGES],
            cells: Vec::new(),
            list: Vec::new(),
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

pub(crate) fn cell_of(value: u64) -> usize {
    index_of(value.min(MAX_VALUE))
}

impl<C: Cell> Histogram<C> {
    /// Records a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.cell(index_of(value.min(MAX_VALUE))).add(1);
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Records a value `n` times.
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.cell(index_of(value.min(MAX_VALUE))).add(n);
        self.count += n;
        self.sum += u128::from(value) * u128::from(n);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another histogram.
    pub fn add<D: Cell>(&mut self, other: &Histogram<D>) {
        if !other.list.is_empty() {
            self.add_list(&other.list);
        } else if self.cells.is_empty() {
            self.cells.reserve_exact(other.cells.len());
        }
        // Adding a whole page is faster than searching for its filled buckets.
        for (page, theirs) in other.pages() {
            let mine = self.page(page).iter_mut().zip(theirs);
            mine.for_each(|(cell, n)| cell.add((*n).into()));
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    fn add_list<D: Cell>(&mut self, list: &[(u16, D)]) {
        let fits = self.list.len() + list.len() <= LONGEST_LIST;
        if !self.cells.is_empty() || !fits && !self.list.is_empty() {
            for (index, n) in list {
                self.cell(usize::from(*index)).add((*n).into());
            }
            return;
        }
        let mut mine = std::mem::take(&mut self.list).into_iter().peekable();
        let mut sum = Vec::with_capacity(mine.len() + list.len());
        for (index, n) in list {
            sum.extend(std::iter::from_fn(|| mine.next_if(|(own, _)| own < index)));
            let own = mine.next_if(|(own, _)| own == index);
            let mut cell = own.map_or_else(C::default, |(_, cell)| cell);
            cell.add((*n).into());
            sum.push((*index, cell));
        }
        sum.extend(mine);
        self.list = sum;
    }

    /// Creates a histogram from its filled buckets, as (bucket, count) pairs in ascending order.
    /// The caller must then call [`Histogram::set_exact`]. Returns `None` if a bucket does not
    /// exist or the total exceeds 64 bits.
    #[must_use]
    pub fn from_buckets(buckets: &[(u16, u64)]) -> Option<Histogram<C>> {
        let mut histogram = Histogram::default();
        histogram.list.reserve_exact(buckets.len());
        for (index, n) in buckets {
            histogram.count = histogram.count.checked_add(*n)?;
            let mut cell = C::default();
            cell.add(*n);
            histogram.list.push((*index, cell));
        }
        let last = histogram.list.last().map_or(0, |(index, _)| *index);
        let ascends = histogram.list.is_sorted_by(|(a, _), (b, _)| a < b);
        (ascends && usize::from(last) <= index_of(MAX_VALUE)).then_some(histogram)
    }

    /// Restores the exact sum, minimum and maximum of a histogram that was created from its
    /// buckets.
    pub fn set_exact(&mut self, sum: u128, min: u64, max: u64) {
        (self.sum, self.min, self.max) = (sum, min, max);
    }

    /// Adds counts to a bucket. The caller must then call [`Histogram::add_exact`].
    pub(crate) fn add_cell(&mut self, index: usize, n: u64) {
        self.cell(index).add(n);
        self.count += n;
    }

    pub(crate) fn add_exact(&mut self, sum: u128, min: u64, max: u64) {
        self.sum += sum;
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact sum of the values.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the exact minimum. `None` if there are no values.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the exact maximum. `None` if there are no values.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the mean, computed from the exact sum. `None` if there are no values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the quantile `q`: the smallest value for which at least the share `q` of all values
    /// is at or below it, to the precision of the layout. Returns the exact maximum if this is the
    /// last value, and `None` if there are no values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.at_rank(rank_of(q, self.count)?)
    }

    /// Returns the value with this rank, which starts at 1. `None` if there are fewer values.
    #[must_use]
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        for (index, n) in &self.list {
            below += (*n).into();
            if below >= rank {
                return Some(highest_of(usize::from(*index)).clamp(self.min, self.max));
            }
        }
        for (page, cells) in self.pages() {
            let in_page: u64 = cells.iter().map(|n| (*n).into()).sum();
            if below + in_page < rank {
                below += in_page;
                continue;
            }
            for (i, n) in cells.iter().enumerate() {
                below += (*n).into();
                if below >= rank {
                    let highest = highest_of(page * CELLS_PER_PAGE + i);
                    return Some(highest.clamp(self.min, self.max));
                }
            }
        }
        None
    }

    /// Returns the number of values in buckets that are entirely above the bound.
    #[must_use]
    pub fn above(&self, bound: u64) -> u64 {
        let last = cell_of(bound);
        self.indexed()
            .filter(|(index, _)| *index > last)
            .map(|(_, n)| n)
            .sum()
    }

    /// Returns the filled buckets in ascending order.
    pub fn cells(&self) -> impl Iterator<Item = HistogramCell> + '_ {
        self.indexed().map(|(index, count)| HistogramCell {
            low: lowest_of(index),
            high: highest_of(index),
            count,
        })
    }

    /// Removes all values but keeps the allocated memory.
    pub fn clear(&mut self) {
        for page in &mut self.cells {
            page.fill(C::default());
        }
        self.list.clear();
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    #[inline]
    fn cell(&mut self, index: usize) -> &mut C {
        &mut self.page(index / CELLS_PER_PAGE)[index % CELLS_PER_PAGE]
    }

    #[inline]
    fn page(&mut self, page: usize) -> &mut [C; CELLS_PER_PAGE] {
        if self.directory[page] == 0 {
            self.new_page(page);
        }
        &mut self.cells[usize::from(self.directory[page]) - 1]
    }

    #[cold]
    fn new_page(&mut self, page: usize) {
        self.cells.push([C::default(); CELLS_PER_PAGE]);
        self.directory[page] = self.cells.len() as u8;
        for (index, n) in std::mem::take(&mut self.list) {
            *self.cell(usize::from(index)) = n;
        }
    }

    fn pages(&self) -> impl Iterator<Item = (usize, &[C; CELLS_PER_PAGE])> + '_ {
        let pages = self.directory.iter().enumerate();
        let pages = pages.filter(|(_, entry)| **entry > 0);
        pages.map(|(page, entry)| (page, &self.cells[usize::from(*entry) - 1]))
    }

    pub(crate) fn indexed(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let listed = self.list.iter();
        let listed = listed.map(|(index, n)| (usize::from(*index), (*n).into()));
        listed.chain(self.pages().flat_map(|(page, cells)| {
            let filled = cells
                .iter()
                .enumerate()
                .map(move |(i, n)| (page * CELLS_PER_PAGE + i, (*n).into()));
            filled.filter(|(_, n)| *n > 0)
        }))
    }
}

/// Returns the rank (from 1) of the quantile `q` among `count` values. `None` if there are no
/// values.
#[must_use]
pub fn rank_of(q: f64, count: u64) -> Option<u64> {
    if count == 0 {
        return None;
    }
    // 0.99 × 100 gives 99.00000000000001, which must round to rank 99.
    let exact = q * count as f64;
    let rank = if (exact - exact.round()).abs() < 1e-6 {
        exact.round()
    } else {
        exact.ceil()
    };
    Some((rank as u64).clamp(1, count))
}

/// Returns the highest value that falls into the same bucket.
#[must_use]
pub fn highest_equivalent(value: u64) -> u64 {
    highest_of(index_of(value.min(MAX_VALUE)))
}

#[inline]
const fn index_of(value: u64) -> usize {
    let octave = 63 - (value | (SUB_BUCKETS - 1)).leading_zeros() as usize - 10;
    let sub = (value >> octave) as usize;
    octave * HALF + sub
}

fn lowest_of(index: usize) -> u64 {
    let octave = (index / HALF).saturating_sub(1);
    let sub = index - octave * HALF;
    (sub as u64) << octave
}

fn highest_of(index: usize) -> u64 {
    let octave = (index / HALF).saturating_sub(1);
    lowest_of(index) + (1 << octave) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cells_round_trip_within_0_1_percent() {
        for index in 0..=index_of(MAX_VALUE) {
            let (low, high) = (lowest_of(index), highest_of(index));
            assert_eq!((index_of(low), index_of(high)), (index, index));
            assert!((high - low) as f64 <= low as f64 / 1000.0, "{low}..{high}");
        }
        const { assert!(PAGES < 255, "the directory counts in bytes") };
    }

    #[test]
    fn count_sum_min_max_and_mean_are_exact() {
        let mut h = Histogram::<u32>::default();
        assert_eq!(
            (h.quantile(0.5), h.min(), h.max(), h.mean()),
            (None, None, None, None)
        );
        for value in 1..=100 {
            h.record(value);
        }
        assert_eq!(h.quantile(0.5), Some(50));
        assert_eq!(h.quantile(0.99), Some(99));
        assert_eq!(h.quantile(1.0), Some(100));
        assert_eq!(h.quantile(0.0), Some(1));
        assert_eq!(h.mean(), Some(50.5));
        assert_eq!(h.above(90), 10);
    }

    #[test]
    fn values_above_an_hour_are_kept() {
        let mut h = Histogram::<u32>::default();
        h.record(2 * MAX_VALUE);
        h.record(0);
        assert_eq!(
            (h.count(), h.max(), h.min()),
            (2, Some(2 * MAX_VALUE), Some(0))
        );
        assert_eq!(h.sum(), u128::from(2 * MAX_VALUE));
    }

    fn listed(values: &[u64]) -> Histogram {
        let mut pages = Histogram::<u64>::default();
        values.iter().for_each(|value| pages.record(*value));
        let buckets: Vec<_> = pages.indexed().map(|(i, n)| (i as u16, n)).collect();
        let mut list = Histogram::from_buckets(&buckets).unwrap();
        if let (Some(min), Some(max)) = (pages.min(), pages.max()) {
            list.set_exact(pages.sum(), min, max);
        }
        list
    }

    #[test]
    fn buckets_that_do_not_exist_or_descend_are_refused() {
        let last = index_of(MAX_VALUE) as u16;
        assert!(Histogram::<u64>::from_buckets(&[(0, 1), (last, 1)]).is_some());
        for buckets in [
            [(0, 1), (last + 1, 1)],
            [(5, 1), (4, 1)],
            [(4, 1), (4, 1)],
            [(4, u64::MAX), (5, 1)],
        ] {
            assert!(Histogram::<u64>::from_buckets(&buckets).is_none());
        }
    }

    proptest! {
        #[test]
        fn list_and_pages_are_the_same_distribution(
            parts in prop::collection::vec((any::<bool>(), prop::collection::vec(0..2 * MAX_VALUE, 0..60)), 1..6),
            more in prop::collection::vec(0..2 * MAX_VALUE, 0..3),
            rank in 1..200u64,
        ) {
            let (mut mixed, mut pages) = (Histogram::<u64>::default(), Histogram::<u64>::default());
            for (is_list, values) in &parts {
                let mut part = Histogram::<u64>::default();
                values.iter().for_each(|value| part.record(*value));
                pages.add(&part);
                mixed.add(&if *is_list { listed(values) } else { part });
            }
            for value in more {
                mixed.record(value);
                pages.record(value);
            }
            prop_assert_eq!(mixed.cells().collect::<Vec<_>>(), pages.cells().collect::<Vec<_>>());
            prop_assert_eq!((mixed.count(), mixed.sum(), mixed.min(), mixed.max()),
                (pages.count(), pages.sum(), pages.min(), pages.max()));
            prop_assert_eq!(mixed.at_rank(rank), pages.at_rank(rank));
        }

        #[test]
        fn quantiles_are_within_0_1_percent(mut values in prop::collection::vec(0..MAX_VALUE, 1..300), q in 0.0..1.0) {
            let mut h = Histogram::<u32>::default();
            values.iter().for_each(|v| h.record(*v));
            values.sort_unstable();
            let exact = values[rank_of(q, values.len() as u64).map_or(0, |r| r as usize - 1)];
            let estimate = h.quantile(q).unwrap_or(0);
            prop_assert!(estimate >= exact && (estimate - exact) as f64 <= exact as f64 / 1000.0, "{estimate} for {exact}");
        }

        #[test]
        fn merge_equals_recording_together(
            a in prop::collection::vec(0..2 * MAX_VALUE, 0..200),
            b in prop::collection::vec(0..10_000_000u64, 0..200),
        ) {
            let record = |values: &[u64]| values.iter().fold(Histogram::<u32>::default(), |mut h, v| { h.record(*v); h });
            let mut merged = Histogram::<u64>::default();
            merged.add(&record(&a));
            merged.add(&record(&b));
            let together = record(&[a, b].concat());
            prop_assert_eq!(merged.cells().collect::<Vec<_>>(), together.cells().collect::<Vec<_>>());
            prop_assert_eq!((merged.count(), merged.sum(), merged.min(), merged.max()),
                (together.count(), together.sum(), together.min(), together.max()));
        }
    }
}
