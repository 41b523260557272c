//! Charts of a campaign, with all stages on one axis. Each server metric has a chart with one line
//! per instance.

use std::collections::BTreeMap;

use analysis::{
    page::Page,
    series::{self, Columns, Constant, TimeColumns},
};
use decisions::campaign::Campaign;
use measure::TimeKind;
use plan::report_content::{RateUnit, ReportContent};

use super::server;
use crate::svg::{
    self, Axis, AxisKind, AxisUnit, Chart, ChartCurve, DASHED, File, LINES, NamedChart, Scale,
};

const MOST_LINES: usize = LINES.len();

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSpan {
    /// Name of the stage. `None` means a probe in the cool-down between stages.
    pub stage: Option<String>,
}

struct Placed<'a> {
    from_ns: u64,
    page: &'a Page,
}

type Points = Vec<(f64, Option<f64>)>;

struct TimeAxis {
    title: &'static str,
    end_ns: u64,
    marks: Vec<(f64, String)>,
}

impl TimeAxis {
    fn new(runs: &[(RunSpan, &Page)], placed: &[Placed<'_>]) -> Option<TimeAxis> {
        let ends = placed.iter().filter_map(|run| {
            let last = run.page.series.points.to_ns.last()?;
            Some(run.from_ns + last)
        });
        let marks = runs
            .iter()
            .zip(placed)
            .map(|((span, _), run)| (run.from_ns as f64, span.stage.clone().unwrap_or_default()));
        Some(TimeAxis {
            title: "time since the start of the campaign",
            end_ns: ends.max()?,
            marks: marks.collect(),
        })
    }

    fn chart(
        &self,
        title: &str,
        y_title: &'static str,
        y: AxisKind,
        curves: Vec<ChartCurve>,
    ) -> Chart {
        let values = curves
            .iter()
            .flat_map(|curve| curve.points.iter().filter_map(|(_, y)| *y));
        Chart {
            title: title.to_owned(),
            y_title,
            x_title: self.title,
            x: Axis::exactly(0.0, self.end_ns as f64, AxisUnit::Time),
            y: Axis::over(values, y.scale, y.unit),
            shades: Vec::new(),
            marks: self.marks.clone(),
            curves,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Charts {
    /// Charts of rates and times.
    pub overview: Vec<File>,
    /// Charts of the service's metrics.
    pub server: Vec<File>,
    pub constants: Vec<Constant>,
    /// Charts of each stage that ran.
    pub stages: Vec<StageCharts>,
}

/// The charts of one stage: rate, times, errors and chosen metrics.
#[derive(Debug)]
pub(super) struct StageCharts {
    pub stage: String,
    pub files: Vec<File>,
}

pub(super) fn draw(runs: &[(RunSpan, &Page)], campaign: &Campaign) -> Charts {
    let started_wall_ns = campaign.identity.started_wall_ns;
    let content = &campaign.identity.content;
    let placed: Vec<Placed<'_>> = runs
        .iter()
        .map(|(_, page)| Placed {
            from_ns: page
                .summary
                .run
                .started_wall_ns
                .saturating_sub(started_wall_ns),
            page,
        })
        .collect();
    let Some(axis) = TimeAxis::new(runs, &placed) else {
        return Charts::default();
    };
    let rates = AxisKind {
        scale: Scale::Linear,
        unit: AxisUnit::Number,
    };
    let unit = content.rates;
    let overview = vec![
        NamedChart {
            name: "throughput.svg".into(),
            description: format!("Requests per {} over all stages", unit.name()),
            chart: axis.chart(
                &format!("Requests per {}", unit.name()),
                unit.axis_title(),
                rates,
                throughput(&placed, unit),
            ),
        }
        .full(),
        NamedChart {
            name: "latency.svg".into(),
            description: "Response time over all stages".into(),
            chart: axis.chart(
                "Response time",
                "log scale",
                AxisKind {
                    scale: Scale::Log,
                    unit: AxisUnit::Time,
                },
                latency(&placed),
            ),
        }
        .full(),
    ];
    let mut panels = panels(&placed);
    let constant = panels.iter().filter_map(|(name, (unit, lines))| {
        let lines = lines
            .iter()
            .map(|(_, points)| points.iter().map(|(_, value)| *value));
        series::constant(name, unit, lines)
    });
    let mut constants: Vec<Constant> = constant.collect();
    constants.retain(|one| !judged(runs, &one.name));
    let shown = server::shown(campaign).into_iter().enumerate();
    let server = shown.filter_map(|(number, name)| {
        let panel = panels.remove(&name)?;
        let title = server::title(content, &name);
        Some(metric(&axis, number + 1, &title, panel).full())
    });
    Charts {
        server: server.collect(),
        overview,
        constants,
        stages: stages(runs, content),
    }
}

/// Draws the charts of each stage, in the style of a run's charts.
fn stages(runs: &[(RunSpan, &Page)], content: &ReportContent) -> Vec<StageCharts> {
    let ran = runs
        .iter()
        .filter_map(|(span, page)| Some((span.stage.as_ref()?, *page)));
    let charts = ran.enumerate().map(|(number, (stage, page))| {
        let mut files = svg::draw_stage(&page.summary, &page.series, content.rates);
        files.extend(chosen(page, content));
        for file in &mut files {
            file.name = format!("stage-{}-{}", number + 1, file.name);
            file.description = format!("{stage}: {}", file.description);
        }
        StageCharts {
            stage: stage.clone(),
            files,
        }
    });
    charts.collect()
}

/// Draws the metrics that the plan selects.
fn chosen(page: &Page, content: &ReportContent) -> Vec<File> {
    let run = Placed { from_ns: 0, page };
    let Some(end_ns) = page.series.points.to_ns.last() else {
        return Vec::new();
    };
    let axis = TimeAxis {
        title: "time since the start",
        end_ns: *end_ns,
        marks: Vec::new(),
    };
    let mut panels = panels(&[run]);
    let metrics = content.metrics.iter().enumerate();
    let files = metrics.filter_map(|(number, chosen)| {
        let panel = panels.remove(&chosen.name)?;
        let title = chosen.title.as_ref().unwrap_or(&chosen.name);
        let mut named = metric(&axis, number + 1, title, panel);
        named.description = format!("{title} over the run");
        Some(named.small())
    });
    files.collect()
}

fn judged(runs: &[(RunSpan, &Page)], name: &str) -> bool {
    let panels = runs.iter().flat_map(|(_, page)| &page.series.server);
    let mut panels = panels.filter(|panel| panel.name == name);
    panels.any(|panel| panel.limit.is_some())
}

fn metric(axis: &TimeAxis, number: usize, name: &str, (unit, lines): Panel) -> NamedChart {
    let names: Vec<&str> = lines.iter().filter_map(|(of, _)| of.as_deref()).collect();
    let common = common(&names);
    let by = common
        .as_ref()
        .map_or_else(String::new, |keys| format!(" by {keys}"));
    let title = match lines.len().saturating_sub(MOST_LINES) {
        0 => format!("{name}{by}"),
        more => format!("{name}{by} ({more} more not shown)"),
    };
    let short = |of: String| match labels(&of).filter(|_| common.is_some()) {
        Some((_, values)) => values.join(" "),
        None => of,
    };
    let curves = lines.into_iter().zip(LINES);
    let curves = curves.map(|((of, points), (colour, dashes))| ChartCurve {
        name: of.map_or_else(String::new, short),
        colour,
        dashes,
        filled: false,
        points,
    });
    let y_title = match unit.as_str() {
        "%" => "%",
        "/s" => "per second",
        "B" => "bytes",
        "B/s" => "bytes per second",
        "cores" => "cores",
        _ => "",
    };
    NamedChart {
        name: format!("server-{number}.svg"),
        description: format!("{name} over all stages"),
        chart: axis.chart(
            &title,
            y_title,
            AxisKind {
                scale: Scale::Linear,
                unit: AxisUnit::Number,
            },
            curves.collect(),
        ),
    }
}

fn labels(name: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let pairs = name.split(',').map(|pair| pair.split_once('='));
    pairs
        .collect::<Option<Vec<_>>>()
        .map(|pairs| pairs.into_iter().unzip())
}

fn common(names: &[&str]) -> Option<String> {
    let mut keys = names.iter().map(|name| labels(name).map(|(keys, _)| keys));
    let first = keys.next()??;
    keys.all(|keys| keys.as_ref() == Some(&first))
        .then(|| first.join(", "))
}

fn joined(runs: &[Placed<'_>], values: impl Fn(&Columns, usize) -> Option<f64>) -> Points {
    let mut all = Vec::new();
    for run in runs {
        let points = &run.page.series.points;
        for (i, (from, to)) in points.from_ns.iter().zip(&points.to_ns).enumerate() {
            let at = run.from_ns + from.midpoint(*to);
            all.push((at as f64, values(points, i)));
        }
        all.push((run.from_ns as f64, None));
    }
    all
}

fn throughput(runs: &[Placed<'_>], unit: RateUnit) -> Vec<ChartCurve> {
    let rate = |counts: fn(&Columns, usize) -> u64| {
        joined(runs, move |points, i| {
            let seconds = (points.to_ns[i] - points.from_ns[i]).max(1) as f64 / 1e9;
            Some(unit.from_per_second(counts(points, i) as f64 / seconds))
        })
    };
    let curve = |name: &str, (colour, dashes): (&'static str, &'static str), points| ChartCurve {
        name: name.to_owned(),
        colour,
        dashes,
        filled: false,
        points,
    };
    vec![
        curve("sent", LINES[0], rate(|points, i| points.issued[i])),
        curve(
            "answered as expected",
            LINES[1],
            rate(|points, i| points.ok[i]),
        ),
        curve(
            "failed or unanswered",
            (LINES[2].0, DASHED),
            rate(|points, i| points.failed[i] + points.unanswered[i]),
        ),
    ]
}

fn latency(runs: &[Placed<'_>]) -> Vec<ChartCurve> {
    type PointColumn = fn(&TimeColumns) -> &Vec<Option<u64>>;
    let columns: [(&str, PointColumn); 3] = [
        ("p50", |times| &times.p50),
        ("p95", |times| &times.p95),
        ("max", |times| &times.max),
    ];
    let of_run = |run: &Placed<'_>| run.page.summary.headline();
    let is_service = !runs.is_empty() && runs.iter().all(|run| of_run(run) == TimeKind::Service);
    let curves = columns
        .into_iter()
        .zip(LINES)
        .map(|((name, column), (colour, dashes))| ChartCurve {
            name: name.to_owned(),
            colour,
            dashes,
            filled: false,
            points: joined(runs, |points, i| {
                let times = if is_service {
                    &points.service
                } else {
                    &points.response
                };
                let value = column(times).get(i).copied().flatten();
                value.map(|ns| ns as f64)
            }),
        });
    curves.collect()
}

type Panel = (String, Vec<(Option<String>, Points)>);
type Panels = BTreeMap<String, Panel>;

fn panels(runs: &[Placed<'_>]) -> Panels {
    let mut panels = Panels::new();
    for run in runs {
        let series = &run.page.series;
        for panel in &series.server {
            let (_, lines) = panels
                .entry(panel.name.clone())
                .or_insert_with(|| (panel.unit.clone(), Vec::new()));
            let known = lines.iter().position(|(of, _)| *of == panel.instance);
            let at = known.unwrap_or_else(|| {
                lines.push((panel.instance.clone(), Vec::new()));
                lines.len() - 1
            });
            let moments = series.points.from_ns.iter().zip(&series.points.to_ns);
            let points = moments
                .zip(&panel.values)
                .map(|((from, to), value)| ((run.from_ns + from.midpoint(*to)) as f64, *value));
            lines[at].1.extend(points);
            lines[at].1.push((run.from_ns as f64, None));
        }
    }
    panels
}
