//! Distribution of a trend's values.
//!
//! The first 1,000 values are stored, so percentiles of short runs are exact. Further values are
//! counted in buckets: 512 per power of two, which limits the relative error of a percentile to 0.1
//! %. Count, sum, minimum and maximum are always exact.

use super::sum::Sum;

const MAX_EXACT: usize = 1_000;
const BUCKETS: usize = 512;
/// Number of mantissa bits that do not affect the bucket.
const LOW_BITS: u32 = 52 - 9;

/// Counts of the values between two powers of two.
#[derive(Debug, Clone)]
struct Page {
    /// Sign and exponent, so that pages are sorted by value.
    key: i32,
    counts: Box<[u64; BUCKETS]>,
}

#[derive(Debug, Clone)]
enum Values {
    Exact(Vec<f64>),
    Buckets(Vec<Page>),
}

/// The distribution of a trend's values. Values that are not finite are ignored.
#[derive(Debug, Clone)]
pub struct Trend {
    values: Values,
    count: u64,
    sum: Sum,
    min: f64,
    max: f64,
}

impl Default for Trend {
    fn default() -> Trend {
        Trend {
            values: Values::Exact(Vec::new()),
            count: 0,
            sum: Sum::default(),
            min: 0.0,
            max: 0.0,
        }
    }
}

struct Bucket {
    page: i32,
    index: usize,
}

fn bucket_of(value: f64) -> Bucket {
    // Treat the two zeros as equal.
    let bits = (value + 0.0).to_bits();
    let exponent = i32::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
    let index = ((bits >> LOW_BITS) & (BUCKETS as u64 - 1)) as usize;
    let page = if value < 0.0 { -1 - exponent } else { exponent };
    Bucket { page, index }
}

/// Returns the middle of a bucket.
fn value_of(page: i32, index: usize) -> f64 {
    let exponent = if page < 0 { -1 - page } else { page };
    if exponent == 0 && index == 0 {
        return 0.0;
    }
    let bits = (u64::from(exponent.unsigned_abs()) << 52)
        | ((index as u64) << LOW_BITS)
        | (1 << (LOW_BITS - 1));
    let value = f64::from_bits(bits);
    if page < 0 { -value } else { value }
}

fn count_in(pages: &mut Vec<Page>, bucket: &Bucket, n: u64) {
    let position = match pages.binary_search_by_key(&bucket.page, |page| page.key) {
        Ok(position) => position,
        Err(position) => {
            let page = Page {
                key: bucket.page,
                counts: Box::new([0; BUCKETS]),
            };
            pages.insert(position, page);
            position
        }
    };
    let page = pages.get_mut(position);
    if let Some(count) = page.and_then(|page| page.counts.get_mut(bucket.index)) {
        *count = count.saturating_add(n);
    }
}

impl Trend {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.note_range(value, value);
        self.count += 1;
        self.sum.add(value);
        if let Values::Exact(values) = &mut self.values
            && values.len() < MAX_EXACT
        {
            values.push(value);
            return;
        }
        self.use_buckets();
        if let Values::Buckets(pages) = &mut self.values {
            count_in(pages, &bucket_of(value), 1);
        }
    }

    fn note_range(&mut self, min: f64, max: f64) {
        if self.count == 0 {
            (self.min, self.max) = (min, max);
        } else {
            (self.min, self.max) = (self.min.min(min), self.max.max(max));
        }
    }

    /// Moves the stored values into buckets.
    fn use_buckets(&mut self) {
        if let Values::Exact(values) = &self.values {
            let mut pages = Vec::new();
            for value in values {
                count_in(&mut pages, &bucket_of(*value), 1);
            }
            self.values = Values::Buckets(pages);
        }
    }

    /// Adds the values of another distribution.
    pub fn merge(&mut self, other: &Trend) {
        if other.count == 0 {
            return;
        }
        self.note_range(other.min, other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum.merge(&other.sum);
        if let (Values::Exact(own), Values::Exact(more)) = (&mut self.values, &other.values)
            && own.len() + more.len() <= MAX_EXACT
        {
            own.extend(more);
            return;
        }
        self.use_buckets();
        match (&mut self.values, &other.values) {
            (Values::Buckets(own), Values::Buckets(more)) => merge_pages(own, more),
            (Values::Buckets(own), Values::Exact(more)) => {
                for value in more {
                    count_in(own, &bucket_of(*value), 1);
                }
            }
            // This distribution already uses buckets.
            (Values::Exact(_), _) => {}
        }
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest value, or 0 if there are none.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Returns the largest value, or 0 if there are none.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Returns the arithmetic mean, or 0 if there are no values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => (self.sum.value() / count as f64).clamp(self.min, self.max),
        }
    }

    /// Returns percentiles in the given order: the value at position `p·(n−1)/100` of the sorted
    /// values, interpolated linearly. 0 if there are no values.
    #[must_use]
    pub fn percentiles(&self, percents: &[f64]) -> Vec<f64> {
        let sorted = match &self.values {
            Values::Exact(values) => {
                let mut sorted = values.clone();
                sorted.sort_by(f64::total_cmp);
                sorted
            }
            Values::Buckets(_) => Vec::new(),
        };
        let at = |rank: u64| match &self.values {
            Values::Exact(_) => {
                let index = usize::try_from(rank).unwrap_or(usize::MAX);
                sorted.get(index).copied().unwrap_or(self.max)
            }
            Values::Buckets(pages) => self.value_at(pages, rank),
        };
        let percentile = |percent: &f64| {
            let Some(last) = self.count.checked_sub(1) else {
                return 0.0;
            };
            let position = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
            let rank = position.floor();
            let share = position - rank;
            let lower = at(rank as u64);
            if share == 0.0 {
                return lower;
            }
            let upper = at((rank as u64 + 1).min(last));
            lower * (1.0 - share) + upper * share
        };
        percents.iter().map(percentile).collect()
    }

    /// Returns a percentile, see [`Trend::percentiles`].
    #[must_use]
    pub fn percentile(&self, percent: f64) -> f64 {
        self.percentiles(&[percent]).first().copied().unwrap_or(0.0)
    }

    fn value_at(&self, pages: &[Page], rank: u64) -> f64 {
        if rank == 0 {
            return self.min;
        }
        if rank >= self.count - 1 {
            return self.max;
        }
        let mut before = 0_u64;
        for page in pages {
            let indexes = 0..BUCKETS;
            let ordered = indexes.map(|i| if page.key < 0 { BUCKETS - 1 - i } else { i });
            for index in ordered {
                before = before.saturating_add(page.counts[index]);
                if before > rank {
                    return value_of(page.key, index).clamp(self.min, self.max);
                }
            }
        }
        self.max
    }
}

fn merge_pages(own: &mut Vec<Page>, more: &[Page]) {
    for page in more {
        match own.binary_search_by_key(&page.key, |page| page.key) {
            Err(position) => own.insert(position, page.clone()),
            Ok(position) => {
                let counts = own.get_mut(position).map(|page| page.counts.iter_mut());
                for (count, n) in counts.into_iter().flatten().zip(page.counts.iter()) {
                    *count = count.saturating_add(*n);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trend(values: &[f64]) -> Trend {
        let mut trend = Trend::default();
        for value in values {
            trend.add(*value);
        }
        trend
    }

    #[test]
    fn percentiles_are_linear_between_neighbours() {
        let trend = trend(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(
            trend.percentiles(&[0.0, 50.0, 90.0, 100.0]),
            [1.0, 2.5, 3.7, 4.0]
        );
        assert_eq!(trend.mean(), 2.5);
        assert_eq!(Trend::default().percentile(95.0), 0.0);
    }

    #[test]
    fn odd_values_do_not_break_it() {
        let mut odd = Trend::default();
        for _ in 0..400 {
            for value in [
                f64::NAN,
                f64::INFINITY,
                1e300,
                -1e300,
                0.0,
                -0.0,
                5e-324,
                -0.001,
                1.0,
            ] {
                odd.add(value);
            }
        }
        assert_eq!(odd.count(), 7 * 400);
        assert_eq!((odd.min(), odd.max()), (-1e300, 1e300));
        assert!(odd.mean().is_finite());
        assert_eq!(odd.percentile(0.0), -1e300);
        assert!((odd.percentile(50.0)).abs() < 1e-300);
        let largest = trend(&[f64::MAX; 2000]);
        assert_eq!(largest.percentile(50.0), f64::MAX);
        assert!(largest.mean().is_finite());
    }

    proptest! {
        #[test]
        fn buckets_are_accurate(
            values in prop::collection::vec(
                prop_oneof![0.0_f64..1e4, -10.0_f64..10.0, 1e-9_f64..1e-3], 1_001..1_400),
            percent in 0.0_f64..100.0,
            cut in 0_usize..1_000,
        ) {
            let all = trend(&values);
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let position = percent / 100.0 * (sorted.len() - 1) as f64;
            let (low, high) = (sorted[position as usize], sorted[position.ceil() as usize]);
            let estimate = all.percentile(percent);
            let (low, high) = (low - low.abs() * 0.001, high + high.abs() * 0.001);
            prop_assert!((low..=high).contains(&estimate));
            let mut merged = trend(&values[..cut]);
            merged.merge(&trend(&values[cut..]));
            prop_assert_eq!(merged.percentile(percent), estimate);
            prop_assert_eq!(merged.max(), all.max());
            prop_assert!((merged.mean() - all.mean()).abs() < 1e-9);
        }
    }
}
