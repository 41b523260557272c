//! SVG charts for Markdown. Colours suit colour-blind readers, lines have different dashes, and
//! each chart has a title and a description.

mod axis;
mod charts;

use std::fmt::Write;

pub use axis::{Axis, AxisKind, AxisUnit, Scale};
pub use charts::{DASHED, LINES, draw, draw_stage};

use crate::xml::text as escaped;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 44.0;

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

#[must_use]
pub fn plot_width() -> f64 {
    WIDTH - LEFT - RIGHT
}

#[must_use]
pub fn plot_height() -> f64 {
    HEIGHT - TOP - BOTTOM
}

impl Chart {
    #[must_use]
    pub fn draw(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{}</title>\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n",
            escaped(&self.title)
        );
        for shade in &self.shades {
            let (from, to) = (self.x_at(shade.from), self.x_at(shade.to));
            add(
                &mut out,
                format_args!(
                    "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#d55e00\" opacity=\"0.12\"/>\n",
                    (to - from).max(1.0),
                    plot_height()
                ),
            );
        }
        self.grid(&mut out);
        for curve in &self.curves {
            self.curve(&mut out, curve);
        }
        self.legend(&mut out);
        out.push_str("</svg>\n");
        out
    }

    fn x_at(&self, value: f64) -> f64 {
        LEFT + self.x.at(value)
    }

    fn y_at(&self, value: f64) -> f64 {
        TOP + plot_height() - self.y.at(value)
    }

    fn grid(&self, out: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for (value, text) in self.y.ticks() {
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
        for (value, text) in self.x.ticks() {
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
        for (value, name) in &self.marks {
            let x = self.x_at(*value);
            add(
                out,
                format_args!(
                    "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#888888\" stroke-dasharray=\"2 3\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555555\" font-size=\"11\">{}</text>\n",
                    x + 4.0,
                    TOP + 11.0,
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
                LEFT + plot_width() / 2.0,
                HEIGHT - 8.0,
                escaped(self.x_title),
                TOP + plot_height() / 2.0,
                escaped(self.y_title)
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
                let base = HEIGHT - BOTTOM;
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

    fn legend(&self, out: &mut String) {
        add(
            out,
            format_args!(
                "<text x=\"{LEFT}\" y=\"20\" font-size=\"14\" font-weight=\"600\" fill=\"#222222\">{}</text>\n",
                escaped(&self.title)
            ),
        );
        // A letter is about 6.6 pixels wide, or 7.6 pixels in the title.
        let names = self.curves.iter();
        let names: f64 = names
            .map(|curve| curve.name.chars().count() as f64 * 6.6 + 40.0)
            .sum();
        let title = self.title.chars().count() as f64 * 7.6;
        let y = if title + names <= plot_width() {
            20.0
        } else {
            35.0
        };
        let mut x = WIDTH - RIGHT;
        for curve in self.curves.iter().rev() {
            x -= curve.name.chars().count() as f64 * 6.6;
            add(
                out,
                format_args!(
                    "<text x=\"{x:.1}\" y=\"{y}\" fill=\"#333333\">{}</text>\n",
                    escaped(&curve.name)
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
