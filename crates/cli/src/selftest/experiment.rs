//! Runs an experiment: starts the reference server, runs the installed command with a plan, and
//! reads the results of both.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use analysis::summary::Summary;
use plan::{FirstArrival, Load, Phase, Rate, Shape, schedule::Schedule, units::SECOND};
use record::Run;

use super::{
    machine::{OnCore, Witness, WitnessLateness},
    truth::Truth,
};
use session::LabProcess;

const SEED: u64 = 20_260;

pub struct Experiment {
    pub server: String,
    pub rate: u64,
    pub seconds: u64,
    pub users: Option<u32>,
    pub poisson: bool,
    pub connections: Option<u32>,
    pub timeout: &'static str,
    pub drain: &'static str,
    /// Whether a witness thread observes the machine. The thread affects measurements in
    /// microseconds.
    pub witness: bool,
    pub pacing_slack: &'static str,
}

impl Default for Experiment {
    fn default() -> Self {
        Experiment {
            server: "mode=constant".into(),
            rate: 1000,
            seconds: 20,
            users: None,
            poisson: false,
            connections: None,
            timeout: "60s",
            drain: "60s",
            witness: true,
            pacing_slack: "100us",
        }
    }
}

pub struct RunningExperiment {
    folder: Folder,
    lab: Option<LabProcess>,
    pub generator: Child,
    schedule: Schedule,
    witness: Option<Witness>,
}

pub struct Results {
    pub run: Run,
    pub summary: Summary,
    pub truth: Truth,
    pub exit: Option<i32>,
    pub machine_was_late: bool,
    pub worst_wake_ms: f64,
    pub served: Vec<Served>,
    intended: Vec<(String, u64)>,
}

/// A request that the server received. Times are in nanoseconds of `CLOCK_MONOTONIC`.
pub struct Served {
    pub intended_ns: u64,
    pub released_ns: u64,
}

pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Result<Folder, String> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("loadline-selftest-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Folder(path))
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Experiment {
    /// Starts both processes, on separate cores if possible.
    pub fn start(&self) -> Result<RunningExperiment, String> {
        let folder = Folder::new()?;
        let log = folder.at("truth.jsonl");
        let lab = {
            let _core = OnCore::number(0);
            LabProcess::start(&format!("truth?{}&log={}", self.server, log.display()))?
        };
        fs::write(folder.at("plan.yml"), self.plan(lab.url())).map_err(|e| e.to_string())?;
        let generator = {
            let _core = OnCore::number(1);
            generator(&folder.0, self)?
        };
        Ok(RunningExperiment {
            folder,
            lab: Some(lab),
            generator,
            schedule: self.schedule(),
            witness: self.witness.then(|| Witness::on_core(1)),
        })
    }

    pub fn run(&self) -> Result<Results, String> {
        self.start()?.finish()
    }

    fn plan(&self, target: &str) -> String {
        let arrivals = if self.poisson { "poisson" } else { "even" };
        let connections = self
            .connections
            .map_or(String::new(), |n| format!(", connections: {n}"));
        let load = match self.users {
            Some(users) => format!("users: {users}, duration: {}s", self.seconds),
            None => format!(
                "rate: {}/s, duration: {}s, arrivals: {arrivals}",
                self.rate, self.seconds
            ),
        };
        format!(
            "loadline: 1\ntarget: {target}\nload: {{{load}}}\nhttp: {{timeout: {}{connections}}}\n\
             steps: [{{get: {{url: /, headers: {{x-request-id: '{{{{ $uuid }}}}'}}}}}}]\n",
            self.timeout,
        )
    }

    fn schedule(&self) -> Schedule {
        let mut phase = Phase::new(
            self.seconds * SECOND,
            Shape::Rate(Rate::per_second(self.rate)),
        );
        if self.poisson {
            phase.arrivals = plan::ArrivalProcess::Poisson;
        }
        Schedule::new(
            &Load::Open {
                phases: vec![phase],
                first: FirstArrival::AtStart,
            },
            SEED,
        )
    }
}

fn generator(folder: &Path, experiment: &Experiment) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    command
        .args([
            "run",
            "plan.yml",
            "--runs",
            "runs",
            "--seed",
            &SEED.to_string(),
            "--drain",
            experiment.drain,
            "--pacing-slack",
            experiment.pacing_slack,
        ])
        .current_dir(folder);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
        .spawn()
        .map_err(|e| format!("cannot start the generator: {e}"))
}

impl RunningExperiment {
    pub fn kill_server(&mut self) {
        if let Some(lab) = &mut self.lab {
            lab.kill();
        }
    }

    /// Waits until both processes have ended, and reads the results of both.
    pub fn finish(mut self) -> Result<Results, String> {
        let exit = self.generator.wait().map_err(|e| e.to_string())?.code();
        let seen = self.witness.take().map(Witness::end);
        // Dropping the server makes it flush its log.
        drop(self.lab.take());
        let run = Run::find(&self.folder.at("runs"), "last").map_err(|e| e.to_string())?;
        let truth = Truth::read(&self.folder.at("truth.jsonl"))?;
        let zero = run.manifest.start.monotonic_ns;
        let intended: Vec<(String, u64)> = self
            .schedule
            .shard(0, 1)
            .map(|a| (engine::user::uuid(SEED, a.number), zero + a.intended_ns))
            .collect();
        let answered = |(id, intended): &(String, u64)| {
            let (_, release) = truth.requests.get(id)?;
            release.map(|released_ns| Served {
                intended_ns: *intended,
                released_ns,
            })
        };
        let served = intended.iter().filter_map(answered).collect();
        Ok(Results {
            summary: analysis::summarise(&run),
            run,
            truth,
            exit,
            machine_was_late: seen.as_ref().is_some_and(WitnessLateness::was_late),
            worst_wake_ms: seen.map_or(0.0, |seen| seen.worst_ms()),
            served,
            intended,
        })
    }
}

impl Results {
    #[must_use]
    pub fn true_responses(&self) -> Vec<u64> {
        let took = |one: &Served| one.released_ns.saturating_sub(one.intended_ns);
        let mut times: Vec<u64> = self.served.iter().map(took).collect();
        times.sort_unstable();
        times
    }

    /// Returns the time from the intended start until arrival at the server for each request, in
    /// nanoseconds and in the order of the plan.
    #[must_use]
    pub fn delays(&self) -> Vec<i64> {
        let arrived = |(id, intended): &(String, u64)| {
            let (arrival, _) = self.truth.requests.get(id)?;
            Some(arrival.cast_signed() - intended.cast_signed())
        };
        self.intended.iter().filter_map(arrived).collect()
    }

    #[must_use]
    pub fn service_ms(&self, q: f64) -> f64 {
        let all = self.run.totals.label(measure::label::ALL);
        let histogram = all
            .slot
            .histogram(measure::TimeKind::Service, measure::OutcomeClass::Ok);
        histogram
            .and_then(|h| h.quantile(q))
            .map_or(f64::NAN, |ns| ns as f64 / 1e6)
    }

    #[must_use]
    pub fn true_service_ms(&self, q: f64) -> f64 {
        let took =
            |(arrival, release): &(u64, Option<u64>)| Some((*release)?.saturating_sub(*arrival));
        let mut times: Vec<u64> = self.truth.requests.values().filter_map(took).collect();
        times.sort_unstable();
        super::truth::quantile(&times, q) as f64 / 1e6
    }

    #[must_use]
    pub fn service_s(&self) -> f64 {
        let all = self.run.totals.label(measure::label::ALL);
        let histogram = all
            .slot
            .histogram(measure::TimeKind::Service, measure::OutcomeClass::Ok);
        histogram
            .and_then(|h| h.quantile(0.5))
            .map_or(f64::NAN, |ns| ns as f64 / 1e9)
    }

    #[must_use]
    pub fn response_ms(&self, q: f64) -> f64 {
        let Some(stats) = &self.summary.all.response else {
            return f64::NAN;
        };
        let figure = match q {
            q if q >= 0.999 => stats.p999,
            q if q >= 0.99 => stats.p99,
            q if q >= 0.95 => stats.p95,
            q if q >= 0.9 => stats.p90,
            _ => stats.p50,
        };
        figure
            .ns
            .or(figure.at_least_ns)
            .map_or(f64::NAN, |ns| ns as f64 / 1e6)
    }

    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        let stats = self.summary.all.response.as_ref();
        stats
            .and_then(|stats| stats.mean_ns)
            .map_or(f64::NAN, |ns| ns / 1e6)
    }

    #[must_use]
    pub fn lateness_ms(&self, q: f64) -> f64 {
        let all = self.run.totals.label(measure::label::ALL);
        let histogram = all
            .slot
            .histogram(measure::TimeKind::Lateness, measure::OutcomeClass::Ok);
        histogram
            .and_then(|h| h.quantile(q))
            .map_or(f64::NAN, |ns| ns as f64 / 1e6)
    }
}
