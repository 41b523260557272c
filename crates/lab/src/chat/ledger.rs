//! Counts and log of the lab.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::outbox::Message;
use crate::LabError;
use crate::log::RequestLog;

pub(super) struct ChatLedger {
    totals: Mutex<Totals>,
    log: Mutex<Option<RequestLog>>,
}

#[derive(Default)]
pub(super) struct Totals {
    /// Responses by route and status. Every request is answered.
    requests: BTreeMap<String, BTreeMap<u16, u64>>,
    opened: u64,
    open: u64,
    max_open: u64,
    closed_by_client: BTreeMap<u16, u64>,
    closed_by_lab: BTreeMap<u16, u64>,
    lost: u64,
    violations: BTreeMap<&'static str, u64>,
    paths: BTreeMap<String, PathCounts>,
    dropped: u64,
    duplicated: u64,
    reordered: u64,
    unsent: u64,
    pub(super) pings_sent: u64,
    pub(super) pings_received: u64,
    pub(super) pongs_received: u64,
}

#[derive(Default, Clone, Copy)]
struct PathCounts {
    messages_in: u64,
    bytes_in: u64,
    messages_out: u64,
    bytes_out: u64,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// The client sent a close frame. Without a code, it counts as 1005.
    Client(u16),
    /// The lab closed the connection. The code 1006 means that it sent no close frame.
    Lab(u16),
    /// The client broke the protocol.
    Violation(codec::websocket::FrameError),
    /// The client ended the connection without a close frame.
    Lost,
    /// The lab stopped.
    Unfinished,
}

/// What happened to a message for one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Sent,
    Dropped,
    Duplicated,
    Reordered,
    /// The connection ended before the message was due.
    Unsent,
}

impl ChatLedger {
    pub(super) fn new(log: Option<&Path>, seed: u64) -> Result<Self, LabError> {
        let log = log.map(RequestLog::create).transpose()?;
        let ledger = Self {
            totals: Mutex::default(),
            log: Mutex::new(log),
        };
        ledger.log(|| json!({ "seed": seed }));
        Ok(ledger)
    }

    pub(super) fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn log(&self, line: impl FnOnce() -> Value) {
        if let Some(log) = &mut *self.log.lock().unwrap_or_else(PoisonError::into_inner) {
            log.append(format!("{}\n", line()).as_bytes());
        }
    }

    pub(super) fn answered(&self, route: &str, status: u16) {
        let mut totals = self.totals();
        let by_status = totals.requests.entry(route.to_owned()).or_default();
        *by_status.entry(status).or_default() += 1;
    }

    /// Counts a connection, and returns its number.
    pub(super) fn opened(&self, path: &str, now_ns: u64) -> u64 {
        let mut totals = self.totals();
        let connection = totals.opened;
        totals.opened += 1;
        totals.open += 1;
        totals.max_open = totals.max_open.max(totals.open);
        totals.paths.entry(path.to_owned()).or_default();
        drop(totals);
        self.log(|| json!({ "open": connection, "path": path, "at_ns": now_ns }));
        connection
    }

    pub(super) fn closed(&self, connection: u64, closing: Closing, now_ns: u64) {
        let mut totals = self.totals();
        totals.open -= 1;
        let (by, code) = match closing {
            Closing::Client(code) => {
                *totals.closed_by_client.entry(code).or_default() += 1;
                ("client", Some(code))
            }
            Closing::Lab(code) => {
                *totals.closed_by_lab.entry(code).or_default() += 1;
                ("lab", Some(code))
            }
            Closing::Violation(error) => {
                let code = error.close_code();
                *totals.closed_by_lab.entry(code).or_default() += 1;
                *totals.violations.entry(error.name()).or_default() += 1;
                ("lab", Some(code))
            }
            Closing::Lost => {
                totals.lost += 1;
                ("lost", None)
            }
            Closing::Unfinished => ("stop", None),
        };
        drop(totals);
        self.log(|| json!({ "close": connection, "by": by, "code": code, "at_ns": now_ns }));
    }

    /// Counts a received message. `members` is the number of members of the room that receive it.
    pub(super) fn received(&self, path: &str, message: &Message, members: Option<usize>) {
        let bytes = message.payload.len();
        let mut totals = self.totals();
        let counts = totals.paths.entry(path.to_owned()).or_default();
        counts.messages_in += 1;
        counts.bytes_in += bytes as u64;
        drop(totals);
        self.log(|| {
            json!({
                "conn": message.sender,
                "n": message.number,
                "path": path,
                "bytes": bytes,
                "seq": message.sequence,
                "members": members,
                "arrival_ns": message.arrival_ns,
            })
        });
    }

    pub(super) fn wrote(&self, path: &str, bytes: usize) {
        let mut totals = self.totals();
        let counts = totals.paths.entry(path.to_owned()).or_default();
        counts.messages_out += 1;
        counts.bytes_out += bytes as u64;
    }

    pub(super) fn delivered(
        &self,
        receiver: u64,
        message: &Message,
        due_ns: u64,
        sent_ns: Option<u64>,
        delivery: Delivery,
    ) {
        let mut totals = self.totals();
        let fault = match delivery {
            Delivery::Sent => None,
            Delivery::Dropped => Some((&mut totals.dropped, "dropped")),
            Delivery::Duplicated => Some((&mut totals.duplicated, "duplicated")),
            Delivery::Reordered => Some((&mut totals.reordered, "reordered")),
            Delivery::Unsent => Some((&mut totals.unsent, "unsent")),
        };
        let fault = fault.map(|(count, name)| {
            *count += 1;
            name
        });
        drop(totals);
        self.log(|| {
            json!({
                "to": receiver,
                "conn": message.sender,
                "n": message.number,
                "seq": message.sequence,
                "due_ns": due_ns,
                "sent_ns": sent_ns,
                "fault": fault,
            })
        });
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

    /// Returns the counts as JSON. `sessions` contains the counts of the Socket.IO sessions.
    pub(super) fn to_json(&self, sessions: &Value) -> Value {
        let totals = self.totals();
        let mut by_code = BTreeMap::<u16, u64>::new();
        let mut received = BTreeMap::<&str, u64>::new();
        for (route, by_status) in &totals.requests {
            for (status, count) in by_status {
                *by_code.entry(*status).or_default() += count;
                *received.entry(route).or_default() += count;
            }
        }
        let total: u64 = received.values().sum();
        json!({
            "received": { "total": total, "by_route": received },
            "answered": { "total": total, "by_route": totals.requests, "by_code": by_code },
            "socketio": sessions,
            "chat": {
                "connections": {
                    "opened": totals.opened,
                    "open": totals.open,
                    "max_open": totals.max_open,
                    "closed_by_client": totals.closed_by_client,
                    "closed_by_lab": totals.closed_by_lab,
                    "lost": totals.lost,
                },
                "violations": totals.violations,
                "paths": totals.paths.iter().map(|(path, counts)| (path.clone(), counts.to_json()))
                    .collect::<serde_json::Map<_, _>>(),
                "dropped": totals.dropped,
                "duplicated": totals.duplicated,
                "reordered": totals.reordered,
                "unsent": totals.unsent,
                "pings_sent": totals.pings_sent,
                "pings_received": totals.pings_received,
                "pongs_received": totals.pongs_received,
            },
        })
    }
}

impl PathCounts {
    fn to_json(self) -> Value {
        json!({
            "messages_in": self.messages_in,
            "bytes_in": self.bytes_in,
            "messages_out": self.messages_out,
            "bytes_out": self.bytes_out,
        })
    }
}
