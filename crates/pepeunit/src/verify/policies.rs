//! Stored rows by policy. Each policy keeps a different part of the messages sent.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    ExpectedState, SentByUnit, VerifiedMessages,
    rows::{is_well_told, moment_ms, number, span_ms},
};
use crate::pipes::{RECORDS, ROW_S, WINDOW_S, same};

impl SentByUnit<'_> {
    pub(super) fn time_window(&self, rows: &[Value]) -> VerifiedMessages {
        let (wanted, filtered) = self.wanted();
        let mut found = self.found(filtered);
        let mut there = BTreeMap::<String, u64>::new();
        let probe = self.probe();
        let (mut expiry, mut shape) = (0, 0);
        for row in rows {
            expiry += u64::from(
                span_ms(row, "create_datetime", "expiration_datetime") != Some(ROW_S as i64 * 1000),
            );
            shape += u64::from(!is_well_told(row, self.pipe.input()));
            let state = same(row["state"].as_str().unwrap_or_default());
            if state != probe {
                *there.entry(state).or_default() += 1;
                found.arrived(row);
            }
        }
        for (state, wanted) in &wanted {
            let has = there.remove(state).unwrap_or(0);
            found.stored += has.min(wanted.sent);
            found.surplus += has.saturating_sub(wanted.sent);
            let lost = wanted.confirmed.saturating_sub(has);
            found.lost += lost;
            found.unread += wanted.sent.saturating_sub(has) - lost;
            found.groups_hit += u64::from(has < wanted.sent);
        }
        found.is_wrong(
            "rows that were never sent, or that should have been filtered or changed",
            there.values().sum(),
        );
        found.is_wrong("rows that do not expire when they should", expiry);
        found.is_wrong("rows whose type or size does not match their state", shape);
        found
    }

    pub(super) fn n_records(&self, rows: &[Value]) -> VerifiedMessages {
        let (wanted, filtered) = self.wanted();
        let mut found = self.found(filtered);
        let mut newest = BTreeMap::<String, u64>::new();
        let mut room = RECORDS as u64;
        let last = self.last_group();
        for group in last.map(|last| (0..=last).rev()).into_iter().flatten() {
            if room == 0 {
                break;
            }
            if let Some(state) = self.through(group) {
                let count = self.of_group(group, self.sums.sent).min(room);
                *newest.entry(state).or_default() += count;
                room -= count;
            }
        }
        let probe = self.probe();
        let mut states = Vec::new();
        for row in rows {
            let state = same(row["state"].as_str().unwrap_or_default());
            if state != probe {
                states.push(state);
                found.arrived(row);
            }
        }
        let (mut older, mut foreign) = (0, 0);
        let mut missing = newest;
        for state in &states {
            match missing.get_mut(state) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    found.stored += 1;
                }
                _ if wanted.contains_key(state) => older += 1,
                _ => foreign += 1,
            }
        }
        let missing: u64 = missing.values().sum();
        let is_confirmed = self.sums.confirmed == self.sums.sent;
        if is_confirmed {
            found.lost = missing;
        } else {
            found.unread = missing;
        }
        found.is_wrong(
            "units with more records than should be kept",
            u64::from(rows.len() > RECORDS),
        );
        found.is_wrong(
            "older records in place of the newest",
            if rows.len() > RECORDS { 0 } else { older },
        );
        found.is_wrong(
            "records that were never sent, or that should have been filtered or changed",
            foreign,
        );
        let counted = rows
            .iter()
            .filter(|row| row["max_count"] != RECORDS)
            .count();
        found.is_wrong(
            "records whose maximum count is not the configured one",
            counted as u64,
        );
        let shape = rows
            .iter()
            .filter(|row| !is_well_told(row, self.pipe.input()))
            .count();
        found.is_wrong(
            "records whose type or size does not match their state",
            shape as u64,
        );
        found
    }

    pub(super) fn aggregation(&self, rows: &[Value]) -> VerifiedMessages {
        let (wanted, filtered) = self.wanted();
        let mut found = self.found(filtered);
        let sum_of = |count: fn(&ExpectedState) -> u64| -> f64 {
            let states = wanted
                .iter()
                .map(|(state, wanted)| state.parse::<f64>().unwrap_or(0.0) * count(wanted) as f64);
            states.sum()
        };
        let (sent, confirmed) = (sum_of(|of| of.sent), sum_of(|of| of.confirmed));
        let stored: f64 = rows.iter().filter_map(|row| number(&row["state"])).sum();
        let all = wanted.values().map(|wanted| wanted.sent).sum::<u64>();
        let window_ms = WINDOW_S as i64 * 1000;
        let is_aligned = |row: &&Value| {
            let starts = moment_ms(&row["start_window_datetime"]);
            let ends = span_ms(row, "start_window_datetime", "end_window_datetime");
            starts.is_some_and(|at| at % window_ms == 0)
                && (row["end_window_datetime"].is_null() || ends == Some(window_ms))
        };
        let is_told =
            |row: &&Value| row["aggregation_type"] == "Sum" && row["time_window_size"] == WINDOW_S;
        let unaligned = rows.iter().filter(|row| !is_aligned(row)).count();
        let untold = rows.iter().filter(|row| !is_told(row)).count();
        let mut starts: Vec<&str> = rows
            .iter()
            .filter_map(|row| row["start_window_datetime"].as_str())
            .collect();
        starts.sort_unstable();
        starts.dedup();
        found.is_wrong("windows with the wrong start or end", unaligned as u64);
        found.is_wrong(
            "windows whose function or length is not the configured one",
            untold as u64,
        );
        found.is_wrong("duplicate windows", (rows.len() - starts.len()) as u64);
        if (stored - sent).abs() < 0.5 {
            found.stored = all;
        } else if self.sums.confirmed < self.sums.sent && stored > confirmed - 0.5 && stored < sent
        {
            found.is_wrong(
                "units whose sum lacks messages that the server did not confirm",
                1,
            );
        } else {
            let reason = if stored < sent {
                "units whose sum is lower than the sum sent"
            } else {
                "units whose sum is higher than the sum sent"
            };
            found.is_wrong(reason, 1);
        }
        found
    }
}
