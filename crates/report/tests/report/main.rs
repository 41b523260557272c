//! The crate from outside: runs are made by hand, written, read back and told of.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod artillery;
mod conclude;
mod damage;
mod export;
mod page;
mod plan;
mod record;
mod screen;
mod secrets;
mod series;
mod story;
mod support;
mod tell;
mod trust;
mod worlds;
mod wrk;

use measure::accumulator::{Accumulator, Event, Tally};

/// Counts something of each kind that a record keeps of an accumulator.
#[derive(Default)]
struct Every(Tally);

impl Accumulator for Every {
    fn event(&mut self, wall_ns: u64, event: &Event<'_>) {
        let (wall_ms, tally) = (wall_ns / support::MS, &mut self.0);
        match *event {
            Event::UserStarted { .. } => {
                *tally.counters.entry("users".into()).or_default() += 1;
            }
            Event::Head { sent_wall_ns, .. } => {
                tally.firsts.entry("head".into()).or_insert(wall_ms);
                tally.lasts.insert("head".into(), wall_ms);
                let ms = (wall_ns - sent_wall_ns) as f64 / support::MS as f64;
                tally.sketches.entry("head".into()).or_default().add(ms);
            }
            _ => {}
        }
    }

    fn take(&mut self) -> Tally {
        std::mem::take(&mut self.0)
    }
}

/// What counts beside the recorder in runs made by hand.
fn accumulator() -> Box<dyn Accumulator> {
    Box::<Every>::default()
}
