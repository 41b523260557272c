//! The reference server's log, with the arrival and release of every request.

use std::{collections::HashMap, fs, path::Path};

use serde_json::Value;

#[derive(Debug, Default)]
pub struct Truth {
    /// Arrival and release of requests by ID, in nanoseconds of `CLOCK_MONOTONIC`. The release is
    /// `None` if there was no response.
    pub requests: HashMap<String, (u64, Option<u64>)>,
    pub others: u64,
    pub stalls: Vec<(u64, u64)>,
}

impl Truth {
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

/// Returns a quantile, with the same definition of rank that reports use.
#[must_use]
pub fn quantile(sorted: &[u64], q: f64) -> u64 {
    let rank = measure::histogram::rank_of(q, sorted.len() as u64).unwrap_or(1);
    sorted.get(rank as usize - 1).copied().unwrap_or(0)
}
