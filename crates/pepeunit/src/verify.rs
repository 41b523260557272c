//! Compares stored rows with the messages sent, by groups of equal messages. This module performs
//! no I/O.

mod policies;
mod rows;

use std::collections::BTreeMap;

use mqtt_driver::Sums;
use plan::mqtt::Groups;
use serde::Serialize;
use serde_json::Value;

use crate::pipes::{Pipe, Policy, same};
use rows::moment_ms;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipes::RECORDS;
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
}
