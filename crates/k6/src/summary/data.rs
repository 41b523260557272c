//! Summaries as JSON: for `handleSummary`, for `--summary-export`, and in the newer form.

use md5::{Digest, Md5};
use serde_json::{Map, Value, json};

use super::{
    Summary,
    number::{TimeUnit, json_value},
    tree::Group,
    view::{Figure, MetricView},
};
use crate::{
    aggregate::{Check, series::per_second},
    metric::{Contains, MetricType},
};

/// Facts about the run that a script receives in `handleSummary`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SummaryState {
    /// Whether standard output is a terminal.
    pub is_stdout_tty: bool,
    /// Whether standard error is a terminal.
    pub is_stderr_tty: bool,
    /// Whether the user disabled colours.
    pub no_color: bool,
}

/// Facts about the run in the newer form of the export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineInfo {
    /// Time of the summary, in RFC 3339.
    pub generated_at: String,
    /// Script as typed.
    pub script: String,
}

fn id_of(path: &str) -> String {
    let digest = Md5::digest(path.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn contains_name(contains: Contains) -> &'static str {
    match contains {
        Contains::Default => "default",
        Contains::Time => "time",
        Contains::Data => "data",
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Auto => "",
        TimeUnit::Seconds => "s",
        TimeUnit::Milliseconds => "ms",
        TimeUnit::Microseconds => "us",
    }
}

fn check_json(group_path: &str, check: &Check) -> Value {
    let path = format!("{group_path}::{}", check.name);
    json!({
        "name": check.name,
        "path": path,
        "id": id_of(&path),
        "passes": check.passes,
        "fails": check.fails,
    })
}

fn group_json(group: &Group<'_>) -> Value {
    let checks = group.checks();
    let groups = visible_groups(group).map(group_json);
    json!({
        "name": group.name,
        "path": group.path,
        "id": id_of(&group.path),
        "groups": groups.collect::<Vec<_>>(),
        "checks": checks.iter().map(|check| check_json(&group.path, check)).collect::<Vec<_>>(),
    })
}

/// Returns the JSON of a group, with nested groups and checks by name.
fn group_json_by_name(group: &Group<'_>) -> Value {
    let checks = group.checks();
    let checks = checks.iter();
    let groups = visible_groups(group).map(|own| (own.name.clone(), group_json_by_name(own)));
    json!({
        "name": group.name,
        "path": group.path,
        "id": id_of(&group.path),
        "groups": groups.collect::<Map<_, _>>(),
        "checks": checks
            .map(|check| (check.name.clone(), check_json(&group.path, check)))
            .collect::<Map<_, _>>(),
    })
}

/// Omits `setup` and `teardown` unless they have checks.
fn visible_groups<'a, 'b>(group: &'a Group<'b>) -> impl Iterator<Item = &'a Group<'b>> {
    group.groups.iter().filter(|own| {
        let is_stage = matches!(own.path.as_str(), "::setup" | "::teardown");
        !is_stage || !own.checks().is_empty() || !own.groups.is_empty()
    })
}

fn values_json(figures: &[Figure]) -> Map<String, Value> {
    let pairs = figures.iter();
    pairs
        .map(|figure| (figure.key.clone(), json_value(figure.value)))
        .collect()
}

impl Summary<'_> {
    fn root_group(&self) -> Group<'_> {
        Group::from_sections(self.aggregator.sections())
    }

    /// Returns the argument of `handleSummary`. `setup_data` is the result of `setup`. If it is
    /// null, it is omitted.
    #[must_use]
    pub fn data(&self, state: &SummaryState, setup_data: Value) -> Value {
        let stats = self.trend_stats.iter().map(|stat| stat.name());
        let metrics = self.views().into_iter().map(|view| {
            let mut metric = json!({
                "type": view.metric_type.name(),
                "contains": contains_name(view.contains),
                "values": values_json(&view.figures),
            });
            if let Some(thresholds) = self.threshold_results(&view, |is_met| json!({"ok": is_met}))
            {
                metric["thresholds"] = thresholds;
            }
            (view.name, metric)
        });
        let mut data = json!({
            "root_group": group_json(&self.root_group()),
            "options": {
                "summaryTrendStats": stats.collect::<Vec<_>>(),
                "summaryTimeUnit": unit_name(self.time_unit),
                "noColor": state.no_color,
            },
            "state": {
                "isStdOutTTY": state.is_stdout_tty,
                "isStdErrTTY": state.is_stderr_tty,
                "testRunDurationMs": json_value(self.duration_ns as f64 / 1e6),
            },
            "metrics": metrics.collect::<Map<_, _>>(),
        });
        if !setup_data.is_null() {
            data["setup_data"] = setup_data;
        }
        data
    }

    fn threshold_results(
        &self,
        view: &MetricView,
        result: impl Fn(bool) -> Value,
    ) -> Option<Value> {
        let own = self.thresholds.find(&view.name)?;
        let thresholds = own.thresholds.iter();
        let results: Map<_, _> = thresholds
            .map(|threshold| (threshold.source.clone(), result(threshold.is_met)))
            .collect();
        (!results.is_empty()).then_some(Value::Object(results))
    }

    /// Returns the content of the file of `--summary-export`. In `thresholds`, true means failed.
    #[must_use]
    pub fn export(&self, setup_data: &Value) -> String {
        let metrics = self.views().into_iter().map(|view| {
            let mut figures = view.figures.clone();
            for figure in &mut figures {
                if view.metric_type == MetricType::Rate && figure.key == "rate" {
                    figure.key = "value".to_owned();
                }
            }
            figures.sort_by(|a, b| a.key.cmp(&b.key));
            let mut metric = values_json(&figures);
            if let Some(thresholds) = self.threshold_results(&view, |is_met| json!(!is_met)) {
                metric.insert("thresholds".to_owned(), thresholds);
            }
            (view.name, Value::Object(metric))
        });
        let mut data = json!({
            "root_group": group_json_by_name(&self.root_group()),
            "metrics": metrics.collect::<Map<_, _>>(),
        });
        if !setup_data.is_null() {
            data["setup_data"] = setup_data.clone();
        }
        pretty(&data)
    }

    /// Returns the newer form of the summary, which `handleSummary` may also receive.
    #[must_use]
    pub fn machine_readable(&self, info: &MachineInfo) -> Value {
        let checks = self.aggregator.checks();
        let passes: u64 = checks.iter().map(|check| check.passes).sum();
        let fails: u64 = checks.iter().map(|check| check.fails).sum();
        let total = passes + fails;
        let share = |part: u64| match total {
            0 => 0.0,
            total => part as f64 / total as f64,
        };
        let rate = per_second(total as f64, self.duration_ns);
        let check_rate = |name: &str, part: u64| {
            json!({
                "name": name,
                "type": "rate",
                "contains": "default",
                "values": {
                    "rate": json_value(share(part)),
                    "matches": part,
                    "total": total,
                },
            })
        };
        let results = checks
            .iter()
            .map(|check| json!({"name": check.name, "passes": check.passes, "fails": check.fails}));
        let metrics = self.views().into_iter().map(|view| {
            json!({
                "name": view.name,
                "type": view.metric_type.name(),
                "contains": contains_name(view.contains),
                "values": values_json(&view.figures),
            })
        });
        let thresholds = self.thresholds.metrics().iter().flat_map(|metric| {
            metric.thresholds.iter().map(|threshold| {
                json!({
                    "metric": metric.selection.name,
                    "source": threshold.source,
                    "ok": threshold.is_met,
                })
            })
        });
        json!({
            "version": "1.0.0",
            "metadata": {"generatedAt": info.generated_at, "k6Version": "2.2.0"},
            "config": {
                "script": info.script,
                "duration": json_value(self.duration_ns as f64 / 1e9),
                "execution": "local",
            },
            "results": {
                "checks": {
                    "metrics": [
                        {
                            "name": "checks_total",
                            "type": "counter",
                            "contains": "default",
                            "values": {"count": total, "rate": json_value(rate)},
                        },
                        check_rate("checks_succeeded", passes),
                        check_rate("checks_failed", fails),
                    ],
                    "results": results.collect::<Vec<_>>(),
                },
                "metrics": metrics.collect::<Vec<_>>(),
                "thresholds": thresholds.collect::<Vec<_>>(),
            },
        })
    }
}

/// Returns JSON with an indent of four spaces. Line breaks in texts are escaped, so spaces at the
/// beginning of a line are always its indent.
fn pretty(value: &Value) -> String {
    let text = format!("{value:#}");
    let lines = text.lines().map(|line| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        format!("{}{line}", " ".repeat(indent))
    });
    lines.collect::<Vec<_>>().join("\n")
}
