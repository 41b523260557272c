//! Rules that the option `break` violates deliberately, to test verifiers.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrokenRule {
    LastValueFirst,
    NRecordsTrim,
    NRecordsNewest,
    NRecordsCount,
    TimeWindowEqual,
    TimeWindowLoss,
    TimeWindowTwice,
    TimeWindowExpiry,
    AggregationFirst,
    AggregationFunction,
    AggregationAlign,
    FilterList,
    FilterType,
    FilterThreshold,
    FilterSize,
    TransformRatio,
    TransformSlice,
}

pub(crate) const NAMES: &[(&str, BrokenRule)] = &[
    ("last-value-newest", BrokenRule::LastValueFirst),
    ("n-records-trim", BrokenRule::NRecordsTrim),
    ("n-records-newest", BrokenRule::NRecordsNewest),
    ("n-records-count", BrokenRule::NRecordsCount),
    ("time-window-every", BrokenRule::TimeWindowEqual),
    ("time-window-loss", BrokenRule::TimeWindowLoss),
    ("time-window-once", BrokenRule::TimeWindowTwice),
    ("time-window-expiration", BrokenRule::TimeWindowExpiry),
    ("aggregation-every", BrokenRule::AggregationFirst),
    ("aggregation-function", BrokenRule::AggregationFunction),
    ("aggregation-align", BrokenRule::AggregationAlign),
    ("filter-list", BrokenRule::FilterList),
    ("filter-type", BrokenRule::FilterType),
    ("filter-threshold", BrokenRule::FilterThreshold),
    ("filter-size", BrokenRule::FilterSize),
    ("transform-ratio", BrokenRule::TransformRatio),
    ("transform-slice", BrokenRule::TransformSlice),
];

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RuleSet(Option<BrokenRule>);

impl RuleSet {
    pub fn without(name: &str) -> Result<RuleSet, String> {
        let known = NAMES.iter().find(|(known, _)| *known == name);
        let names = || NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        match known {
            Some((_, broken)) => Ok(RuleSet(Some(*broken))),
            None => Err(format!("the rules are {}", names().join(", "))),
        }
    }

    pub fn lacks(self, which: BrokenRule) -> bool {
        self.0 == Some(which)
    }

    #[cfg(test)]
    pub fn lacking(which: BrokenRule) -> RuleSet {
        RuleSet(Some(which))
    }
}
