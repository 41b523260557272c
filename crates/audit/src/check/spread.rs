//! Checks whether the mean, deviation and percentiles can belong to the same sample.

use crate::import::{PrintedFigure, Range, model::LatencyStats};

use super::{
    checker::{Checker, Off, above, off, time},
    finding::Severity,
};

const SHARE: f64 = 0.02;

pub fn check(checker: &mut Checker, latency: &LatencyStats) {
    let segments = Segments::from_latency(latency);
    mean(checker, latency, segments.as_ref());
    deviation(checker, latency, segments.as_ref());
    within(checker, latency);
}

struct Segments<'a> {
    list: Vec<(f64, Range)>,
    slack: f64,
    figures: Vec<&'a PrintedFigure>,
}

impl Segments<'_> {
    fn from_latency(latency: &LatencyStats) -> Option<Segments<'_>> {
        let count = latency.count.as_ref()?.value;
        let mut figures: Vec<&PrintedFigure> = latency.percentiles.iter().map(|(_, f)| f).collect();
        figures.extend([&latency.min, &latency.max].into_iter().flatten());
        let mut list = Vec::new();
        let mut share = 0.0;
        let mut low = latency.min.as_ref().map_or(0.0, |min| min.range.low);
        let mut knots: Vec<(f64, Range)> = latency
            .percentiles
            .iter()
            .map(|(p, f)| {
                (
                    *p,
                    f.range
                        .of_estimates(latency.blur.share, latency.blur.amount_s),
                )
            })
            .collect();
        if let Some(max) = &latency.max {
            knots.push((1.0, max.range));
        }
        for (p, range) in knots {
            if p < share {
                return None;
            }
            list.push((
                p - share,
                Range {
                    low,
                    high: range.high.max(low),
                },
            ));
            (share, low) = (p, range.low.max(low.min(range.low)));
        }
        let is_closed = share >= 1.0 && list.len() > 2 && count >= 1.0;
        is_closed.then(|| Segments {
            slack: list.len() as f64 / count,
            list,
            figures,
        })
    }

    fn mean(&self) -> Range {
        let sum = |end: fn(&Range) -> f64| -> f64 {
            self.list
                .iter()
                .map(|(share, range)| share * end(range))
                .sum()
        };
        let slack = self.slack * self.widest();
        Range {
            low: (sum(|range| range.low) - slack).max(0.0),
            high: sum(|range| range.high) + slack,
        }
    }

    fn variance(&self, mean: Range) -> Range {
        let mut sum = Range::exactly(0.0);
        for (share, range) in &self.list {
            let near = range.gap(mean);
            let far = (range.high - mean.low)
                .abs()
                .max((mean.high - range.low).abs());
            sum = sum.plus(Range {
                low: share * near * near,
                high: share * far * far,
            });
        }
        let slack = self.slack * self.widest() * self.widest();
        sum.widened(0.0, slack)
    }

    fn widest(&self) -> f64 {
        let lows = self.list.iter().map(|(_, range)| range.low);
        let highs = self.list.iter().map(|(_, range)| range.high);
        highs.fold(0.0, f64::max) - lows.fold(f64::INFINITY, f64::min)
    }
}

fn mean(checker: &mut Checker, latency: &LatencyStats, segments: Option<&Segments<'_>>) {
    let (Some(mean), Some(segments)) = (&latency.mean, segments) else {
        return;
    };
    checker.look();
    let allowed = segments.mean();
    if off(mean.range, allowed) == Off::Much {
        let text = format!(
            "{}, but with these percentiles the mean must be between {} and {}",
            mean.named(),
            time(allowed.low),
            time(allowed.high)
        );
        let mut figures = vec![mean];
        figures.extend(&segments.figures);
        checker.find(Severity::Contradiction, "mean", &figures, text);
    }
}

/// Checks that the standard deviation fits the range and the percentiles.
fn deviation(checker: &mut Checker, latency: &LatencyStats, segments: Option<&Segments<'_>>) {
    let (Some(stdev), Some(mean), Some(max)) = (&latency.stdev, &latency.mean, &latency.max) else {
        return;
    };
    let n = latency
        .count
        .as_ref()
        .map_or(2.0, |count| count.value.max(2.0));
    let of_samples = (n / (n - 1.0)).sqrt();
    let above_mean = (max.range.high - mean.range.low).max(0.0);
    let highest = (above_mean * mean.range.high).sqrt() * of_samples;
    checker.look();
    if off(
        stdev.range,
        Range {
            low: 0.0,
            high: highest,
        },
    ) == Off::Much
    {
        let text = format!(
            "{}, but values from 0 to {} with {} have a deviation of at most {}",
            stdev.named(),
            max.named(),
            mean.named(),
            time(highest)
        );
        checker.find(
            Severity::Contradiction,
            "deviation",
            &[stdev, mean, max],
            text,
        );
        return;
    }
    let Some(segments) = segments else { return };
    checker.look();
    let variance = segments.variance(mean.range);
    let allowed = Range {
        low: variance.low.sqrt(),
        high: variance.high.sqrt() * of_samples,
    };
    if off(stdev.range, allowed) == Off::Much {
        let text = format!(
            "{}, but with these percentiles and {} the deviation must be between {} and {}",
            stdev.named(),
            mean.named(),
            time(allowed.low),
            time(allowed.high)
        );
        let mut figures = vec![stdev, mean];
        figures.extend(&segments.figures);
        checker.find(Severity::Contradiction, "deviation", &figures, text);
    }
}

fn within(checker: &mut Checker, latency: &LatencyStats) {
    let (Some(share), Some(mean), Some(stdev)) = (&latency.within, &latency.mean, &latency.stdev)
    else {
        return;
    };
    checker.look();
    let upper = mean.range.plus(stdev.range);
    let lower = Range {
        low: (mean.range.low - stdev.range.high).max(0.0),
        high: mean.range.high - stdev.range.low,
    };
    let (below_upper, below_lower) = (below(latency, upper), below(latency, lower));
    let allowed = Range {
        low: (below_upper.low - below_lower.high - SHARE).max(0.0),
        high: (below_upper.high - below_lower.low + SHARE).min(1.0),
    };
    if above(share.range, allowed) || above(allowed, share.range) {
        let text = format!(
            "{}, but the share of samples from {} to {} must be between {:.0} % and {:.0} %",
            share.named(),
            time(lower.low),
            time(upper.high),
            allowed.low * 100.0,
            allowed.high * 100.0
        );
        let mut figures = vec![share, mean, stdev];
        figures.extend(latency.percentiles.iter().map(|(_, figure)| figure));
        checker.find(Severity::Contradiction, "deviation", &figures, text);
    }
}

fn below(latency: &LatencyStats, value: Range) -> Range {
    if value.high <= 0.0 {
        return Range::exactly(0.0);
    }
    let max = latency.max.as_ref().map(|max| (1.0, max));
    let known = latency.percentiles.iter().map(|(p, f)| (*p, f)).chain(max);
    let mut range = Range {
        low: 0.0,
        high: 1.0,
    };
    for (p, figure) in known {
        if figure.range.high <= value.low {
            range.low = range.low.max(p);
        }
        if figure.range.low >= value.high {
            range.high = range.high.min(p);
        }
    }
    range
}
