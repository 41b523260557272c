//! Samplers: what measures something beside the load - this machine, later a server - on threads of its own and of low priority, with
//! moments on the run's clock. What they read goes to the collector, which writes it; nobody ever waits for them.

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
use engine::{Zero, clock::Clock};
pub use host::Host;
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

use crate::messages::SharedVoice;

/// Below everything else of ours.
const NICENESS: i32 = 19;
/// Behind so short a time a last look says nothing.
const LEAST_NS: u64 = SECOND / 4;
/// For so long the end of a run waits for its last looks.
const LAST: Duration = Duration::from_millis(200);

/// No name of a metric with its instance is longer, in bytes.
const LONGEST_NAME: usize = 1024;
/// Characters that are kept of why a look failed.
const LONGEST_REASON: usize = 300;

/// A source of measurements.
pub trait Sampler: Send {
    /// Its name: the first part of its metrics' names.
    fn source(&self) -> &str;
    /// What it will measure, as far as that is known before.
    fn metrics(&self) -> Vec<Descriptor>;
    /// Whether that is all it will measure; else names may come up later.
    fn is_all_known(&self) -> bool {
        true
    }
    /// Reads everything once: about once a second, and at the end. The first look may have less to say.
    ///
    /// # Errors
    /// Why there is nothing: a gap, of which one warning tells, however often it happens.
    fn look(&mut self) -> Result<Vec<MetricReading>, String>;
    /// What there is to write down at a moment: one look, of now. Whoever asks somebody with a clock of his own has others to tell of,
    /// or none.
    fn looks(&mut self, now: &Moment) -> Vec<SourceReading> {
        let look = SourceReading {
            at_ns: now.at_ns,
            source: self.source().to_owned(),
            readings: self.look(),
        };
        vec![look]
    }
    /// The time between its samples, where that is not the second between looks.
    fn step_ns(&self) -> Option<u64> {
        None
    }
}

/// When somebody looks.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// In nanoseconds from the start of the test.
    pub at_ns: u64,
    /// The same by this machine's clock, in nanoseconds since 1970.
    pub wall_ns: u64,
    /// Whether nobody looks again.
    pub is_last: bool,
}

/// A stop rule that a source could never decide in time, if it is one: fewer than two of its samples fall into the rule's window.
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
            "`{} for {}` can never be judged: server.{name} has a sample every {}, the scrape interval of its Prometheus: write `for {}` or more",
            rule.when.text,
            units::duration(rule.for_ns),
            units::duration(step_ns),
            units::duration(2 * step_ns),
        )
    })
}

/// What is measured where nobody asks for more: the machine that generates the load.
#[must_use]
pub fn usual() -> Vec<Box<dyn Sampler>> {
    vec![Box::new(Host::default())]
}

/// Who looks at what a plan names; what there is to say of those that answer nothing yet, and of those that have too much to say.
pub(crate) fn samplers(
    sources: &[MetricSource],
    voice: &SharedVoice,
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
                "`{}` is named twice: each source has a name of its own",
                source.name
            ));
            continue;
        }
        match sampler(source.clone(), voice) {
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

fn sampler(source: MetricSource, voice: &SharedVoice) -> Result<Box<dyn Sampler>, String> {
    let name = source.name.clone();
    let mut endpoint = match source.place.clone() {
        MetricLocation::Process(_) | MetricLocation::Pid(_) | MetricLocation::Port(_) => {
            return Ok(looked_at_once(Processes::new(source), voice));
        }
        MetricLocation::Cgroup(folder) => {
            return Ok(looked_at_once(Cgroup::new(source, folder), voice));
        }
        MetricLocation::Url(url) => Endpoint::url(source, &url)?,
        MetricLocation::Redis(url) => Endpoint::redis(source, &url),
        MetricLocation::Postgres(url) => return asked_once(Postgres::new(source, &url)?, voice),
        MetricLocation::Promql { url, query } => return question(source, (&url, &query), voice),
        MetricLocation::Command(line) => Endpoint::command(source, &line),
        MetricLocation::Lab { .. } => {
            let why = "the target is no embedded one (lab:NAME): write where it is";
            return Err(format!("{}: {why}", source.name));
        }
    };
    match endpoint.probe() {
        Ok(0) => {}
        Ok(more) => voice.warning(&format_args!(
            "{name} has {more} metrics more than are kept of one source: choose with `only`"
        )),
        Err(why) => voice.warning(&format_args!(
            "nothing can be measured of {name} yet: {why}"
        )),
    }
    for pattern in endpoint.unmatched() {
        voice.warning(&format_args!(
            "{name}: no metric matches `{pattern}` yet: check the name"
        ));
    }
    Ok(Box::new(endpoint))
}

/// A sampler that has looked for the first time: what is not there is said before the first request.
fn looked_at_once(mut sampler: impl Sampler + 'static, voice: &SharedVoice) -> Box<dyn Sampler> {
    if let Err(why) = sampler.look() {
        voice.warning(&format_args!(
            "nothing can be measured of {} yet: {why}",
            sampler.source()
        ));
    }
    Box::new(sampler)
}

/// A database that has been asked for the first time.
fn asked_once(mut database: Postgres, voice: &SharedVoice) -> Result<Box<dyn Sampler>, String> {
    let name = database.source().to_owned();
    match database.probe() {
        Ok(None) => {}
        Ok(Some(remark)) => voice.warning(&format_args!("{name}: {remark}")),
        Err(why) => voice.warning(&format_args!(
            "nothing can be measured of {name} yet: {why}"
        )),
    }
    Ok(Box::new(database))
}

/// A question to a Prometheus that has been asked for the first time. One that it does not understand is refused.
fn question(
    source: MetricSource,
    (url, query): (&str, &str),
    voice: &SharedVoice,
) -> Result<Box<dyn Sampler>, String> {
    let name = source.name.clone();
    let mut asked = Promql::new(source, url, query)?;
    for remark in asked.probe().map_err(|why| format!("{name}: {why}"))? {
        voice.warning(&format_args!("{name}: {remark}"));
    }
    Ok(Box::new(asked))
}

/// What samplers will measure.
pub(crate) fn declared(samplers: &[Box<dyn Sampler>]) -> ServerMetrics {
    let mut server = ServerMetrics::default();
    for sampler in samplers {
        for of in sampler.metrics() {
            server.declare(sampler.source(), of);
        }
    }
    server
}

/// The samplers of a run at work.
pub(crate) struct Sampling {
    looks: Receiver<SourceReading>,
    /// The samplers work for as long as these are held.
    go_on: Vec<Sender<()>>,
    /// Sources whose failure has been told.
    warned: BTreeSet<String>,
}

impl Sampling {
    /// Begins to look, on a thread for each source: one that hangs holds up no other.
    pub fn begin(samplers: Vec<Box<dyn Sampler>>, zero: Zero) -> Sampling {
        let (sender, looks) = channel();
        let mut go_on = Vec::new();
        for sampler in samplers {
            let (held, stop) = channel();
            let (looks, source) = (sender.clone(), sampler.source().to_owned());
            let thread = std::thread::Builder::new().name(format!("samples-{source}"));
            let begun = thread.spawn(move || work(sampler, &Clock::system(zero), &looks, &stop));
            match begun {
                Ok(_) => go_on.push(held),
                Err(why) => {
                    // Heard by the collector as any other failure.
                    let _ = sender.send(SourceReading {
                        at_ns: 0,
                        source,
                        readings: Err(format!("no thread: {why}")),
                    });
                }
            }
        }
        Sampling {
            looks,
            go_on,
            warned: BTreeSet::new(),
        }
    }

    /// What has been read since it was last asked.
    pub fn take(&mut self) -> Vec<SourceReading> {
        self.looks.try_iter().collect()
    }

    /// Ends it, with what each source has to say at last.
    pub fn end(&mut self) -> Vec<SourceReading> {
        self.go_on.clear();
        let mut last = Vec::new();
        while let Ok(look) = self.looks.recv_timeout(LAST) {
            last.push(look);
        }
        last
    }

    /// The warning that a look deserves: the first failure of each source.
    pub fn warning(&mut self, look: &SourceReading) -> Option<String> {
        let why = look.readings.as_ref().err()?;
        let first = self.warned.insert(look.source.clone());
        first.then(|| {
            format!(
                "nothing could be measured of {} from {} on: {why}",
                look.source,
                record::units::moment(look.at_ns)
            )
        })
    }
}

/// A look without what no reader needs: names that are longer than any metric's, and readings beyond those of any
/// source. Names are kept once each, so a source that invents new ones would take memory and disk without end.
fn bounded(mut look: SourceReading) -> SourceReading {
    let fits = |reading: &MetricReading| {
        let instance = reading.of.instance.as_deref().unwrap_or_default();
        reading.of.metric.len() + instance.len() <= LONGEST_NAME
    };
    match &mut look.readings {
        Ok(readings) => {
            let all = readings.len();
            readings.retain(fits);
            if readings.is_empty() && all > 0 {
                look.readings = Err("the names of its metrics are too long".to_owned());
            }
        }
        Err(why) => {
            let end = why.char_indices().nth(LONGEST_REASON).map(|(at, _)| at);
            end.into_iter().for_each(|at| why.truncate(at));
        }
    }
    look
}

/// Looks at whole seconds of the wall clock, where intervals are cut, until nobody holds the other end.
fn work(
    mut sampler: Box<dyn Sampler>,
    clock: &Clock,
    looks: &Sender<SourceReading>,
    stop: &Receiver<()>,
) {
    let thread = rustix::thread::gettid();
    // Not being allowed to is no reason to stop.
    let _ = rustix::process::setpriority_process(Some(thread), NICENESS);
    let mut look = |at_ns, is_last| {
        let now = Moment {
            at_ns,
            wall_ns: engine::clock::wall_ns(),
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
        let to_next = SECOND - engine::clock::wall_ns() % SECOND;
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
