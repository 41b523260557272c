//! Rows of metrics with aligned columns.

use super::{
    number::{TimeUnit, humanize},
    view::MetricView,
};
use crate::{
    metric::MetricType,
    text::{trimmed, width},
};

/// Codes for colours, which may be empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    pub is_enabled: bool,
}

impl Palette {
    fn paint(self, code: &str, text: &str) -> String {
        match self.is_enabled && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub fn faint(self, text: &str) -> String {
        self.paint("2;37", text)
    }

    pub fn value(self, text: &str) -> String {
        self.paint("36", text)
    }

    pub fn extra(self, text: &str) -> String {
        self.paint("36;2", text)
    }

    pub fn white(self, text: &str) -> String {
        self.paint("37", text)
    }

    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Returns a mark: green if something passed, otherwise red.
    pub fn mark(self, is_passed: bool) -> String {
        match is_passed {
            true => self.green("✓"),
            false => self.red("✗"),
        }
    }
}

/// The name and the cells of a row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Text before the name.
    pub indent: String,
    /// Name as displayed, including the spaces before a sub-metric.
    pub name: String,
    pub cells: Cells,
}

#[derive(Debug, Clone)]
pub(super) enum Cells {
    /// Statistics of a trend, as label and value.
    Trend(Vec<TrendCell>),
    /// A value with additional facts.
    Plain { value: String, extras: Vec<String> },
}

#[derive(Debug, Clone)]
pub(super) struct TrendCell {
    label: String,
    value: String,
}

impl Row {
    pub fn new(indent: &str, name: &str, cells: Cells) -> Row {
        Row {
            indent: indent.to_owned(),
            name: name.to_owned(),
            cells,
        }
    }
}

/// Returns the cells of a metric.
pub(super) fn cells(view: &MetricView, unit: TimeUnit) -> Cells {
    let text = |value: f64| humanize(value, view.metric_type, view.contains, unit);
    match view.metric_type {
        MetricType::Trend => {
            let cells = view.figures.iter().map(|figure| TrendCell {
                label: figure.key.clone(),
                value: match figure.key == "count" {
                    true => trimmed(figure.value, 6),
                    false => text(figure.value),
                },
            });
            Cells::Trend(cells.collect())
        }
        MetricType::Counter => Cells::Plain {
            value: text(view.figure("count")),
            extras: vec![format!("{}/s", text(view.figure("rate")))],
        },
        MetricType::Gauge => Cells::Plain {
            value: text(view.figure("value")),
            extras: vec![
                format!("min={}", text(view.figure("min"))),
                format!("max={}", text(view.figure("max"))),
            ],
        },
        MetricType::Rate => {
            let (passes, fails) = (view.figure("passes"), view.figure("fails"));
            Cells::Plain {
                value: text(view.figure("rate")),
                extras: vec![format!(
                    "{} out of {}",
                    trimmed(passes, 6),
                    trimmed(passes + fails, 6)
                )],
            }
        }
    }
}

fn pad(text: &str, to: usize) -> String {
    " ".repeat(to.saturating_sub(width(text)))
}

fn raise(widths: &mut Vec<usize>, index: usize, to: usize) {
    if index >= widths.len() {
        widths.resize(index + 1, 0);
    }
    if let Some(own) = widths.get_mut(index) {
        *own = to.max(*own);
    }
}

/// Returns lines with aligned columns: names with dots up to 3 characters beyond the longest,
/// followed by cells. The last cell of a line is not padded.
pub(super) fn align(rows: &[Row], palette: Palette) -> Vec<String> {
    let longest = rows.iter().map(|row| width(&row.name)).max().unwrap_or(0);
    let (mut trend_widths, mut extra_widths) = (Vec::new(), Vec::new());
    let mut value_width = 0;
    for row in rows {
        match &row.cells {
            Cells::Trend(cells) => {
                for (index, cell) in cells.iter().enumerate() {
                    raise(&mut trend_widths, index, width(&cell.value));
                }
            }
            Cells::Plain { value, extras } => {
                value_width = value_width.max(width(value));
                for (index, extra) in extras.iter().enumerate() {
                    raise(&mut extra_widths, index, width(extra));
                }
            }
        }
    }
    let lines = rows.iter().map(|row| {
        let dots = ".".repeat(longest + 3 - width(&row.name));
        let mut line = format!(
            "{}{}{} ",
            row.indent,
            row.name,
            palette.faint(&format!("{dots}:"))
        );
        match &row.cells {
            Cells::Trend(cells) => push_trend(&mut line, cells, &trend_widths, palette),
            Cells::Plain { value, extras } => {
                line.push_str(&palette.value(value));
                line.push_str(&pad(value, value_width));
                for (index, extra) in extras.iter().enumerate() {
                    line.push(' ');
                    line.push_str(&palette.extra(extra));
                    if index + 1 < extras.len() {
                        let to = extra_widths.get(index).copied().unwrap_or(0);
                        line.push_str(&pad(extra, to));
                    }
                }
            }
        }
        line
    });
    lines.collect()
}

fn push_trend(line: &mut String, cells: &[TrendCell], widths: &[usize], palette: Palette) {
    for (index, cell) in cells.iter().enumerate() {
        line.push_str(&cell.label);
        line.push('=');
        line.push_str(&palette.value(&cell.value));
        if index + 1 < cells.len() {
            let to = widths.get(index).copied().unwrap_or(0);
            line.push_str(&pad(&cell.value, to));
            line.push(' ');
        }
    }
}
