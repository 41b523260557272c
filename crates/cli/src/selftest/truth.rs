//! What the reference server logged: arrival and release of every request on the clock that the record uses too.

use std::{collections::HashMap, fs, path::Path};

use serde_json::Value;

/// The server's log of one run.
#[derive(Debug, Default)]
pub struct Truth {
    /// By request id: arrival and release, CLOCK_MONOTONIC nanoseconds; no release: never answered.
    pub requests: HashMap<String, (u64, Option<u64>)>,
    /// Requests without an id or with one that came before.
    pub others: u64,
    /// The stalls that really were.
    pub stalls: Vec<(u64, u64)>,
}

impl Truth {
    /// Reads a log.
    ///
    /// # Errors
    /// When the file is not there or not a log.
    pub fn read(path: &Path) -> Result<Truth, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut truth = Truth::default();
        for line in text.lines() {
            let entry: Value =
                serde_json::from_str(line).map_err(|e| format!("{}: {e}", path.display()))?;
            if let Some(stall) = entry.get("stall").and_then(Value::as_array) {
                if let (Some(begin), Some(end)) = (
                    stall.first().and_then(Value::as_u64),
                    stall.get(1).and_then(Value::as_u64),
                ) {
                    truth.stalls.push((begin, end));
                }
                continue;
            }
            let arrival = entry.get("arrival_ns").and_then(Value::as_u64).unwrap_or(0);
            let release = entry.get("release_ns").and_then(Value::as_u64);
            match entry.get("id").and_then(Value::as_str) {
                Some(id) if !truth.requests.contains_key(id) => {
                    truth.requests.insert(id.to_owned(), (arrival, release));
                }
                _ => truth.others += 1,
            }
        }
        Ok(truth)
    }
}

/// The quantile of sorted values, by the same rank that the product uses.
#[must_use]
pub fn quantile(sorted: &[u64], q: f64) -> u64 {
    let rank = measure::histogram::rank_of(q, sorted.len() as u64).unwrap_or(1);
    sorted.get(rank as usize - 1).copied().unwrap_or(0)
}
