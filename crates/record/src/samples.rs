//! Samples of a server metric over the whole run. All samples except the newest are packed.

use crate::{number_table::NumberTable, server::MetricSample};

const CHUNK: usize = 128;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    packed: Vec<Chunk>,
    open: Vec<MetricSample>,
}

#[derive(Debug, Clone, PartialEq)]
struct Chunk {
    last_at_ns: u64,
    table: NumberTable,
}

impl Samples {
    pub fn push(&mut self, sample: MetricSample) {
        if self.open.len() == CHUNK {
            self.packed.push(Chunk {
                last_at_ns: self.open[CHUNK - 1].at_ns,
                table: pack(&self.open),
            });
            self.open.clear();
        }
        self.open.push(sample);
    }

    #[must_use]
    pub fn last(&self) -> Option<MetricSample> {
        self.open.last().copied()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.packed.len() * CHUNK + self.open.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = MetricSample> + '_ {
        self.ending_at(0)
    }

    pub fn ending_at(&self, from_ns: u64) -> impl Iterator<Item = MetricSample> + '_ {
        let first = self
            .packed
            .partition_point(|chunk| chunk.last_at_ns < from_ns);
        let packed = self.packed[first..]
            .iter()
            .flat_map(|chunk| unpack(&chunk.table));
        let all = packed.chain(self.open.iter().copied());
        all.skip_while(move |sample| sample.at_ns < from_ns)
    }
}

impl FromIterator<MetricSample> for Samples {
    fn from_iter<I: IntoIterator<Item = MetricSample>>(samples: I) -> Samples {
        let mut all = Samples::default();
        samples.into_iter().for_each(|sample| all.push(sample));
        all
    }
}

/// Packs samples. A sample usually starts at the end of the previous one and lasts about as long.
/// The bytes of a value are swapped, because round numbers end in zeros.
fn pack(samples: &[MetricSample]) -> NumberTable {
    let mut end_ns = 0u64;
    NumberTable::pack(samples.iter().map(|sample| {
        let gap_ns = sample.from_ns.wrapping_sub(end_ns);
        end_ns = sample.at_ns;
        let length_ns = sample.at_ns.wrapping_sub(sample.from_ns);
        [gap_ns, length_ns, sample.value.to_bits().swap_bytes()]
    }))
}

fn unpack(table: &NumberTable) -> impl Iterator<Item = MetricSample> + '_ {
    let mut end_ns = 0u64;
    table.rows().filter_map(move |numbers| {
        let [gap_ns, length_ns, value] = numbers.try_into().ok()?;
        let from_ns = end_ns.wrapping_add(gap_ns);
        end_ns = from_ns.wrapping_add(length_ns);
        Some(MetricSample {
            from_ns,
            at_ns: end_ns,
            value: f64::from_bits(value.swap_bytes()),
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> impl Strategy<Value = (u64, u64, f64)> {
        let value = prop_oneof![any::<f64>(), (0..1_000u32).prop_map(f64::from)];
        (0..3u64, 1..2_000_000_000u64, value)
    }

    proptest! {
        #[test]
        fn samples_are_read_as_they_were_pushed(
            parts in prop::collection::vec(sample(), 0..400),
            from_ns in 0..400_000_000_000u64,
        ) {
            let mut end_ns = 0;
            let samples = parts.into_iter().map(|(gap_ns, length_ns, value)| {
                let from_ns = end_ns + gap_ns;
                end_ns = from_ns + length_ns;
                MetricSample { from_ns, at_ns: end_ns, value }
            });
            let expected: Vec<MetricSample> =
                samples.filter(|sample| !sample.value.is_nan()).collect();
            let read: Samples = expected.iter().copied().collect();
            prop_assert_eq!(read.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(read.len(), expected.len());
            prop_assert_eq!(read.last(), expected.last().copied());
            let later: Vec<MetricSample> =
                expected.into_iter().filter(|sample| sample.at_ns >= from_ns).collect();
            prop_assert_eq!(read.ending_at(from_ns).collect::<Vec<_>>(), later);
        }
    }

    #[test]
    fn steady_gauge_takes_a_few_bytes_per_sample() {
        let second = |n: u64| MetricSample {
            from_ns: n * 1_000_000_000,
            at_ns: (n + 1) * 1_000_000_000,
            value: 17.0,
        };
        let samples: Vec<MetricSample> = (0..100).map(second).collect();
        assert!(
            pack(&samples).len() < 100 * 4 + 30,
            "{}",
            pack(&samples).len()
        );
    }
}
