//! Statistics of trends, under k6's names.

use std::fmt;

/// A statistic of a trend.
#[derive(Debug, Clone, PartialEq)]
pub enum TrendStat {
    /// Arithmetic mean.
    Avg,
    /// Minimum.
    Min,
    /// Median.
    Med,
    /// Maximum.
    Max,
    /// Number of samples.
    Count,
    /// A percentile.
    Percentile {
        /// Percentage, from 0 to 100.
        percent: f64,
        /// Name as written by the user: `p(99.9)`.
        name: String,
    },
}

impl TrendStat {
    /// Parses `avg`, `min`, `med`, `max`, `count` or `p(N)`.
    ///
    /// # Errors
    ///
    /// Returns k6's text for other names, and for percentiles outside 0 to 100.
    pub fn parse(text: &str) -> Result<TrendStat, String> {
        Ok(match text {
            "avg" => TrendStat::Avg,
            "min" => TrendStat::Min,
            "med" => TrendStat::Med,
            "max" => TrendStat::Max,
            "count" => TrendStat::Count,
            _ => return parse_percentile(text),
        })
    }

    /// Returns the name as the user wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            TrendStat::Avg => "avg",
            TrendStat::Min => "min",
            TrendStat::Med => "med",
            TrendStat::Max => "max",
            TrendStat::Count => "count",
            TrendStat::Percentile { name, .. } => name,
        }
    }
}

fn parse_percentile(text: &str) -> Result<TrendStat, String> {
    let inner = text
        .strip_prefix("p(")
        .and_then(|rest| rest.strip_suffix(')'))
        .ok_or_else(|| format!("invalid trend stat '{text}', unknown format"))?;
    let percent = parse_decimal(inner).filter(|percent| (0.0..=100.0).contains(percent));
    let percent = percent.ok_or_else(|| {
        format!("invalid percentile trend stat value '{text}', provide a number between 0 and 100")
    })?;
    Ok(TrendStat::Percentile {
        percent,
        name: text.to_owned(),
    })
}

/// Parses a decimal number. Rejects words such as `inf`, which Rust accepts.
pub(crate) fn parse_decimal(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|byte| b"0123456789.eE+-".contains(&byte));
    let value = text.parse::<f64>().ok().filter(|_| is_number)?;
    value.is_finite().then_some(value)
}

impl fmt::Display for TrendStat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_have_k6s_names() {
        for name in [
            "avg", "min", "med", "max", "count", "p(0)", "p(99.99)", "p(100)",
        ] {
            assert_eq!(TrendStat::parse(name).unwrap().to_string(), name);
        }
        assert_eq!(
            TrendStat::parse("p95").unwrap_err(),
            "invalid trend stat 'p95', unknown format"
        );
        for name in ["p(101)", "p(-1)", "p(inf)", "p()", "p(NaN)"] {
            assert_eq!(
                TrendStat::parse(name).unwrap_err(),
                format!(
                    "invalid percentile trend stat value '{name}', provide a number between 0 \
                     and 100"
                )
            );
        }
    }
}
