//! Latencies from a recorded run: `from last of "GET /x"`. The caller reads the record.

use crate::{criteria::Scan, units::GrammarError};

const FORM: &str = "use `from RUN of \"LABEL\"`, for example `from last of \"GET /x\"`";

/// A reference to requests of a recorded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The run: `last`, the name of a run or its beginning, or a folder.
    pub run: String,
    /// Pattern of the labels to use. `*` matches any text.
    pub label: String,
}

/// Returns whether a string has the form of a reference.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    text.split_whitespace().next() == Some("from")
}

/// Parses `from RUN of "LABEL"`. On failure, the error contains the offset of the problem.
pub fn parse_reference(text: &str) -> Result<Reference, GrammarError> {
    let wrong = |offset: usize, message: String| GrammarError { offset, message };
    let begin = text.len() - text.trim_start().len();
    let Some(rest) = text.trim_start().strip_prefix("from ") else {
        return Err(wrong(
            begin,
            format!("`{}` does not contain a run: {FORM}", text.trim()),
        ));
    };
    let from = text.len() - rest.len();
    let Some(of) = rest.find(" of ").map(|of| from + of) else {
        return Err(wrong(
            from,
            format!("`{}` does not contain a label: {FORM}", text.trim()),
        ));
    };
    let run = text[from..of].trim();
    if run.is_empty() {
        return Err(wrong(from, format!("the run is missing: {FORM}")));
    }
    let mut scan = Scan {
        text,
        at: of + " of ".len(),
    };
    scan.skip_space();
    let label = scan.name("LABEL")?;
    scan.end()?;
    Ok(Reference {
        run: run.to_owned(),
        label,
    })
}

/// A distribution of latencies measured in another run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Origin of the values, as messages name it.
    pub source: String,
    steps: Vec<HistogramStep>,
    count: u64,
    mean_ns: f64,
}

/// A bucket of recorded times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredCell {
    /// Shortest time in the bucket.
    pub low_ns: u64,
    /// Longest time in the bucket.
    pub high_ns: u64,
    /// Number of recorded times.
    pub count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HistogramStep {
    low_ns: u64,
    high_ns: u64,
    up_to: u64,
}

impl Measured {
    /// Creates a distribution from buckets in ascending order, the exact minimum and maximum, and
    /// the mean. Returns `None` if it is empty.
    #[must_use]
    pub fn new(
        source: String,
        cells: impl Iterator<Item = MeasuredCell>,
        min_ns: u64,
        max_ns: u64,
        mean_ns: f64,
    ) -> Option<Measured> {
        let mut count = 0;
        let step = |cell: MeasuredCell| {
            count += cell.count;
            HistogramStep {
                low_ns: cell.low_ns.clamp(min_ns, max_ns),
                high_ns: cell.high_ns.clamp(min_ns, max_ns),
                up_to: count,
            }
        };
        let steps: Vec<HistogramStep> = cells.filter(|cell| cell.count > 0).map(step).collect();
        (!steps.is_empty()).then_some(Measured {
            source,
            steps,
            count,
            mean_ns,
        })
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean of the values.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.mean_ns
    }

    /// Returns the interpolated value at quantile `share` (0 to 1), in nanoseconds.
    #[must_use]
    pub fn at(&self, share: f64) -> u64 {
        let rank = share.clamp(0.0, 1.0) * self.count as f64;
        let place = self
            .steps
            .partition_point(|step| (step.up_to as f64) < rank);
        let Some(step) = self.steps.get(place).or(self.steps.last()) else {
            return 0;
        };
        let below = place.checked_sub(1).map_or(0, |i| self.steps[i].up_to);
        let into = (rank - below as f64) / (step.up_to - below) as f64;
        let width = (step.high_ns - step.low_ns) as f64;
        step.low_ns + super::latency::whole(width * into.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mocks::{LatencySampler, MockLatency, PercentileCurve};

    fn measured(cells: &[(u64, u64, u64)]) -> Measured {
        let (min_ns, max_ns) = (cells[0].0, cells[cells.len() - 1].1);
        let cells = cells.iter().map(|(low_ns, high_ns, count)| MeasuredCell {
            low_ns: *low_ns,
            high_ns: *high_ns,
            count: *count,
        });
        Measured::new("a run".into(), cells, min_ns, max_ns, 0.0).unwrap()
    }

    #[test]
    fn reference_has_run_and_label() {
        for (text, run, label) in [
            (r#"from last of "GET /x""#, "last", "GET /x"),
            (
                r#"from runs/of old of "a of \"b\"""#,
                "runs/of old",
                r#"a of "b""#,
            ),
            (r#"from  2026 of  "x" "#, "2026", "x"),
        ] {
            let read = parse_reference(text).unwrap();
            assert_eq!((read.run.as_str(), read.label.as_str()), (run, label));
        }
        for (text, offset) in [
            ("from", 0),
            ("from last", 5),
            ("from  of \"x\"", 5),
            ("from last of x", 13),
            ("from last of \"x", 14),
            ("from last of \"x\" y", 17),
        ] {
            let error = parse_reference(text).unwrap_err();
            assert_eq!(error.offset, offset, "{text}: {}", error.message);
        }
        assert!(is_reference("from last") && !is_reference("5ms"));
    }

    #[test]
    fn shares_match_the_values() {
        // Half of the values are 10. The other half is spread evenly between 1,000 and 2,000.
        let measured = measured(&[(10, 10, 500), (1_000, 2_000, 500)]);
        let at = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| measured.at(share));
        assert_eq!(at, [10, 10, 10, 1_500, 2_000]);
        assert_eq!(measured.at(0.500_001), 1_000);
        assert_eq!(measured.count(), 1_000);
        let empty = MeasuredCell {
            low_ns: 1,
            high_ns: 2,
            count: 0,
        };
        assert!(Measured::new("none".into(), [empty].into_iter(), 1, 2, 0.0).is_none());
    }

    #[test]
    fn draws_have_recorded_percentiles() {
        const MS: u64 = 1_000_000;
        let asked = [(0.5, 20 * MS), (0.95, 60 * MS), (0.99, 150 * MS)];
        let curve = PercentileCurve::through(&asked, true).unwrap();
        let drawn = |latency: MockLatency, seed| {
            let mut sampler = LatencySampler::new(latency, seed);
            let mut times: Vec<u64> = (0..3_072).map(|_| sampler.next(0, 1.0)).collect();
            times.sort_unstable();
            times
        };
        let recorded = drawn(MockLatency::Curve(curve), 1);
        let cells: Vec<(u64, u64, u64)> = recorded.iter().map(|ns| (*ns, *ns, 1)).collect();
        let served = drawn(MockLatency::Measured(measured(&cells)), 2);
        for q in [0.1, 0.5, 0.9, 0.95, 0.99] {
            let rank = (q * 3_072.0) as usize;
            let off = served[rank] as f64 / recorded[rank] as f64 - 1.0;
            assert!(off.abs() < 0.02, "{q}: {off}");
        }
        assert!(served[0] >= recorded[0] && served[3_071] <= recorded[3_071]);
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in ".*") {
            let _ = parse_reference(&text);
        }

        #[test]
        fn references_round_trip(run in "[a-z0-9./-]{1,20}", label in "[A-Z]{1,5} /[a-z \\\\\"]{0,20}") {
            let quoted = label.replace('\\', "\\\\").replace('"', "\\\"");
            let read = parse_reference(&format!("from {run} of \"{quoted}\"")).unwrap();
            prop_assert_eq!(read, Reference { run, label });
        }

        #[test]
        fn distribution_matches_values(
            mut values in proptest::collection::vec(1_u64..1_000_000, 1..200),
            shares in proptest::collection::vec(0.0_f64..1.0, 2..20),
        ) {
            values.sort_unstable();
            let cells: Vec<(u64, u64, u64)> = values.iter().map(|v| (*v, *v, 1)).collect();
            let measured = measured(&cells);
            let mut shares = shares;
            shares.sort_by(f64::total_cmp);
            let times: Vec<u64> = shares.iter().map(|share| measured.at(*share)).collect();
            prop_assert!(times.is_sorted());
            for (share, time) in shares.iter().zip(times) {
                let below = values.iter().filter(|value| **value < time).count() as f64;
                let up_to = values.iter().filter(|value| **value <= time).count() as f64;
                let rank = share * values.len() as f64;
                prop_assert!(below <= rank && rank <= up_to + 1e-6, "{below} {rank} {up_to}");
            }
        }
    }
}
