//! Metrics for the saturation analysis, found by the last words of their names and read sample by
//! sample.

use measure::TimeSpan;
use record::server;

pub(super) const GENERATOR: &str = "host";
const LOOKS: usize = 5;
/// Maximum time between consecutive samples. For slow sources, it is a multiple of their usual
/// time.
const APART_NS: u64 = 3_500_000_000;
const TIMES_APART: f64 = 2.5;
pub(super) const AT_LEAST_NS: u64 = 5_000_000_000;

pub(super) struct WatchedMetric {
    pub source: String,
    pub metric: String,
    pub of: Option<String>,
    pub unit: String,
    /// Samples as pairs of time and level. The level of a counter is its growth per second.
    pub looks: Vec<(u64, f64)>,
}

impl WatchedMetric {
    pub fn from_series(series: &server::MetricSeries) -> WatchedMetric {
        WatchedMetric {
            source: series.source.clone(),
            metric: series.of.metric.clone(),
            of: series.of.instance.clone(),
            unit: series.of.unit.clone(),
            looks: series
                .samples
                .iter()
                .map(|sample| (sample.at_ns, sample.value))
                .collect(),
        }
    }

    /// Returns the part of the name before `last`: for the name `a.b.backlog` and `last` =
    /// `backlog`, it is `a.b.`.
    pub fn before(&self, last: &str) -> Option<&str> {
        let before = self.metric.strip_suffix(last)?;
        (before.is_empty() || before.ends_with(['.', '_', ':', '-', '/'])).then_some(before)
    }

    pub fn sibling<'a>(
        &self,
        all: &'a [WatchedMetric],
        before: &str,
        last: &str,
    ) -> Option<&'a WatchedMetric> {
        all.iter().find(|other| {
            other.source == self.source && other.of == self.of && other.before(last) == Some(before)
        })
    }

    pub fn at(&self, at_ns: u64) -> Option<f64> {
        let place = self
            .looks
            .binary_search_by_key(&at_ns, |look| look.0)
            .ok()?;
        Some(self.looks[place].1)
    }

    pub fn mean(&self, stretch: TimeSpan) -> Option<f64> {
        let within = self
            .looks
            .iter()
            .filter(|(at, _)| (stretch.from_ns..=stretch.to_ns).contains(at));
        let (count, sum) = within.fold((0u32, 0.0), |(count, sum), (_, value)| {
            (count + 1, sum + value)
        });
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Returns the value of a label. In `instance=0,for=lorota`, the value of `for` is `lorota`.
    pub fn label(&self, name: &str) -> Option<&str> {
        let labels = self.of.as_deref()?.split(',');
        labels
            .filter_map(|label| label.split_once('='))
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    pub fn lasting(&self, is_so: impl Fn(u64, f64) -> bool) -> Option<TimeSpan> {
        self.all_lasting(is_so).into_iter().next()
    }

    /// Returns the periods of at least `LOOKS` samples in which `is_so` is true for every sample.
    pub fn all_lasting(&self, is_so: impl Fn(u64, f64) -> bool) -> Vec<TimeSpan> {
        let long = self.runs(is_so).into_iter();
        let long = long.filter(|(_, looks)| *looks >= LOOKS);
        long.map(|(stretch, _)| stretch).collect()
    }

    pub fn runs(&self, is_so: impl Fn(u64, f64) -> bool) -> Vec<(TimeSpan, usize)> {
        let apart_ns = self.apart_ns();
        let mut runs: Vec<(TimeSpan, usize)> = Vec::new();
        let mut goes_on = false;
        for (at, value) in &self.looks {
            let so = is_so(*at, *value);
            match runs.last_mut() {
                Some((run, looks)) if so && goes_on && at - run.to_ns <= apart_ns => {
                    run.to_ns = *at;
                    *looks += 1;
                }
                _ if so => runs.push((
                    TimeSpan {
                        from_ns: *at,
                        to_ns: *at,
                    },
                    1,
                )),
                _ => {}
            }
            goes_on = so;
        }
        runs
    }

    fn apart_ns(&self) -> u64 {
        let pairs = self.looks.windows(2);
        let mut gaps: Vec<u64> = pairs
            .map(|pair| pair[1].0.saturating_sub(pair[0].0))
            .collect();
        gaps.sort_unstable();
        let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
        APART_NS.max((usual as f64 * TIMES_APART) as u64)
    }
}
