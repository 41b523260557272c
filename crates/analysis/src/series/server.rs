//! Server metrics point by point. Gaps are not filled.

use std::borrow::Cow;

use measure::TimeSpan;
use plan::criteria::{Metric, parse_criterion};
use serde::{Deserialize, Serialize};

use record::{Run, server, units};

use super::columns::FigureColumn;
use crate::{moments::Moment, verdict};

const KNOWN: f64 = 0.5;
const MOSTLY: f64 = 0.8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    pub name: String,
    pub instance: Option<String>,
    pub unit: String,
    pub limit: Option<f64>,
    pub values: FigureColumn,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constant {
    pub name: String,
    /// Value with its unit. If instances differ, the distinct values in ascending order.
    pub text: String,
}

pub fn constants(panels: &[Panel]) -> Vec<Constant> {
    let mut found: Vec<Constant> = Vec::new();
    for panel in panels {
        if found.last().is_some_and(|one| one.name == panel.name) {
            continue;
        }
        let lines = || panels.iter().filter(|other| other.name == panel.name);
        if lines().any(|line| line.limit.is_some())
            || found.iter().any(|one| one.name == panel.name)
        {
            continue;
        }
        let values = lines().map(|line| line.values.iter().copied());
        found.extend(constant(&panel.name, &panel.unit, values));
    }
    found
}

#[must_use]
pub fn constant(
    name: &str,
    unit: &str,
    lines: impl Iterator<Item = impl Iterator<Item = Option<f64>>>,
) -> Option<Constant> {
    let mut values = lines.map(steady).collect::<Option<Vec<f64>>>()?;
    values.sort_by(f64::total_cmp);
    values.dedup_by(|one, other| is_same(*one, *other));
    let reported: Vec<String> = values.iter().map(|one| units::figure(*one, unit)).collect();
    (!reported.is_empty()).then(|| Constant {
        name: name.to_owned(),
        text: reported.join(" or "),
    })
}

fn steady(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (mut all, mut known, mut first) = (0_u32, 0_u32, None);
    for value in values {
        all += 1;
        let Some(value) = value else { continue };
        known += 1;
        if !is_same(*first.get_or_insert(value), value) {
            return None;
        }
    }
    first.filter(|_| known > 1 && f64::from(known) >= MOSTLY * f64::from(all))
}

fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

/// Returns the panels of all metrics. Keeps empty panels, because live pages refer to panels by
/// index.
pub fn panels(run: &Run, moments: &[Cow<Moment>]) -> Vec<Panel> {
    let all = run.server.series.iter();
    all.map(|series| Panel {
        name: series.name(),
        instance: series.of.instance.clone(),
        unit: series.unit(),
        limit: limit(run, series),
        values: moments.iter().map(|moment| value(series, moment)).collect(),
    })
    .collect()
}

fn value(series: &server::MetricSeries, moment: &Moment) -> Option<f64> {
    let TimeSpan {
        from_ns: from,
        to_ns: to,
    } = moment.span;
    let (mean, known_ns) = series.mean(from, to)?;
    (known_ns as f64 >= KNOWN * (to - from) as f64).then_some(mean)
}

fn limit(run: &Run, series: &server::MetricSeries) -> Option<f64> {
    run.manifest.criteria.iter().find_map(|text| {
        let criterion = parse_criterion(text).ok()?;
        let Metric::Server(name, _) = &criterion.metric else {
            return None;
        };
        let bounds = verdict::server_bounds(run, name, &criterion);
        let own = bounds.iter().find(|(of, _)| std::ptr::eq(*of, series));
        own.map(|(_, bound)| *bound)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(name: &str, of: Option<&str>, values: &[Option<f64>]) -> Panel {
        Panel {
            name: name.into(),
            instance: of.map(Into::into),
            unit: "".into(),
            limit: None,
            values: values.to_vec(),
        }
    }

    #[test]
    fn constant_metrics_become_one_text() {
        let five = [Some(5.0); 6];
        let panels = [
            panel("threads", Some("a"), &five),
            panel("threads", Some("b"), &[Some(8.0), Some(8.0), Some(8.0)]),
            panel("busy", None, &[Some(5.0), Some(5.0), Some(6.0)]),
            panel("part", Some("a"), &five),
            panel("part", Some("b"), &[Some(1.0), Some(2.0)]),
            panel("gone", None, &[Some(1.0), Some(1.0), None]),
            panel("once", None, &[Some(1.0)]),
            panel("never", None, &[None, None]),
            panel("mean", None, &[Some(0.3), Some(0.1 + 0.2)]),
            Panel {
                limit: Some(9.0),
                ..panel("judged", None, &five)
            },
        ];
        let reported = constants(&panels);
        let reported: Vec<(&str, &str)> = reported
            .iter()
            .map(|one| (one.name.as_str(), one.text.as_str()))
            .collect();
        assert_eq!(reported, [("threads", "5 or 8"), ("mean", "0.3")]);
    }
}
