//! Heat map of latency over time, with ten rows for each factor of ten.

use std::{borrow::Cow, collections::BTreeMap};

use measure::TimeKind;
use serde::{Deserialize, Serialize};

use super::shape::Grid;
use crate::moments::Moment;

/// Maximum number of columns. With more, a column would be narrower than a pixel on paper.
const COLUMNS: usize = 240;
const GRID: Grid = Grid(10.0);

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    pub time: String,
    pub every: usize,
    pub bounds_ns: Vec<u64>,
    /// Pairs of row and count for each column, as a flat list. Rows with count 0 are omitted.
    pub columns: Vec<Vec<u64>>,
}

pub fn build(moments: &[Cow<Moment>], time: TimeKind) -> Heat {
    let every = moments.len().div_ceil(COLUMNS).max(1);
    let column = |moments: &[Cow<Moment>]| {
        let mut rows = BTreeMap::new();
        for moment in moments {
            GRID.count(moment.part(time), time, &mut rows);
        }
        rows
    };
    let columns: Vec<_> = moments.chunks(every).map(column).collect();
    let used = || columns.iter().flat_map(BTreeMap::keys).copied();
    let (Some(least), Some(most)) = (used().min(), used().max()) else {
        return Heat {
            time: time.name().to_owned(),
            every,
            ..Heat::default()
        };
    };
    let flat = |rows: &BTreeMap<i32, u64>| {
        let pairs = rows.iter().map(|(row, n)| [(row - least) as u64, *n]);
        pairs.flatten().collect()
    };
    Heat {
        time: time.name().to_owned(),
        every,
        bounds_ns: (least..=most + 1).map(|row| GRID.bound_ns(row)).collect(),
        columns: columns.iter().map(flat).collect(),
    }
}
