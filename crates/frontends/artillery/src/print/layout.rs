//! Reproduces the layout of Artillery's console output exactly.

use report::printable;

use super::{
    metrics::{Metric, Metrics, statistics},
    number::decimal,
};

const SHOWN: [&str; 6] = ["min", "max", "mean", "median", "p95", "p99"];
const MAX_LABEL: usize = 76;

pub(super) struct Layout<'a> {
    pub width: usize,
    pub hidden: &'a [String],
}

impl Layout<'_> {
    pub(super) fn period(&self, end: &str, metrics: &Metrics<'_>) -> String {
        let width = decimal(metrics.width_ms() as f64 / 1000.0);
        let heading = format!("Metrics for period to: {end}");
        let rule = "-".repeat(heading.chars().count());
        let lines = self.lines(metrics);
        let lines = if lines.is_empty() {
            "No measurements recorded during this period\n".into()
        } else {
            lines
        };
        format!("{rule}\n{heading} (width: {width}s)\n{rule}\n\n{lines}\n\n")
    }

    pub(super) fn summary(&self, time: &str, metrics: &Metrics<'_>) -> String {
        self.summary_of(time, &render(metrics))
    }

    pub(super) fn summary_of(&self, time: &str, figures: &[(String, ShownMetric)]) -> String {
        let heading = format!("Summary report @ {time}");
        let rule = "-".repeat(heading.chars().count());
        let lines = self.figures(figures);
        format!("{rule}\n{heading}\n{rule}\n\n{lines}")
    }

    fn lines(&self, metrics: &Metrics<'_>) -> String {
        self.figures(&render(metrics))
    }

    fn figures(&self, figures: &[(String, ShownMetric)]) -> String {
        let mut out = String::new();
        let hides = |name: &str| self.hidden.iter().any(|hidden| name.contains(hidden));
        for (name, figure) in figures.iter().filter(|(name, _)| !hides(name)) {
            let name = printable::name(name);
            match figure {
                ShownMetric::Value(value) => self.line(&format!("{name}:"), value, &mut out),
                ShownMetric::Statistics(statistics) => {
                    // Only labels before a value are truncated.
                    out.push_str(&format!("{name}:\n"));
                    for (of, value) in statistics {
                        self.line(&format!("  {of}:"), value, &mut out);
                    }
                }
            }
        }
        out
    }

    fn line(&self, label: &str, value: &str, out: &mut String) {
        let label = cut(label);
        let dots = self.width.saturating_sub(label.chars().count());
        out.push_str(&format!("{label} {} {value}\n", ".".repeat(dots)));
    }
}

pub(super) enum ShownMetric {
    Value(String),
    Statistics(Vec<(String, String)>),
}

fn render(metrics: &Metrics<'_>) -> Vec<(String, ShownMetric)> {
    let figure = |metric: Metric<'_>| match metric {
        Metric::Counter(n) => ShownMetric::Value(n.to_string()),
        Metric::Rate(rate) => ShownMetric::Value(format!("{rate}/sec")),
        Metric::Summary(sketch) => {
            let all = statistics(sketch);
            let value = |name: &str| {
                let found = all.iter().find(|(known, _)| *known == name);
                found.map_or(0.0, |(_, value)| *value)
            };
            let lines = SHOWN
                .iter()
                .map(|name| ((*name).to_owned(), decimal(value(name))));
            ShownMetric::Statistics(lines.collect())
        }
    };
    let all = metrics.sorted().into_iter();
    all.map(|(name, metric)| (name.to_owned(), figure(metric)))
        .collect()
}

fn cut(label: &str) -> String {
    if label.chars().count() <= MAX_LABEL + 3 {
        return label.to_owned();
    }
    label.chars().take(MAX_LABEL).chain("...".chars()).collect()
}
