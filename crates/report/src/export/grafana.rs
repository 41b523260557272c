//! A Grafana dashboard for the metrics that [`super::prometheus()`] exports.

use serde_json::{Value, json};

const WIDTH: u64 = 12;
const HEIGHT: u64 = 8;
/// Selects the series of the chosen runs. Remote-write series have no `instance`, and scraped
/// series have no `run_id`, so `.*` must match an empty label.
const RUN: &str = r#"job=~"$job",instance=~"$instance",run_id=~"$run_id""#;

/// A panel of the dashboard.
struct Panel {
    title: &'static str,
    about: &'static str,
    /// Grafana's name for the unit.
    unit: &'static str,
    queries: Vec<PanelQuery>,
}

/// A query of a panel, with the name of its series.
struct PanelQuery {
    legend: &'static str,
    promql: String,
}

/// Returns the dashboard in the format that Grafana imports.
#[must_use]
pub fn grafana_dashboard() -> Value {
    let panels: Vec<Value> = panels()
        .iter()
        .enumerate()
        .map(|(index, panel)| panel_json(index as u64, panel))
        .collect();
    json!({
        "title": "Loadline",
        "uid": "loadline",
        "tags": ["loadline"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "5s",
        "time": { "from": "now-15m", "to": "now" },
        "templating": { "list": variables() },
        "panels": panels,
    })
}

fn panels() -> Vec<Panel> {
    let mut all = request_panels();
    all.extend(error_panels());
    all.extend(load_panels());
    all
}

fn request_panels() -> Vec<Panel> {
    let service = "loadline_request_duration_seconds";
    vec![
        panel(
            "Requests by outcome",
            "Requests that ended.",
            "reqps",
            vec![query(
                "{{outcome}}",
                by("outcome", "loadline_requests_total"),
            )],
        ),
        panel(
            "Service time",
            "From the first byte written to the last byte read. A histogram of 20 buckets only approximates percentiles: the exact ones are in the report.",
            "s",
            vec![
                query("p50", quantile("0.5", service, "")),
                query("p95", quantile("0.95", service, "")),
                query("p99", quantile("0.99", service, "")),
            ],
        ),
        panel(
            "Service time p95 by label",
            "Approximate, as above.",
            "s",
            vec![query("{{label}}", quantile("0.95", service, ", label"))],
        ),
    ]
}

fn error_panels() -> Vec<Panel> {
    let share = format!(
        "sum({}) / sum({})",
        rate("loadline_requests_total", r#",outcome!="ok""#),
        rate("loadline_requests_total", "")
    );
    vec![
        panel(
            "Share of errors",
            "Requests that failed or had no response.",
            "percentunit",
            vec![query("errors", share)],
        ),
        panel(
            "Responses by status",
            "All responses, also expected ones.",
            "reqps",
            vec![query("{{code}}", by("code", "loadline_responses_total"))],
        ),
        panel(
            "Requests without a response, by cause",
            "Timeouts, resets and other causes. Empty if all requests had a response.",
            "reqps",
            vec![query(
                "{{cause}}",
                by("cause", "loadline_requests_without_answer_total"),
            )],
        ),
    ]
}

fn load_panels() -> Vec<Panel> {
    let lateness = quantile("0.99", "loadline_lateness_seconds", "");
    let cpu = by("worker", "loadline_worker_cpu_seconds_total");
    let waiting = by("worker", "loadline_worker_waiting_seconds_total");
    vec![
        panel(
            "Arrivals",
            "If fewer arrivals start than are due, the load generator or a limit in the plan is holding them back.",
            "reqps",
            vec![query("{{state}}", by("state", "loadline_arrivals_total"))],
        ),
        panel(
            "In flight, users and connections",
            "At the end of each interval.",
            "short",
            vec![
                query("in flight", level("loadline_in_flight")),
                query("users", level("loadline_users")),
                query("connections", level("loadline_connections")),
            ],
        ),
        panel(
            "Lateness of the generator",
            "From the intended start of an arrival to its start. If it is high, the measurement is INVALID.",
            "s",
            vec![query("p99", lateness)],
        ),
        panel(
            "CPU of the generator",
            "Share of a core by worker, and time in which a worker waited for a CPU.",
            "percentunit",
            vec![
                query("worker {{worker}}", cpu),
                query("worker {{worker}} waiting", waiting),
            ],
        ),
    ]
}

fn panel(
    title: &'static str,
    about: &'static str,
    unit: &'static str,
    queries: Vec<PanelQuery>,
) -> Panel {
    Panel {
        title,
        about,
        unit,
        queries,
    }
}

fn query(legend: &'static str, promql: String) -> PanelQuery {
    PanelQuery { legend, promql }
}

fn rate(metric: &str, labels: &str) -> String {
    format!("rate({metric}{{{RUN}{labels}}}[$__rate_interval])")
}

fn by(label: &str, metric: &str) -> String {
    format!("sum by ({label}) ({})", rate(metric, ""))
}

fn level(metric: &str) -> String {
    format!("sum({metric}{{{RUN}}})")
}

/// Returns a query that approximates a quantile of a histogram. `labels` separates series, such as
/// `, label`.
fn quantile(share: &str, metric: &str, labels: &str) -> String {
    let buckets = rate(&format!("{metric}_bucket"), "");
    format!("histogram_quantile({share}, sum by (le{labels}) ({buckets}))")
}

fn panel_json(index: u64, panel: &Panel) -> Value {
    let source = json!({ "type": "prometheus", "uid": "${datasource}" });
    let targets: Vec<Value> = panel
        .queries
        .iter()
        .zip('A'..='Z')
        .map(|(query, name)| {
            json!({
                "refId": name.to_string(),
                "datasource": source,
                "expr": query.promql,
                "legendFormat": query.legend,
            })
        })
        .collect();
    json!({
        "id": index + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": source,
        "gridPos": {
            "x": index % 2 * WIDTH,
            "y": index / 2 * HEIGHT,
            "w": WIDTH,
            "h": HEIGHT,
        },
        "fieldConfig": { "defaults": { "unit": panel.unit, "min": 0 }, "overrides": [] },
        "targets": targets,
    })
}

fn variables() -> Value {
    let label = |name: &str| {
        json!({
            "name": name,
            "type": "query",
            "datasource": { "type": "prometheus", "uid": "${datasource}" },
            "query": format!("label_values(loadline_info, {name})"),
            "refresh": 2,
            "includeAll": true,
            "allValue": ".*",
            "multi": true,
            "current": { "text": "All", "value": "$__all" },
        })
    };
    json!([
        { "name": "datasource", "type": "datasource", "query": "prometheus" },
        label("job"),
        label("instance"),
        label("run_id"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_do_not_overlap_and_have_queries() {
        let dashboard = grafana_dashboard();
        let panels = dashboard["panels"].as_array().unwrap();
        let mut places: Vec<String> = panels
            .iter()
            .map(|panel| panel["gridPos"].to_string())
            .collect();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), panels.len());
        for panel in panels {
            for target in panel["targets"].as_array().unwrap() {
                let promql = target["expr"].as_str().unwrap();
                assert!(
                    promql.contains("loadline_") && promql.contains("$run_id"),
                    "{promql}"
                );
            }
        }
    }
}
