//! Metrics of a period by name: counters, request rate, statistics of histograms.

use measure::accumulator::{Sketch, Tally};

use super::number::rounded;
use crate::custom::RATE;

const REQUESTS: &str = "http.requests";
const REQUEST_RATE: &str = "http.request_rate";

pub(super) struct Metrics<'a> {
    part: &'a Tally,
}

pub(super) enum Metric<'a> {
    Counter(u64),
    Rate(u64),
    Summary(&'a Sketch),
}

impl<'a> Metrics<'a> {
    pub(super) fn from_tally(part: &'a Tally) -> Metrics<'a> {
        Metrics { part }
    }

    /// Returns all metrics, ordered by the UTF-16 code units of their names.
    pub(super) fn sorted(&self) -> Vec<(&'a str, Metric<'a>)> {
        let counters = self
            .counters()
            .into_iter()
            .map(|(name, n)| (name, Metric::Counter(n)));
        let rates = self
            .rates()
            .into_iter()
            .map(|(name, rate)| (name, Metric::Rate(rate)));
        let summaries = self
            .part
            .sketches
            .iter()
            .map(|(name, sketch)| (name.as_str(), Metric::Summary(sketch)));
        let mut all: Vec<_> = counters.chain(rates).chain(summaries).collect();
        all.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        all
    }

    /// Returns the requests per second between the first and the last request, over at least a
    /// second.
    pub(super) fn rates(&self) -> Vec<(&'a str, u64)> {
        let rate = |counter: &str, span: &str| {
            let n = self.part.counters.get(counter)?;
            let (first, last) = (self.part.firsts.get(span)?, self.part.lasts.get(span)?);
            let ms = last.saturating_sub(*first).max(1000);
            Some((n * 1000 + ms / 2) / ms)
        };
        let requests = rate(REQUESTS, "rate").map(|per_second| (REQUEST_RATE, per_second));
        let custom = self.part.counters.keys().filter_map(|name| {
            let own = name.strip_prefix(RATE)?;
            Some((own, rate(name, name)?))
        });
        requests.into_iter().chain(custom).collect()
    }

    fn is_rate(&self, counter: &str) -> bool {
        counter.starts_with(RATE) && self.part.firsts.contains_key(counter)
    }

    /// Returns the counters in the order of the file, which is the order of their first use.
    pub(super) fn counters(&self) -> Vec<(&'a str, u64)> {
        let mut counters: Vec<(&str, u64)> = self
            .part
            .counters
            .iter()
            .filter(|(name, _)| !self.is_rate(name))
            .map(|(name, n)| (name.as_str(), *n))
            .collect();
        counters.sort_by_key(|(name, _)| rank(name));
        counters
    }

    pub(super) fn summaries(&self) -> impl Iterator<Item = (&'a str, &'a Sketch)> {
        self.part
            .sketches
            .iter()
            .map(|(name, sketch)| (name.as_str(), sketch))
    }

    /// Returns when a type of metric first or last occurred, in milliseconds since 1970.
    pub(super) fn at(&self, first: bool, kind: &str) -> Option<u64> {
        if first {
            self.part.firsts.get(kind).copied()
        } else {
            self.part.lasts.get(kind).copied()
        }
    }

    pub(super) fn first_at(&self) -> Option<u64> {
        self.at(true, "counter")
            .into_iter()
            .chain(self.at(true, "histogram"))
            .min()
    }

    pub(super) fn last_at(&self) -> Option<u64> {
        self.at(false, "counter")
            .into_iter()
            .chain(self.at(false, "histogram"))
            .max()
    }

    pub(super) fn width_ms(&self) -> u64 {
        self.last_at()
            .unwrap_or(0)
            .saturating_sub(self.first_at().unwrap_or(0))
    }
}

fn rank(name: &str) -> usize {
    const ORDER: [&str; 10] = [
        "vusers.created_by_name.",
        "vusers.created",
        "vusers.skipped",
        "http.requests",
        "http.codes.",
        "http.responses",
        "http.downloaded_bytes",
        "plugins.expect.",
        "apdex.",
        "plugins.",
    ];
    const LAST: [&str; 2] = ["vusers.failed", "vusers.completed"];
    match LAST.iter().position(|last| name == *last) {
        Some(last) => ORDER.len() + 1 + last,
        None => ORDER
            .iter()
            .position(|begin| name.starts_with(begin))
            .unwrap_or(ORDER.len()),
    }
}

pub(super) fn statistics(sketch: &Sketch) -> [(&'static str, f64); 11] {
    let quantile = |q| rounded(sketch.quantile(q));
    [
        ("min", rounded(sketch.min)),
        ("max", rounded(sketch.max)),
        ("count", sketch.count() as f64),
        ("mean", rounded(sketch.mean())),
        ("p50", quantile(0.5)),
        ("median", quantile(0.5)),
        ("p75", quantile(0.75)),
        ("p90", quantile(0.9)),
        ("p95", quantile(0.95)),
        ("p99", quantile(0.99)),
        ("p999", quantile(0.999)),
    ]
}
