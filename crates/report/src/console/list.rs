//! Terminal list of runs, newest first.

use analysis::verdict::Judgement;
use decisions::run_index::{IndexedRun, QUANTILES};
use record::{RunState, units};

use super::text::{Columns, wrap};

const HEADS: [&str; 7] = [
    "began (UTC)",
    "verdict",
    "rate",
    "errors",
    "p50",
    "p95",
    "p99",
];
const NONE: &str = "–";
const REVISION: usize = 7;

#[must_use]
pub fn list_in(runs: &[IndexedRun], columns: Columns) -> String {
    let cells: Vec<[String; 7]> = runs.iter().map(cells).collect();
    let width = |column: usize| {
        let cells = cells.iter().map(|row| row[column].chars().count());
        cells.chain([HEADS[column].len()]).max().unwrap_or(0)
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |cells: &[String; 7]| {
        let cells = cells.iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| {
            if column < 2 {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut text = line(&HEADS.map(str::to_owned)) + "\n";
    for (run, cells) in runs.iter().zip(&cells) {
        text += &line(cells);
        text += &format!("\n  {}\n", wrap(&what(run), 4, columns.less(2)));
    }
    text += &wrap(&foot(runs), 0, columns);
    text.push('\n');
    text
}

fn cells(run: &IndexedRun) -> [String; 7] {
    let all = run.all();
    let times = run.headline_times();
    let time = |place: usize| {
        let ns = times.and_then(|times| times.percentiles[place]);
        ns.map_or_else(|| NONE.to_owned(), |ns| units::time(ns.round() as u64))
    };
    let rate = all.and_then(|all| all.per_second);
    let errors = all.and_then(|all| all.error_share);
    [
        record::utc(run.began_ns, "%Y-%m-%d %H:%M"),
        verdict(run),
        rate.map_or_else(
            || NONE.to_owned(),
            |rate| format!("{}/s", units::rate(rate)),
        ),
        errors.map_or_else(|| NONE.to_owned(), units::share),
        time(place(0.5)),
        time(place(0.95)),
        time(place(0.99)),
    ]
}

fn place(q: f64) -> usize {
    let is_it = |known: &f64| (known - q).abs() < 1e-9;
    QUANTILES.iter().position(is_it).unwrap_or(0)
}

fn verdict(run: &IndexedRun) -> String {
    let criteria = run.criteria.map(|criteria| match criteria {
        Judgement::Pass => "PASS",
        Judgement::Fail => "FAIL",
        Judgement::Inconclusive => "INCONCLUSIVE",
    });
    match (run.measurement.as_deref(), criteria) {
        (Some("INVALID"), _) => "INVALID".to_owned(),
        (None, _) => "nothing".to_owned(),
        (_, Some(criteria)) => criteria.to_owned(),
        (Some(measurement), None) => measurement.to_owned(),
    }
}

fn what(run: &IndexedRun) -> String {
    let revision = run.revision.as_deref().map(|revision| {
        let short: String = revision.chars().take(REVISION).collect();
        format!("git {short}")
    });
    let tags = (!run.tags.is_empty()).then(|| run.tags.join(", "));
    let degraded = run.measurement.as_deref() == Some("DEGRADED") && run.criteria.is_some();
    let state = match run.state {
        RunState::Complete => None,
        RunState::Running if run.recorded => Some("running, or killed".to_owned()),
        RunState::Running => Some("killed".to_owned()),
        RunState::Interrupted => Some("ended early".to_owned()),
    };
    let gone = (!run.recorded).then(|| "record deleted".to_owned());
    let parts = [
        Some(run.run.clone()),
        Some(run.name.clone()),
        tags,
        revision,
        Some(run.load.clone()),
        degraded.then(|| "DEGRADED".to_owned()),
        state,
        gone,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn foot(runs: &[IndexedRun]) -> String {
    let count = match runs.len() {
        1 => "1 run".to_owned(),
        n => format!("{} runs", units::count(n as u64)),
    };
    format!("{count}; each time is the run's headline time: response, iteration or service")
}
