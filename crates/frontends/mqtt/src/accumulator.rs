//! Stores the driver's final counts by name.

use measure::accumulator::{Accumulator, Event, Tally};

#[derive(Debug, Default)]
pub struct MqttAccumulator {
    tally: Tally,
}

impl Accumulator for MqttAccumulator {
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
