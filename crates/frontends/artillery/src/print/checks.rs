//! Output of the plugins `ensure` and `apdex`, computed from Artillery's figures.

use std::collections::BTreeMap;

use measure::ScriptThreshold;
use query::filtrex;

use crate::plugins::{Ensure, Plugins};

use super::{
    metrics::{Metric, Metrics, statistics},
    number,
};

pub struct CheckReport {
    pub text: String,
    pub checks: Vec<ScriptThreshold>,
    pub unexpected: bool,
}

impl CheckReport {
    pub fn is_failed(&self) -> bool {
        let mut deciding = self.checks.iter().filter(|check| !check.is_optional);
        deciding.any(|check| !check.is_met)
    }
}

pub(super) fn evaluate(plugins: &Plugins, metrics: &Metrics<'_>) -> CheckReport {
    let mut figures = figures(metrics);
    // Conditions may use the Apdex score, which is not a metric.
    if let Some(score) = apdex_score(&figures).filter(|_| plugins.apdex_ms.is_some()) {
        figures.insert("apdex".to_owned(), score);
    }
    let checks = plugins
        .ensure
        .as_ref()
        .map(|ensure| judged(ensure, &figures))
        .unwrap_or_default();
    let mut text = String::new();
    if !checks.is_empty() {
        text.push_str("\nChecks:\n");
        // As in the original, passed checks come first.
        for check in checks
            .iter()
            .filter(|check| check.is_met)
            .chain(checks.iter().filter(|check| !check.is_met))
        {
            let word = if check.is_met { "ok" } else { "fail" };
            let optional = if check.is_optional && !check.is_met {
                " (optional)"
            } else {
                ""
            };
            text.push_str(&format!("{word}: {}{optional}\n", check.text));
        }
    }
    if plugins.apdex_ms.is_some() {
        text.push_str(&apdex(&figures));
    }
    CheckReport {
        text,
        checks,
        unexpected: figures.contains_key("plugins.expect.failed"),
    }
}

type MetricFigures = BTreeMap<String, f64>;

fn figures(metrics: &Metrics<'_>) -> MetricFigures {
    let mut figures = MetricFigures::new();
    for (name, metric) in metrics.sorted() {
        match metric {
            Metric::Counter(n) | Metric::Rate(n) => {
                figures.insert(name.to_owned(), n as f64);
            }
            Metric::Summary(sketch) => {
                figures
                    .extend(statistics(sketch).map(|(of, value)| (format!("{name}.{of}"), value)));
            }
        }
    }
    figures
}

fn judged(ensure: &Ensure, figures: &MetricFigures) -> Vec<ScriptThreshold> {
    let strict = |text: String, measured: Option<f64>, is_met: bool| ScriptThreshold {
        text,
        measured: measured.map(number::decimal),
        has_samples: true,
        is_met,
        is_optional: false,
    };
    let below = |text: String, name: &str, bound: f64| {
        let value = figures.get(name).copied();
        strict(text, value, value.is_some_and(|value| value < bound))
    };
    let mut checks = Vec::new();
    for (of, bound) in &ensure.response_time {
        let text = format!("{of} < {}", number::decimal(*bound));
        checks.push(below(text, &format!("http.response_time.{of}"), *bound));
    }
    if let Some(most) = ensure.max_error_rate {
        let count = |name: &str| figures.get(name).copied().unwrap_or(0.0);
        let created = count("vusers.created");
        let rate = (created - count("vusers.completed")) / created * 100.0;
        // As in the original, the check is printed as `<` but evaluated as `<=`.
        checks.push(strict(
            format!("maxErrorRate < {}", number::decimal(most)),
            Some(rate),
            rate <= most,
        ));
    }
    for condition in &ensure.conditions {
        let resolve = |text: &str| {
            let fitting = figures
                .iter()
                .filter(|(name, _)| text.starts_with(name.as_str()));
            fitting
                .max_by_key(|(name, _)| name.len())
                .map(|(name, value)| (name.len(), *value))
        };
        let is_met = filtrex::holds(&condition.expression, &resolve).unwrap_or(false);
        checks.push(ScriptThreshold {
            text: condition.expression.clone(),
            measured: None,
            has_samples: true,
            is_met,
            is_optional: !condition.strict,
        });
    }
    for (name, bound) in &ensure.thresholds {
        let text = format!("{name} < {}", number::decimal(*bound));
        checks.push(below(text, name, *bound));
    }
    checks
}

fn apdex_score(figures: &MetricFigures) -> Option<f64> {
    let count = |name: &str| figures.get(name).copied().unwrap_or(0.0);
    let (satisfied, tolerated, frustrated) = (
        count("apdex.satisfied"),
        count("apdex.tolerated"),
        count("apdex.frustrated"),
    );
    let all = satisfied + tolerated + frustrated;
    (all > 0.0).then(|| (satisfied + tolerated / 2.0) / all)
}

fn apdex(figures: &MetricFigures) -> String {
    let Some(score) = apdex_score(figures) else {
        return String::new();
    };
    let rank = match score {
        s if s >= 0.94 => "excellent",
        s if s >= 0.85 => "good",
        s if s >= 0.7 => "fair",
        s if s >= 0.49 => "poor",
        _ => "unacceptable",
    };
    format!("\nApdex score: {} ({rank})\n", number::decimal(score))
}
