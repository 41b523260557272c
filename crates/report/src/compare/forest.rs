//! Forest plot: one row per figure with its change and confidence interval, compared with no change
//! and with the margin. Quantiles have a separate plot.

use std::fmt::Write;

use decisions::compare::{Change, Comparison, FigureOutcome, FigureUnit};
use record::units;

use crate::{svg::File, xml::text as escaped};

pub(super) const SHIFT: &str = "quantiles.svg";
const WIDTH: f64 = 860.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 52.0;
const ROW: f64 = 24.0;
const BOTTOM: f64 = 40.0;
const MOST: f64 = 1.0;
const LONGEST: usize = 36;

struct ForestRow {
    name: String,
    change: Change,
    tone: Tone,
}

#[derive(Clone, Copy)]
enum Tone {
    Worse,
    Better,
    Neither,
    Unknown,
}

impl Tone {
    fn new(outcome: FigureOutcome, change: &Change) -> Tone {
        match outcome {
            _ if change.interval.is_none() => Tone::Unknown,
            FigureOutcome::Regressed => Tone::Worse,
            FigureOutcome::Improved => Tone::Better,
            FigureOutcome::NoRegression | FigureOutcome::Inconclusive => Tone::Neither,
        }
    }
}

pub(crate) fn draw(comparison: &Comparison) -> Vec<File> {
    let figures = comparison.judged.iter().chain(&comparison.endpoints);
    let relative = figures.filter(|compared| compared.unit != FigureUnit::Share);
    let rows = relative.filter_map(|compared| {
        Some(ForestRow {
            name: compared.subject.clone(),
            change: compared.change?,
            tone: Tone::new(compared.outcome, compared.change.as_ref()?),
        })
    });
    let quantiles = comparison.quantiles.iter().map(|quantile| ForestRow {
        name: name(quantile.share),
        change: quantile.change,
        tone: Tone::new(quantile.outcome, &quantile.change),
    });
    let titles = [
        ("changes.svg", "Change with its interval".to_owned()),
        (
            SHIFT,
            format!("Change of each quantile: {}", comparison.quantiles_of),
        ),
    ];
    let pictures = [rows.collect::<Vec<ForestRow>>(), quantiles.collect()];
    let drawn = titles
        .into_iter()
        .zip(pictures)
        .filter(|(_, rows)| !rows.is_empty());
    drawn
        .map(|((name, title), rows)| File {
            name: name.to_owned(),
            description: format!(
                "{title}, of {} against {}",
                comparison.candidate.name, comparison.baseline.name
            ),
            text: plot(&title, &rows, comparison.margin),
        })
        .collect()
}

pub(super) fn name(share: f64) -> String {
    format!("p{}", units::decimal(share * 100.0))
}

fn plot(title: &str, rows: &[ForestRow], margin: f64) -> String {
    let ends = rows.iter().flat_map(|row| {
        let (low, high) = row
            .change
            .interval
            .unwrap_or((row.change.estimate, row.change.estimate));
        [low.abs(), high.abs()]
    });
    let reach = ends.fold(margin * 1.6, f64::max).clamp(0.01, MOST);
    let height = TOP + ROW * rows.len() as f64 + BOTTOM;
    let x = |change: f64| {
        let share = (change.clamp(-reach, reach) + reach) / (2.0 * reach);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    };
    let bottom = height - BOTTOM;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{0}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"16\" y=\"20\" font-size=\"14\" font-weight=\"600\" fill=\"#222222\">{0}</text>\n",
        escaped(title)
    );
    let (from, to) = (x(-margin), x(margin));
    add(
        &mut out,
        format_args!(
            "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#0072b2\" opacity=\"0.08\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\" font-size=\"11\">margin ± {}</text>\n",
            to - from,
            bottom - TOP,
            x(0.0),
            TOP - 8.0,
            percent(margin)
        ),
    );
    let step = step(reach);
    for change in [-2.0, -1.0, 0.0, 1.0, 2.0].map(|steps| steps * step) {
        let at = x(change);
        let stroke = if change == 0.0 { "#666666" } else { "#e3e3e3" };
        add(
            &mut out,
            format_args!(
                "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"{stroke}\"/>\n\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\">{}</text>\n",
                bottom + 18.0,
                tick(change)
            ),
        );
    }
    for (i, row) in rows.iter().enumerate() {
        line(&mut out, row, TOP + ROW * (i as f64 + 0.5), x, reach);
    }
    out.push_str("</svg>\n");
    out
}

fn line(out: &mut String, row: &ForestRow, y: f64, x: impl Fn(f64) -> f64, reach: f64) {
    let change = &row.change;
    let (low, high) = change
        .interval
        .unwrap_or((change.estimate, change.estimate));
    let (colour, shape) = match row.tone {
        Tone::Unknown => ("#777777", "circle"),
        Tone::Worse => ("#d55e00", "square"),
        Tone::Better => ("#009e73", "diamond"),
        Tone::Neither => ("#0072b2", "circle"),
    };
    add(
        out,
        format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#333333\">{}</text>\n\
             <line x1=\"{:.1}\" y1=\"{y}\" x2=\"{:.1}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
            LEFT - 12.0,
            y + 4.0,
            escaped(&short(&row.name)),
            x(low),
            x(high)
        ),
    );
    for (end, sign) in [(low, -1.0), (high, 1.0)] {
        let at = x(end);
        if end.abs() > reach {
            add(
                out,
                format_args!(
                    "<path d=\"M{at:.1} {y}l{0:.1} -4v8z\" fill=\"{colour}\"/>\n",
                    -6.0 * sign
                ),
            );
        } else if change.interval.is_some() {
            add(
                out,
                format_args!(
                    "<path d=\"M{at:.1} {:.1}v8\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
                    y - 4.0
                ),
            );
        }
    }
    let at = x(change.estimate);
    let dot = match shape {
        "square" => format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\"",
            at - 4.5,
            y - 4.5
        ),
        "diamond" => format!("<path d=\"M{at:.1} {:.1}l6 6l-6 6l-6 -6z\"", y - 6.0),
        _ => format!("<circle cx=\"{at:.1}\" cy=\"{y}\" r=\"4.5\""),
    };
    add(out, format_args!("{dot} fill=\"{colour}\"/>\n"));
}

pub(super) fn percent(share: f64) -> String {
    format!("{} %", units::decimal(share * 100.0))
}

fn tick(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(change))
}

fn step(reach: f64) -> f64 {
    let decade = 10f64.powf((reach / 2.0).log10().floor());
    let mut fits = [5.0, 2.0, 1.0].into_iter().map(|digit| digit * decade);
    fits.find(|step| 2.0 * step <= reach).unwrap_or(decade)
}

fn short(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    let cut: String = name.chars().take(LONGEST - 1).collect();
    cut + "…"
}

fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
