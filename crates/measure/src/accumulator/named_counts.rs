//! Sums up the custom metrics that a driver reports by name.

use super::{Accumulator, Event, Tally};

/// Adds up the values of [`Event::Custom`] by name.
#[derive(Debug, Default)]
pub struct NamedCounts {
    tally: Tally,
}

impl Accumulator for NamedCounts {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        if let Event::Custom { name, value } = event {
            let counter = self.tally.counters.entry((*name).to_owned());
            *counter.or_default() += value;
        }
    }

    fn take(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }
}
