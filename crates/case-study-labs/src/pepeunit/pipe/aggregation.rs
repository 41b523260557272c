//! The policy Aggregation: one number for each node and window. Windows are aligned to UTC and
//! become visible after they have ended.

use super::{
    config::AggregateFunction,
    rules::{BrokenRule, RuleSet},
};

#[derive(Debug)]
pub(crate) struct Aggregation {
    window_ms: u64,
    function: AggregateFunction,
    open: Option<OpenWindow>,
    fresh: Vec<ClosedWindow>,
    pub seen: Vec<ClosedWindow>,
}

#[derive(Debug)]
struct OpenWindow {
    start_ms: u64,
    count: u64,
    sum: f64,
    least: f64,
    most: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClosedWindow {
    pub state: f64,
    pub start_ms: u64,
    pub end_ms: u64,
}

impl Aggregation {
    pub fn new(window_s: u32, function: AggregateFunction) -> Aggregation {
        Aggregation {
            window_ms: u64::from(window_s) * 1000,
            function,
            open: None,
            fresh: Vec::new(),
            seen: Vec::new(),
        }
    }

    pub fn function(&self, rules: RuleSet) -> AggregateFunction {
        match self.function {
            of if !rules.lacks(BrokenRule::AggregationFunction) => of,
            AggregateFunction::Sum => AggregateFunction::Avg,
            _ => AggregateFunction::Sum,
        }
    }

    pub fn window_s(&self) -> u64 {
        self.window_ms / 1000
    }

    pub fn take(&mut self, rules: RuleSet, number: f64, now_ms: u64) {
        self.close(rules, now_ms);
        let start_ms = now_ms - now_ms % self.window_ms;
        let open = self.open.get_or_insert(OpenWindow {
            start_ms,
            count: 0,
            sum: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
        });
        open.count += 1;
        if open.count == 1 && rules.lacks(BrokenRule::AggregationFirst) {
            return;
        }
        open.sum += number;
        open.least = open.least.min(number);
        open.most = open.most.max(number);
    }

    pub fn close(&mut self, rules: RuleSet, now_ms: u64) {
        let window_ms = self.window_ms;
        let is_over = |open: &mut OpenWindow| now_ms >= open.start_ms + window_ms;
        let Some(open) = self.open.take_if(is_over) else {
            return;
        };
        let state = match self.function(rules) {
            AggregateFunction::Avg => open.sum / open.count as f64,
            AggregateFunction::Min => open.least,
            AggregateFunction::Max => open.most,
            AggregateFunction::Sum => open.sum,
        };
        let off = u64::from(rules.lacks(BrokenRule::AggregationAlign)) * 1000;
        self.fresh.push(ClosedWindow {
            state,
            start_ms: open.start_ms + off,
            end_ms: open.start_ms + off + window_ms,
        });
    }

    pub fn flush(&mut self) {
        self.seen.append(&mut self.fresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed_windows(function: AggregateFunction, rules: RuleSet) -> Vec<ClosedWindow> {
        let mut all = Aggregation::new(60, function);
        for (number, at_ms) in [(1.0, 60_000), (2.0, 61_000), (6.0, 119_999), (4.0, 120_000)] {
            all.take(rules, number, at_ms);
        }
        all.close(rules, 179_999);
        all.flush();
        assert_eq!(all.seen.len(), 1, "the second is not over");
        all.close(rules, 180_000);
        all.flush();
        all.seen
    }

    #[test]
    fn windows_are_computed_when_they_are_over() {
        for (function, first) in [
            (AggregateFunction::Avg, 3.0),
            (AggregateFunction::Min, 1.0),
            (AggregateFunction::Max, 6.0),
            (AggregateFunction::Sum, 9.0),
        ] {
            let seen = closed_windows(function, RuleSet::default());
            assert_eq!((seen[0].state, seen[1].state), (first, 4.0), "{function:?}");
            assert_eq!((seen[0].start_ms, seen[0].end_ms), (60_000, 120_000));
        }
    }

    #[test]
    fn it_can_be_broken() {
        let sum = |which| closed_windows(AggregateFunction::Sum, RuleSet::lacking(which));
        assert_eq!(sum(BrokenRule::AggregationFirst)[0].state, 8.0);
        assert_eq!(sum(BrokenRule::AggregationFunction)[0].state, 3.0);
        assert_eq!(sum(BrokenRule::AggregationAlign)[0].start_ms, 61_000);
    }
}
