//! The pipe of a node filters, transforms and stores messages by one of four policies. Results
//! become visible after a flush.

mod aggregation;
pub(super) mod config;
mod filters;
mod last_value;
mod n_records;
pub(super) mod rules;
mod time_window;
mod yaml;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use aggregation::Aggregation;
use config::{Config, PolicyKind};
use filters::Before;
use last_value::LastValue;
use n_records::NRecords;
use rules::RuleSet;
use time_window::TimeWindow;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    pub flush_ms: u64,
    pub clean_ms: u64,
    pub lazy_ms: u64,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    config: Config,
    rules: RuleSet,
    turns: Turns,
    before: Before,
    stored: PipeState,
    buffered: usize,
    flushed_ms: u64,
    cleaned_ms: u64,
    pub counts: PipeCounts,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct PipeCounts {
    pub came: u64,
    pub passed: u64,
    pub filtered: BTreeMap<&'static str, u64>,
}

#[derive(Debug)]
enum PipeState {
    Last(LastValue),
    Records(NRecords),
    Window(TimeWindow),
    Aggregation(Aggregation),
}

const FULL: usize = 1000;

impl Pipe {
    pub fn new(config: Config, rules: RuleSet, turns: Turns, now_ms: u64) -> Pipe {
        let policy = &config.processing_policy;
        let window = policy.time_window_size.unwrap_or(60);
        let stored = match policy.kind {
            PolicyKind::LastValue => PipeState::Last(LastValue::default()),
            PolicyKind::NRecords => {
                PipeState::Records(NRecords::new(policy.n_records_count.unwrap_or(1)))
            }
            PolicyKind::TimeWindow => PipeState::Window(TimeWindow::new(window)),
            PolicyKind::Aggregation => {
                let function = policy
                    .aggregation_functions
                    .unwrap_or(config::AggregateFunction::Avg);
                PipeState::Aggregation(Aggregation::new(window, function))
            }
        };
        Pipe {
            config,
            rules,
            turns,
            before: Before::default(),
            stored,
            buffered: 0,
            flushed_ms: now_ms,
            cleaned_ms: now_ms,
            counts: PipeCounts::default(),
        }
    }

    pub fn kind(&self) -> PolicyKind {
        self.config.processing_policy.kind
    }

    pub fn take(&mut self, payload: &[u8], now_ms: u64) {
        self.counts.came += 1;
        let passed = filters::pass(&self.config, self.rules, &mut self.before, payload, now_ms);
        let state = match passed {
            Ok(state) => state,
            Err(reason) => {
                *self.counts.filtered.entry(reason).or_default() += 1;
                return;
            }
        };
        match &mut self.stored {
            PipeState::Last(last) => last.take(self.rules, state, now_ms),
            PipeState::Records(records) => records.take(state, now_ms),
            PipeState::Window(window) => window.take(self.rules, state, now_ms),
            PipeState::Aggregation(all) => {
                let Ok(number) = state.parse() else {
                    *self.counts.filtered.entry("type").or_default() += 1;
                    return;
                };
                all.take(self.rules, number, now_ms);
            }
        }
        self.counts.passed += 1;
        self.buffered += 1;
        if self.buffered >= FULL {
            self.flush(now_ms);
        }
    }

    pub fn go_on(&mut self, now_ms: u64) {
        if now_ms >= self.flushed_ms + self.turns.flush_ms {
            self.flush(now_ms);
        }
        if now_ms < self.cleaned_ms + self.turns.clean_ms {
            return;
        }
        self.cleaned_ms = now_ms;
        match &mut self.stored {
            PipeState::Records(records) => records.clean(self.rules),
            PipeState::Window(window) => window.clean(now_ms, self.turns.lazy_ms),
            PipeState::Last(_) | PipeState::Aggregation(_) => {}
        }
    }

    fn flush(&mut self, now_ms: u64) {
        (self.flushed_ms, self.buffered) = (now_ms, 0);
        match &mut self.stored {
            PipeState::Last(last) => last.flush(),
            PipeState::Records(records) => records.flush(),
            PipeState::Window(window) => window.flush(),
            PipeState::Aggregation(all) => {
                all.close(self.rules, now_ms);
                all.flush();
            }
        }
    }

    pub fn last(&self) -> Option<(&str, u64)> {
        match &self.stored {
            PipeState::Last(last) => last.seen.as_ref().map(|(state, at)| (state.as_str(), *at)),
            _ => None,
        }
    }

    pub fn rows(&self, node: &str, offset: usize, limit: usize) -> (usize, Vec<Value>) {
        let input = self.config.filters.type_input_value.name();
        match &self.stored {
            PipeState::Last(_) => (0, Vec::new()),
            PipeState::Records(records) => {
                let most = records.most(self.rules);
                let row = |of: &n_records::Record| {
                    json!({
                        "unit_node_uuid": node, "state": of.state, "state_type": input,
                        "create_datetime": moment(of.at_ms), "max_count": most, "size": of.state.len(),
                    })
                };
                (
                    records.seen.len(),
                    page(records.seen.iter().rev(), offset, limit, row),
                )
            }
            PipeState::Window(window) => {
                let row = |of: &time_window::WindowRow| {
                    json!({
                        "unit_node_uuid": node, "state": of.state, "state_type": input,
                        "create_datetime": moment(of.at_ms), "expiration_datetime": moment(of.expires_ms),
                        "size": of.state.len(),
                    })
                };
                (
                    window.seen.len(),
                    page(window.seen.iter().rev(), offset, limit, row),
                )
            }
            PipeState::Aggregation(all) => {
                let (function, size) = (all.function(self.rules), all.window_s());
                let row = |of: &aggregation::ClosedWindow| {
                    json!({
                        "unit_node_uuid": node, "state": of.state, "aggregation_type": function.name(),
                        "time_window_size": size, "create_datetime": moment(of.end_ms),
                        "start_window_datetime": moment(of.start_ms), "end_window_datetime": moment(of.end_ms),
                    })
                };
                (
                    all.seen.len(),
                    page(all.seen.iter().rev(), offset, limit, row),
                )
            }
        }
    }
}

fn page<'a, T: 'a>(
    rows: impl Iterator<Item = &'a T>,
    offset: usize,
    limit: usize,
    row: impl Fn(&T) -> Value,
) -> Vec<Value> {
    rows.skip(offset).take(limit).map(row).collect()
}

pub(super) fn moment(ms: u64) -> String {
    let at = jiff::Timestamp::from_millisecond(i64::try_from(ms).unwrap_or(i64::MAX));
    at.map(|at| format!("{at:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: Turns = Turns {
        flush_ms: 5000,
        clean_ms: 60_000,
        lazy_ms: 600_000,
    };

    fn pipe(policy: &str) -> Pipe {
        let text = format!(
            "active_period: {{type: Permanent}}\nfilters: {{type_input_value: Number, max_rate: 0, max_size: 0}}\nprocessing_policy: {{{policy}}}"
        );
        Pipe::new(Config::read(&text).unwrap(), RuleSet::default(), TURNS, 0)
    }

    #[test]
    fn rows_are_seen_when_flushed_and_trimmed_when_cleaned() {
        let mut pipe = pipe("policy_type: NRecords, n_records_count: 3");
        for n in 0..5 {
            pipe.take(n.to_string().as_bytes(), 1000 + n);
        }
        pipe.go_on(4999);
        assert_eq!(pipe.rows("n", 0, 9).0, 0);
        pipe.go_on(5000);
        assert_eq!(pipe.rows("n", 0, 9).0, 5);
        pipe.go_on(60_000);
        let (count, rows) = pipe.rows("n", 0, 2);
        assert_eq!((count, rows.len()), (3, 2));
        assert_eq!(
            (rows[0]["state"].as_str(), rows[0]["max_count"].as_u64()),
            (Some("4"), Some(3))
        );
    }

    #[test]
    fn thousand_rows_trigger_a_flush() {
        let mut pipe = pipe("policy_type: TimeWindow, time_window_size: 60");
        for n in 0..1001 {
            pipe.take(n.to_string().as_bytes(), 7);
        }
        assert_eq!(pipe.rows("n", 0, 9).0, 1000);
        pipe.take(b"no number", 7);
        assert_eq!((pipe.counts.came, pipe.counts.passed), (1002, 1001));
        assert_eq!(pipe.counts.filtered["type"], 1);
    }

    #[test]
    fn window_is_visible_after_its_end() {
        let mut pipe =
            pipe("policy_type: Aggregation, time_window_size: 60, aggregation_functions: Sum");
        pipe.take(b"2", 1000);
        pipe.take(b"3", 2000);
        pipe.go_on(59_999);
        assert_eq!(pipe.rows("n", 0, 9).0, 0);
        pipe.go_on(65_000);
        let (_, rows) = pipe.rows("n", 0, 9);
        assert_eq!(rows[0]["state"], 5.0);
        assert_eq!(rows[0]["end_window_datetime"], "1970-01-01T00:01:00.000Z");
    }
}
