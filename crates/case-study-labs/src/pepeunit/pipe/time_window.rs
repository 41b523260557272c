//! The policy TimeWindow: a row for each message, visible from a flush until some time after the
//! message's window.

use std::collections::VecDeque;

use super::rules::{BrokenRule, RuleSet};

#[derive(Debug)]
pub(crate) struct TimeWindow {
    window_ms: u64,
    taken: u64,
    fresh: Vec<WindowRow>,
    pub seen: VecDeque<WindowRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WindowRow {
    pub state: String,
    pub at_ms: u64,
    pub expires_ms: u64,
}

impl TimeWindow {
    pub fn new(window_s: u32) -> TimeWindow {
        TimeWindow {
            window_ms: u64::from(window_s) * 1000,
            taken: 0,
            fresh: Vec::new(),
            seen: VecDeque::new(),
        }
    }

    pub fn take(&mut self, rules: RuleSet, state: String, at_ms: u64) {
        self.taken += 1;
        let mut rows = self.seen.iter().chain(&self.fresh);
        if rules.lacks(BrokenRule::TimeWindowEqual) && rows.any(|row| row.state == state)
            || rules.lacks(BrokenRule::TimeWindowLoss) && self.taken.is_multiple_of(100)
        {
            return;
        }
        let more = u64::from(rules.lacks(BrokenRule::TimeWindowExpiry)) * 60_000;
        let row = WindowRow {
            state,
            at_ms,
            expires_ms: at_ms + self.window_ms + more,
        };
        if rules.lacks(BrokenRule::TimeWindowTwice) {
            self.fresh.push(row.clone());
        }
        self.fresh.push(row);
    }

    pub fn flush(&mut self) {
        self.seen.extend(self.fresh.drain(..));
    }

    pub fn clean(&mut self, now_ms: u64, lazy_ms: u64) {
        while self
            .seen
            .front()
            .is_some_and(|row| row.expires_ms + lazy_ms <= now_ms)
        {
            self.seen.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rules: RuleSet) -> TimeWindow {
        let mut window = TimeWindow::new(60);
        for state in ["a", "a", "b"] {
            window.take(rules, state.to_owned(), 5);
        }
        window.flush();
        window
    }

    #[test]
    fn every_message_is_a_row_until_it_is_over() {
        let mut window = rows(RuleSet::default());
        assert_eq!(window.seen.len(), 3);
        assert_eq!(window.seen[0].expires_ms, 60_005);
        window.clean(60_104, 100);
        assert_eq!(window.seen.len(), 3);
        window.clean(60_105, 100);
        assert_eq!(window.seen.len(), 0);
    }

    #[test]
    fn it_can_be_broken() {
        assert_eq!(
            rows(RuleSet::lacking(BrokenRule::TimeWindowEqual))
                .seen
                .len(),
            2
        );
        assert_eq!(
            rows(RuleSet::lacking(BrokenRule::TimeWindowTwice))
                .seen
                .len(),
            6
        );
        assert_eq!(
            rows(RuleSet::lacking(BrokenRule::TimeWindowExpiry)).seen[0].expires_ms,
            120_005
        );
        let mut window = TimeWindow::new(60);
        for _ in 0..200 {
            window.take(
                RuleSet::lacking(BrokenRule::TimeWindowLoss),
                "a".to_owned(),
                0,
            );
        }
        window.flush();
        assert_eq!(window.seen.len(), 198);
    }
}
