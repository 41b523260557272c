//! Evaluation of criteria on server metrics. With several instances, the worst one decides.

use measure::TimeSpan;
use plan::{
    Criterion,
    criteria::{Metric, Op, Stat, fits},
    units::{Quantity, SECOND},
};
use record::{
    Run,
    server::{MetricKind, MetricSeries, ServerMetrics},
    units,
};

use super::bound::{Measured, bound, without};
use crate::{exclusions::ExcludedSpans, steady};

const MAY_BE_MISSING: f64 = 0.1;
const NAMES: usize = 12;

/// Measures a criterion on the instance that is closest to the bound or farthest beyond it.
pub(super) fn measure(
    run: &Run,
    name: &str,
    stat: Stat,
    criterion: &Criterion,
    elapsed_ns: u64,
) -> Result<Measured, String> {
    let all = series_of(&run.server.series, name, criterion)?;
    let is_one = all.len() == 1;
    let mut worst: Option<Measured> = None;
    for series in all {
        let mut measured = one(run, series, stat, criterion, elapsed_ns)?;
        let instance = series.of.instance.as_deref().filter(|_| !is_one);
        if let Some(instance) = instance {
            measured.text = format!("{} of \"{instance}\"", measured.text);
        }
        let is_worse = worst.as_ref().is_none_or(|known| {
            let (known, value) = (
                known.value.unwrap_or(f64::INFINITY),
                measured.value.unwrap_or(f64::INFINITY),
            );
            match criterion.op {
                Op::Less | Op::LessOrEqual => value > known,
                Op::Greater | Op::GreaterOrEqual => value < known,
            }
        });
        let doubt = worst
            .as_ref()
            .filter(|known| !known.certain)
            .and_then(|known| known.reason.clone());
        if is_worse {
            worst = Some(measured);
        }
        if let (Some(worst), Some(doubt)) = (&mut worst, doubt) {
            worst.certain = false;
            worst.reason.get_or_insert(doubt);
        }
    }
    worst.ok_or_else(|| format!("server.{name} was not measured"))
}

fn one(
    run: &Run,
    series: &MetricSeries,
    stat: Stat,
    criterion: &Criterion,
    elapsed_ns: u64,
) -> Result<Measured, String> {
    let scale = scale(series, criterion)?;
    let asked = spans(run, criterion, elapsed_ns)?;
    let left_out = ExcludedSpans::new(run, |span| asked.iter().any(|asked| asked.overlaps(span)));
    let spans = asked.into_iter().flat_map(|span| left_out.rest(span));
    let (mut sum, mut known_ns, mut asked_ns) = (0.0, 0, 0);
    let mut max: Option<f64> = None;
    for span in spans {
        asked_ns += span.length_ns();
        if let Some((mean, ns)) = series.mean(span.from_ns, span.to_ns) {
            sum += mean * ns as f64;
            known_ns += ns;
        }
        for sample in series.within(span.from_ns, span.to_ns) {
            max = Some(max.map_or(sample.value, |max| max.max(sample.value)));
        }
    }
    let value = match stat {
        Stat::Max => max,
        _ => (known_ns > 0).then(|| sum / known_ns as f64),
    };
    let Some(value) = value else {
        return without(
            &left_out,
            Err(format!("{} was not measured", render(series))),
        );
    };
    let missing = asked_ns.saturating_sub(known_ns);
    let few = missing > 2 * SECOND && missing as f64 > asked_ns as f64 * MAY_BE_MISSING;
    without(
        &left_out,
        Ok(Measured {
            value: Some(value * scale),
            bound: bound(criterion),
            text: units::figure(value, &series.unit()),
            certain: !few,
            reason: few.then(|| {
                format!(
                    "samples are missing for {} of {}",
                    units::duration(missing),
                    units::duration(asked_ns)
                )
            }),
        }),
    )
}

pub(super) fn subject_missing(run: &Run, name: &str, criterion: &Criterion) -> Option<String> {
    let cause = fitting(&run.server, name, criterion)
        .and_then(|()| spans(run, criterion, u64::MAX).map(drop));
    cause.err()
}

fn fitting(server: &ServerMetrics, name: &str, criterion: &Criterion) -> Result<(), String> {
    let all = series_of(&server.series, name, criterion)?;
    all.into_iter()
        .try_for_each(|series| scale(series, criterion).map(drop))
}

pub fn bounds_of<'a>(
    run: &'a Run,
    name: &str,
    criterion: &Criterion,
) -> Vec<(&'a MetricSeries, f64)> {
    let all = series_of(&run.server.series, name, criterion).unwrap_or_default();
    let fitting = all.into_iter().filter_map(|series| {
        let scale = scale(series, criterion).ok()?;
        Some((series, bound(criterion) / scale))
    });
    fitting.collect()
}

fn series_of<'a>(
    all: &'a [MetricSeries],
    name: &str,
    criterion: &Criterion,
) -> Result<Vec<&'a MetricSeries>, String> {
    let wanted = criterion.of.as_deref();
    let is_wanted = |series: &&MetricSeries| {
        let own = series.of.instance.as_deref();
        wanted.is_none_or(|of| own.is_some_and(|own| fits(of, own)))
    };
    let named: Vec<&MetricSeries> = all.iter().filter(|series| series.name() == name).collect();
    let found: Vec<&MetricSeries> = named.iter().copied().filter(is_wanted).collect();
    match found.as_slice() {
        [] if !named.is_empty() => Err(no_instance(name, wanted.unwrap_or_default(), &named)),
        [] => Err(format!("there is no server.{name}{}", those(all.iter()))),
        _ => Ok(found),
    }
}

fn no_instance(name: &str, wanted: &str, named: &[&MetricSeries]) -> String {
    let own = named
        .iter()
        .filter_map(|series| series.of.instance.as_deref());
    let own: Vec<String> = own.map(|own| format!("\"{own}\"")).take(NAMES).collect();
    let are = if own.is_empty() {
        "there is only one instance: remove `of`".to_owned()
    } else {
        format!("there are {}", own.join(", "))
    };
    format!("server.{name} has no \"{wanted}\" ({are})")
}

/// Returns why a criterion or stop rule on server metrics can never be judged.
#[must_use]
pub fn never_measured(criterion: &Criterion, server: &ServerMetrics) -> Option<String> {
    let Metric::Server(name, _) = &criterion.metric else {
        return None;
    };
    let cause = fitting(server, name, criterion).err()?;
    Some(format!("`{}` cannot be judged: {cause}", criterion.text))
}

fn those<'a>(all: impl Iterator<Item = &'a MetricSeries>) -> String {
    let names: Vec<String> = all.map(render).take(NAMES).collect();
    if names.is_empty() {
        return ": no metrics were sampled during the load".to_owned();
    }
    format!(" (there are {})", names.join(", "))
}

fn render(series: &MetricSeries) -> String {
    let of = series.of.instance.as_deref();
    let of = of.map(|of| format!(" of \"{of}\"")).unwrap_or_default();
    format!("server.{}{of}", series.name())
}

fn scale(series: &MetricSeries, criterion: &Criterion) -> Result<f64, String> {
    let unit = series.unit();
    match (criterion.value, unit.as_str(), series.of.sort) {
        (Quantity::Share(_), "%", _) => Ok(0.01),
        (_, "%", _) => Err(format!(
            "{} is a share: write a percentage, for example 80%",
            render(series)
        )),
        (Quantity::Number(_), ..) | (Quantity::PerSecond(_), _, MetricKind::Counter) => Ok(1.0),
        (Quantity::Duration(_), "s", MetricKind::Gauge) => Ok(SECOND as f64),
        (_, _, MetricKind::Counter) => Err(format!(
            "{} is a rate per second: write a number, for example 1000/s",
            render(series)
        )),
        (_, "", _) => Err(format!("{} is a bare number", render(series))),
        (_, "s", _) => Err(format!(
            "{} is a time: write a duration, for example 50ms",
            render(series)
        )),
        (_, unit, _) => Err(format!("{} is measured in {unit}", render(series))),
    }
}

fn spans(run: &Run, criterion: &Criterion, elapsed_ns: u64) -> Result<Vec<TimeSpan>, String> {
    if criterion.steady {
        return Ok(vec![steady::window(run)?]);
    }
    let Some(name) = &criterion.phase else {
        return Ok(vec![TimeSpan::new(0, elapsed_ns)]);
    };
    let phases = run.manifest.phases_named(name);
    let all = &run.manifest.phases;
    let spans: Vec<TimeSpan> = phases
        .filter_map(|index| all.get(index as usize))
        .map(|phase| TimeSpan::new(phase.start_ns, phase.end_ns.min(elapsed_ns)))
        .collect();
    if spans.is_empty() {
        return Err(format!("there is no phase \"{name}\""));
    }
    Ok(spans)
}
