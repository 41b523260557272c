//! Samplers, which measure the machine and servers on low-priority threads with the run's clock.
//! The collector receives the readings without waiting for them.

mod answers;
mod endpoints;
mod exporters;
mod exposition;
mod host;
mod postgres;
mod processes;
mod promql;

use std::{
    collections::BTreeSet,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::Duration,
};

use endpoints::Endpoint;
pub use host::HostSampler;
use plan::{
    Problem, StopRule,
    criteria::Metric,
    server::{MetricLocation, MetricSource},
    units::SECOND,
};
use postgres::Postgres;
use processes::{Cgroup, Processes};
use promql::Promql;
use record::{
    server::{Descriptor, MetricReading, ServerMetrics, SourceReading},
    units,
};
use worker::clock::{Clock, Zero};

use crate::messages::SharedMessageSink;

const NICENESS: i32 = 19;
const LEAST_NS: u64 = SECOND / 4;
const LAST: Duration = Duration::from_millis(200);

/// Maximum total length in bytes of a metric's name and its instance.
const LONGEST_NAME: usize = 1024;
const LONGEST_REASON: usize = 300;

/// A source of measurements.
pub trait Sampler: Send {
    /// Returns the name of the source. It is the prefix of the names of all its metrics.
    fn source(&self) -> &str;
    /// Returns the metrics that are known before the run.
    fn metrics(&self) -> Vec<Descriptor>;
    /// Returns whether `metrics` is complete. If not, more metrics may appear later.
    fn is_all_known(&self) -> bool {
        true
    }
    /// Samples all metrics. Called about once per second and at the end.
    fn look(&mut self) -> Result<Vec<MetricReading>, String>;
    /// Returns the readings that are due at the given time. A source with its own clock may return
    /// several or none.
    fn looks(&mut self, now: &Moment) -> Vec<SourceReading> {
        let look = SourceReading {
            at_ns: now.at_ns,
            source: self.source().to_owned(),
            readings: self.look(),
        };
        vec![look]
    }
    /// Returns the time between samples. `None` means a second.
    fn step_ns(&self) -> Option<u64> {
        None
    }
}

/// The time of a sample.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Time in nanoseconds from the start of the test.
    pub at_ns: u64,
    /// Wall-clock time of this machine in nanoseconds since 1970.
    pub wall_ns: u64,
    /// Whether this is the last sample.
    pub is_last: bool,
}

pub(crate) fn too_short(rule: &StopRule, samplers: &[Box<dyn Sampler>]) -> Option<String> {
    let Metric::Server(name, _) = &rule.when.metric else {
        return None;
    };
    let is_of = |sampler: &&dyn Sampler| {
        let rest = name.strip_prefix(sampler.source());
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let mut all = samplers.iter().map(AsRef::as_ref);
    let step_ns = all.find(is_of)?.step_ns()?;
    (rule.for_ns < 2 * step_ns).then(|| {
format!(
"`{} for {}` cannot be judged: server.{name} has one sample every {}, the scrape interval of its Prometheus server: use `for {}` or longer",
rule.when.text,
units::duration(rule.for_ns),
units::duration(step_ns),
units::duration(2 * step_ns),
)
})
}

/// Returns the default samplers, which measure the load generator's machine.
#[must_use]
pub fn usual() -> Vec<Box<dyn Sampler>> {
    vec![Box::new(HostSampler::default())]
}

/// Creates samplers for the plan's sources. Warns about sources that do not respond or have too
/// many metrics.
pub(crate) fn samplers(
    sources: &[MetricSource],
    sink: &SharedMessageSink,
) -> Result<Vec<Box<dyn Sampler>>, Vec<Problem>> {
    let mut samplers: Vec<Box<dyn Sampler>> = Vec::new();
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for source in sources {
        let mut refuse = |message: String| {
            let at = source.at.clone();
            problems.push(Problem { at, message });
        };
        if !names.insert(&source.name) {
            refuse(format!(
                "`{}` is used twice: give each source a different name",
                source.name
            ));
            continue;
        }
        match sampler(source.clone(), sink) {
            Ok(sampler) => samplers.push(sampler),
            Err(message) => refuse(message),
        }
    }
    if problems.is_empty() {
        Ok(samplers)
    } else {
        Err(problems)
    }
}

fn sampler(source: MetricSource, sink: &SharedMessageSink) -> Result<Box<dyn Sampler>, String> {
    let name = source.name.clone();
    let mut endpoint = match source.place.clone() {
        MetricLocation::Process(_) | MetricLocation::Pid(_) | MetricLocation::Port(_) => {
            return Ok(looked_at_once(Processes::new(source), sink));
        }
        MetricLocation::Cgroup(folder) => {
            return Ok(looked_at_once(Cgroup::new(source, folder), sink));
        }
        MetricLocation::Url(url) => Endpoint::url(source, &url)?,
        MetricLocation::Redis(url) => Endpoint::redis(source, &url),
        MetricLocation::Postgres(url) => return asked_once(Postgres::new(source, &url)?, sink),
        MetricLocation::Promql { url, query } => return question(source, &url, &query, sink),
        MetricLocation::Command(line) => Endpoint::command(source, &line),
        MetricLocation::Lab { .. } => {
            let reason = "the target is not embedded (lab:NAME): write its address";
            return Err(format!("{}: {reason}", source.name));
        }
    };
    match endpoint.probe() {
        Ok(0) => {}
        Ok(more) => sink.warning(&format_args!(
            "{name} has {more} metrics above the limit for one source: select some with `only`"
        )),
        Err(reason) => sink.warning(&format_args!("{name} cannot be measured yet: {reason}")),
    }
    for pattern in endpoint.unmatched() {
        sink.warning(&format_args!(
            "{name}: no metric matches `{pattern}` yet: check the spelling"
        ));
    }
    Ok(Box::new(endpoint))
}

/// Polls once before the run, and reports a source that does not respond.
fn looked_at_once(
    mut sampler: impl Sampler + 'static,
    sink: &SharedMessageSink,
) -> Box<dyn Sampler> {
    if let Err(reason) = sampler.look() {
        sink.warning(&format_args!(
            "{} cannot be measured yet: {reason}",
            sampler.source()
        ));
    }
    Box::new(sampler)
}

fn asked_once(
    mut database: Postgres,
    sink: &SharedMessageSink,
) -> Result<Box<dyn Sampler>, String> {
    let name = database.source().to_owned();
    match database.probe() {
        Ok(None) => {}
        Ok(Some(remark)) => sink.warning(&format_args!("{name}: {remark}")),
        Err(reason) => sink.warning(&format_args!("{name} cannot be measured yet: {reason}")),
    }
    Ok(Box::new(database))
}

/// Sends a Prometheus query for the first time. Fails if the query is invalid.
fn question(
    source: MetricSource,
    url: &str,
    query: &str,
    sink: &SharedMessageSink,
) -> Result<Box<dyn Sampler>, String> {
    let name = source.name.clone();
    let mut asked = Promql::new(source, url, query)?;
    for remark in asked
        .probe()
        .map_err(|reason| format!("{name}: {reason}"))?
    {
        sink.warning(&format_args!("{name}: {remark}"));
    }
    Ok(Box::new(asked))
}

pub(crate) fn declared(samplers: &[Box<dyn Sampler>]) -> ServerMetrics {
    let mut server = ServerMetrics::default();
    for sampler in samplers {
        for of in sampler.metrics() {
            server.declare(sampler.source(), of);
        }
    }
    server
}

pub(crate) struct Sampling {
    looks: Receiver<SourceReading>,
    go_on: Vec<Sender<()>>,
    warned: BTreeSet<String>,
    /// Sources without any readings so far.
    silent: BTreeSet<String>,
    zero: Zero,
}

impl Sampling {
    /// Starts a thread for each source, so that a source that hangs does not delay the others.
    pub fn begin(samplers: Vec<Box<dyn Sampler>>, zero: Zero) -> Sampling {
        let (sender, looks) = channel();
        let mut go_on = Vec::new();
        let silent = samplers.iter().map(|s| s.source().to_owned()).collect();
        for sampler in samplers {
            let (held, stop) = channel();
            let (looks, source) = (sender.clone(), sampler.source().to_owned());
            let thread = std::thread::Builder::new().name(format!("samples-{source}"));
            let begun = thread.spawn(move || work(sampler, &Clock::system(zero), &looks, &stop));
            match begun {
                Ok(_) => go_on.push(held),
                Err(reason) => {
                    let _ = sender.send(SourceReading {
                        at_ns: 0,
                        source,
                        readings: Err(format!("cannot start a thread: {reason}")),
                    });
                }
            }
        }
        Sampling {
            looks,
            go_on,
            warned: BTreeSet::new(),
            silent,
            zero,
        }
    }

    /// Returns the readings since the last call.
    pub fn take(&mut self) -> Vec<SourceReading> {
        let looks: Vec<SourceReading> = self.looks.try_iter().collect();
        for look in &looks {
            self.silent.remove(&look.source);
        }
        looks
    }

    /// Stops the samplers and returns their last readings. A source without a single reading gives
    /// an error.
    pub fn end(&mut self) -> Vec<SourceReading> {
        self.go_on.clear();
        let mut last = Vec::new();
        while let Ok(look) = self.looks.recv_timeout(LAST) {
            self.silent.remove(&look.source);
            last.push(look);
        }
        let now_ns = Clock::system(self.zero).now();
        last.extend(
            std::mem::take(&mut self.silent)
                .into_iter()
                .map(|source| SourceReading {
                    at_ns: now_ns,
                    source,
                    readings: Err("the run ended before its first sample was complete".to_owned()),
                }),
        );
        last
    }

    /// Returns the warning for the first failure of a source.
    pub fn warning(&mut self, look: &SourceReading) -> Option<String> {
        let reason = look.readings.as_ref().err()?;
        let first = self.warned.insert(look.source.clone());
        first.then(|| {
            format!(
                "{} could not be measured from {} on: {reason}",
                look.source,
                record::units::moment(look.at_ns)
            )
        })
    }
}

/// Drops names that are too long, and readings beyond the limit. Names stay in memory, so a source
/// that keeps inventing names would otherwise fill memory and disk.
fn bounded(mut look: SourceReading) -> SourceReading {
    let fits = |reading: &MetricReading| exposition::has_short_name(&reading.of);
    match &mut look.readings {
        Ok(readings) => {
            let all = readings.len();
            readings.retain(fits);
            if readings.is_empty() && all > 0 {
                look.readings = Err("the names of the metrics are too long".to_owned());
            }
        }
        Err(reason) => {
            let end = reason.char_indices().nth(LONGEST_REASON).map(|(at, _)| at);
            end.into_iter().for_each(|at| reason.truncate(at));
        }
    }
    look
}

/// Takes samples until the receiver is dropped, at whole seconds of the wall clock, where intervals
/// end.
fn work(
    mut sampler: Box<dyn Sampler>,
    clock: &Clock,
    looks: &Sender<SourceReading>,
    stop: &Receiver<()>,
) {
    let thread = rustix::thread::gettid();
    let _ = rustix::process::setpriority_process(Some(thread), NICENESS);
    let mut look = |at_ns, is_last| {
        let now = Moment {
            at_ns,
            wall_ns: worker::clock::wall_ns(),
            is_last,
        };
        let mut all = sampler.looks(&now).into_iter();
        all.all(|look| looks.send(bounded(look)).is_ok())
    };
    let mut last_ns = clock.now();
    if !look(last_ns, false) {
        return;
    }
    loop {
        let to_next = SECOND - worker::clock::wall_ns() % SECOND;
        let over =
            stop.recv_timeout(Duration::from_nanos(to_next)) == Err(RecvTimeoutError::Disconnected);
        let now = clock.now();
        let is_worth_it = !over || now.saturating_sub(last_ns) >= LEAST_NS;
        if is_worth_it && !look(now, over) || over {
            return;
        }
        last_ns = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sampler that blocks until the test ends it.
    struct Blocked(Receiver<()>);

    impl Sampler for Blocked {
        fn source(&self) -> &'static str {
            "slow"
        }

        fn metrics(&self) -> Vec<Descriptor> {
            Vec::new()
        }

        fn look(&mut self) -> Result<Vec<MetricReading>, String> {
            let _ = self.0.recv();
            Ok(Vec::new())
        }
    }

    #[test]
    fn source_without_a_reading_is_reported_at_the_end() {
        let (release, held) = channel();
        let mut sampling = Sampling::begin(vec![Box::new(Blocked(held))], Zero::in_ns(0));
        let last = sampling.end();
        drop(release);
        assert_eq!(last.len(), 1);
        let warning = sampling.warning(&last[0]).unwrap();
        assert!(
            warning.starts_with("slow could not be measured from "),
            "{warning}"
        );
        assert!(warning.ends_with("the run ended before its first sample was complete"));
    }
}
