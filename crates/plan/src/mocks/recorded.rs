//! A latency that was measured: `from last of "GET /x"` names the requests of a recorded run, and a distribution of what they took is drawn
//! from as it is. Who reads records hands the distribution in; nothing is read here.

use crate::{criteria::Scan, units::GrammarError};

const FORM: &str = "write `from RUN of \"LABEL\"`, for example `from last of \"GET /x\"`";

/// The requests of a recorded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// `last`, a run's name or its beginning, or a folder.
    pub run: String,
    /// What the requests are called there; `*` is any text.
    pub label: String,
}

/// Whether a text means to be a reference.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    text.split_whitespace().next() == Some("from")
}

/// Reads `from RUN of "LABEL"`.
///
/// # Errors
/// What is wrong, and where in the text.
pub fn parse_reference(text: &str) -> Result<Reference, GrammarError> {
    let wrong = |offset: usize, message: String| GrammarError { offset, message };
    let begin = text.len() - text.trim_start().len();
    let Some(rest) = text.trim_start().strip_prefix("from ") else {
        return Err(wrong(
            begin,
            format!("`{}` names no run: {FORM}", text.trim()),
        ));
    };
    let from = text.len() - rest.len();
    let Some(of) = rest.find(" of ").map(|of| from + of) else {
        return Err(wrong(
            from,
            format!("`{}` does not say whose times: {FORM}", text.trim()),
        ));
    };
    let run = text[from..of].trim();
    if run.is_empty() {
        return Err(wrong(from, format!("no run is named: {FORM}")));
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

/// A distribution that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Whose times they are, in words.
    pub source: String,
    steps: Vec<Step>,
    count: u64,
    mean_ns: f64,
}

/// Values that lie between two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    low_ns: u64,
    high_ns: u64,
    /// How many there are up to these, with them.
    up_to: u64,
}

impl Measured {
    /// Of cells in order (lowest value, highest value, how many), with the exact ends and mean; none of no values.
    #[must_use]
    pub fn of(
        source: String,
        cells: impl Iterator<Item = (u64, u64, u64)>,
        (min_ns, max_ns): (u64, u64),
        mean_ns: f64,
    ) -> Option<Measured> {
        let mut count = 0;
        let step = |(low, high, n): (u64, u64, u64)| {
            count += n;
            Step {
                low_ns: low.clamp(min_ns, max_ns),
                high_ns: high.clamp(min_ns, max_ns),
                up_to: count,
            }
        };
        let steps: Vec<Step> = cells.filter(|cell| cell.2 > 0).map(step).collect();
        (!steps.is_empty()).then_some(Measured {
            source,
            steps,
            count,
            mean_ns,
        })
    }

    /// How many values it is made of.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.mean_ns
    }

    /// The time below which such a share of the values lies: never shorter than the shortest of them, never longer than the longest.
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
    use crate::mocks::{Course, Curve, Latency};

    fn of(cells: &[(u64, u64, u64)]) -> Measured {
        let ends = (cells[0].0, cells[cells.len() - 1].1);
        Measured::of("a run".into(), cells.iter().copied(), ends, 0.0).unwrap()
    }

    #[test]
    fn a_reference_names_a_run_and_a_label() {
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
    fn shares_lie_where_the_values_lay() {
        // Half at 10, nothing until 1,000, half evenly from there to 2,000.
        let measured = of(&[(10, 10, 500), (1_000, 2_000, 500)]);
        let at = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| measured.at(share));
        assert_eq!(at, [10, 10, 10, 1_500, 2_000]);
        assert_eq!(measured.at(0.500_001), 1_000);
        assert_eq!(measured.count(), 1_000);
        assert!(Measured::of("none".into(), [(1, 2, 0)].into_iter(), (1, 2), 0.0).is_none());
    }

    /// 3,000 answers that were recorded, and as many that are drawn from them.
    #[test]
    fn what_is_drawn_has_the_percentiles_of_what_was_recorded() {
        const MS: u64 = 1_000_000;
        let asked = [(0.5, 20 * MS), (0.95, 60 * MS), (0.99, 150 * MS)];
        let curve = Curve::through(&asked, true).unwrap();
        let drawn = |latency: Latency, seed| {
            let mut course = Course::new(latency, seed);
            let mut times: Vec<u64> = (0..3_072).map(|_| course.next(0, 1.0)).collect();
            times.sort_unstable();
            times
        };
        let recorded = drawn(Latency::Curve(curve), 1);
        let cells: Vec<(u64, u64, u64)> = recorded.iter().map(|ns| (*ns, *ns, 1)).collect();
        let served = drawn(Latency::Measured(of(&cells)), 2);
        for q in [0.1, 0.5, 0.9, 0.95, 0.99] {
            let rank = (q * 3_072.0) as usize;
            let off = served[rank] as f64 / recorded[rank] as f64 - 1.0;
            assert!(off.abs() < 0.02, "{q}: {off}");
        }
        assert!(served[0] >= recorded[0] && served[3_071] <= recorded[3_071]);
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in ".*") {
            let _ = parse_reference(&text);
        }

        #[test]
        fn what_is_written_is_read(run in "[a-z0-9./-]{1,20}", label in "[A-Z]{1,5} /[a-z \\\\\"]{0,20}") {
            let quoted = label.replace('\\', "\\\\").replace('"', "\\\"");
            let read = parse_reference(&format!("from {run} of \"{quoted}\"")).unwrap();
            prop_assert_eq!(read, Reference { run, label });
        }

        /// Between the ends, growing with the share, and so many values below it as the share says.
        #[test]
        fn the_distribution_is_that_of_the_values(
            mut values in proptest::collection::vec(1_u64..1_000_000, 1..200),
            shares in proptest::collection::vec(0.0_f64..1.0, 2..20),
        ) {
            values.sort_unstable();
            let cells: Vec<(u64, u64, u64)> = values.iter().map(|v| (*v, *v, 1)).collect();
            let measured = of(&cells);
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
