//! Charts of a search, with the offered load on the horizontal axis.

use decisions::find::{Over, ProbeRow, SearchResult, sweep::Scaling};

use crate::svg::{Axis, AxisUnit, Chart, ChartCurve, DASHED, File, Scale, Shade};

const BLUE: &str = "#0072b2";
const GREEN: &str = "#009e73";
const ORANGE: &str = "#e69f00";
const RED: &str = "#d55e00";
const GREY: &str = "#999999";

type Points = Vec<(f64, Option<f64>)>;

pub(super) fn draw(found: &SearchResult) -> Vec<File> {
    let rows: Vec<&ProbeRow> = found
        .probes
        .iter()
        .filter(|row| row.invalid.is_none())
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut files = Vec::new();
    if !found.probabilities.is_empty() {
        files.push(sure(found, &rows));
    }
    files.extend(
        found
            .scaling
            .as_ref()
            .map(|scaling| law(found, scaling, &rows)),
    );
    files.push(latency(found, &rows));
    files.push(goodput(found, &rows));
    files
}

fn dots<'a>(
    name: &str,
    colour: &'static str,
    rows: impl Iterator<Item = &'a &'a ProbeRow>,
    value: impl Fn(&ProbeRow) -> Option<f64>,
) -> ChartCurve {
    let points: Points = rows
        .flat_map(|row| [(row.level, value(row)), (row.level, None)])
        .collect();
    ChartCurve {
        name: name.to_owned(),
        colour,
        dashes: "",
        filled: false,
        points,
    }
}

fn line(name: &str, colour: &'static str, dashes: &'static str, points: Points) -> ChartCurve {
    ChartCurve {
        name: name.to_owned(),
        colour,
        dashes,
        filled: false,
        points,
    }
}

fn chart(
    found: &SearchResult,
    title: &str,
    x: Axis,
    y: Axis,
    y_title: &'static str,
    curves: Vec<ChartCurve>,
) -> String {
    let interval = found.interval.iter();
    Chart {
        title: title.to_owned(),
        y_title,
        x_title: match found.varied {
            Over::Rate => "arrivals per second",
            Over::Users => "users",
        },
        x,
        y,
        curves,
        shades: interval
            .map(|(low, high)| Shade {
                from: *low,
                to: *high,
            })
            .collect(),
        marks: found
            .estimate
            .iter()
            .map(|level| (*level, "the load line".to_owned()))
            .collect(),
    }
    .draw()
}

fn sure(found: &SearchResult, rows: &[&ProbeRow]) -> File {
    let (from, to) = (
        found.probabilities[0].0,
        found.probabilities[found.probabilities.len() - 1].0,
    );
    let margin = (to - from) * 0.15;
    let (from, to) = (from - margin, to + margin);
    let within = |row: &&&ProbeRow| from <= row.level && row.level <= to;
    let x = Axis::exactly(from, to, AxisUnit::Number);
    let y = Axis::exactly(0.0, 100.0, AxisUnit::Number);
    let curve = found
        .probabilities
        .iter()
        .map(|(level, sure)| (*level, Some(sure * 100.0)));
    let held = rows.iter().filter(within).filter(|row| row.holds);
    let failed = rows.iter().filter(within).filter(|row| !row.holds);
    let curves = vec![
        line("all criteria hold, in %", BLUE, "", curve.collect()),
        dots("a probe held", GREEN, held, |_| Some(97.0)),
        dots("a probe failed", RED, failed, |_| Some(3.0)),
    ];
    File {
        name: "load-line.svg".into(),
        description: "Probability that all criteria hold, by offered load".into(),
        text: chart(
            found,
            "Probability that all criteria hold",
            x,
            y,
            "per cent",
            curves,
        ),
    }
}

fn law(found: &SearchResult, scaling: &Scaling, rows: &[&ProbeRow]) -> File {
    let most = scaling
        .curve
        .iter()
        .map(|(users, _)| *users)
        .fold(1.0, f64::max);
    let measured = rows.iter().map(|row| row.goodput);
    let values = measured.chain(scaling.curve.iter().map(|(_, per_second)| *per_second));
    let y = Axis::over(values, Scale::Linear, AxisUnit::Number);
    let x = Axis::exactly(0.0, most, AxisUnit::Number);
    let curve = scaling
        .curve
        .iter()
        .map(|(users, actual)| (*users, Some(*actual)));
    let curves = vec![
        dots("measured", GREEN, rows.iter(), |row| Some(row.goodput)),
        line("the law", BLUE, DASHED, curve.collect()),
    ];
    File {
        name: "scaling.svg".into(),
        description: "Successful responses per second by number of users, with the fitted law"
            .into(),
        text: chart(
            found,
            "Throughput by users",
            x,
            y,
            "requests per second",
            curves,
        ),
    }
}

fn all_levels(rows: &[&ProbeRow]) -> Axis {
    let levels = rows.iter().map(|row| row.level);
    Axis::over(levels, Scale::Linear, AxisUnit::Number)
}

fn latency(found: &SearchResult, rows: &[&ProbeRow]) -> File {
    let at = |i: usize| move |row: &ProbeRow| row.ns[i].map(|ns| ns as f64);
    let values = rows
        .iter()
        .flat_map(|row| row.ns.iter().flatten().map(|ns| *ns as f64));
    let y = Axis::over(values, Scale::Log, AxisUnit::Time);
    let curves = vec![
        dots("p50", BLUE, rows.iter(), at(0)),
        dots("p95", ORANGE, rows.iter(), at(1)),
        dots("p99", RED, rows.iter(), at(2)),
    ];
    File {
        name: "latency.svg".into(),
        description: "Percentiles of each probe, by offered load".into(),
        text: chart(
            found,
            "Latency of each probe",
            all_levels(rows),
            y,
            "time",
            curves,
        ),
    }
}

fn goodput(found: &SearchResult, rows: &[&ProbeRow]) -> File {
    let most = rows.iter().map(|row| row.level).fold(0.0, f64::max);
    let values = rows.iter().map(|row| row.goodput);
    let values = values.chain((found.varied == Over::Rate).then_some(most));
    let y = Axis::over(values, Scale::Linear, AxisUnit::Number);
    let mut curves = vec![dots("answered as expected", GREEN, rows.iter(), |row| {
        Some(row.goodput)
    })];
    if found.varied == Over::Rate {
        let as_offered = vec![(0.0, Some(0.0)), (most, Some(most))];
        curves.push(line("equal to the offered load", GREY, DASHED, as_offered));
    }
    File {
        name: "goodput.svg".into(),
        description: "Successful responses per second, by offered load".into(),
        text: chart(
            found,
            "Answered as expected",
            all_levels(rows),
            y,
            "requests per second",
            curves,
        ),
    }
}
