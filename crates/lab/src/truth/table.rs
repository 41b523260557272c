//! A distribution given as a table of durations and weights, either inline or in a file.

use crate::units;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct DurationTable {
    rows: Vec<(f64, u64)>,
    total: f64,
}

impl DurationTable {
    /// Parses the value of `table=`: pairs like `1ms:90,10ms:9`, or a file with one pair per line.
    pub(super) fn read(value: &str) -> Result<Self, String> {
        if value.contains(':') {
            return Self::from_pairs(value.split(',').map(|pair| (None, pair)));
        }
        let text = std::fs::read_to_string(value).map_err(|error| {
            format!(
                "{error}; use a file, or pairs of duration and weight, for example 1ms:90,10ms:10"
            )
        })?;
        let lines = text.lines().enumerate().map(|(at, line)| {
            let line = line.split('#').next().unwrap_or_default();
            (Some(at + 1), line)
        });
        Self::from_pairs(lines.filter(|(_, line)| !line.trim().is_empty()))
    }

    fn from_pairs<'a>(
        pairs: impl Iterator<Item = (Option<usize>, &'a str)>,
    ) -> Result<Self, String> {
        let mut rows = Vec::new();
        let mut total = 0.0;
        for (line, pair) in pairs {
            let pair = pair.trim();
            let (ns, weight) = read_pair(pair).map_err(|advice| match line {
                Some(line) => format!("line {line}, {pair:?}: {advice}"),
                None => format!("{pair:?}: {advice}"),
            })?;
            total += weight;
            if weight > 0.0 {
                rows.push((total, ns));
            }
        }
        if rows.is_empty() {
            return Err("at least one weight must be above 0".to_owned());
        }
        Ok(Self { rows, total })
    }

    pub(super) fn pick(&self, uniform: f64) -> u64 {
        let at = uniform * self.total;
        let row = self.rows.partition_point(|&(sum, _)| sum <= at);
        let last = self.rows.len().saturating_sub(1);
        self.rows.get(row.min(last)).map_or(0, |&(_, ns)| ns)
    }
}

fn read_pair(pair: &str) -> Result<(u64, f64), String> {
    let (duration, weight) = pair
        .split_once(':')
        .ok_or("use DURATION:WEIGHT, for example 10ms:9")?;
    Ok((
        units::duration(duration.trim())?,
        units::weight(weight.trim())?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_picked_by_weight() {
        let table = DurationTable::read("1ms:90,10ms:9,5ms:0,100ms:1").unwrap();
        for (uniform, ms) in [
            (0.0, 1),
            (0.8999, 1),
            (0.9001, 10),
            (0.9899, 10),
            (0.9901, 100),
            (0.999_999, 100),
        ] {
            assert_eq!(table.pick(uniform), ms * 1_000_000, "{uniform}");
        }
    }

    #[test]
    fn file_has_a_pair_per_line() {
        let path = std::env::temp_dir().join(format!("lab-table-{}.txt", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            DurationTable::read(path.to_str().unwrap())
        };
        let table = read("# measured in May\n1ms : 3\n\n 2ms:0.5 # rarely\n");
        assert_eq!(table, DurationTable::read("1ms:3,2ms:0.5"));
        let wrong = read("1ms:3\n2ms\n").unwrap_err();
        assert_eq!(
            wrong,
            r#"line 2, "2ms": use DURATION:WEIGHT, for example 10ms:9"#
        );
        assert!(read("").is_err());
        std::fs::remove_file(&path).unwrap();
        let missing = DurationTable::read("/nonexistent/table").unwrap_err();
        assert!(
            missing.starts_with("No such file or directory"),
            "{missing}"
        );
    }

    #[test]
    fn invalid_tables_are_rejected() {
        for text in [
            ":", "1ms:", "1ms:-1", "1ms:0", "1:1", "1ms:1,", "1ms:1:1", "1ms:1%",
        ] {
            assert!(DurationTable::read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_inline_table_is_handled(text in "[0-9a-z:,. %]{0,20}:[0-9a-z:,. %]{0,20}", at in 0.0..1.0) {
            if let Ok(table) = DurationTable::read(&text) {
                let picked = table.pick(at);
                prop_assert!(table.rows.iter().any(|&(_, ns)| ns == picked));
            }
        }
    }
}
