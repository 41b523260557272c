//! The data of the report page. `web/src/types.ts` mirrors these types.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use record::{Manifest, Run};

use crate::{
    series::{self, Series},
    summarise,
    summary::Summary,
    verdict::timeline,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    pub summary: Summary,
    pub series: Series,
    pub manifest: Manifest,
}

/// Changes for a page that already has the points before `from`.
#[derive(Debug, Clone, Serialize)]
pub struct Tick<'a> {
    pub summary: &'a Summary,
    /// Series in which `points`, `criteria_timeline` and the columns of `server` and `custom` start
    /// at point `from`.
    pub series: Value,
    pub from: usize,
}

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
    /// Returns the width and number of the points, which decide whether a page can be updated.
    #[must_use]
    pub fn extent(&self) -> (u64, usize) {
        (self.series.width_ns, self.series.points.from_ns.len())
    }
}

pub fn tick(page: &Page, from: usize) -> Result<Tick<'_>, serde_json::Error> {
    let mut series = serde_json::to_value(&page.series)?;
    for columns in ["points", "criteria_timeline"] {
        if let Some(columns) = series.get_mut(columns) {
            cut(columns, from);
        }
    }
    for list in ["server", "custom"] {
        let items = series.get_mut(list).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            cut(item, from);
        }
    }
    Ok(Tick {
        summary: &page.summary,
        series,
        from,
    })
}

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
