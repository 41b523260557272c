//! Classifies the columns of an external metrics file as metrics or as text that names a group.

use super::{
    quantity::quantity,
    table::{MetricColumn, cell, is_nothing, wrong},
};
use crate::import::csv::CsvRecord;

/// Headings of text columns that contain the name of the metric instead of an instance.
const NAMES: [&str; 3] = ["series", "metric", "name"];
const VALUE: &str = "value";

pub(super) struct Layout {
    pub metrics: Vec<ExternalMetric>,
    /// Indexes of the text columns.
    texts: Vec<usize>,
    /// Whether the text columns contain the name of the metric.
    is_named_by_texts: bool,
}

pub(super) struct ExternalMetric {
    pub column: usize,
    name: String,
    instance: Option<String>,
}

impl Layout {
    /// Determines the names, preferably from a header with labels.
    pub fn new(heads: &[CsvRecord], data: &[CsvRecord], time: usize) -> Result<Layout, String> {
        let labels = heads
            .iter()
            .find(|head| cell(head, 0).is_some_and(|text| text.eq_ignore_ascii_case("label")));
        let head = labels.or(heads.last());
        let head = head.ok_or(
            ":1:1: the first line is data: add a header line with the metric names, time,NAME,NAME",
        )?;
        let widest = data.iter().map(CsvRecord::len).max().unwrap_or(0).max(2);
        let others: Vec<usize> = (0..widest).filter(|column| *column != time).collect();
        let mut texts: Vec<usize> = others.clone();
        texts.retain(|column| is_text(data, *column));
        if texts.len() == others.len() {
            texts.clear();
        }
        let mut metrics: Vec<ExternalMetric> = Vec::new();
        for column in others.into_iter().filter(|column| !texts.contains(column)) {
            let name = cell(head, column).unwrap_or_default();
            if name.is_empty() {
                return Err(format!(
                    ":{}:1: column {} has no name",
                    head.place().line,
                    column + 1
                ));
            }
            let (name, instance) = split(name);
            let is_known =
                |known: &ExternalMetric| known.name == name && known.instance == instance;
            if metrics.iter().any(is_known) {
                return Err(wrong(head, column, "is the name of two columns"));
            }
            metrics.push(ExternalMetric {
                column,
                name,
                instance,
            });
        }
        let is_value = matches!(metrics.as_slice(), [one] if one.name.eq_ignore_ascii_case(VALUE));
        let is_name = |column: &usize| {
            cell(head, *column)
                .is_some_and(|head| NAMES.iter().any(|name| head.eq_ignore_ascii_case(name)))
        };
        Ok(Layout {
            is_named_by_texts: is_value && texts.len() == 1 && texts.iter().all(is_name),
            metrics,
            texts,
        })
    }

    /// Returns the index of the samples to which a row belongs. Adds a new entry if needed.
    pub fn place(
        &self,
        columns: &mut Vec<MetricColumn>,
        metric: &ExternalMetric,
        record: &CsvRecord,
    ) -> usize {
        let texts = self.texts.iter().filter_map(|column| cell(record, *column));
        let texts = texts
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(",");
        let (name, instance) = match (texts.is_empty(), self.is_named_by_texts) {
            (true, _) => (metric.name.clone(), metric.instance.clone()),
            (false, true) => split(&texts),
            (false, false) => (metric.name.clone(), Some(texts)),
        };
        let is_known = |known: &MetricColumn| known.name == name && known.instance == instance;
        columns.iter().position(is_known).unwrap_or_else(|| {
            columns.push(MetricColumn {
                name,
                instance,
                unit: String::new(),
                samples: Vec::new(),
            });
            columns.len() - 1
        })
    }
}

fn is_text(data: &[CsvRecord], column: usize) -> bool {
    let cells = data.iter().filter_map(|record| cell(record, column));
    let mut cells = cells.filter(|text| !is_nothing(text)).peekable();
    cells.peek().is_some()
        && cells
            .all(|text| !text.starts_with(|c: char| c.is_ascii_digit()) && quantity(text).is_none())
}

/// Splits a name such as `cpu{instance="a", job="x"}` into `cpu` and `instance=a,job=x`.
fn split(name: &str) -> (String, Option<String>) {
    let labels = name.strip_suffix('}').and_then(|name| name.split_once('{'));
    match labels.filter(|(_, labels)| labels.contains('=')) {
        Some((name, labels)) => {
            let labels = labels.split(',').map(|label| label.trim().replace('"', ""));
            let labels: Vec<String> = labels.collect();
            let name = if name.is_empty() { VALUE } else { name };
            (name.to_owned(), Some(labels.join(",")))
        }
        None => (name.to_owned(), None),
    }
}
