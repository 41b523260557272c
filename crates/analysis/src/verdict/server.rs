//! Criteria on what was measured beside the load: which series they are of, and what it was. What is measured is the samplers'.

use plan::{
    Criterion,
    criteria::{Metric, Stat, fits},
    units::{Quantity, SECOND},
};
use record::{
    Run,
    server::{Series, Server, Sort},
    units,
};

use super::bound::{Measured, bound};

/// The most of the time that may be missing, as a share; a look or two are always.
const MAY_BE_MISSING: f64 = 0.1;
/// As many names as are told of those that there are.
const NAMES: usize = 12;

/// The figure of a criterion, or why there is none.
pub(super) fn of(
    run: &Run,
    (name, stat): (&str, Stat),
    criterion: &Criterion,
    elapsed_ns: u64,
) -> Result<Measured, String> {
    let series = series_of(&run.server.series, name, criterion)?;
    let scale = scale(series, criterion)?;
    let spans = spans(run, criterion, elapsed_ns)?;
    let (mut sum, mut known_ns, mut asked_ns) = (0.0, 0, 0);
    let mut max: Option<f64> = None;
    for (from, to) in spans {
        asked_ns += to.saturating_sub(from);
        if let Some((mean, ns)) = series.mean(from, to) {
            sum += mean * ns as f64;
            known_ns += ns;
        }
        for sample in series.within(from, to) {
            max = Some(max.map_or(sample.value, |max| max.max(sample.value)));
        }
    }
    let value = match stat {
        Stat::Max => max,
        _ => (known_ns > 0).then(|| sum / known_ns as f64),
    };
    let value = value.ok_or_else(|| format!("nothing was measured of {}", shown(series)))?;
    let missing = asked_ns.saturating_sub(known_ns);
    let few = missing > 2 * SECOND && missing as f64 > asked_ns as f64 * MAY_BE_MISSING;
    Ok(Measured {
        value: Some(value * scale),
        bound: bound(criterion),
        text: units::figure(value, &series.unit()),
        certain: !few,
        reason: few.then(|| {
            format!(
                "{} of {} are missing in the samples",
                units::duration(missing),
                units::duration(asked_ns)
            )
        }),
    })
}

/// Why nothing can come of a criterion on what will be measured.
pub(super) fn subject_missing(run: &Run, name: &str, criterion: &Criterion) -> Option<String> {
    let fitting =
        series_of(&run.server.series, name, criterion).and_then(|series| scale(series, criterion));
    let why = fitting.and_then(|_| spans(run, criterion, u64::MAX).map(drop));
    why.err()
}

/// The series that a criterion is of, and its bound in the unit of the samples.
pub(crate) fn bound_of<'a>(
    run: &'a Run,
    name: &str,
    criterion: &Criterion,
) -> Option<(&'a Series, f64)> {
    let series = series_of(&run.server.series, name, criterion).ok()?;
    let scale = scale(series, criterion).ok()?;
    Some((series, bound(criterion) / scale))
}

/// The one series that a criterion is of.
fn series_of<'a>(
    all: &'a [Series],
    name: &str,
    criterion: &Criterion,
) -> Result<&'a Series, String> {
    let wanted = criterion.of.as_deref();
    let is_wanted = |series: &&Series| {
        let own = series.of.instance.as_deref();
        wanted.is_none_or(|of| own.is_some_and(|own| fits(of, own)))
    };
    let named: Vec<&Series> = all.iter().filter(|series| series.name() == name).collect();
    let found: Vec<&Series> = named.iter().copied().filter(is_wanted).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] if !named.is_empty() => Err(no_instance(name, wanted.unwrap_or_default(), &named)),
        [] => Err(format!("there is no server.{name}{}", those(all.iter()))),
        several => Err(format!(
            "server.{name} is several, name one with `of \"…\"`{}",
            those(several.iter().copied())
        )),
    }
}

/// That there is no such one of what is measured, and which there are.
fn no_instance(name: &str, wanted: &str, named: &[&Series]) -> String {
    let own = named
        .iter()
        .filter_map(|series| series.of.instance.as_deref());
    let own: Vec<String> = own.map(|own| format!("\"{own}\"")).take(NAMES).collect();
    let are = if own.is_empty() {
        "it is one, leave `of` out".to_owned()
    } else {
        format!("there are {}", own.join(", "))
    };
    format!("server.{name} has no \"{wanted}\" ({are})")
}

/// Why a criterion, or a stop rule, on what is measured beside the load could never be judged, whatever the load; none of others.
#[must_use]
pub fn never_measured(criterion: &Criterion, server: &Server) -> Option<String> {
    let Metric::Server(name, _) = &criterion.metric else {
        return None;
    };
    let series = series_of(&server.series, name, criterion);
    let why = series.and_then(|series| scale(series, criterion)).err()?;
    Some(format!("`{}` can never be judged: {why}", criterion.text))
}

fn those<'a>(all: impl Iterator<Item = &'a Series>) -> String {
    let names: Vec<String> = all.map(shown).take(NAMES).collect();
    if names.is_empty() {
        return ": nothing was measured beside the load".to_owned();
    }
    format!(" (there are {})", names.join(", "))
}

fn shown(series: &Series) -> String {
    let of = series.of.instance.as_deref();
    let of = of.map(|of| format!(" of \"{of}\"")).unwrap_or_default();
    format!("server.{}{of}", series.name())
}

/// What samples are multiplied by to stand beside the bound; or that they cannot.
fn scale(series: &Series, criterion: &Criterion) -> Result<f64, String> {
    let unit = series.unit();
    match (criterion.value, unit.as_str(), series.of.sort) {
        (Quantity::Share(_), "%", _) => Ok(0.01),
        (_, "%", _) => Err(format!(
            "{} is a share: write one, for example 80%",
            shown(series)
        )),
        (Quantity::Number(_), ..) | (Quantity::PerSecond(_), _, Sort::Counter) => Ok(1.0),
        (_, _, Sort::Counter) => Err(format!(
            "{} is a number per second: write one, for example 1000/s",
            shown(series)
        )),
        (_, "", _) => Err(format!("{} is a bare number", shown(series))),
        (_, unit, _) => Err(format!("{} is a number of {unit}", shown(series))),
    }
}

/// When a criterion looks: in its phases, up to the end of the run.
fn spans(run: &Run, criterion: &Criterion, elapsed_ns: u64) -> Result<Vec<(u64, u64)>, String> {
    let Some(name) = &criterion.phase else {
        return Ok(vec![(0, elapsed_ns)]);
    };
    let phases = run.manifest.phases_named(name);
    let all = &run.manifest.phases;
    let spans: Vec<(u64, u64)> = phases
        .filter_map(|index| all.get(index as usize))
        .map(|phase| (phase.start_ns, phase.end_ns.min(elapsed_ns)))
        .collect();
    if spans.is_empty() {
        return Err(format!("there is no phase \"{name}\""));
    }
    Ok(spans)
}
