//! Separate figures for accepted and refused responses. wrk counts both together.

use measure::{OutcomeClass, TimeKind, label};

use record::{Run, units};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodput {
    accepted: Side,
    refused: Side,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Side {
    count: u64,
    per_second: f64,
    p99_ns: u64,
    max_ns: u64,
}

impl Goodput {
    #[must_use]
    pub fn from_run(run: &Run, runtime_ns: u64) -> Option<Goodput> {
        let all = run.totals.label(label::ALL);
        let counters = &all.slot.counters;
        let side = |count: u64, outcome| {
            let times = all.slot.histogram(TimeKind::Service, outcome);
            Side {
                count,
                per_second: count as f64 / (runtime_ns.max(1) as f64 / 1e9),
                p99_ns: times.and_then(|times| times.quantile(0.99)).unwrap_or(0),
                max_ns: times.and_then(measure::Histogram::max).unwrap_or(0),
            }
        };
        (counters.failed > 0).then(|| Goodput {
            accepted: side(counters.ok, OutcomeClass::Ok),
            refused: side(counters.failed, OutcomeClass::Failed),
        })
    }

    #[must_use]
    pub fn lines(&self) -> [String; 2] {
        let line = |name: &str, side: &Side| {
            format!(
                "{name}: {} ({}/s), p99 {}, max {}",
                units::count(side.count),
                units::rate(side.per_second),
                units::time(side.p99_ns),
                units::time(side.max_ns)
            )
        };
        [
            line("answered below status 400", &self.accepted),
            line("status 400 and above", &self.refused),
        ]
    }
}
