//! The page's data: summary, series and manifest in one object, and what of it is new since the page last heard. The shapes are
//! those of `web/src/types.ts`. It lays nothing out and writes no HTML.

use serde::Serialize;
use serde_json::Value;

use record::{Manifest, Run};

use crate::{
    series::{self, Series},
    summarise,
    summary::Summary,
    verdict::timeline,
};

/// Everything that the page is given.
#[derive(Debug, Clone, Serialize)]
pub struct Page {
    /// Every figure.
    pub summary: Summary,
    /// The run over time.
    pub series: Series,
    /// What was run, and where.
    pub manifest: Manifest,
}

/// What a page is told that has the points up to `from` already.
#[derive(Debug, Clone, Serialize)]
pub struct Tick<'a> {
    /// Every figure.
    pub summary: &'a Summary,
    /// The series; `points`, `criteria_timeline` and the values of `server` hold only what comes from index `from` on.
    pub series: Value,
    /// The index of the first point in it.
    pub from: usize,
}

/// The page of a run.
#[must_use]
pub fn build(run: &Run) -> Page {
    let timeline = timeline::build(run);
    let summary = summarise::with(run, &timeline);
    Page {
        series: series::with(run, &summary, &timeline),
        summary,
        manifest: run.manifest.clone(),
    }
}

impl Page {
    /// So many points of this width: a page that knows fewer of the same width can be told the rest.
    #[must_use]
    pub fn extent(&self) -> (u64, usize) {
        (self.series.width_ns, self.series.points.from_ns.len())
    }
}

/// What is new from a point on.
///
/// # Errors
/// When the series cannot be written as JSON.
pub fn tick(page: &Page, from: usize) -> Result<Tick<'_>, serde_json::Error> {
    let mut series = serde_json::to_value(&page.series)?;
    for columns in ["points", "criteria_timeline"] {
        if let Some(columns) = series.get_mut(columns) {
            cut(columns, from);
        }
    }
    let panels = series.get_mut("server").and_then(Value::as_array_mut);
    for panel in panels.into_iter().flatten() {
        if let Some(values) = panel.get_mut("values") {
            cut(values, from);
        }
    }
    Ok(Tick {
        summary: &page.summary,
        series,
        from,
    })
}

/// Drops the first points of every column, however deep it lies. A list of lists is columns, not a column.
fn cut(columns: &mut Value, from: usize) {
    match columns {
        Value::Object(members) => members.values_mut().for_each(|value| cut(value, from)),
        Value::Array(items) if items.iter().any(Value::is_array) => {
            items.iter_mut().for_each(|item| cut(item, from));
        }
        Value::Array(items) => drop(items.drain(..from.min(items.len()))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_cut_wherever_they_are() {
        let mut columns = json!({
            "ok": [1, 2, 3],
            "service": {"p50": [null, 5, 6]},
            "worker_cpu": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]],
            "worker_steal": [],
        });
        cut(&mut columns, 2);
        let left = json!({
            "ok": [3],
            "service": {"p50": [6]},
            "worker_cpu": [[0.3], [0.6]],
            "worker_steal": [],
        });
        assert_eq!(columns, left);
        cut(&mut columns, 5);
        assert_eq!(columns["ok"], json!([]));
    }
}
