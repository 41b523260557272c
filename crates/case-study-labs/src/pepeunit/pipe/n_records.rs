//! The policy NRecords: keeps the newest records that were flushed. The next cleaning removes
//! records in excess of N.

use std::collections::VecDeque;

use super::rules::{BrokenRule, RuleSet};

#[derive(Debug)]
pub(crate) struct NRecords {
    most: usize,
    fresh: Vec<Record>,
    pub seen: VecDeque<Record>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub state: String,
    pub at_ms: u64,
}

impl NRecords {
    pub fn new(most: u32) -> NRecords {
        NRecords {
            most: most as usize,
            fresh: Vec::new(),
            seen: VecDeque::new(),
        }
    }

    pub fn most(&self, rules: RuleSet) -> usize {
        if rules.lacks(BrokenRule::NRecordsCount) {
            return self.most + 1;
        }
        self.most
    }

    pub fn take(&mut self, state: String, at_ms: u64) {
        self.fresh.push(Record { state, at_ms });
    }

    pub fn flush(&mut self) {
        self.seen.extend(self.fresh.drain(..));
    }

    pub fn clean(&mut self, rules: RuleSet) {
        if rules.lacks(BrokenRule::NRecordsTrim) {
            return;
        }
        if rules.lacks(BrokenRule::NRecordsNewest) {
            self.seen.truncate(self.most);
        }
        let surplus = self.seen.len().saturating_sub(self.most);
        self.seen.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(rules: RuleSet) -> Vec<String> {
        let mut records = NRecords::new(2);
        for state in ["a", "b", "c"] {
            records.take(state.to_owned(), 0);
        }
        assert!(records.seen.is_empty());
        records.flush();
        assert_eq!(records.seen.len(), 3, "until the next cleaning");
        records.clean(rules);
        records
            .seen
            .into_iter()
            .map(|record| record.state)
            .collect()
    }

    #[test]
    fn the_newest_stay() {
        assert_eq!(three(RuleSet::default()), ["b", "c"]);
    }

    #[test]
    fn it_can_be_broken() {
        assert_eq!(
            three(RuleSet::lacking(BrokenRule::NRecordsNewest)),
            ["a", "b"]
        );
        assert_eq!(three(RuleSet::lacking(BrokenRule::NRecordsTrim)).len(), 3);
        assert_eq!(
            NRecords::new(2).most(RuleSet::lacking(BrokenRule::NRecordsCount)),
            3
        );
    }
}
