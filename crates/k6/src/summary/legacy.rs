//! The text of k6 up to v0.57, created from the data of `handleSummary`. It equals the text of the
//! jslib's `textSummary`.

use serde_json::Value;

use super::{
    number::TimeUnit,
    rows::{Palette, Row, align, cells},
    sections::check_lines,
    view::{MetricView, compare_names, split_name},
};
use crate::aggregate::Check;

/// Returns the text without the empty lines around it. Each line starts with `indent`. Parts that
/// are missing in the data are omitted.
#[must_use]
pub fn text_summary(data: &Value, indent: &str, with_colors: bool) -> String {
    let palette = Palette {
        is_enabled: with_colors,
    };
    let mut lines = Vec::new();
    if let Some(root) = data.get("root_group") {
        push_group(&mut lines, root, &format!("{indent}    "), palette, 0);
    }
    lines.extend(metric_lines(data, indent, palette));
    lines.join("\n")
}

fn members<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    match value.get(key) {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(Value::Object(object)) => object.values().collect(),
        _ => Vec::new(),
    }
}

fn name_of(value: &Value) -> String {
    let name = value.get("name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

/// Maximum nesting of groups. A script's own data may be nested deeper than the stack allows.
const MAX_DEPTH: usize = 100;

fn push_group(
    lines: &mut Vec<String>,
    group: &Value,
    indent: &str,
    palette: Palette,
    depth: usize,
) {
    if depth > MAX_DEPTH {
        return;
    }
    let mut inner = indent.to_owned();
    let name = name_of(group);
    if !name.is_empty() {
        lines.push(format!("{indent}█ {name}"));
        lines.push(String::new());
        inner.push_str("  ");
    }
    let checks: Vec<Check> = members(group, "checks")
        .into_iter()
        .map(|check| {
            let count = |key| check.get(key).and_then(Value::as_f64).unwrap_or(0.0) as u64;
            Check::new(name_of(check), count("passes"), count("fails"))
        })
        .collect();
    if !checks.is_empty() {
        lines.extend(check_lines(&checks, &inner, " ", palette));
        lines.push(String::new());
    }
    for nested in members(group, "groups") {
        push_group(lines, nested, &inner, palette, depth + 1);
    }
}

fn metric_lines(data: &Value, indent: &str, palette: Palette) -> Vec<String> {
    let option = |key: &str| data.get("options").and_then(|options| options.get(key));
    let unit = option("summaryTimeUnit").and_then(Value::as_str);
    let unit = TimeUnit::parse(unit.unwrap_or_default());
    let stats = option("summaryTrendStats").and_then(Value::as_array);
    let metrics = data.get("metrics").and_then(Value::as_object);
    let mut metrics: Vec<_> = metrics.into_iter().flatten().collect();
    metrics.sort_by(|(a, _), (b, _)| compare_names(a, b));
    let rows = metrics.iter().map(|(name, metric)| {
        let mut view = MetricView::from_json(name, metric);
        if let Some(stats) = stats.filter(|_| view.metric_type == crate::metric::MetricType::Trend)
        {
            view.figures = stats
                .iter()
                .filter_map(Value::as_str)
                .map(|key| super::view::Figure {
                    key: key.to_owned(),
                    value: view.figure(key),
                })
                .collect();
        }
        let mark = mark_of(metric, palette);
        let (deeper, shown) = match split_name(name) {
            (_, Some(tags)) => ("  ", format!("{{ {tags} }}")),
            (_, None) => ("", (*name).clone()),
        };
        let row = Row::new("", &format!("{deeper}{shown}"), cells(&view, unit));
        Line { mark, deeper, row }
    });
    let lines: Vec<Line> = rows.collect();
    let rows: Vec<Row> = lines.iter().map(|line| line.row.clone()).collect();
    let texts = align(&rows, palette);
    let joined = lines.iter().zip(&texts).map(|(line, text)| {
        let text = text.strip_prefix(line.deeper).unwrap_or(text);
        format!("{indent}  {}{} {text}", line.deeper, line.mark)
    });
    joined.collect()
}

struct Line {
    mark: String,
    deeper: &'static str,
    row: Row,
}

fn mark_of(metric: &Value, palette: Palette) -> String {
    let thresholds = metric.get("thresholds").and_then(Value::as_object);
    let results = thresholds.into_iter().flatten().map(|(_, result)| {
        let is_ok = result.get("ok").and_then(Value::as_bool);
        is_ok.unwrap_or(true)
    });
    let results: Vec<bool> = results.collect();
    match results.is_empty() {
        true => " ".to_owned(),
        false => palette.mark(results.iter().all(|is_ok| *is_ok)),
    }
}
