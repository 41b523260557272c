//! A metric over all runs that are comparable with the newest run, and its shifts.

use record::units;
use serde::Serialize;
use statistics::{LEAST_LEVEL, LEAST_P, TOO_CORRELATED, WINDOW, levels};

use super::{IndexedRun, RowSubject};
use crate::compare::{FigureUnit, Subject};

pub const MARGIN: f64 = 0.03;

#[derive(Debug, Clone, PartialEq)]
pub struct TrendConfig {
    pub subject: Subject,
    pub margin: f64,
    pub error_margin: f64,
    pub anyway: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricTrend {
    pub schema: u32,
    pub subject: String,
    pub unit: FigureUnit,
    pub margin: f64,
    pub values: Vec<TrendPoint>,
    pub shifts: Vec<Shifted>,
    /// Correlation of neighbouring runs: 0 if they are independent, at most 1.
    pub correlation: f64,
    pub excluded: Vec<ExcludedRuns>,
    pub sentence: String,
    /// Advice if the metric became worse. `None` if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<TrendAdvice>,
    pub method: String,
}

impl MetricTrend {
    /// Returns whether the runs can show a shift: there are enough of them, and they do not drift.
    #[must_use]
    pub fn can_show_shifts(&self) -> bool {
        self.values.len() >= 2 * LEAST_LEVEL && self.correlation <= TOO_CORRELATED
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrendAdvice {
    pub text: String,
    /// Command that compares the run before the change with the run after it.
    pub command: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendPoint {
    pub run: String,
    pub began_utc: String,
    pub name: String,
    pub tags: Vec<String>,
    pub revision: Option<String>,
    pub value: Option<f64>,
    pub recorded: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shifted {
    pub at: usize,
    pub run: String,
    pub last_run_before: String,
    pub before: f64,
    pub after: f64,
    pub change: f64,
    pub worse: bool,
    pub p: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExcludedRuns {
    pub reason: String,
    pub runs: Vec<TrendPoint>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoTrend {
    NoRuns,
    NoneCounts(String),
    NoValue(Vec<String>),
}

pub fn trend(runs: &[IndexedRun], config: &TrendConfig) -> Result<MetricTrend, NoTrend> {
    let newest = runs.last().ok_or(NoTrend::NoRuns)?;
    let value = |run: &IndexedRun| known(run, config);
    let counts = |run: &IndexedRun| run.fault.is_none() && value(run).is_some();
    let measure = runs.iter().rev().find(|run| counts(run));
    let measure = measure.ok_or_else(|| match &newest.fault {
        Some(fault) if runs.iter().all(|run| run.fault.is_some()) => {
            NoTrend::NoneCounts(fault.clone())
        }
        _ => NoTrend::NoValue(rows_of(newest, config)),
    })?;
    let (mut values, mut apart): (Vec<TrendPoint>, Vec<ExcludedRuns>) = (Vec::new(), Vec::new());
    for run in runs {
        let reported = point(run, value(run));
        match why_apart(run, measure, reported.value, config.anyway) {
            None => values.push(reported),
            Some(reason) => match apart.iter_mut().find(|known| known.reason == reason) {
                Some(known) => known.runs.push(reported),
                None => apart.push(ExcludedRuns {
                    reason,
                    runs: vec![reported],
                }),
            },
        }
    }
    let unit = config.subject.unit();
    let (shifts, correlation) = shifts(&values, unit, config);
    Ok(MetricTrend {
        schema: 2,
        subject: config.subject.text.clone(),
        unit,
        margin: margin(unit, config),
        sentence: sentence(&values, &shifts, correlation, config),
        advice: advice(&values, &shifts, config),
        correlation,
        method: method(unit, config),
        values,
        shifts,
        excluded: apart,
    })
}

fn known(run: &IndexedRun, config: &TrendConfig) -> Option<f64> {
    let value = run.value(&config.subject)?;
    (config.subject.unit() == FigureUnit::Share || value > 0.0).then_some(value)
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
        // Drop the details, so that runs with the same reason form a group.
        let kind = fault.split(':').next().unwrap_or(fault);
        return Some(kind.to_owned());
    }
    let facets = run.fingerprint.iter().zip(&measure.fingerprint);
    let mut different = facets.filter(|(is, wanted)| is != wanted);
    if let Some(((what, is), (_, wanted))) = different.next().filter(|_| !anyway) {
        return Some(match what.as_str() {
            "plan" | "data" => format!("another {what}"),
            _ => format!("different {what}: {is}, expected {wanted}"),
        });
    }
    value.is_none().then(|| {
        "the run has no such figure, too few requests beyond it, or no responses for it".to_owned()
    })
}

fn rows_of(run: &IndexedRun, config: &TrendConfig) -> Vec<String> {
    use plan::criteria::{Metric, SpanFilter};
    let of = match config.subject.metric {
        Metric::Time(SpanFilter::Iteration, _) => RowSubject::Iteration,
        Metric::Time(SpanFilter::Transaction, _) => RowSubject::Transaction,
        _ if config.subject.of.is_none() => return Vec::new(),
        _ => RowSubject::Endpoint,
    };
    let rows = run.rows.iter().filter(|row| row.subject == of);
    rows.map(|row| row.label.clone()).collect()
}

fn margin(unit: FigureUnit, config: &TrendConfig) -> f64 {
    match unit {
        FigureUnit::Share => config.error_margin,
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => config.margin,
    }
}

fn shifts(values: &[TrendPoint], unit: FigureUnit, config: &TrendConfig) -> (Vec<Shifted>, f64) {
    let is_ratio = unit != FigureUnit::Share;
    let series = values.iter().filter_map(|value| value.value);
    let series: Vec<f64> = series
        .map(|value| if is_ratio { value.ln() } else { value })
        .collect();
    let least = margin(unit, config);
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

fn method(unit: FigureUnit, config: &TrendConfig) -> String {
    format!(
        "Among runs of one level, a shift is reported less often than once in {} times (E-divisive means and Student's test over windows of {WINDOW} runs). Shifts smaller than {} are not reported. The test allows for correlated neighbouring runs. A level has at least {LEAST_LEVEL} runs; for times and rates the level is their geometric mean.",
        units::count((1.0 / LEAST_P).round() as u64),
        crate::compare::amount(unit, margin(unit, config))
    )
}

fn sentence(
    values: &[TrendPoint],
    shifts: &[Shifted],
    correlation: f64,
    config: &TrendConfig,
) -> String {
    let least = 2 * LEAST_LEVEL;
    let runs = values.len();
    let count = if runs == 1 {
        "1 run".to_owned()
    } else {
        format!("{runs} runs")
    };
    if runs < least {
        return format!("{count}: at least {least} comparable runs are needed to detect shifts");
    }
    let unit = config.subject.unit();
    let amount = |change: f64| crate::compare::amount(unit, change);
    let Some(last) = shifts.last() else {
        if correlation > TOO_CORRELATED {
            return format!(
                "{count}: neighbouring runs are too similar to tell a shift from drift (correlation {correlation:.2})"
            );
        }
        return format!(
            "{count}, one level: no shift of {} or more",
            amount(margin(unit, config))
        );
    };
    let direction = if last.change > 0.0 { "rose" } else { "fell" };
    let reported = format!(
        "{} {direction} by {} at {}",
        config.subject.text,
        amount(last.change.abs()),
        last.run
    );
    match shifts.len() {
        1 => format!("{count}, 1 shift: {reported}"),
        n => format!("{count}, {n} shifts; the last: {reported}"),
    }
}

/// Number of runs that the newest run is compared with.
const RECENT: usize = 10;
/// Minimum number of runs that the newest run must be worse than.
const FEWEST_RECENT: usize = 5;

/// Returns the run since which the metric is worse, and the command that compares it with the run
/// before.
fn advice(values: &[TrendPoint], shifts: &[Shifted], config: &TrendConfig) -> Option<TrendAdvice> {
    let subject = &config.subject.text;
    let (at, text) = match shifts.last() {
        Some(last) if last.worse => {
            let since = format!("{subject} has been worse since {}", last.run);
            (last.at, since)
        }
        last => {
            let level = values.get(last.map_or(0, |last| last.at)..)?;
            let worse_than = newest_is_worse_than(level, config)?;
            let newest = &values.last()?.run;
            let text = format!(
                "{subject} of the newest run, {newest}, is worse than in each of the {worse_than} runs before. This may be chance"
            );
            (values.len() - 1, text)
        }
    };
    // Only runs whose records still exist can be compared.
    let before = values[..at].iter().rev().find(|run| run.recorded)?;
    let after = values[at..].iter().find(|run| run.recorded)?;
    Some(TrendAdvice {
        text,
        command: format!("loadline compare {} {}", before.run, after.run),
    })
}

/// Returns the number of recent runs, if the newest run is worse than each of them by more than the
/// margin.
fn newest_is_worse_than(level: &[TrendPoint], config: &TrendConfig) -> Option<usize> {
    let unit = config.subject.unit();
    let values: Vec<f64> = level.iter().filter_map(|run| run.value).collect();
    let (newest, earlier) = values.split_last()?;
    let recent = &earlier[earlier.len().saturating_sub(RECENT)..];
    let margin = margin(unit, config);
    let is_worse = |value: &f64| match unit {
        FigureUnit::Share => *newest > value + margin,
        FigureUnit::Nanoseconds => *newest > value * (1.0 + margin),
        FigureUnit::PerSecond => *newest < value * (1.0 - margin),
    };
    let is_worst = recent.len() >= FEWEST_RECENT && recent.iter().all(is_worse);
    is_worst.then_some(recent.len())
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
            fingerprint: vec![("load".into(), "100/s".into()), ("plan".into(), "a".into())],
            headline: (SpanFilter::Response, None),
            rows: vec![IndexedRow {
                subject: RowSubject::All,
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

    fn sixty(seed: u64) -> Vec<IndexedRun> {
        let mut random = Rng::keyed(seed, Purpose::Sampling, 0, 0);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let value = |i: usize| if i >= 40 { 1.07e7 } else { 1e7 };
        (0..60)
            .map(|i| run(i, value(i) * (1.0 + 0.02 * normal())))
            .collect()
    }

    fn config(text: &str) -> TrendConfig {
        TrendConfig {
            subject: crate::compare::read(text).unwrap(),
            margin: MARGIN,
            error_margin: 0.001,
            anyway: false,
        }
    }

    #[test]
    fn advice_names_the_newest_run_that_is_worse_than_all_recent_ones() {
        let advice = |values: &[f64]| {
            let runs = values.iter().enumerate();
            let runs: Vec<IndexedRun> = runs.map(|(i, value)| run(i, *value)).collect();
            trend(&runs, &config("p99")).unwrap().advice
        };
        let worse = advice(&[1e7, 1.01e7, 1e7, 1.02e7, 1e7, 1.3e7]).unwrap();
        let begin = "p99 of the newest run, run-5, is worse than in each of the 5 runs before";
        assert!(worse.text.starts_with(begin), "{worse:?}");
        assert_eq!(worse.command, "loadline compare run-4 run-5");
        assert_eq!(advice(&[1e7, 1.01e7, 1.3e7, 1.02e7, 1e7, 1.3e7]), None);
        assert_eq!(advice(&[1e7, 1e7, 1.3e7]), None);
        assert_eq!(advice(&[1e7, 1e7, 1e7, 1e7, 1e7, 1e6]), None);
    }

    #[test]
    fn shift_names_the_runs_on_both_sides() {
        let trend = trend(&sixty(1), &config("p99")).unwrap();
        assert_eq!(trend.values.len(), 60);
        let [one] = trend.shifts.as_slice() else {
            panic!("{:?}", trend.shifts);
        };
        assert!(one.at.abs_diff(40) <= 1 && one.worse, "{one:?}");
        let expected = TrendAdvice {
            text: format!("p99 has been worse since {}", one.run),
            command: format!("loadline compare {} {}", one.last_run_before, one.run),
        };
        assert_eq!(trend.advice, Some(expected));
        assert!((one.change - 0.07).abs() < 0.02, "{one:?}");
        assert_eq!(one.run, format!("run-{}", one.at));
        assert_eq!(one.last_run_before, format!("run-{}", one.at - 1));
        assert!(trend.sentence.contains("p99 rose by"), "{}", trend.sentence);
    }

    #[test]
    fn runs_that_drift_have_no_shift_and_the_sentence_says_why() {
        let mut random = Rng::keyed(1, Purpose::Sampling, 0, 0);
        let mut value = 1e7;
        let drifting = (0..60).map(|i| {
            value *= 1.0 + 0.04 * (random.unit() - 0.3);
            run(i, value)
        });
        let trend = trend(&drifting.collect::<Vec<_>>(), &config("p99")).unwrap();
        assert_eq!(trend.shifts, []);
        assert!(trend.correlation > TOO_CORRELATED, "{}", trend.correlation);
        let message = "neighbouring runs are too similar to tell a shift from drift";
        assert!(trend.sentence.contains(message), "{}", trend.sentence);
    }

    #[test]
    fn runs_incompatible_with_newest_are_excluded() {
        let mut runs = sixty(2);
        runs[3].fault = Some("its measurement is INVALID: late".into());
        runs[4].fingerprint[0].1 = "200/s".into();
        runs[5].fingerprint[1].1 = "b".into();
        runs[6].rows[0].times.clear();
        let found = trend(&runs, &config("p99")).unwrap();
        let reason: Vec<&str> = found
            .excluded
            .iter()
            .map(|apart| apart.reason.as_str())
            .collect();
        assert_eq!(
            reason[..3],
            [
                "its measurement is INVALID",
                "different load: 200/s, expected 100/s",
                "another plan"
            ]
        );
        assert_eq!((reason.len(), found.values.len()), (4, 56));
        let anyway = TrendConfig {
            anyway: true,
            ..config("p99")
        };
        assert_eq!(trend(&runs, &anyway).unwrap().values.len(), 58);
    }

    #[test]
    fn the_newest_that_counts_is_the_measure() {
        let mut runs = sixty(3);
        runs[59].fault = Some("it was ended early".into());
        runs[59].fingerprint[0].1 = "200/s".into();
        assert_eq!(trend(&runs, &config("p99")).unwrap().values.len(), 59);
    }

    #[test]
    fn missing_values_give_no_trend() {
        assert_eq!(trend(&[], &config("p99")), Err(NoTrend::NoRuns));
        assert_eq!(
            trend(&sixty(1), &config("p99 of \"GET /\"")),
            Err(NoTrend::NoValue(Vec::new()))
        );
        let mut runs = sixty(1);
        let endpoint = |label: &str| IndexedRow {
            subject: RowSubject::Endpoint,
            label: label.into(),
            ..runs[59].rows[0].clone()
        };
        let endpoints = [endpoint("GET /a"), endpoint("GET /b")];
        runs[59].rows.extend(endpoints);
        assert_eq!(
            trend(&runs, &config("p99.9")),
            Err(NoTrend::NoValue(Vec::new()))
        );
        for run in &mut runs {
            run.fault = Some("its measurement is INVALID: late".into());
        }
        let reason = NoTrend::NoneCounts("its measurement is INVALID: late".into());
        assert_eq!(trend(&runs, &config("p99")), Err(reason));
        let few = trend(&sixty(1)[..7], &config("p99")).unwrap();
        assert!(
            few.sentence.starts_with("7 runs: at least 8 comparable"),
            "{}",
            few.sentence
        );
    }
}
