//! Counts for `GET /__lab/stats`, and log entries.
//!
//! At any time, received = answered + resets + never + waiting. A request is counted as received
//! once its last byte has arrived, and as answered just before its response is written, even if the
//! client has disconnected.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Value, json};

use super::journal::{Journal, LogEntry, RequestEntry};
use super::mode::ModeServer;
use super::spread::Spread;
use super::stall::Windows;
use crate::LabError;

const ROUTE: &str = "(any)";

pub(super) struct LabLedger {
    seed: u64,
    start: Option<u64>,
    received: u64,
    answered: BTreeMap<u16, u64>,
    resets: u64,
    never: u64,
    release_error: Spread,
    journal: Option<Journal>,
}

impl LabLedger {
    pub(super) fn new(seed: u64, journal: Option<Journal>) -> Self {
        Self {
            seed,
            start: None,
            received: 0,
            answered: BTreeMap::new(),
            resets: 0,
            never: 0,
            release_error: Spread::new(),
            journal,
        }
    }

    pub(super) fn wants_ids(&self) -> bool {
        self.journal.is_some()
    }

    pub(super) fn received(&mut self, arrival: u64) {
        self.received += 1;
        if self.start.is_none() {
            self.start = Some(arrival);
            self.log(LogEntry::Start {
                start: arrival,
                seed: self.seed,
            });
        }
    }

    pub(super) fn answered(&mut self, code: u16, error: u64) {
        *self.answered.entry(code).or_default() += 1;
        self.release_error.add(error);
    }

    pub(super) fn reset(&mut self, error: u64) {
        self.resets += 1;
        self.release_error.add(error);
    }

    pub(super) fn swept_away(&mut self, reported: RequestEntry) {
        self.resets += 1;
        self.log(LogEntry::Request(reported));
    }

    pub(super) fn never(&mut self, reported: RequestEntry) {
        self.never += 1;
        self.log(LogEntry::Request(reported));
    }

    pub(super) fn unanswered(&self, reported: RequestEntry) {
        self.log(LogEntry::Request(reported));
    }

    pub(super) fn released(&self, reported: RequestEntry, server: &mut ModeServer) {
        if self.journal.is_some() {
            self.stalls(reported.release.and_then(|release| server.ended(release)));
            self.log(LogEntry::Request(reported));
        }
    }

    pub(super) fn stalls(&self, stalls: Option<(Range<u64>, Windows)>) {
        if let Some((range, windows)) = stalls {
            self.log(LogEntry::Stalls(range, windows));
        }
    }

    fn log(&self, entry: LogEntry) {
        if let Some(journal) = &self.journal {
            journal.log(entry);
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let answered: u64 = self.answered.values().sum();
        let by_code: serde_json::Map<_, _> = self
            .answered
            .iter()
            .map(|(code, &n)| (code.to_string(), n.into()))
            .collect();
        let route = |n: u64, value: Value| match n {
            0 => json!({}),
            _ => json!({ ROUTE: value }),
        };
        let at = |share| self.release_error.per_mille(share);
        json!({
            "received": { "total": self.received, "by_route": route(self.received, self.received.into()) },
            "answered": {
                "total": answered,
                "by_route": route(self.received, by_code.clone().into()),
                "by_code": by_code,
            },
            "resets": self.resets,
            "never": self.never,
            "waiting": self.received - answered - self.resets - self.never,
            "release_error_ns": { "p50": at(500), "p99": at(990), "max": self.release_error.max() },
            "start_ns": self.start,
            "seed": self.seed,
        })
    }

    pub(super) fn finish(self) -> Result<(), LabError> {
        self.journal.map_or(Ok(()), Journal::finish)
    }
}
