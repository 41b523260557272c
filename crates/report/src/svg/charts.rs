//! Charts for the Markdown report.

use measure::TimeKind;
use plan::report_content::RateUnit;

use super::{Axis, AxisKind, AxisUnit, Chart, ChartCurve, File, NamedChart, Scale, Shade};
use analysis::{
    series::{Columns, Series, TimeColumns},
    summary::Summary,
};

const BLUE: &str = "#0072b2";
const SKY: &str = "#56b4e9";
const GREEN: &str = "#009e73";
const ORANGE: &str = "#e69f00";
const RED: &str = "#d55e00";
const BLACK: &str = "#333333";

pub const DASHED: &str = "7 5";

type Count = fn(&Columns) -> &Vec<u64>;

#[must_use]
pub fn draw(summary: &Summary, series: &Series) -> Vec<File> {
    if series.points.from_ns.is_empty() || summary.requests.issued == 0 {
        return Vec::new();
    }
    let charts = [
        Some(throughput(summary, series, RateUnit::Second).full()),
        errors(summary, series, RateUnit::Second).map(NamedChart::full),
        streams(summary, series),
        Some(latency(summary, series).full()),
        percentiles(series),
        summary
            .run
            .imported_from
            .is_none()
            .then(|| concurrency(summary, series)),
    ];
    charts.into_iter().flatten().collect()
}

/// Draws the rate, the times and the errors of a stage of a campaign.
#[must_use]
pub fn draw_stage(summary: &Summary, series: &Series, unit: RateUnit) -> Vec<File> {
    if series.points.from_ns.is_empty() || summary.requests.issued == 0 {
        return Vec::new();
    }
    let charts = [
        Some(throughput(summary, series, unit)),
        Some(latency(summary, series)),
        errors(summary, series, unit),
    ];
    charts
        .into_iter()
        .flatten()
        .map(NamedChart::small)
        .collect()
}

fn over_time(
    summary: &Summary,
    series: &Series,
    title: String,
    y_title: &'static str,
    y: AxisKind,
    curves: Vec<ChartCurve>,
) -> Chart {
    let end = series.points.to_ns.last().copied().unwrap_or(1);
    let values = curves
        .iter()
        .flat_map(|curve| curve.points.iter().filter_map(|(_, y)| *y));
    let late = summary.measurement.iter().flat_map(|m| &m.late_ns);
    let marks = summary.phases.iter().filter(|_| summary.phases.len() > 1);
    Chart {
        title,
        y_title,
        x_title: "time since the start",
        x: Axis::exactly(0.0, end as f64, AxisUnit::Time),
        y: Axis::over(values, y.scale, y.unit),
        shades: late
            .map(|(from, to)| Shade {
                from: *from as f64,
                to: *to as f64,
            })
            .collect(),
        marks: marks
            .map(|phase| (phase.start_ns as f64, phase.name.clone()))
            .collect(),
        curves,
    }
}

fn moments(points: &Columns) -> impl Iterator<Item = (f64, f64)> + '_ {
    points
        .from_ns
        .iter()
        .zip(&points.to_ns)
        .map(|(from, to)| (from.midpoint(*to) as f64, (to - from).max(1) as f64 / 1e9))
}

fn rates(points: &Columns, unit: RateUnit, counts: &[Count]) -> Vec<(f64, Option<f64>)> {
    let sum = |i: usize| counts.iter().map(|count| count(points)[i]).sum::<u64>() as f64;
    let places = moments(points).enumerate();
    places
        .map(|(i, (x, seconds))| (x, Some(unit.from_per_second(sum(i) / seconds))))
        .collect()
}

fn throughput(summary: &Summary, series: &Series, unit: RateUnit) -> NamedChart {
    let points = &series.points;
    let line = |name: &str, colour, dashes, filled, counts: &[Count]| ChartCurve {
        name: name.to_owned(),
        colour,
        dashes,
        filled,
        points: rates(points, unit, counts),
    };
    let mut curves = vec![
        line("sent", SKY, "", true, &[|p| &p.issued]),
        line("answered as expected", GREEN, "", false, &[|p| &p.ok]),
        line(
            "failed or unanswered",
            RED,
            DASHED,
            false,
            &[|p| &p.failed, |p| &p.unanswered],
        ),
    ];
    if summary
        .arrivals
        .as_ref()
        .is_some_and(|arrivals| arrivals.planned.is_some())
    {
        curves.insert(
            0,
            line("arrivals planned", BLACK, DASHED, false, &[|p| &p.due]),
        );
    }
    let chart = over_time(
        summary,
        series,
        format!("Requests per {}", unit.name()),
        unit.axis_title(),
        AxisKind {
            scale: Scale::Linear,
            unit: AxisUnit::Number,
        },
        curves,
    );
    NamedChart {
        name: "throughput.svg".into(),
        description: format!(
            "Requests sent, answered and failed per {} over the run",
            unit.name()
        ),
        chart,
    }
}

pub const LINES: [(&str, &str); 8] = [
    (BLUE, ""),
    (GREEN, ""),
    (RED, ""),
    (ORANGE, ""),
    (SKY, ""),
    (BLACK, ""),
    (BLUE, DASHED),
    (RED, DASHED),
];

/// Line styles by error class. All classes after the eighth share one style.
const ERRORS: [(&str, &str); 8] = [
    (RED, ""),
    (ORANGE, ""),
    (BLUE, ""),
    (GREEN, ""),
    (BLACK, ""),
    (RED, DASHED),
    (BLUE, DASHED),
    (BLACK, DASHED),
];

fn errors(summary: &Summary, series: &Series, unit: RateUnit) -> Option<NamedChart> {
    let points = &series.points;
    let came = points
        .errors
        .iter()
        .filter(|(_, counts)| counts.iter().any(|n| *n > 0));
    let curves: Vec<ChartCurve> = came
        .zip(ERRORS.iter().cycle())
        .map(|((name, counts), (colour, dashes))| ChartCurve {
            name: name.to_string(),
            colour,
            dashes,
            filled: false,
            points: moments(points)
                .zip(counts)
                .map(|((x, seconds), n)| (x, Some(unit.from_per_second(*n as f64 / seconds))))
                .collect(),
        })
        .collect();
    if curves.is_empty() {
        return None;
    }
    let title = format!("Errors per {}, by class", unit.name());
    let y = AxisKind {
        scale: Scale::Linear,
        unit: AxisUnit::Number,
    };
    let chart = over_time(summary, series, title, unit.axis_title(), y, curves);
    Some(NamedChart {
        name: "errors.svg".into(),
        description: format!(
            "Requests per {} that failed or had no response, by class",
            unit.name()
        ),
        chart,
    })
}

fn times(points: &Columns, kind: TimeKind) -> &TimeColumns {
    match kind {
        TimeKind::Response => &points.response,
        _ => &points.service,
    }
}

/// Creates a curve of times with a colour and a dash pattern.
fn time_curve(
    points: &Columns,
    name: &str,
    (colour, dashes): (&'static str, &'static str),
    column: &[Option<u64>],
) -> ChartCurve {
    ChartCurve {
        name: name.to_owned(),
        colour,
        dashes,
        filled: false,
        points: moments(points)
            .zip(column)
            .map(|((x, _), ns)| (x, ns.map(|ns| ns as f64)))
            .collect(),
    }
}

fn streams(summary: &Summary, series: &Series) -> Option<File> {
    let points = &series.points;
    let stream = points.stream.as_ref()?;
    let curve = |name, colour, dashes, column| time_curve(points, name, (colour, dashes), column);
    let curves = vec![
        curve("first token p50", BLUE, "", &stream.ttft.p50),
        curve("first token p95", ORANGE, "", &stream.ttft.p95),
        curve("gap p50", BLUE, DASHED, &stream.gap.p50),
        curve("gap p99", RED, DASHED, &stream.gap.p99),
    ];
    let y = AxisKind {
        scale: Scale::Log,
        unit: AxisUnit::Time,
    };
    let title = "Time to first token and gaps over time".to_owned();
    let chart = over_time(summary, series, title, "time", y, curves);
    Some(File {
        name: "streams.svg".into(),
        description: "Time to first token and gaps between tokens over the run".into(),
        text: chart.draw(),
    })
}

fn latency(summary: &Summary, series: &Series) -> NamedChart {
    let points = &series.points;
    let headline = summary.headline();
    let curve = |name, colour, dashes, column| time_curve(points, name, (colour, dashes), column);
    let times_shown = times(points, headline);
    let mut curves = vec![
        curve("p50", BLUE, "", &times_shown.p50),
        curve("p95", ORANGE, "", &times_shown.p95),
        curve("p99", RED, "", &times_shown.p99),
        curve("max", BLACK, "", &times_shown.max),
    ];
    if headline != TimeKind::Service {
        curves.push(curve("p99 service", RED, DASHED, &points.service.p99));
    }
    let name = summary.headline_name();
    let title = format!("{}{} over time", name[..1].to_uppercase(), &name[1..]);
    let chart = over_time(
        summary,
        series,
        title,
        "log scale",
        AxisKind {
            scale: Scale::Log,
            unit: AxisUnit::Time,
        },
        curves,
    );
    NamedChart {
        name: "latency.svg".into(),
        description: format!("Percentiles of the {name} over the run, on a logarithmic axis"),
        chart,
    }
}

fn percentiles(series: &Series) -> Option<File> {
    let colours = [(BLUE, ""), (ORANGE, DASHED)];
    let curves: Vec<ChartCurve> = series
        .distribution
        .iter()
        .zip(colours)
        .map(|(distribution, (colour, dashes))| ChartCurve {
            name: match distribution.time.as_str() {
                "response" => "response".to_owned(),
                "iteration" => "iteration".to_owned(),
                _ => "service".to_owned(),
            },
            colour,
            dashes,
            filled: false,
            points: distribution
                .curve
                .iter()
                .filter(|(q, _)| *q < 1.0)
                .map(|(q, ns)| (1.0 / (1.0 - q), Some(*ns as f64)))
                .collect(),
        })
        .filter(|curve| curve.points.len() > 1)
        .collect();
    if curves.is_empty() {
        return None;
    }
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let chart = Chart {
        title: "Latency by percentile".into(),
        y_title: "log scale",
        x_title: "share of requests that were at least this fast",
        x: Axis::over(all().map(|(x, _)| *x), Scale::Log, AxisUnit::Nines),
        y: Axis::over(all().filter_map(|(_, y)| *y), Scale::Log, AxisUnit::Time),
        shades: Vec::new(),
        marks: Vec::new(),
        curves,
    };
    Some(File {
        name: "percentiles.svg".into(),
        description: "Latency by percentile for the whole run".into(),
        text: chart.draw(),
    })
}

fn concurrency(summary: &Summary, series: &Series) -> File {
    let points = &series.points;
    let curve = |name: &str, colour, dashes, filled, column: &Vec<Option<f64>>| ChartCurve {
        name: name.to_owned(),
        colour,
        dashes,
        filled,
        points: moments(points)
            .zip(column)
            .map(|((x, _), y)| (x, *y))
            .collect(),
    };
    let curves = vec![
        curve("requests in flight", SKY, "", true, &points.in_flight),
        curve("largest sample", BLUE, "", false, &points.in_flight_max),
        curve("by Little's law", BLACK, DASHED, false, &points.littles_law),
    ];
    let chart = over_time(
        summary,
        series,
        "Concurrency".into(),
        "requests",
        AxisKind {
            scale: Scale::Linear,
            unit: AxisUnit::Number,
        },
        curves,
    );
    File {
        name: "concurrency.svg".into(),
        description: "Requests in flight, sampled and by Little's law".into(),
        text: chart.draw(),
    }
}
