//! Changes of server metrics, compared with the first stage on the same service.

use serde::Serialize;

use super::{ServerFigures, StageRow};

/// The change of a metric's mean compared with an earlier stage, over the instances that both
/// stages measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerChange {
    pub name: String,
    pub unit: String,
    /// Name of the earlier stage.
    pub against: String,
    /// Mean of the changes of all instances.
    pub mean: f64,
    /// Lowest change of an instance.
    pub min: f64,
    /// Highest change of an instance.
    pub max: f64,
    /// Number of instances that both stages measured.
    pub instances: usize,
}

/// Adds the changes to each stage that has an earlier stage on the same service. Omits metrics that
/// had the same constant value in both stages.
pub(super) fn add(rows: &mut [StageRow]) {
    for number in 1..rows.len() {
        let is_first = |row: &&StageRow| {
            row.target == rows[number].target && row.report.is_some() && !row.server.is_empty()
        };
        let Some(first) = rows[..number].iter().find(is_first) else {
            continue;
        };
        rows[number].server_changes = changes(first, &rows[number].server);
    }
}

fn changes(first: &StageRow, later: &[ServerFigures]) -> Vec<ServerChange> {
    let mut names: Vec<&str> = Vec::new();
    for row in later {
        if !names.contains(&row.metric.name.as_str()) {
            names.push(&row.metric.name);
        }
    }
    let changes = names.into_iter().filter_map(|name| {
        let pairs = later.iter().filter(|row| row.metric.name == name);
        let pairs = pairs.filter_map(|after| {
            let is_same = |before: &&ServerFigures| {
                before.metric.name == name && before.metric.instance == after.metric.instance
            };
            Some((first.server.iter().find(is_same)?, after))
        });
        let pairs: Vec<_> = pairs.collect();
        let differences = pairs
            .iter()
            .map(|(before, after)| after.metric.mean - before.metric.mean);
        let differences: Vec<f64> = differences.collect();
        let is_constant = pairs
            .iter()
            .all(|(before, after)| before.is_constant() && after.is_constant());
        if is_constant && differences.iter().all(|change| *change == 0.0) {
            return None;
        }
        Some(ServerChange {
            name: name.to_owned(),
            unit: pairs.first()?.1.metric.unit.clone(),
            against: first.name.clone(),
            mean: differences.iter().sum::<f64>() / differences.len() as f64,
            min: differences.iter().copied().fold(f64::INFINITY, f64::min),
            max: differences
                .iter()
                .copied()
                .fold(f64::NEG_INFINITY, f64::max),
            instances: differences.len(),
        })
    });
    changes.collect()
}
