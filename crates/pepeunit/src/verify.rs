//! Compares stored rows with the messages sent, by groups of equal messages. Performs no I/O.

use std::collections::BTreeMap;

use mqtt_driver::Sums;
use plan::mqtt::Groups;
use serde::Serialize;
use serde_json::Value;

use crate::pipes::{Pipe, Policy, RECORDS, ROW_S, WINDOW_S, same};

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct VerifiedMessages {
    pub sent: u64,
    pub filtered: u64,
    pub stored: u64,
    pub lost: u64,
    pub unread: u64,
    pub groups_hit: u64,
    pub surplus: u64,
    pub right: u64,
    pub units: u64,
    pub wrong: BTreeMap<&'static str, u64>,
    /// Number of rows by the time at which the platform received them, in tenths of a second since
    /// 1970.
    #[serde(skip)]
    pub arrivals: BTreeMap<i64, u64>,
}

impl VerifiedMessages {
    pub fn add(&mut self, other: &VerifiedMessages) {
        self.sent += other.sent;
        self.filtered += other.filtered;
        self.stored += other.stored;
        self.lost += other.lost;
        self.unread += other.unread;
        self.groups_hit += other.groups_hit;
        self.surplus += other.surplus;
        self.right += other.right;
        self.units += other.units;
        for (reason, count) in &other.wrong {
            *self.wrong.entry(reason).or_default() += count;
        }
        for (tenth, count) in &other.arrivals {
            *self.arrivals.entry(*tenth).or_default() += count;
        }
    }

    fn arrived(&mut self, row: &Value) {
        if let Some(ms) = moment_ms(&row["create_datetime"]) {
            *self.arrivals.entry(ms.div_euclid(100)).or_default() += 1;
        }
    }

    pub fn is_right(&self) -> bool {
        self.lost + self.unread + self.surplus == 0 && self.wrong.is_empty()
    }

    fn is_wrong(&mut self, reason: &'static str, count: u64) {
        if count > 0 {
            *self.wrong.entry(reason).or_default() += count;
        }
    }
}

pub(crate) struct SentByUnit<'a> {
    pub pipe: &'a Pipe,
    pub groups: Groups,
    pub client: u64,
    pub sums: Sums,
}

#[derive(Debug, Default)]
struct ExpectedState {
    sent: u64,
    confirmed: u64,
    groups: u64,
}

impl SentByUnit<'_> {
    fn of_group(&self, group: u64, first: u64) -> u64 {
        let copies = u64::from(self.groups.copies.max(1));
        first.saturating_sub(group * copies).min(copies)
    }

    fn last_group(&self) -> Option<u64> {
        self.sums
            .sent
            .checked_sub(1)
            .map(|last| self.groups.group(last))
    }

    fn through(&self, group: u64) -> Option<String> {
        let text = self.groups.text(self.client, group);
        self.pipe.through(&text).map(|state| same(&state))
    }

    fn wanted(&self) -> (BTreeMap<String, ExpectedState>, u64) {
        let (mut all, mut filtered) = (BTreeMap::<String, ExpectedState>::new(), 0);
        for group in 0..=self.last_group().unwrap_or_default() {
            let sent = self.of_group(group, self.sums.sent);
            match self.through(group) {
                Some(state) => {
                    let wanted = all.entry(state).or_default();
                    wanted.sent += sent;
                    wanted.confirmed += self.of_group(group, self.sums.confirmed);
                    wanted.groups += 1;
                }
                None => filtered += sent,
            }
        }
        (all, filtered)
    }

    fn found(&self, filtered: u64) -> VerifiedMessages {
        VerifiedMessages {
            sent: self.sums.sent,
            filtered,
            units: 1,
            ..VerifiedMessages::default()
        }
    }

    fn probe(&self) -> String {
        self.pipe
            .through(self.pipe.probe())
            .map(|state| same(&state))
            .unwrap_or_default()
    }

    pub fn with_rows(&self, rows: &[Value]) -> VerifiedMessages {
        let mut found = match self.pipe.policy {
            Policy::TimeWindow => self.time_window(rows),
            Policy::NRecords => self.n_records(rows),
            Policy::Aggregation | Policy::LastValue => self.aggregation(rows),
        };
        found.right = u64::from(found.is_right());
        found
    }

    fn time_window(&self, rows: &[Value]) -> VerifiedMessages {
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

    fn n_records(&self, rows: &[Value]) -> VerifiedMessages {
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

    fn aggregation(&self, rows: &[Value]) -> VerifiedMessages {
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

    pub fn with_state(&self, state: Option<&str>) -> VerifiedMessages {
        let (_, filtered) = self.wanted();
        let mut found = self.found(filtered);
        let newest = |first: u64| {
            let last = first.checked_sub(1).map(|last| self.groups.group(last))?;
            (0..=last)
                .rev()
                .find_map(|group| self.through(group).map(|state| (group, state)))
        };
        let (sent, confirmed) = (newest(self.sums.sent), newest(self.sums.confirmed));
        let state = state.map(same).filter(|state| *state != self.probe());
        match (&sent, state) {
            (None, None) => {}
            (Some((_, wanted)), Some(state)) if *wanted == state => found.stored = 1,
            (Some((last, _)), Some(state)) => {
                let known = (0..*last)
                    .rev()
                    .find(|group| self.through(*group).as_ref() == Some(&state));
                let late = confirmed.as_ref().map_or(0, |(group, _)| *group);
                match known {
                    Some(group) if group >= late && self.sums.confirmed < self.sums.sent => {
                        found.unread = 1
                    }
                    Some(_) => found.is_wrong("units without the newest value", 1),
                    None => found.is_wrong(
                        "units whose value was never sent, or should have been filtered or changed",
                        1,
                    ),
                }
            }
            (Some(_), None) if confirmed.is_none() => found.unread = 1,
            (Some(_), None) => found.is_wrong("units without a value", 1),
            (None, Some(_)) => found.is_wrong(
                "units whose value was never sent, or should have been filtered or changed",
                1,
            ),
        }
        found.right = u64::from(found.is_right());
        found
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn is_well_told(row: &Value, input: &str) -> bool {
    let bytes = row["state"].as_str().map(str::len);
    row["state_type"] == input && row["size"].as_u64() == bytes.map(|bytes| bytes as u64)
}

fn span_ms(row: &Value, from: &str, to: &str) -> Option<i64> {
    Some(moment_ms(&row[to])? - moment_ms(&row[from])?)
}

/// Parses `2026-01-02T03:04:05.678Z` to milliseconds since 1970.
fn moment_ms(value: &Value) -> Option<i64> {
    let text = value
        .as_str()?
        .trim_end_matches('Z')
        .trim_end_matches("+00:00");
    let (day, time) = text.split_once(['T', ' '])?;
    let mut day = day.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (day.next()??, day.next()??, day.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let ms: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    // Compute the days since 1970 with years that start in March.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 1
        - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::mqtt::PayloadKind as Kind;
    use serde_json::json;

    fn sent(pipe: &Pipe, value: Kind, sent: u64, confirmed: u64) -> SentByUnit<'_> {
        SentByUnit {
            pipe,
            groups: Groups {
                value,
                letters: 15,
                copies: 10,
            },
            client: 3,
            sums: Sums {
                due: sent,
                sent,
                confirmed,
            },
        }
    }

    fn row(state: &str, input: &str) -> Value {
        json!({
            "state": state, "state_type": input, "size": state.len(), "max_count": RECORDS,
            "create_datetime": "2026-03-01T00:00:00.500Z", "expiration_datetime": "2026-03-02T00:00:00.500Z",
        })
    }

    fn stored(of: &SentByUnit<'_>) -> Vec<Value> {
        let messages = (0..of.sums.sent).map(|n| of.groups.text(of.client, of.groups.group(n)));
        let through = messages.filter_map(|text| of.pipe.through(&text));
        through.map(|state| row(&state, of.pipe.input())).collect()
    }

    #[test]
    fn rows_are_counted_by_groups() {
        let pipe = Pipe::from_policy(Policy::TimeWindow);
        for value in [Kind::Text, Kind::Number] {
            let sent = sent(&pipe, value, 125, 125);
            let mut rows = stored(&sent);
            rows.push(row(pipe.probe(), "Text"));
            let right = sent.with_rows(&rows);
            assert!(right.is_right(), "{right:?}");
            assert_eq!(right.stored + right.filtered, 125);
            rows.drain(0..3);
            rows.push(rows[20].clone());
            rows.push(row("nobody's", "Text"));
            let wrong = sent.with_rows(&rows);
            assert_eq!(
                (wrong.lost, wrong.unread, wrong.groups_hit, wrong.surplus),
                (3, 0, 1, 1)
            );
            assert_eq!(wrong.wrong.len(), 1);
        }
    }

    #[test]
    fn what_the_server_has_not_read_is_not_lost() {
        let pipe = Pipe::from_policy(Policy::TimeWindow);
        let sent = sent(&pipe, Kind::Text, 100, 30);
        let found = sent.with_rows(&stored(&sent)[..35]);
        assert_eq!((found.stored, found.lost, found.unread), (35, 0, 65));
        let found = sent.with_rows(&stored(&sent)[..25]);
        assert_eq!((found.lost, found.unread), (5, 70));
    }

    #[test]
    fn rows_expire_when_they_should() {
        let pipe = Pipe::from_policy(Policy::TimeWindow);
        let sent = sent(&pipe, Kind::Text, 10, 10);
        let mut rows = stored(&sent);
        rows[4]["expiration_datetime"] = json!("2026-03-02T00:01:00.500Z");
        rows[5]["size"] = json!(1);
        assert_eq!(
            sent.with_rows(&rows)
                .wrong
                .into_values()
                .collect::<Vec<_>>(),
            [1, 1]
        );
    }

    #[test]
    fn the_newest_records_are_there() {
        let pipe = Pipe::from_policy(Policy::NRecords);
        let sent = sent(&pipe, Kind::Number, 305, 305);
        let all = stored(&sent);
        assert_eq!(all.len(), 205, "ten digits are held back");
        let newest = &all[all.len() - RECORDS..];
        assert!(
            sent.with_rows(newest).is_right(),
            "{:?}",
            sent.with_rows(newest)
        );
        let reason = |rows: &[Value]| {
            sent.with_rows(rows)
                .wrong
                .into_keys()
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert!(reason(&all).contains("more records"));
        assert!(reason(&all[..RECORDS]).contains("older"));
        let mut other = newest.to_vec();
        other[0]["max_count"] = json!(7);
        assert!(reason(&other).contains("maximum count is not the configured one"));
        assert_eq!(sent.with_rows(&newest[1..]).lost, 1);
    }

    #[test]
    fn sums_are_conserved() {
        let pipe = Pipe::from_policy(Policy::Aggregation);
        let sent = sent(&pipe, Kind::Number, 30, 30);
        let window = |state: f64, start: &str, end: &str| {
            json!({
                "state": state, "aggregation_type": "Sum", "time_window_size": 60,
                "start_window_datetime": start, "end_window_datetime": end,
            })
        };
        let one = window(12.0, "2026-03-01T00:00:00Z", "2026-03-01T00:01:00Z");
        let two = window(18.0, "2026-03-01T00:01:00Z", "2026-03-01T00:02:00Z");
        assert!(sent.with_rows(&[one.clone(), two.clone()]).is_right());
        let reason = |rows: &[Value]| {
            sent.with_rows(rows)
                .wrong
                .into_keys()
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert!(reason(std::slice::from_ref(&one)).contains("lower than the sum sent"));
        assert!(reason(&[one.clone(), two.clone(), one.clone()]).contains("duplicate windows"));
        let off = window(18.0, "2026-03-01T00:01:01Z", "2026-03-01T00:02:01Z");
        assert!(reason(&[one, off]).contains("wrong start or end"));
    }

    #[test]
    fn the_newest_value_is_there() {
        let pipe = Pipe::from_policy(Policy::LastValue);
        let sent = sent(&pipe, Kind::Text, 25, 25);
        let state = |group| sent.groups.text(3, group);
        assert!(sent.with_state(Some(&state(2))).is_right());
        let reason = |state: Option<&str>| {
            sent.with_state(state)
                .wrong
                .into_keys()
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert!(reason(Some(&state(1))).contains("without the newest value"));
        assert!(reason(Some("nobody's")).contains("never sent"));
        assert!(reason(None).contains("without a value"));
    }

    #[test]
    fn moments() {
        let ms = |text: &str| moment_ms(&json!(text));
        assert_eq!(ms("1970-01-01T00:00:00.001Z"), Some(1));
        assert_eq!(ms("2024-02-29T12:00:00+00:00"), Some(1_709_208_000_000));
        assert_eq!(ms("2024-02-29 12:00:00.5"), Some(1_709_208_000_500));
        assert_eq!(ms("soon"), None);
    }
}
