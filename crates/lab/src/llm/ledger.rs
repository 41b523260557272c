//! Counts and log of the lab.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::api::Api;
use crate::LabError;
use crate::log::RequestLog;

pub(super) struct LlmLedger {
    totals: Mutex<Totals>,
    log: Mutex<Option<RequestLog>>,
}

#[derive(Default)]
pub(super) struct Totals {
    received: BTreeMap<&'static str, u64>,
    answered: BTreeMap<&'static str, u64>,
    pub(super) rejected: u64,
    cut: u64,
    gone: u64,
    tokens: u64,
    open: u64,
    max_open: u64,
}

/// Log entry of a request.
pub(super) struct LlmRecord {
    pub(super) n: u64,
    pub(super) api: Api,
    pub(super) arrival_ns: u64,
    pub(super) start_ns: u64,
    /// Times at which the tokens were due.
    pub(super) due_ns: Vec<u64>,
    /// Times just before the tokens were written.
    pub(super) token_ns: Vec<u64>,
    /// Time just before the last bytes were written.
    pub(super) end_ns: Option<u64>,
    pub(super) end: LlmEnd,
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LlmEnd {
    Complete,
    /// The lab closed the connection partway through the response.
    Cut,
    /// The client closed the connection.
    Gone,
    /// The lab stopped.
    Unfinished,
}

impl LlmLedger {
    pub(super) fn new(log: Option<&Path>, seed: u64) -> Result<Self, LabError> {
        let mut log = log.map(RequestLog::create).transpose()?;
        if let Some(log) = &mut log {
            log.append(format!("{}\n", json!({ "seed": seed })).as_bytes());
        }
        Ok(Self {
            totals: Mutex::default(),
            log: Mutex::new(log),
        })
    }

    pub(super) fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> MutexGuard<'_, Option<RequestLog>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request, and returns its number.
    pub(super) fn received(&self, api: Api) -> u64 {
        let mut totals = self.totals();
        let n = totals.received.values().sum();
        *totals.received.entry(api.path()).or_default() += 1;
        totals.open += 1;
        totals.max_open = totals.max_open.max(totals.open);
        n
    }

    pub(super) fn ended(&self, record: &LlmRecord) {
        let mut totals = self.totals();
        totals.open -= 1;
        totals.tokens += record.token_ns.len() as u64;
        match record.end {
            LlmEnd::Complete => *totals.answered.entry(record.api.path()).or_default() += 1,
            LlmEnd::Cut => totals.cut += 1,
            LlmEnd::Gone => totals.gone += 1,
            LlmEnd::Unfinished => {}
        }
        drop(totals);
        if let Some(log) = &mut *self.log() {
            let line = json!({
                "n": record.n,
                "path": record.api.path(),
                "arrival_ns": record.arrival_ns,
                "start_ns": record.start_ns,
                "first_token_ns": record.token_ns.first(),
                "token_ns": record.token_ns,
                "due_ns": record.due_ns,
                "end_ns": record.end_ns,
                "end": match record.end {
                    LlmEnd::Complete => "complete",
                    LlmEnd::Cut => "cut",
                    LlmEnd::Gone => "gone",
                    LlmEnd::Unfinished => "unfinished",
                },
            });
            log.append(format!("{line}\n").as_bytes());
        }
    }

    pub(super) fn flush(&self) {
        if let Some(log) = &mut *self.log() {
            log.flush();
        }
    }

    pub(super) fn finish(&self) -> Result<(), LabError> {
        self.log().as_mut().map_or(Ok(()), RequestLog::finish)
    }

    pub(super) fn to_json(&self) -> Value {
        let totals = self.totals();
        let answered: u64 = totals.answered.values().sum();
        let by_route = |(path, count): (&&str, &u64)| ((*path).to_owned(), json!({ "200": count }));
        json!({
            "received": {
                "total": totals.received.values().sum::<u64>(),
                "by_route": totals.received,
            },
            "answered": {
                "total": answered,
                "by_route": totals.answered.iter().map(by_route).collect::<serde_json::Map<_, _>>(),
                "by_code": { "200": answered },
            },
            "llm": {
                "rejected": totals.rejected,
                "cut": totals.cut,
                "gone": totals.gone,
                "tokens": totals.tokens,
                "max_open": totals.max_open,
            },
        })
    }
}
