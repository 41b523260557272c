//! Rules of the pipe that can be broken on purpose, so that whoever verifies a pipe can be shown to notice. Each rule is followed unless
//! the option `break` names it.

/// What is done wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
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
pub(crate) const NAMES: &[(&str, Broken)] = &[
    ("last-value-newest", Broken::LastValueFirst),
    ("n-records-trim", Broken::NRecordsTrim),
    ("n-records-newest", Broken::NRecordsNewest),
    ("n-records-count", Broken::NRecordsCount),
    ("time-window-every", Broken::TimeWindowEqual),
    ("time-window-loss", Broken::TimeWindowLoss),
    ("time-window-once", Broken::TimeWindowTwice),
    ("time-window-expiration", Broken::TimeWindowExpiry),
    ("aggregation-every", Broken::AggregationFirst),
    ("aggregation-function", Broken::AggregationFunction),
    ("aggregation-align", Broken::AggregationAlign),
    ("filter-list", Broken::FilterList),
    ("filter-type", Broken::FilterType),
    ("filter-threshold", Broken::FilterThreshold),
    ("filter-size", Broken::FilterSize),
    ("transform-ratio", Broken::TransformRatio),
    ("transform-slice", Broken::TransformSlice),
];

/// Which rule is broken, if one is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules(Option<Broken>);

impl Rules {
    /// The one of a name is broken.
    pub fn without(name: &str) -> Result<Rules, String> {
        let known = NAMES.iter().find(|(known, _)| *known == name);
        let names = || NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        match known {
            Some((_, broken)) => Ok(Rules(Some(*broken))),
            None => Err(format!("the rules are {}", names().join(", "))),
        }
    }

    /// Whether it is this one that is broken.
    pub fn lacks(self, which: Broken) -> bool {
        self.0 == Some(which)
    }

    #[cfg(test)]
    pub fn lacking(which: Broken) -> Rules {
        Rules(Some(which))
    }
}
