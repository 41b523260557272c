//! Rules of the pipe that can be broken on purpose, so that whoever verifies a pipe can be shown to notice. Each rule is followed unless
//! the option `break` names it.

/// What is done wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrokenRule {
    /// LastValue keeps the first value.
    LastValueFirst,
    /// NRecords is never trimmed.
    NRecordsTrim,
    /// NRecords keeps the oldest.
    NRecordsNewest,
    /// NRecords forgets what the configured number was.
    NRecordsCount,
    /// TimeWindow keeps equal values once.
    TimeWindowEqual,
    /// TimeWindow keeps every message but each hundredth.
    TimeWindowLoss,
    /// TimeWindow keeps every message twice.
    TimeWindowTwice,
    /// Rows of TimeWindow expire at another time than the configured one.
    TimeWindowExpiry,
    /// Aggregation leaves each window's first message out.
    AggregationFirst,
    /// Aggregation computes another function.
    AggregationFunction,
    /// Windows do not begin where they should.
    AggregationAlign,
    /// White and black lists are not looked at.
    FilterList,
    /// What is no number passes where numbers are wanted.
    FilterType,
    /// Thresholds are not looked at.
    FilterThreshold,
    /// The size is not looked at.
    FilterSize,
    /// Numbers are not multiplied.
    TransformRatio,
    /// Texts are not cut.
    TransformSlice,
}

/// Their names.
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

/// Which rule is broken, if one is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RuleSet(Option<BrokenRule>);

impl RuleSet {
    /// The one of a name is broken.
    pub fn without(name: &str) -> Result<RuleSet, String> {
        let known = NAMES.iter().find(|(known, _)| *known == name);
        let names = || NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        match known {
            Some((_, broken)) => Ok(RuleSet(Some(*broken))),
            None => Err(format!("the rules are {}", names().join(", "))),
        }
    }

    /// Whether it is this one that is broken.
    pub fn lacks(self, which: BrokenRule) -> bool {
        self.0 == Some(which)
    }

    #[cfg(test)]
    pub fn lacking(which: BrokenRule) -> RuleSet {
        RuleSet(Some(which))
    }
}
