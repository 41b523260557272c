//! Stop rules on server metrics. A rule is true if every sample in the window meets the condition.

use plan::{StopRule, criteria::Metric, units::SECOND};
use record::{Run, server::MetricSeries, units};

use analysis::verdict::server_bounds;

const STALE_NS: u64 = 3 * SECOND;
const KNOWN: f64 = 0.9;

/// Returns the measured range if the condition has been true since `from_ns`. It is enough if it
/// has been true on one instance.
pub(super) fn held(rule: &StopRule, run: &Run, from_ns: u64, now_ns: u64) -> Option<String> {
    let Metric::Server(name, _) = &rule.when.metric else {
        return None;
    };
    let bounds = server_bounds(run, name, &rule.when);
    let is_one = bounds.len() == 1;
    bounds.into_iter().find_map(|(series, bound)| {
        let text = one(rule, series, bound, from_ns, now_ns)?;
        let instance = series.of.instance.as_deref().filter(|_| !is_one);
        Some(instance.map_or_else(|| text.clone(), |of| format!("instance `{of}`: {text}")))
    })
}

fn one(
    rule: &StopRule,
    series: &MetricSeries,
    bound: f64,
    from_ns: u64,
    now_ns: u64,
) -> Option<String> {
    let last = series.samples.last()?;
    let to = last.at_ns;
    let from = to
        .checked_sub(rule.for_ns)
        .filter(|from| *from >= from_ns)?;
    if to + STALE_NS + (to - last.from_ns) < now_ns {
        return None;
    }
    let mut known_ns = 0;
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for sample in series.within(from, to) {
        if !rule.when.op.holds(sample.value, bound) {
            return None;
        }
        known_ns += sample.at_ns - sample.from_ns;
        least = least.min(sample.value);
        most = most.max(sample.value);
    }
    if (known_ns as f64) < KNOWN * rule.for_ns as f64 {
        return None;
    }
    let unit = series.unit();
    let render = |value| units::figure(value, &unit);
    Some(range(&render(least), &render(most)))
}

fn range(least: &str, most: &str) -> String {
    if least == most {
        format!("it was {most}")
    } else {
        format!("it was between {least} and {most}")
    }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn constant_value_is_printed_once() {
        assert_eq!(range("0", "0"), "it was 0");
        assert_eq!(range("0", "3"), "it was between 0 and 3");
    }
}
