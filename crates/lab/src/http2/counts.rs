//! Counts and log of the lab.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use crate::LabError;
use crate::log::RequestLog;

pub(super) struct Counts {
    totals: Mutex<Totals>,
    log: Mutex<Option<RequestLog>>,
}

#[derive(Default)]
pub(super) struct Totals {
    pub(super) connections: u64,
    pub(super) tls_failures: u64,
    pub(super) received: u64,
    pub(super) answered: u64,
    pub(super) refused: u64,
    /// Number of streams reset by the client or cut off by a lost connection.
    pub(super) cancelled: u64,
    pub(super) goaways: u64,
    pub(super) body_bytes: u64,
    /// Number of requests by connection number.
    pub(super) by_connection: BTreeMap<u64, u64>,
    pub(super) open: u64,
    pub(super) max_open: u64,
}

impl Counts {
    pub(super) fn new(log: Option<&Path>) -> Result<Self, LabError> {
        Ok(Self {
            totals: Mutex::default(),
            log: Mutex::new(log.map(RequestLog::create).transpose()?),
        })
    }

    pub(super) fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request, and returns its number.
    pub(super) fn received(&self, connection: u64) -> u64 {
        let mut totals = self.totals();
        totals.received += 1;
        *totals.by_connection.entry(connection).or_default() += 1;
        totals.open += 1;
        totals.max_open = totals.max_open.max(totals.open);
        totals.received - 1
    }

    pub(super) fn log(&self, line: &Value) {
        if let Some(log) = &mut *self.log.lock().unwrap_or_else(PoisonError::into_inner) {
            log.append(format!("{line}\n").as_bytes());
        }
    }

    pub(super) fn flush(&self) {
        if let Some(log) = &mut *self.log.lock().unwrap_or_else(PoisonError::into_inner) {
            log.flush();
        }
    }

    pub(super) fn finish(&self) -> Result<(), LabError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.as_mut().map_or(Ok(()), RequestLog::finish)
    }

    pub(super) fn to_json(&self) -> Value {
        let totals = self.totals();
        let count = |count: u64, name: &str| {
            let mut counts = Map::new();
            if count > 0 {
                counts.insert(name.to_owned(), count.into());
            }
            counts
        };
        let (received, answered) = (totals.received, totals.answered);
        let by_code = count(answered, "200");
        json!({
            "received": { "total": received, "by_route": count(received, "(any)") },
            "answered": {
                "total": answered,
                "by_route": { "(any)": by_code },
                "by_code": by_code,
            },
            "http2": {
                "connections": totals.connections,
                "tls_failures": totals.tls_failures,
                "refused": totals.refused,
                "cancelled": totals.cancelled,
                "goaways": totals.goaways,
                "body_bytes": totals.body_bytes,
                "max_open": totals.max_open,
                "by_connection": totals.by_connection.values().collect::<Vec<_>>(),
            },
        })
    }
}
