//! The policy LastValue: the newest value that was flushed.

use super::rules::{BrokenRule, RuleSet};

#[derive(Debug, Default)]
pub(crate) struct LastValue {
    fresh: Option<(String, u64)>,
    pub seen: Option<(String, u64)>,
}

impl LastValue {
    pub fn take(&mut self, rules: RuleSet, state: String, now_ms: u64) {
        let is_first = self.fresh.is_none() && self.seen.is_none();
        if is_first || !rules.lacks(BrokenRule::LastValueFirst) {
            self.fresh = Some((state, now_ms));
        }
    }

    pub fn flush(&mut self) {
        if let Some(fresh) = self.fresh.take() {
            self.seen = Some(fresh);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_seen_when_it_is_flushed() {
        let mut last = LastValue::default();
        for (n, state) in ["a", "b"].into_iter().enumerate() {
            last.take(RuleSet::default(), state.to_owned(), n as u64);
        }
        assert_eq!(last.seen, None);
        last.flush();
        assert_eq!(last.seen, Some(("b".to_owned(), 1)));
        last.flush();
        assert!(last.seen.is_some());
    }

    #[test]
    fn it_can_be_broken() {
        let mut last = LastValue::default();
        for state in ["a", "b"] {
            last.take(
                RuleSet::lacking(BrokenRule::LastValueFirst),
                state.to_owned(),
                0,
            );
        }
        last.flush();
        assert_eq!(last.seen.unwrap().0, "a");
    }
}
