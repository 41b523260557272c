//! Tables of percentiles for each label.

use measure::{LabelId, label::Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Row;
use crate::figures::{Figure, Sampled};
use record::Run;

pub const SHARES: [f64; 11] = [
    0.5, 0.66, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999, 1.0,
];

/// The percentiles of a label's headline time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileRow {
    pub id: LabelId,
    /// Measured time: `response`, `iteration` or `service`.
    pub time: String,
    /// One figure for each of the quantiles 0.5, 0.66, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999,
    /// 0.9999, 1.
    pub figures: Vec<Figure>,
}

pub(super) fn rows<'a>(run: &Run, rows: impl Iterator<Item = &'a Row>) -> Vec<PercentileRow> {
    let more = |row: &Row| {
        let kind = match row.group.role() {
            Role::Iteration => measure::TimeKind::Iteration,
            _ if row.response.is_some() => measure::TimeKind::Response,
            _ => measure::TimeKind::Service,
        };
        let sampled = Sampled::from_totals(&run.totals.label(row.id), kind);
        let figures = SHARES.iter().map(|share| sampled.given_quantile(*share));
        Some(PercentileRow {
            id: row.id,
            time: kind.name().to_owned(),
            figures: figures.collect::<Option<Vec<Figure>>>()?,
        })
    };
    rows.filter_map(more).collect()
}
