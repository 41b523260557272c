//! A figure over runs that are over: its value in each that can be compared with the newest, and where it went from one level to
//! another. Runs of another plan, load or machine, and those whose measurement cannot be trusted, stand apart and say why.

use record::units;
use serde::Serialize;
use statistics::{LEAST_LEVEL, LEAST_P, TOO_CORRELATED, WINDOW, levels};

use super::{IndexedRun, RowSubject};
use crate::compare::{FigureUnit, Subject};

/// A level that is so much higher or lower, as a share, is another one, where nobody says otherwise.
pub const MARGIN: f64 = 0.03;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendConfig {
    /// The figure.
    pub subject: Subject,
    /// Levels of times and rates that differ by less, as a share, are one.
    pub margin: f64,
    /// The same of shares of errors, in themselves.
    pub error_margin: f64,
    /// Whether runs of another plan, load, version or machine count too.
    pub anyway: bool,
}

/// A figure over runs, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricTrend {
    /// Version of this format.
    pub schema: u32,
    /// The figure, as it may be asked for.
    pub subject: String,
    /// How its values are to be read.
    pub unit: FigureUnit,
    /// Levels that differ by less are one.
    pub margin: f64,
    /// The runs that count.
    pub values: Vec<TrendPoint>,
    /// Where the figure went to another level.
    pub shifts: Vec<Shifted>,
    /// Correlation of neighbouring runs about their level: 0 for independent runs, at most 1.
    pub correlation: f64,
    /// The runs that do not count, by why.
    pub apart: Vec<Apart>,
    /// All of it in a sentence.
    pub sentence: String,
    /// How shifts are told from chance.
    pub method: String,
}

/// The figure in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendPoint {
    /// The run.
    pub run: String,
    /// When it began.
    pub began_utc: String,
    /// What it is called.
    pub name: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Revision of the git repository in which it was started.
    pub revision: Option<String>,
    /// The value; of runs that do not count there may be none.
    pub value: Option<f64>,
    /// Whether its record is still there.
    pub recorded: bool,
}

/// A shift: the figure went to another level, and stayed there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shifted {
    /// Where among the values the new level begins.
    pub at: usize,
    /// The first run of the new level.
    pub run: String,
    /// The last one of the level before.
    pub last_run_before: String,
    /// The level before: of times and rates the geometric mean of its runs.
    pub before: f64,
    /// The new one.
    pub after: f64,
    /// How far it is from the one before: as a share, of error shares in itself.
    pub change: f64,
    /// Whether that is worse.
    pub worse: bool,
    /// How likely runs of one level differ as much.
    pub p: f64,
}

/// Runs that do not count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Apart {
    /// Why.
    pub why: String,
    /// They.
    pub runs: Vec<TrendPoint>,
}

/// Why there is no course.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoCourse {
    /// There are no runs at all.
    NoRuns,
    /// No run counts, whatever the figure: what is wrong with the newest.
    NoneCounts(String),
    /// No run that counts has the figure: what the newest has in its place, where it was asked of something.
    NoValue(Vec<String>),
}

/// The course of a figure over these runs, oldest first.
///
/// # Errors
/// When there is nothing to show.
pub fn course(runs: &[IndexedRun], asked: &TrendConfig) -> Result<MetricTrend, NoCourse> {
    let newest = runs.last().ok_or(NoCourse::NoRuns)?;
    let value = |run: &IndexedRun| known(run, asked);
    let counts = |run: &IndexedRun| run.fault.is_none() && value(run).is_some();
    let measure = runs.iter().rev().find(|run| counts(run));
    let measure = measure.ok_or_else(|| match &newest.fault {
        Some(fault) if runs.iter().all(|run| run.fault.is_some()) => {
            NoCourse::NoneCounts(fault.clone())
        }
        _ => NoCourse::NoValue(rows_of(newest, asked)),
    })?;
    let (mut values, mut apart): (Vec<TrendPoint>, Vec<Apart>) = (Vec::new(), Vec::new());
    for run in runs {
        let reported = point(run, value(run));
        match why_apart(run, measure, reported.value, asked.anyway) {
            None => values.push(reported),
            Some(why) => match apart.iter_mut().find(|known| known.why == why) {
                Some(known) => known.runs.push(reported),
                None => apart.push(Apart {
                    why,
                    runs: vec![reported],
                }),
            },
        }
    }
    let unit = asked.subject.unit();
    let (shifts, correlation) = shifts(&values, unit, asked);
    Ok(MetricTrend {
        schema: 1,
        subject: asked.subject.text.clone(),
        unit,
        margin: margin(unit, asked),
        sentence: sentence(&values, &shifts, correlation, asked),
        correlation,
        method: method(unit, asked),
        values,
        shifts,
        apart,
    })
}

/// The value of the figure, where that has a level: nothing has no ratio to anything.
fn known(run: &IndexedRun, asked: &TrendConfig) -> Option<f64> {
    let value = run.value(&asked.subject)?;
    (asked.subject.unit() == FigureUnit::Share || value > 0.0).then_some(value)
}

fn point(run: &IndexedRun, value: Option<f64>) -> TrendPoint {
    TrendPoint {
        run: run.run.clone(),
        began_utc: run.began_utc.clone(),
        name: run.name.clone(),
        tags: run.tags.clone(),
        revision: run.revision.clone(),
        value,
        recorded: run.recorded,
    }
}

fn why_apart(
    run: &IndexedRun,
    measure: &IndexedRun,
    value: Option<f64>,
    anyway: bool,
) -> Option<String> {
    if let Some(fault) = &run.fault {
        // What it was is the run's own: the kind of it gathers them.
        let kind = fault.split(':').next().unwrap_or(fault);
        return Some(kind.to_owned());
    }
    let facets = run.likeness.iter().zip(&measure.likeness);
    let mut different = facets.filter(|(is, wanted)| is != wanted);
    if let Some(((what, is), (_, wanted))) = different.next().filter(|_| !anyway) {
        return Some(match what.as_str() {
            // Of these only a hash is known.
            "plan" | "data" => format!("another {what}"),
            _ => format!("another {what}: {is}, not {wanted}"),
        });
    }
    value.is_none().then(|| {
        "it has no such figure, too few requests beyond it, or got no answer there".to_owned()
    })
}

/// What there is where a figure was looked for; of all requests nothing but they.
fn rows_of(run: &IndexedRun, asked: &TrendConfig) -> Vec<String> {
    use plan::criteria::{Metric, SpanFilter};
    let of = match asked.subject.metric {
        Metric::Time(SpanFilter::Iteration, _) => RowSubject::Iteration,
        Metric::Time(SpanFilter::Transaction, _) => RowSubject::Transaction,
        _ if asked.subject.of.is_none() => return Vec::new(),
        _ => RowSubject::Endpoint,
    };
    let rows = run.rows.iter().filter(|row| row.of == of);
    rows.map(|row| row.label.clone()).collect()
}

fn margin(unit: FigureUnit, asked: &TrendConfig) -> f64 {
    match unit {
        FigureUnit::Share => asked.error_margin,
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => asked.margin,
    }
}

/// The shifts, and the correlation of neighbouring runs about the levels between them.
fn shifts(values: &[TrendPoint], unit: FigureUnit, asked: &TrendConfig) -> (Vec<Shifted>, f64) {
    let is_ratio = unit != FigureUnit::Share;
    let series = values.iter().filter_map(|value| value.value);
    let series: Vec<f64> = series
        .map(|value| if is_ratio { value.ln() } else { value })
        .collect();
    let least = margin(unit, asked);
    let least = if is_ratio { least.ln_1p() } else { least };
    let levels = levels(&series, least);
    let changed = levels.points.into_iter().filter_map(|point| {
        let distance = point.after - point.before;
        let level = |level: f64| if is_ratio { level.exp() } else { level };
        Some(Shifted {
            at: point.at,
            run: values.get(point.at)?.run.clone(),
            last_run_before: values.get(point.at.checked_sub(1)?)?.run.clone(),
            before: level(point.before),
            after: level(point.after),
            change: if is_ratio {
                distance.exp_m1()
            } else {
                distance
            },
            worse: (distance > 0.0) != (unit == FigureUnit::PerSecond),
            p: point.p,
        })
    });
    (changed.collect(), levels.correlation)
}

fn method(unit: FigureUnit, asked: &TrendConfig) -> String {
    format!(
        "A shift is one that runs of one level show less often than once in {} times, by E-divisive means and Student's test \
         over windows of {WINDOW} runs; smaller ones than {} are not told. The test counts with neighbouring runs that are alike. A level is {LEAST_LEVEL} runs at least, of times and rates \
         their geometric mean.",
        units::count((1.0 / LEAST_P).round() as u64),
        crate::compare::amount(unit, margin(unit, asked))
    )
}

fn sentence(
    values: &[TrendPoint],
    shifts: &[Shifted],
    correlation: f64,
    asked: &TrendConfig,
) -> String {
    let least = 2 * LEAST_LEVEL;
    let runs = values.len();
    let count = if runs == 1 {
        "1 run".to_owned()
    } else {
        format!("{runs} runs")
    };
    if runs < least {
        return format!("{count}: from {least} on that can be compared shifts can be seen");
    }
    let unit = asked.subject.unit();
    let amount = |change: f64| crate::compare::amount(unit, change);
    let Some(last) = shifts.last() else {
        if correlation > TOO_CORRELATED {
            return format!(
                "{count}: neighbouring runs are too alike to tell a shift from drift (correlation {correlation:.2})"
            );
        }
        return format!(
            "{count}, one level: no shift of {} or more is seen",
            amount(margin(unit, asked))
        );
    };
    let way = if last.change > 0.0 { "rose" } else { "fell" };
    let reported = format!(
        "{} {way} by {} at {}",
        asked.subject.text,
        amount(last.change.abs()),
        last.run
    );
    match shifts.len() {
        1 => format!("{count}, 1 shift: {reported}"),
        n => format!("{count}, {n} shifts; the last: {reported}"),
    }
}

#[cfg(test)]
mod tests {
    use plan::rng::{Purpose, Rng};
    use record::{Model, RunState};

    use super::*;
    use crate::run_index::{IndexedRow, RowTimes};
    use plan::criteria::SpanFilter;

    fn run(number: usize, p99_ns: f64) -> IndexedRun {
        IndexedRun {
            run: format!("run-{number}"),
            began_ns: number as u64,
            began_utc: String::new(),
            name: "shop".into(),
            tags: Vec::new(),
            target: String::new(),
            revision: None,
            load: "100/s".into(),
            model: Model::Open,
            state: RunState::Complete,
            elapsed_ns: 1,
            measurement: Some("VALID".into()),
            criteria: None,
            exit_code: 0,
            fault: None,
            likeness: vec![("load".into(), "100/s".into()), ("plan".into(), "a".into())],
            headline: (SpanFilter::Response, None),
            rows: vec![IndexedRow {
                of: RowSubject::All,
                label: String::new(),
                count: 1000,
                error_share: Some(0.0),
                per_second: Some(100.0),
                times: vec![RowTimes {
                    span: SpanFilter::Response,
                    mean: None,
                    percentiles: [None, None, None, Some(p99_ns), None],
                    max: None,
                }],
            }],
            recorded: true,
        }
    }

    /// So many runs of which the figure varies by 2 %, and is higher by 7 % from the 40th on.
    fn sixty(seed: u64) -> Vec<IndexedRun> {
        let mut random = Rng::keyed(seed, Purpose::Sampling, 0, 0);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let value = |i: usize| if i >= 40 { 1.07e7 } else { 1e7 };
        (0..60)
            .map(|i| run(i, value(i) * (1.0 + 0.02 * normal())))
            .collect()
    }

    fn asked(text: &str) -> TrendConfig {
        TrendConfig {
            subject: crate::compare::read(text).unwrap(),
            margin: MARGIN,
            error_margin: 0.001,
            anyway: false,
        }
    }

    #[test]
    fn a_step_is_told_with_the_runs_on_both_sides() {
        let course = course(&sixty(1), &asked("p99")).unwrap();
        assert_eq!(course.values.len(), 60);
        let [one] = course.shifts.as_slice() else {
            panic!("{:?}", course.shifts);
        };
        assert!(one.at.abs_diff(40) <= 1 && one.worse, "{one:?}");
        assert!((one.change - 0.07).abs() < 0.02, "{one:?}");
        assert_eq!(one.run, format!("run-{}", one.at));
        assert_eq!(one.last_run_before, format!("run-{}", one.at - 1));
        assert!(
            course.sentence.contains("p99 rose by"),
            "{}",
            course.sentence
        );
    }

    #[test]
    fn runs_that_drift_have_no_shift_and_the_sentence_says_why() {
        let mut random = Rng::keyed(1, Purpose::Sampling, 0, 0);
        let mut value = 1e7;
        let drifting = (0..60).map(|i| {
            value *= 1.0 + 0.04 * (random.unit() - 0.3);
            run(i, value)
        });
        let course = course(&drifting.collect::<Vec<_>>(), &asked("p99")).unwrap();
        assert_eq!(course.shifts, []);
        assert!(
            course.correlation > TOO_CORRELATED,
            "{}",
            course.correlation
        );
        let said = "neighbouring runs are too alike to tell a shift from drift";
        assert!(course.sentence.contains(said), "{}", course.sentence);
    }

    #[test]
    fn what_cannot_be_compared_with_the_newest_stands_apart() {
        let mut runs = sixty(2);
        runs[3].fault = Some("its measurement is INVALID: late".into());
        runs[4].likeness[0].1 = "200/s".into();
        runs[5].likeness[1].1 = "b".into();
        runs[6].rows[0].times.clear();
        let found = course(&runs, &asked("p99")).unwrap();
        let why: Vec<&str> = found.apart.iter().map(|apart| apart.why.as_str()).collect();
        assert_eq!(
            why[..3],
            [
                "its measurement is INVALID",
                "another load: 200/s, not 100/s",
                "another plan"
            ]
        );
        assert_eq!((why.len(), found.values.len()), (4, 56));
        let anyway = TrendConfig {
            anyway: true,
            ..asked("p99")
        };
        assert_eq!(course(&runs, &anyway).unwrap().values.len(), 58);
    }

    #[test]
    fn the_newest_that_counts_is_the_measure() {
        let mut runs = sixty(3);
        runs[59].fault = Some("it was ended early".into());
        runs[59].likeness[0].1 = "200/s".into();
        assert_eq!(course(&runs, &asked("p99")).unwrap().values.len(), 59);
    }

    #[test]
    fn without_a_value_there_is_no_course() {
        assert_eq!(course(&[], &asked("p99")), Err(NoCourse::NoRuns));
        assert_eq!(
            course(&sixty(1), &asked("p99 of \"GET /\"")),
            Err(NoCourse::NoValue(Vec::new()))
        );
        // Of all requests no endpoint is told in the place of what is not kept.
        let mut runs = sixty(1);
        let endpoint = |label: &str| IndexedRow {
            of: RowSubject::Endpoint,
            label: label.into(),
            ..runs[59].rows[0].clone()
        };
        let endpoints = [endpoint("GET /a"), endpoint("GET /b")];
        runs[59].rows.extend(endpoints);
        assert_eq!(
            course(&runs, &asked("p99.9")),
            Err(NoCourse::NoValue(Vec::new()))
        );
        for run in &mut runs {
            run.fault = Some("its measurement is INVALID: late".into());
        }
        let why = NoCourse::NoneCounts("its measurement is INVALID: late".into());
        assert_eq!(course(&runs, &asked("p99")), Err(why));
        let few = course(&sixty(1)[..7], &asked("p99")).unwrap();
        assert!(
            few.sentence.starts_with("7 runs: from 8 on"),
            "{}",
            few.sentence
        );
    }
}
