//! Finds the first bottleneck: which resource reached its limit, when, at which rate and, if the
//! figures show it, why. A full pool is named only if the CPU is not the cause.

mod holders;
mod pools;
mod processor;
mod runtime;
mod scope;
mod streams;
mod watched;

use measure::TimeSpan;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{figures::per_second, moments::Moment};
use plan::units::SECOND;
pub use pools::THREADS;
pub(crate) use processor::{CPU, QUOTA};
use record::{PoolFacts, Run, units};
pub(crate) use runtime::{EVENT_LOOP, HEAP};
pub use scope::ResourceScope;
pub use streams::STREAMS;
use watched::WatchedMetric;

/// Maximum time between limits that count as simultaneous. Samples are a second apart, and CPU use
/// is a mean.
const TOGETHER_NS: u64 = 3_000_000_000;
const BUSY: f64 = 0.8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Saturation {
    pub reached: Vec<Reached>,
    /// Index in `reached` of the limit that was reached first. `None` if no limit was reached or
    /// the order is unknown.
    pub first: Option<usize>,
    pub sentence: String,
    pub watched: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reached {
    pub resource: String,
    pub source: String,
    pub metric: String,
    pub limit: String,
    pub instances: usize,
    pub all_instances: usize,
    /// When the first instance reached the limit, in nanoseconds from the start of the test.
    pub at_ns: u64,
    pub held_ns: u64,
    /// Requests issued per second at `at_ns`. `None` if none were sent.
    pub issued_per_second: Option<f64>,
    pub cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
}

/// Periods in which the CPU of the load generator's machine was fully used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusyGenerator {
    /// Start of the first period, in nanoseconds from the start of the test.
    pub at_ns: u64,
    /// Total length of these periods, in nanoseconds.
    pub held_ns: u64,
}

/// Finds the periods in which the load generator's CPU was fully used. Returns `None` if there were
/// none, or if the CPU was not measured.
pub(crate) fn busy_generator(run: &Run) -> Option<BusyGenerator> {
    let own = run.server.series.iter();
    let own = own.filter(|series| series.source == watched::GENERATOR);
    let own: Vec<WatchedMetric> = own.map(WatchedMetric::from_series).collect();
    let full = processor::full(&own);
    Some(BusyGenerator {
        at_ns: full.first()?.from_ns,
        held_ns: full.iter().map(|span| span.to_ns - span.from_ns).sum(),
    })
}

struct Limited {
    resource: &'static str,
    source: String,
    metric: String,
    limit: String,
    size: f64,
    stretch: Option<TimeSpan>,
    pool: Option<PoolLevel>,
}

struct PoolLevel {
    waits: bool,
    free: Vec<(u64, f64)>,
}

/// Finds the first bottleneck. `waited` is the number of requests that waited for an HTTP/2 stream.
/// Returns `None` if no service was measured and requests rarely waited for streams.
pub(crate) fn find(run: &Run, moments: &[Moment], waited: u64) -> Option<Saturation> {
    let rate = |at_ns: u64| {
        let moment = moments
            .iter()
            .find(|moment| moment.span.from_ns <= at_ns && at_ns < moment.span.to_ns)?;
        Some(per_second(
            moment.all.slot.counters.issued,
            moment.length_ns(),
        ))
    };
    let of_a_service = run
        .server
        .series
        .iter()
        .filter(|series| series.source != watched::GENERATOR);
    let all: Vec<WatchedMetric> = of_a_service.map(WatchedMetric::from_series).collect();
    let cores = run.manifest.host.cpus.map(|cpus| cpus as f64);
    let streams = streams::limit(run, waited);
    let saturation = judge_with(&all, &run.manifest.pools, streams, cores, &rate);
    saturation.map(|found| with_unmatched(found, &pools::unmatched(&all, &run.manifest.pools)))
}

/// Adds the declared pools whose metrics never appeared, because such a pool may have been full.
fn with_unmatched(mut found: Saturation, missing: &[String]) -> Saturation {
    if !missing.is_empty() {
        let names = missing.join(", ");
        found.sentence = format!("{} Never measured: {names}.", found.sentence);
    }
    found
}

#[cfg(test)]
fn judge(
    all: &[WatchedMetric],
    cores: Option<f64>,
    rate: &dyn Fn(u64) -> Option<f64>,
) -> Option<Saturation> {
    judge_with(all, &[], None, cores, rate)
}

/// Finds the bottleneck, given the number of cores of this machine and a function from time to
/// request rate.
fn judge_with(
    all: &[WatchedMetric],
    declared: &[PoolFacts],
    streams: Option<Limited>,
    cores: Option<f64>,
    rate: &dyn Fn(u64) -> Option<f64>,
) -> Option<Saturation> {
    let is_full = |pool: &Limited| pool.stretch.is_some();
    if all.is_empty() && !streams.as_ref().is_some_and(is_full) {
        return None;
    }
    let mut limited = without_doubles(pools::limits(all, declared));
    limited.extend(streams);
    limited.extend(runtime::limits(all));
    limited.extend(processor::limits(all, cores));
    let watched = names(&limited);
    let mut reached = gathered(&limited, all, cores, rate);
    reached.sort_by_key(|one| one.at_ns);
    let first = first(&reached, all, cores);
    Some(Saturation {
        sentence: sentence(&reached, first, &watched),
        first,
        watched,
        reached,
    })
}

fn without_doubles(pools: Vec<Limited>) -> Vec<Limited> {
    let mut distinct: Vec<Limited> = Vec::new();
    for pool in pools {
        if !distinct
            .iter()
            .any(|known| pools::is_one_pool(known, &pool))
        {
            distinct.push(pool);
        }
    }
    distinct
}

fn names(limited: &[Limited]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for one in limited {
        let name = format!("{} ({})", one.resource, one.source);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn gathered(
    limited: &[Limited],
    all: &[WatchedMetric],
    cores: Option<f64>,
    rate: &dyn Fn(u64) -> Option<f64>,
) -> Vec<Reached> {
    let mut reached: Vec<Reached> = Vec::new();
    for one in limited {
        let Some(stretch) = one.stretch else { continue };
        let same = |other: &&Limited| {
            other.resource == one.resource
                && other.source == one.source
                && other.metric == one.metric
        };
        let is_known =
            |known: &Reached| known.resource == one.resource && known.source == one.source;
        if reached.iter().any(is_known) {
            continue;
        }
        let others: Vec<&Limited> = limited.iter().filter(same).collect();
        let at_their_limit: Vec<TimeSpan> =
            others.iter().filter_map(|other| other.stretch).collect();
        let earliest = limited
            .iter()
            .filter(|other| other.resource == one.resource && other.source == one.source)
            .filter_map(|other| other.stretch)
            .min_by_key(|stretch| stretch.from_ns)
            .unwrap_or(stretch);
        let size: f64 = others.iter().map(|other| other.size).sum();
        let cause = match one.resource {
            pools::THREADS => holders::cause(all, cores, earliest, size),
            _ => None,
        };
        let (cause, held_by) =
            cause.map_or((None, None), |cause| (Some(cause.text), cause.held_by));
        reached.push(Reached {
            resource: one.resource.to_owned(),
            source: one.source.clone(),
            metric: one.metric.clone(),
            limit: limit(one, &others),
            instances: at_their_limit.len(),
            all_instances: others.len(),
            at_ns: earliest.from_ns,
            held_ns: earliest.to_ns - earliest.from_ns,
            issued_per_second: rate(earliest.from_ns),
            cause,
            held_by,
        });
    }
    reached
}

fn limit(one: &Limited, instances: &[&Limited]) -> String {
    if one.pool.is_none() {
        return one.limit.clone();
    }
    let full = || instances.iter().filter(|other| other.stretch.is_some());
    let waits = full().any(|other| other.pool.as_ref().is_some_and(|pool| pool.waits));
    pools::left(full().map(|other| other.size).sum(), waits)
}

fn first(reached: &[Reached], all: &[WatchedMetric], cores: Option<f64>) -> Option<usize> {
    let earliest = reached.first()?;
    let is_processor =
        |one: &Reached| one.resource == processor::CPU || one.resource == processor::QUOTA;
    if is_processor(earliest) {
        return Some(0);
    }
    let processor = reached.iter().position(is_processor);
    let stretch = TimeSpan {
        from_ns: earliest.at_ns,
        to_ns: earliest.at_ns + earliest.held_ns.min(watched::AT_LEAST_NS),
    };
    let busy = processor::share(all, cores, stretch).is_some_and(|share| share >= BUSY);
    let together = |one: &Reached| one.at_ns - earliest.at_ns <= TOGETHER_NS;
    match processor {
        Some(place) if busy || together(&reached[place]) => Some(place),
        _ if busy => None,
        _ => {
            let others = reached[1..].iter().filter(|one| together(one));
            (others.count() == 0).then_some(0)
        }
    }
}

/// Rounds a time to whole seconds, because samples are a second apart.
pub(crate) fn to_second(at_ns: u64) -> u64 {
    (at_ns + SECOND / 2) / SECOND * SECOND
}

fn second(at_ns: u64) -> String {
    units::duration(to_second(at_ns))
}

fn sentence(reached: &[Reached], first: Option<usize>, watched: &[String]) -> String {
    match (first.map(|place| &reached[place]), reached.first()) {
        (Some(first), _) => {
            let instances = if first.all_instances > 1 {
                format!(", {} of {} instances", first.instances, first.all_instances)
            } else {
                String::new()
            };
            let rate = first.issued_per_second.map_or_else(String::new, |rate| {
                format!(" with {} requests/s", units::rate(rate))
            });
            let cause = match &first.cause {
                Some(cause) => format!(", {cause}"),
                None if first.resource == pools::THREADS => {
                    "; the measurements do not show why it is full".to_owned()
                }
                None => String::new(),
            };
            format!(
                "First resource to saturate: {} ({}: {}{instances}), at {}{rate}{cause}.",
                first.resource,
                first.source,
                first.limit,
                second(first.at_ns)
            )
        }
        (None, Some(earliest)) => format!(
            "The first resource to saturate is unknown. {} ({}) reached its limit at {}, and the measurements do not show whether that is the cause or the effect.",
            earliest.resource,
            earliest.source,
            second(earliest.at_ns)
        ),
        (None, None) if watched.is_empty() => {
            "The first resource to saturate is unknown: no measured resource has a known limit."
                .to_owned()
        }
        (None, None) => format!(
            "No measured resource reached its limit: {}.",
            watched.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests;
