//! Metrics that a script reports itself.

use std::collections::BTreeMap;

use measure::{
    accumulator::{Event, Sketch, Tally},
    custom::{CustomKind, NameLimit},
};

/// Prefix of the names of rates in a tally's counters.
pub const RATE: &str = "rate:";

/// Counts custom metrics by name.
#[derive(Default)]
pub struct CustomMetrics {
    counts: BTreeMap<String, u64>,
    values: BTreeMap<String, Sketch>,
    rates: BTreeMap<String, Rate>,
}

/// Number of events, with the times of the first and the last event.
struct Rate {
    n: u64,
    first: u64,
    last: u64,
}

impl CustomMetrics {
    /// Counts an event at a time in milliseconds, under a name that `names` allows. Returns `None`
    /// if it is not a custom metric.
    pub fn event(
        &mut self,
        at: u64,
        event: &Event<'_>,
        names: &mut NameLimit,
    ) -> Option<CustomKind> {
        match *event {
            Event::Count { name, n } => {
                let name = names.limited(CustomKind::Counter, name);
                *self.counts.entry(name).or_default() += n;
                Some(CustomKind::Counter)
            }
            Event::Value { name, value } => {
                let name = names.limited(CustomKind::Histogram, name);
                self.values.entry(name).or_default().add(value);
                Some(CustomKind::Histogram)
            }
            Event::Rate { name } => {
                let new = Rate {
                    n: 0,
                    first: at,
                    last: at,
                };
                let name = names.limited(CustomKind::Rate, name);
                let rate = self.rates.entry(name).or_insert(new);
                rate.n += 1;
                rate.last = at;
                Some(CustomKind::Rate)
            }
            _ => None,
        }
    }

    /// Adds the metrics to a tally.
    pub fn add_to(self, tally: &mut Tally) {
        for (name, n) in self.counts {
            *tally.counters.entry(name).or_default() += n;
        }
        for (name, values) in self.values {
            tally.sketches.entry(name).or_default().merge(&values);
        }
        for (name, rate) in self.rates {
            let name = format!("{RATE}{name}");
            *tally.counters.entry(name.clone()).or_default() += rate.n;
            tally.firsts.insert(name.clone(), rate.first);
            tally.lasts.insert(name, rate.last);
        }
    }
}
