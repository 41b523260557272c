//! The verdict of a Pepeunit test, derived from four counts: arrived messages, sustained load,
//! stored messages, losses.

use measure::accumulator::Tally;
use record::units::count;
use serde_json::{Value, json};
use worker::stop::Cause;

use crate::{
    pipes::{Pipe, Policy},
    verify::VerifiedMessages,
};

pub(crate) struct BackendVerdict {
    due: u64,
    sent: u64,
    confirmed: u64,
    in_time: u64,
    unknown: u64,
    unsent: u64,
    after: u64,
    broken: u64,
    connected: u64,
    seconds: f64,
    ended: Option<String>,
    dropped: Option<u64>,
    stored: Option<KeptMessages>,
}

const LATE_TENTHS: i64 = 20;

struct KeptMessages {
    policy: Policy,
    all: VerifiedMessages,
    units: Vec<VerifiedMessages>,
    dropped: Option<u64>,
    unreadable: Option<String>,
}

impl BackendVerdict {
    pub fn new(reported: &Tally, seconds: f64, cause: Option<&Cause>) -> BackendVerdict {
        let of = |name: &str| reported.counters.get(name).copied().unwrap_or(0);
        BackendVerdict {
            due: of("due"),
            sent: of("sent"),
            confirmed: of("confirmed"),
            in_time: of("in_time"),
            unknown: of("unknown"),
            unsent: of("unsent"),
            after: of("unconfirmed"),
            broken: of("broken"),
            connected: of("connected"),
            seconds,
            ended: cause.map(ToString::to_string),
            dropped: None,
            stored: None,
        }
    }

    pub fn broker_dropped(&mut self, dropped: Option<f64>) {
        self.dropped = dropped.map(|dropped| dropped.max(0.0) as u64);
        if let Some(stored) = &mut self.stored {
            stored.dropped = self.dropped;
        }
    }

    pub fn read_back(&mut self, pipe: &Pipe, read: Result<Vec<VerifiedMessages>, String>) {
        let (units, unreadable) = match read {
            Ok(units) => (units, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        let mut all = VerifiedMessages::default();
        for of in &units {
            all.add(of);
        }
        self.stored = Some(KeptMessages {
            policy: pipe.policy,
            all,
            units,
            dropped: self.dropped,
            unreadable,
        });
    }

    pub fn is_good(&self) -> bool {
        let stored = self.stored.as_ref();
        let is_right =
            stored.is_none_or(|stored| stored.unreadable.is_none() && stored.all.is_right());
        let is_complete = stored.is_some_and(KeptMessages::is_complete);
        is_right && (is_complete || self.dropped.unwrap_or(0) == 0)
    }

    /// Returns the number of messages that are certain to have arrived at the backend, if each
    /// message is stored as a row.
    fn arrived(&self) -> Option<u64> {
        let stored = self.stored.as_ref()?;
        let is_by_row = stored.policy == Policy::TimeWindow && stored.unreadable.is_none();
        (is_by_row || stored.is_complete())
            .then(|| stored.all.stored + stored.all.filtered.min(self.confirmed))
    }

    pub fn findings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(stored) = &self.stored {
            lines.extend(stored.lines());
        }
        if self.broken > 0 {
            lines.push(format!(
                "{} connections broke: the result of {} messages is unknown",
                count(self.broken),
                count(self.unknown)
            ));
        }
        lines.push(self.last());
        lines
    }

    fn per_second(&self, messages: u64) -> String {
        count((messages as f64 / self.seconds.max(1e-9)).round() as u64)
    }

    pub fn last(&self) -> String {
        let (due, asked) = (count(self.due), self.per_second(self.due));
        if let Some(ended) = &self.ended {
            return format!(
                "Test ended early by {ended}: the broker read {} of {due} messages; it is unknown what the backend would have sustained",
                count(self.confirmed)
            );
        }
        if self.connected == 0 {
            return "Nothing was sent, because no connection was accepted".to_owned();
        }
        if self.in_time < self.due {
            let throttled = if self.after > 0 {
                "throttled by the target, "
            } else {
                ""
            };
            return format!(
                "Backend did not sustain {asked} rps: {throttled}the broker confirmed {} of {due} messages within 1s after the load and {} later, {} unknown, {} not sent",
                count(self.in_time),
                count(self.confirmed.saturating_sub(self.in_time)),
                count(self.unknown),
                count(self.unsent),
            );
        }
        let failed = |reason: String| format!("Backend did not sustain {asked} rps: {reason}");
        let read = format!("The broker kept up with {asked} rps: it read all {due} messages");
        let Some(stored) = &self.stored else {
            return self.dropped_line().map_or_else(
                || {
                    format!(
                        "{read}; what the backend did with them is unknown, because results were not read back"
                    )
                },
                failed,
            );
        };
        if stored.unreadable.is_some() {
            return format!(
                "{read}; what the backend did with them is unknown, because reading back failed"
            );
        }
        if let Some(reason) = self.wrong(stored) {
            return failed(reason);
        }
        if !stored.is_complete() {
            let rendered = match stored.policy {
                _ if stored.passing() == 0 => "its filters keep none of them, as intended",
                Policy::LastValue => "it keeps only the newest value",
                Policy::NRecords => "it keeps only the newest 100 records",
                Policy::TimeWindow | Policy::Aggregation => {
                    "not all of them are in its stored data"
                }
            };
            return self.dropped_line().map_or_else(
                || format!("{read}; the number of messages that the backend accepted is unknown: {rendered}"),
                failed,
            );
        }
        self.timely(stored, &failed)
    }

    fn timely(&self, stored: &KeptMessages, failed: &dyn Fn(String) -> String) -> String {
        let (due, asked) = (count(self.due), self.per_second(self.due));
        let arrivals = &stored.all.arrivals;
        let (Some((first, _)), Some((last, _))) =
            (arrivals.first_key_value(), arrivals.last_key_value())
        else {
            return format!(
                "Backend stored all {due} messages, sent at {asked} rps; their arrival times are unknown, because {} stores no message times",
                stored.policy.name()
            );
        };
        let load_tenths = (self.seconds * 10.0).ceil() as i64;
        if last - first > load_tenths + LATE_TENTHS {
            let seconds = (last - first + 1) as f64 / 10.0;
            let rows: u64 = arrivals.values().sum();
            return failed(format!(
                "all {due} messages arrived, but over {seconds:.1}s: {} rps",
                count((rows as f64 / seconds).round() as u64)
            ));
        }
        let filtered = match stored.all.filtered {
            0 => String::new(),
            n => format!(
                ", including {} that were filtered as intended and so not stored",
                count(n)
            ),
        };
        format!(
            "Backend sustained {asked} rps: {due} messages arrived in {:.0}s{filtered}",
            self.seconds
        )
    }

    fn dropped_line(&self) -> Option<String> {
        let dropped = self.dropped.filter(|dropped| *dropped > 0)?;
        Some(format!(
            "the broker read {} messages and dropped {}, according to its own count for all clients",
            count(self.confirmed),
            count(dropped)
        ))
    }

    fn wrong(&self, stored: &KeptMessages) -> Option<String> {
        if stored.all.is_right() {
            return None;
        }
        if let Some(arrived) = self.arrived().filter(|arrived| *arrived < self.due) {
            return Some(format!(
                "{} of {} messages arrived, at {} rps",
                count(arrived),
                count(self.due),
                self.per_second(arrived)
            ));
        }
        let dropped = self.dropped.filter(|dropped| *dropped > 0);
        let dropped = dropped.map_or_else(String::new, |dropped| {
            format!(", and the broker dropped {}", count(dropped))
        });
        Some(format!(
            "{} of {} units have the expected data{dropped}",
            count(stored.all.right),
            count(stored.all.units)
        ))
    }

    pub fn to_json(&self) -> Value {
        let stored = self.stored.as_ref().map(|stored| {
            json!({
                "policy": stored.policy.name(), "all": stored.all, "units": stored.units,
                "dropped_by_broker": stored.dropped, "unreadable": stored.unreadable,
            })
        });
        json!({
            "due": self.due, "sent": self.sent, "confirmed": self.confirmed, "in_time": self.in_time,
            "unknown": self.unknown, "unsent": self.unsent, "dropped_by_broker": self.dropped, "arrived": self.arrived(),
            "is_good": self.is_good(), "stored": stored, "found": self.findings(),
        })
    }
}

impl KeptMessages {
    fn passing(&self) -> u64 {
        self.all.sent.saturating_sub(self.all.filtered)
    }

    fn is_complete(&self) -> bool {
        let is_read = self.unreadable.is_none() && self.all.is_right();
        is_read && self.passing() > 0 && self.all.stored == self.passing()
    }

    fn lines(&self) -> Vec<String> {
        if let Some(reason) = &self.unreadable {
            return vec![format!("kept: reading back failed: {reason}")];
        }
        let all = &self.all;
        let mut lines = vec![format!(
            "kept by {}: {} of {} units have the expected data",
            self.policy.name(),
            count(all.right),
            count(all.units)
        )];
        let filtered = format!("{} filtered as intended", count(all.filtered));
        lines.push(match self.policy {
            Policy::TimeWindow => format!(
                "messages: {} sent = {} kept + {filtered} + {} lost + {} not confirmed by the broker",
                count(all.sent),
                count(all.stored),
                count(all.lost),
                count(all.unread),
            ),
            Policy::NRecords => format!("messages: {} sent, {filtered}, the newest {} kept", count(all.sent), count(all.stored)),
            Policy::LastValue => format!("messages: {} sent, {filtered}, {} newest values kept", count(all.sent), count(all.stored)),
            Policy::Aggregation => format!("messages: {} sent, {filtered}, {} in correct sums", count(all.sent), count(all.stored)),
        });
        if all.lost > 0 {
            lines.push(self.whose_loss());
        }
        if all.surplus > 0 {
            lines.push(format!(
                "wrong: {} more rows than messages",
                count(all.surplus)
            ));
        }
        lines.extend(
            all.wrong
                .iter()
                .map(|(reason, number)| format!("wrong: {} {reason}", count(*number))),
        );
        if self.policy != Policy::Aggregation {
            lines.push("order within a group of equal messages is not observable".to_owned());
        }
        lines
    }

    fn whose_loss(&self) -> String {
        let lost = self.all.lost;
        let groups = match self.policy {
            Policy::TimeWindow => format!(", of {} groups", count(self.all.groups_hit)),
            _ => String::new(),
        };
        let loser = match self.dropped {
            Some(dropped) => {
                let broker = dropped.min(lost);
                format!(
                    "{} in the broker, according to its own count, {} in DataPipe or not yet visible",
                    count(broker),
                    count(lost - broker)
                )
            }
            None => "in the broker, in DataPipe, or not yet visible".to_owned(),
        };
        format!("lost: {}{groups}: {loser}", count(lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(counts: &[(&str, u64)]) -> BackendVerdict {
        let mut reported = Tally::default();
        reported.counters.extend(
            counts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value)),
        );
        BackendVerdict::new(&reported, 10.0, None)
    }

    const READ: [(&str, u64); 5] = [
        ("connected", 1),
        ("due", 100),
        ("sent", 100),
        ("confirmed", 100),
        ("in_time", 100),
    ];

    fn time_window(lost: u64, dropped: Option<f64>, seconds: i64) -> BackendVerdict {
        let mut verdict = verdict(&READ);
        let arrivals = (0..seconds * 10).map(|tenth| (17_000_000_000 + tenth, 1));
        let found = VerifiedMessages {
            sent: 100,
            stored: 100 - lost,
            lost,
            groups_hit: lost.min(1),
            units: 1,
            right: u64::from(lost == 0),
            arrivals: arrivals.collect(),
            ..VerifiedMessages::default()
        };
        verdict.read_back(&Pipe::from_policy(Policy::TimeWindow), Ok(vec![found]));
        verdict.broker_dropped(dropped);
        verdict
    }

    #[test]
    fn sustained_is_what_has_arrived() {
        let right = time_window(0, None, 10);
        let line = right.last();
        assert!(
            line.starts_with("Backend sustained 10 rps: 100 messages"),
            "{line}"
        );
        let lossy = time_window(7, Some(5.0), 10);
        let line = lossy.last();
        assert!(line.contains("did not sustain 10 rps: 93 of 100"), "{line}");
        let all = lossy.findings().join(" ");
        assert!(!lossy.is_good());
        assert!(all.contains(
            "lost: 7, of 1 groups: 5 in the broker, according to its own count, 2 in DataPipe"
        ));
    }

    #[test]
    fn what_arrives_after_the_load_is_not_counted_into_its_seconds() {
        let late = time_window(0, None, 20);
        let line = late.last();
        assert!(
            line.ends_with(
                "did not sustain 10 rps: all 100 messages arrived, but over 20.0s: 10 rps"
            ),
            "{line}"
        );
    }

    #[test]
    fn the_brokers_side_comes_first() {
        let throttled = verdict(&[
            ("connected", 1),
            ("due", 100),
            ("sent", 100),
            ("confirmed", 100),
            ("in_time", 30),
            ("unconfirmed", 70),
        ]);
        let line = throttled.last();
        assert!(
            line.contains("throttled by the target, the broker confirmed 30 of 100 messages within 1s after the load and 70 later"),
            "{line}"
        );
        let reset = verdict(&[
            ("connected", 1),
            ("due", 100),
            ("sent", 100),
            ("unknown", 100),
        ]);
        let line = reset.last();
        assert!(
            line.contains("did not sustain") && line.contains("100 unknown"),
            "{line}"
        );
    }

    fn newest(policy: Policy, dropped: Option<f64>) -> BackendVerdict {
        let mut verdict = verdict(&READ);
        let found = VerifiedMessages {
            sent: 100,
            stored: 4,
            units: 4,
            right: 4,
            ..VerifiedMessages::default()
        };
        verdict.read_back(&Pipe::from_policy(policy), Ok(vec![found]));
        verdict.broker_dropped(dropped);
        verdict
    }

    #[test]
    fn a_pipe_that_keeps_the_newest_alone_shows_nothing_of_the_others() {
        for policy in [Policy::LastValue, Policy::NRecords] {
            let unknown = newest(policy, Some(0.0));
            let line = unknown.last();
            assert!(
                line.contains("the number of messages that the backend accepted is unknown"),
                "{line}"
            );
            assert!(!line.contains("sustained"), "{line}");
            assert!(unknown.is_good());
            let dropped = newest(policy, Some(50.0));
            let line = dropped.last();
            assert!(
                line.contains("did not sustain 10 rps") && line.contains("dropped 50"),
                "{line}"
            );
            assert!(!dropped.is_good());
        }
    }

    #[test]
    fn right_sums_show_all_messages_and_no_moment() {
        let mut verdict = verdict(&READ);
        let found = VerifiedMessages {
            sent: 100,
            stored: 100,
            units: 1,
            right: 1,
            ..VerifiedMessages::default()
        };
        verdict.read_back(&Pipe::from_policy(Policy::Aggregation), Ok(vec![found]));
        let line = verdict.last();
        assert!(
            line.starts_with("Backend stored all 100 messages"),
            "{line}"
        );
        assert!(!line.contains("sustained"), "{line}");
    }

    #[test]
    fn without_reading_back_only_the_broker_is_known() {
        let mut verdict = verdict(&READ);
        assert!(
            verdict
                .last()
                .contains("what the backend did with them is unknown")
        );
        verdict.broker_dropped(Some(40.0));
        assert!(
            verdict
                .last()
                .contains("did not sustain 10 rps: the broker read 100 messages and dropped 40")
        );
        assert!(!verdict.is_good());
    }

    #[test]
    fn who_ends_early_sustains_nothing() {
        let cause = Cause::Limit("an hour".to_owned());
        let verdict = BackendVerdict::new(&Tally::default(), 10.0, Some(&cause));
        assert!(verdict.last().contains("ended early by an hour"));
    }
}
