//! The text of k6 v1 and v2: thresholds, totals, and in full mode groups and scenarios.

use super::{
    Summary,
    rows::{Cells, Palette, Row, align, cells},
    tree::Group,
    view::{MetricView, compare_names, split_name},
};
use crate::{
    aggregate::{Check, Section, series::per_second},
    metric::MetricId,
    text::trimmed,
    threshold::{evaluate::MetricThresholds, expression::Method},
};

const CATEGORIES: [&str; 8] = [
    "CUSTOM",
    "HTTP",
    "EXECUTION",
    "NETWORK",
    "BROWSER",
    "WEBVITALS",
    "GRPC",
    "WEBSOCKET",
];

/// Prefixes of names, with their category. The first matching prefix decides.
const PREFIXES: [(&str, &str); 19] = [
    ("http_reqs", "HTTP"),
    ("http_req_failed", "HTTP"),
    ("http_req_duration", "HTTP"),
    ("http_req_blocked", "HTTP"),
    ("http_req_connecting", "HTTP"),
    ("http_req_tls_handshaking", "HTTP"),
    ("http_req_sending", "HTTP"),
    ("http_req_waiting", "HTTP"),
    ("http_req_receiving", "HTTP"),
    ("vus", "EXECUTION"),
    ("iterations", "EXECUTION"),
    ("iteration_duration", "EXECUTION"),
    ("dropped_iterations", "EXECUTION"),
    ("data_sent", "NETWORK"),
    ("data_received", "NETWORK"),
    ("browser_web_vital_", "WEBVITALS"),
    ("browser_", "BROWSER"),
    ("grpc_", "GRPC"),
    ("ws_", "WEBSOCKET"),
];

const HIDDEN: [&str; 2] = ["checks", "group_duration"];
const PARTS: [&str; 6] = [
    "http_req_blocked",
    "http_req_connecting",
    "http_req_tls_handshaking",
    "http_req_sending",
    "http_req_waiting",
    "http_req_receiving",
];

fn category(name: &str) -> &'static str {
    let found = PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix));
    found.map_or("CUSTOM", |(_, category)| category)
}

fn is_hidden(name: &str, is_full: bool) -> bool {
    let begins = |prefix: &&str| name.starts_with(prefix);
    HIDDEN.iter().any(begins) || (!is_full && PARTS.iter().any(begins))
}

/// Returns the text without the empty lines around it.
pub(super) fn text(summary: &Summary<'_>, is_full: bool, with_colors: bool) -> String {
    let mut writer = Writer {
        summary,
        is_full,
        palette: Palette {
            is_enabled: with_colors,
        },
        lines: Vec::new(),
    };
    writer.thresholds();
    let mut views = summary.views();
    views.retain(|view| !is_hidden(&view.name, is_full));
    let checks = summary.aggregator.checks();
    writer.section(2, "█ TOTAL RESULTS", &checks, &views, &[]);
    if is_full {
        writer.groups_and_scenarios();
    }
    writer.lines.join("\n")
}

struct Writer<'a, 'b> {
    summary: &'a Summary<'b>,
    is_full: bool,
    palette: Palette,
    lines: Vec<String>,
}

impl Writer<'_, '_> {
    fn title(&mut self, indent: usize, title: &str) {
        let title = self.palette.bold(title);
        self.lines.push(format!("{}{title} ", " ".repeat(indent)));
        self.lines.push(String::new());
    }

    fn block(&mut self, lines: Vec<String>) {
        self.lines.extend(lines);
        self.lines.push(String::new());
    }

    fn thresholds(&mut self) {
        let mut metrics: Vec<&MetricThresholds> =
            self.summary.thresholds.metrics().iter().collect();
        metrics.retain(|metric| !metric.thresholds.is_empty());
        if metrics.is_empty() {
            return;
        }
        metrics.sort_by(|a, b| compare_names(&a.selection.name, &b.selection.name));
        self.title(2, "█ THRESHOLDS");
        for metric in &metrics {
            let name = &metric.selection.name;
            let is_nested = metric.selection.suffix().is_some()
                && metrics
                    .iter()
                    .any(|other| other.selection.name == metric.selection.metric);
            let (indent, shown) = match metric.selection.suffix() {
                Some(suffix) if is_nested => ("      ", format!("{{{suffix}}}")),
                _ => ("    ", name.clone()),
            };
            let mut lines = vec![format!("{indent}{shown}")];
            for threshold in &metric.thresholds {
                let mark = self.palette.mark(threshold.is_met);
                let source = self.palette.white(&format!("'{}'", threshold.source));
                let value = self.threshold_value(metric, &threshold.expression.method);
                lines.push(format!("{indent}{mark} {source} {value}"));
            }
            self.block(lines);
        }
        self.lines.push(String::new());
    }

    fn threshold_value(&self, metric: &MetricThresholds, method: &Method) -> String {
        let value = self.summary.threshold_value(metric, method);
        let value = self.palette.value(&value);
        format!("{}={value}", method.name())
    }

    /// Writes a section with its checks, its metrics and its nested groups.
    fn section(
        &mut self,
        indent: usize,
        title: &str,
        checks: &[Check],
        views: &[MetricView],
        groups: &[Group<'_>],
    ) {
        self.title(indent, title);
        let inner = indent + 2;
        if !checks.is_empty() {
            let totals = self.check_totals(inner, checks);
            self.block(totals);
            let lines = check_lines(checks, &" ".repeat(inner), "  ", self.palette);
            self.block(lines);
        }
        self.categories(inner, views);
        for group in groups {
            self.group(inner, "↳", group);
        }
        self.lines.push(String::new());
    }

    fn check_totals(&self, indent: usize, checks: &[Check]) -> Vec<String> {
        let passes: u64 = checks.iter().map(|check| check.passes).sum();
        let fails: u64 = checks.iter().map(|check| check.fails).sum();
        let total = passes + fails;
        let share = |part: u64| {
            let share = if total == 0 {
                0.0
            } else {
                part as f64 / total as f64
            };
            Cells::Plain {
                value: super::number::percent(share),
                extras: vec![format!("{part} out of {total}")],
            }
        };
        let rate = per_second(total as f64, self.summary.duration_ns);
        let count = Cells::Plain {
            value: total.to_string(),
            extras: vec![format!("{}/s", trimmed(rate, 6))],
        };
        let indent = " ".repeat(indent);
        let rows = [
            Row::new(&indent, "checks_total", count),
            Row::new(&indent, "checks_succeeded", share(passes)),
            Row::new(&indent, "checks_failed", share(fails)),
        ];
        align(&rows, self.palette)
    }

    fn categories(&mut self, indent: usize, views: &[MetricView]) {
        let spaces = " ".repeat(indent);
        let has_parent = |parent: &str| views.iter().any(|view| view.name == parent);
        let rows: Vec<Row> = views
            .iter()
            .map(|view| {
                let name = match split_name(&view.name) {
                    (parent, Some(tags)) if has_parent(parent) => format!("  {{ {tags} }}"),
                    _ => view.name.clone(),
                };
                Row::new(&spaces, &name, cells(view, self.summary.time_unit))
            })
            .collect();
        let lines = align(&rows, self.palette);
        for wanted in CATEGORIES {
            let own = views.iter().zip(&lines);
            let own = own.filter(|(view, _)| category(&view.name) == wanted);
            let own: Vec<String> = own.map(|(_, line)| line.clone()).collect();
            if !own.is_empty() {
                let mut block = vec![format!("{spaces}{}", self.palette.bold(wanted))];
                block.extend(own);
                self.block(block);
            }
        }
    }

    /// Returns the visible metrics of several sections together.
    fn section_views(&self, sections: &[&Section]) -> Vec<MetricView> {
        let mut views = Vec::new();
        for (metric, number) in self.summary.registry.all().iter().zip(0..) {
            let parts = sections.iter();
            let mut parts = parts.filter_map(|section| section.series(MetricId(number)));
            let Some(first) = parts.next().filter(|_| !is_hidden(&metric.name, true)) else {
                continue;
            };
            let mut series = first.clone();
            parts.for_each(|part| series.merge(part));
            if !series.is_empty() {
                views.push(self.summary.view(&metric.name, metric, Some(&series)));
            }
        }
        views.sort_by(|a, b| compare_names(&a.name, &b.name));
        views
    }

    fn group(&mut self, indent: usize, sign: &str, group: &Group<'_>) {
        let views = self.section_views(&group.sections);
        let checks = group.checks();
        if views.is_empty() && checks.is_empty() && group.groups.is_empty() {
            return;
        }
        let title = format!("{sign} GROUP: {}", group.name);
        self.section(indent, &title, &checks, &views, &group.groups);
    }

    fn groups_and_scenarios(&mut self) {
        debug_assert!(self.is_full);
        let all = self.summary.aggregator.sections();
        let own = all.iter().filter(|section| section.scenario.is_empty());
        for group in &Group::from_sections(own.copied()).groups {
            self.group(2, "█", group);
        }
        for scenario in self.summary.aggregator.scenarios() {
            let own = all
                .iter()
                .filter(|section| section.scenario == scenario.scenario);
            let tree = Group::from_sections(own.copied());
            let views = self.section_views(&[scenario]);
            let title = format!("█ SCENARIO: {}", scenario.scenario);
            self.section(2, &title, &scenario.checks, &views, &tree.groups);
        }
    }
}

/// Returns one line per check, and a second line for a check that failed. `deeper` is the
/// additional indent of the second line.
pub(super) fn check_lines(
    checks: &[Check],
    indent: &str,
    deeper: &str,
    palette: Palette,
) -> Vec<String> {
    let mut lines = Vec::new();
    for check in checks {
        let mark = palette.mark(check.fails == 0);
        lines.push(format!("{indent}{mark} {}", check.name));
        if check.fails > 0 {
            let percent = check.passes.saturating_mul(100) / (check.passes + check.fails);
            let text = format!("↳  {percent}% — ✓ {} / ✗ {}", check.passes, check.fails);
            lines.push(format!("{indent}{deeper}{}", palette.red(&text)));
        }
    }
    lines
}
