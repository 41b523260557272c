//! SVG charts for Markdown. The colours suit colour-blind readers, lines have different dashes, and
//! each chart has a title and a description.

mod axis;
mod charts;

use std::{borrow::Cow, fmt::Write};

pub use axis::{Axis, AxisKind, AxisUnit, Scale};
pub use charts::{DASHED, LINES, draw, draw_stage};

use crate::xml::text as escaped;

const FULL: ChartSize = ChartSize {
    width: 860.0,
    height: 300.0,
    wraps_legend: false,
};
/// Size of a small chart. Two of them fit next to each other on a page, with text of the same size.
const SMALL: ChartSize = ChartSize {
    width: 520.0,
    height: 260.0,
    wraps_legend: true,
};
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 44.0;
/// Font size of titles that fit above the plot.
const TITLE_SIZE: f64 = 14.0;
/// Height of a row of a legend.
const LEGEND_ROW: f64 = 15.0;
/// Space for a curve's mark in the legend, including the gap before the next curve.
const LEGEND_GAP: f64 = 40.0;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub description: String,
    pub text: String,
}

pub struct ChartCurve {
    pub name: String,
    pub colour: &'static str,
    pub dashes: &'static str,
    pub filled: bool,
    pub points: Vec<(f64, Option<f64>)>,
}

pub struct Shade {
    pub from: f64,
    pub to: f64,
}

pub struct Chart {
    pub title: String,
    pub y_title: &'static str,
    pub x_title: &'static str,
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<ChartCurve>,
    pub shades: Vec<Shade>,
    pub marks: Vec<(f64, String)>,
}

/// A chart with the name and the description of its file.
pub struct NamedChart {
    pub name: String,
    pub description: String,
    pub chart: Chart,
}

impl NamedChart {
    /// Draws the chart at the width of a page.
    #[must_use]
    pub fn full(self) -> File {
        self.file(FULL)
    }

    /// Draws the chart at half the width of a page.
    #[must_use]
    pub fn small(self) -> File {
        self.file(SMALL)
    }

    fn file(self, size: ChartSize) -> File {
        File {
            text: self.chart.draw_at(size),
            name: self.name,
            description: self.description,
        }
    }
}

/// Size of a chart in pixels.
#[derive(Debug, Clone, Copy)]
struct ChartSize {
    width: f64,
    height: f64,
    /// Whether the legend is below the title, in as many rows as necessary.
    wraps_legend: bool,
}

/// Returns the width of a legend text. A letter is about 6.6 pixels wide.
fn letters(text: &str) -> f64 {
    text.chars().count() as f64 * 6.6
}

/// Returns the name of a curve, cut to this width.
fn legend_name(name: &str, width: f64) -> Cow<'_, str> {
    let most = ((width - LEGEND_GAP) / letters("x")).max(1.0) as usize;
    if name.chars().count() <= most {
        return Cow::Borrowed(name);
    }
    let kept = name.chars().take(most - 1);
    Cow::Owned(kept.chain(['…']).collect())
}

/// A chart that is being drawn at a given size.
struct ChartDrawing<'a> {
    chart: &'a Chart,
    size: ChartSize,
    /// Rows of the legend. Empty if the legend is next to the title.
    rows: Vec<&'a [ChartCurve]>,
}

impl Chart {
    /// Draws the chart at the width of a page.
    #[must_use]
    pub fn draw(&self) -> String {
        self.draw_at(FULL)
    }

    fn draw_at(&self, size: ChartSize) -> String {
        let drawing = ChartDrawing {
            chart: self,
            size,
            rows: match size.wraps_legend {
                true => self.legend_rows(size.width - LEFT - RIGHT),
                false => Vec::new(),
            },
        };
        drawing.draw()
    }

    /// Divides the legend into rows of at most this width.
    fn legend_rows(&self, width: f64) -> Vec<&[ChartCurve]> {
        let (mut rows, mut from, mut used) = (Vec::new(), 0, 0.0);
        for (at, curve) in self.curves.iter().enumerate() {
            let own = letters(&legend_name(&curve.name, width)) + LEGEND_GAP;
            if at > from && used + own > width {
                rows.push(&self.curves[from..at]);
                (from, used) = (at, 0.0);
            }
            used += own;
        }
        if from < self.curves.len() {
            rows.push(&self.curves[from..]);
        }
        rows
    }
}

impl ChartDrawing<'_> {
    fn plot_width(&self) -> f64 {
        self.size.width - LEFT - RIGHT
    }

    /// Returns the space above the plot: the title, and the rows of the legend.
    fn top(&self) -> f64 {
        TOP + LEGEND_ROW * self.rows.len().saturating_sub(1) as f64
    }

    fn plot_height(&self) -> f64 {
        self.size.height - self.top() - BOTTOM
    }

    fn draw(&self) -> String {
        let ChartSize { width, height, .. } = self.size;
        let top = self.top();
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(&self.chart.title)
        );
        for shade in &self.chart.shades {
            let (from, to) = (self.x_at(shade.from), self.x_at(shade.to));
            add(
                &mut out,
                format_args!(
                    "<rect x=\"{from:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#d55e00\" opacity=\"0.12\"/>\n",
                    (to - from).max(1.0),
                    self.plot_height()
                ),
            );
        }
        self.grid(&mut out);
        for curve in &self.chart.curves {
            self.curve(&mut out, curve);
        }
        self.legend(&mut out);
        out.push_str("</svg>\n");
        out
    }

    fn x_at(&self, value: f64) -> f64 {
        LEFT + self.chart.x.share(value) * self.plot_width()
    }

    fn y_at(&self, value: f64) -> f64 {
        self.top() + self.plot_height() - self.chart.y.share(value) * self.plot_height()
    }

    fn grid(&self, out: &mut String) {
        let top = self.top();
        let (right, bottom) = (self.size.width - RIGHT, self.size.height - BOTTOM);
        for (value, text) in self.chart.y.ticks() {
            let y = self.y_at(value);
            add(
                out,
                format_args!(
                    "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#e3e3e3\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555555\">{}</text>\n",
                    LEFT - 8.0,
                    y + 4.0,
                    escaped(&text)
                ),
            );
        }
        for (value, text) in self.chart.x.ticks() {
            let x = self.x_at(value);
            add(
                out,
                format_args!(
                    "<line x1=\"{x:.1}\" y1=\"{bottom}\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"#999999\"/>\n\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\">{}</text>\n",
                    bottom + 4.0,
                    bottom + 18.0,
                    escaped(&text)
                ),
            );
        }
        for (value, name) in &self.chart.marks {
            let x = self.x_at(*value);
            add(
                out,
                format_args!(
                    "<line x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#888888\" stroke-dasharray=\"2 3\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555555\" font-size=\"11\">{}</text>\n",
                    x + 4.0,
                    top + 11.0,
                    escaped(name)
                ),
            );
        }
        add(
            out,
            format_args!(
                "<line x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\" stroke=\"#999999\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\">{}</text>\n\
             <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\" fill=\"#555555\">{}</text>\n",
                LEFT + self.plot_width() / 2.0,
                self.size.height - 8.0,
                escaped(self.chart.x_title),
                top + self.plot_height() / 2.0,
                escaped(self.chart.y_title)
            ),
        );
    }

    fn curve(&self, out: &mut String, curve: &ChartCurve) {
        let stretches = curve.points.split(|(_, value)| value.is_none());
        for stretch in stretches.filter(|stretch| !stretch.is_empty()) {
            let known = stretch
                .iter()
                .filter_map(|(x, y)| Some((self.x_at(*x), self.y_at((*y)?))));
            let places: Vec<(f64, f64)> = known.collect();
            let mut path = String::new();
            for (i, (x, y)) in places.iter().enumerate() {
                add(
                    &mut path,
                    format_args!("{}{x:.1} {y:.1}", if i == 0 { "M" } else { "L" }),
                );
            }
            if let ([(x, y)], false) = (places.as_slice(), curve.filled) {
                add(
                    out,
                    format_args!(
                        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{}\"/>\n",
                        curve.colour
                    ),
                );
                continue;
            }
            if curve.filled {
                let (first, last) = (
                    places.first().map_or(LEFT, |p| p.0),
                    places.last().map_or(LEFT, |p| p.0),
                );
                let base = self.size.height - BOTTOM;
                add(
                    out,
                    format_args!(
                        "<path d=\"{path}L{last:.1} {base}L{first:.1} {base}Z\" fill=\"{}\" opacity=\"0.25\"/>\n",
                        curve.colour
                    ),
                );
                continue;
            }
            let dashes = if curve.dashes.is_empty() {
                String::new()
            } else {
                format!(" stroke-dasharray=\"{}\"", curve.dashes)
            };
            add(
                out,
                format_args!(
                    "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{dashes}/>\n",
                    curve.colour
                ),
            );
        }
    }

    /// Returns the font size at which a title fits above the plot.
    fn title_size(&self, width: f64) -> f64 {
        let fitting = TITLE_SIZE * self.plot_width() / width.max(1.0);
        fitting.floor().clamp(9.0, TITLE_SIZE)
    }

    fn legend(&self, out: &mut String) {
        // A letter of the title is about 7.6 pixels wide.
        let title = self.chart.title.chars().count() as f64 * 7.6;
        add(
            out,
            format_args!(
                "<text x=\"{LEFT}\" y=\"20\" font-size=\"{}\" font-weight=\"600\" fill=\"#222222\">{}</text>\n",
                self.title_size(title),
                escaped(&self.chart.title)
            ),
        );
        if !self.rows.is_empty() {
            for (number, row) in self.rows.iter().enumerate() {
                self.legend_row(out, row, 35.0 + LEGEND_ROW * number as f64);
            }
            return;
        }
        let names = self.chart.curves.iter();
        let names: f64 = names.map(|curve| letters(&curve.name) + LEGEND_GAP).sum();
        let y = if title + names <= self.plot_width() {
            20.0
        } else {
            35.0
        };
        self.legend_row(out, &self.chart.curves, y);
    }

    /// Draws a row of the legend, aligned to the right edge.
    fn legend_row(&self, out: &mut String, curves: &[ChartCurve], y: f64) {
        let mut x = self.size.width - RIGHT;
        for curve in curves.iter().rev() {
            let name = legend_name(&curve.name, self.plot_width());
            x -= letters(&name);
            add(
                out,
                format_args!(
                    "<text x=\"{x:.1}\" y=\"{y}\" fill=\"#333333\">{}</text>\n",
                    escaped(&name)
                ),
            );
            x -= 26.0;
            let middle = y - 4.0;
            let (height, opacity) = if curve.filled {
                (9.0, 0.25)
            } else {
                (2.5, 1.0)
            };
            if curve.dashes.is_empty() {
                add(
                    out,
                    format_args!(
                        "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"20\" height=\"{height}\" fill=\"{}\" opacity=\"{opacity}\"/>\n",
                        y - 4.0 - height / 2.0,
                        curve.colour
                    ),
                );
            } else {
                add(
                    out,
                    format_args!(
                        "<line x1=\"{x:.1}\" y1=\"{middle}\" x2=\"{:.1}\" y2=\"{middle}\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n",
                        x + 20.0,
                        curve.colour,
                        curve.dashes
                    ),
                );
            }
            x -= 14.0;
        }
    }
}

fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_legend_fit_into_the_chart() {
        let name = "db.pool.connections of ".to_owned() + &"payments-".repeat(20);
        let width = 400.0;
        let shown = legend_name(&name, width);
        assert!(letters(&shown) + LEGEND_GAP <= width && shown.ends_with('…'));
        assert!(name.starts_with(shown.trim_end_matches('…')));
        assert_eq!(legend_name("p95", width), "p95");
    }
}
