//! Conducts a search: probes levels, saves the state after each probe, and writes a report at the
//! end.

use std::{
    fs,
    path::{Path, PathBuf},
};

use decisions::find::{
    Ending, ProbeRow, SearchResult,
    search::{self, Probe, ProbeReason, ProbeResult, SearchStep},
};
use report::{console, derived};
use session::{SharedMessageSink, exit, signals};
use worker::{clock, stop::StopHandle};

use crate::{
    FOLDER, FindOptions,
    probes::{ProbeEnv, ProbeError, ProbeOutcome, seconds_since},
    recovery_polling::{self, PollOutcome},
};

pub struct FinishedSearch {
    pub result: SearchResult,
    pub folder: PathBuf,
    pub code: u8,
}

/// Runs probes until the search ends.
///
/// # Errors
///
/// Returns an error if the first probe cannot run.
pub fn conduct(
    options: &FindOptions,
    columns: console::Columns,
    sink: &SharedMessageSink,
) -> Result<FinishedSearch, ProbeError> {
    let began_ns = clock::monotonic_ns();
    let wall_ns = clock::wall_ns();
    let folder = folder(options, wall_ns);
    // One handle covers all probes, so that a signal between two probes also counts.
    let stop = StopHandle::default();
    let _signal_handler =
        signals::hear(&stop, String::new(), sink).map_err(|error| ProbeError {
            line: format!("cannot handle signals: {error}"),
            code: exit::COULD_NOT_RUN,
        })?;
    let mut searching = Searching {
        stop,
        options,
        sink,
        probes: Vec::new(),
        found: begin(options, wall_ns),
        began_ns,
    };
    let env = ProbeEnv::new(options, &folder);
    let ended = if options.is_sweep {
        searching.sweep(&env)
    } else {
        searching.search(&env)
    };
    let code = match ended {
        Ok(Some(signal)) => {
            if !options.is_sweep {
                searching.found.interrupted(&searching.probes);
            }
            exit::of_signal(signal)
        }
        Ok(None) => searching.found.exit_code,
        Err(error) if searching.probes.is_empty() => return Err(error),
        Err(ProbeError { line, .. }) => {
            sink.error(&line);
            searching.found.could_not_go_on(&line, &searching.probes);
            exit::COULD_NOT_RUN
        }
    };
    searching.found.exit_code = code;
    sink.out(&console::found_in(&searching.found, columns));
    let written = derived::write_found(&folder, &searching.found);
    match written {
        Ok(()) => {
            sink.out(&format!(
                "Report: {}\n",
                folder.join(derived::PAGE).display()
            ));
            Ok(FinishedSearch {
                result: searching.found,
                folder,
                code,
            })
        }
        Err(error) => Err(ProbeError {
            line: error.to_string(),
            code: exit::COULD_NOT_RUN,
        }),
    }
}

pub struct Searching<'a> {
    pub options: &'a FindOptions,
    pub sink: &'a SharedMessageSink,
    pub probes: Vec<ProbeResult>,
    pub found: SearchResult,
    pub began_ns: u64,
    pub stop: StopHandle,
}

impl Searching<'_> {
    fn search(&mut self, env: &ProbeEnv<'_>) -> Result<Option<u8>, ProbeError> {
        loop {
            if let Some(signal) = self.stop.signal() {
                return Ok(Some(signal));
            }
            let probe = match search::next(&self.options.config, &self.probes) {
                SearchStep::Probe(probe) => probe,
                SearchStep::End(end) => {
                    self.found.duration_s = self.took_s();
                    self.found.end(&end, &self.probes);
                    return Ok(None);
                }
            };
            self.sink.say(&self.asks(&probe));
            let number = self.probes.len();
            let became = env.probe(number, &probe)?;
            self.found.duration_s = self.took_s();
            let ran = match became {
                ProbeOutcome::Over(ran) => *ran,
                ProbeOutcome::Signal(signal) => return Ok(Some(signal)),
            };
            self.sink.say(&self.saw(&ran.row));
            let is_mute = ran.is_mute;
            self.probes.push(ran.probed);
            self.found.probes.push(ran.row);
            self.found.interrupted(&self.probes);
            self.keep(env.folder);
            if is_mute && let Some(over) = self.waits(env, number)? {
                return Ok(over);
            }
        }
    }

    /// Waits after a probe until the service responds again. Returns `None` if the search
    /// continues. Otherwise, returns the signal, if any.
    fn waits(
        &mut self,
        env: &ProbeEnv<'_>,
        number: usize,
    ) -> Result<Option<Option<u8>>, ProbeError> {
        self.sink
            .say(&"  most requests had no response: waiting for the service to recover");
        let config = &self.options.config;
        let spent: f64 = self.probes.iter().map(|probe| probe.spent_s).sum();
        let asking_ns = clock::monotonic_ns();
        let left_s = || config.budget_s - spent - seconds_since(asking_ns);
        let arrived = recovery_polling::until_back(left_s, |chance| env.look(number, chance))?;
        if let Some(last) = self.probes.last_mut() {
            last.spent_s += seconds_since(asking_ns);
        }
        match arrived {
            PollOutcome::Answered => return Ok(None),
            PollOutcome::Signal(signal) => return Ok(Some(Some(signal))),
            PollOutcome::Silent if number == 0 => {
                return Err(ProbeError {
                    line: "the service does not respond to the first probe either: check that it is running".to_owned(),
                    code: exit::COULD_NOT_RUN,
                });
            }
            PollOutcome::Silent => {
                self.found.duration_s = self.took_s();
                self.found.died(&self.probes);
            }
            PollOutcome::NotAsked => {
                self.found.duration_s = self.took_s();
                self.found
                    .end(&search::spent(config, &self.probes), &self.probes);
            }
        }
        Ok(Some(None))
    }

    pub fn took_s(&self) -> f64 {
        seconds_since(self.began_ns)
    }

    fn asks(&self, probe: &Probe) -> String {
        let over = self.options.over;
        let reason = match probe.reason {
            ProbeReason::Up if self.probes.is_empty() => "first probe".to_owned(),
            ProbeReason::Up => "all probes have held so far".to_owned(),
            ProbeReason::Down => "no probe has held yet".to_owned(),
            ProbeReason::Between => "between a level that held and one that failed".to_owned(),
            ProbeReason::Again => {
                "repeated: it held before, but later probes contradict that".to_owned()
            }
            ProbeReason::Near => match search::known(&self.probes) {
                Some(known) => {
                    let (low, high) = known.interval();
                    let side = if probe.level.ln() > known.estimate() {
                        "above"
                    } else {
                        "below"
                    };
                    format!(
                        "from {side}: the load line is between {} and {}",
                        over.level(low.exp()),
                        over.level(high.exp())
                    )
                }
                None => "near the load line".to_owned(),
            },
        };
        let most = record::units::duration((probe.seconds.ceil() * 1e9) as u64);
        format!("{}, at most {most}: {reason}", over.level(probe.level))
    }

    pub fn saw(&self, row: &ProbeRow) -> String {
        if let Some(reason) = &row.invalid {
            return format!("  not counted: {reason}");
        }
        let measured = self.found.slos.iter().zip(&row.measured);
        let measured = measured.map(|(slo, measured)| {
            format!("{slo}: {}", measured.as_deref().unwrap_or("not measured"))
        });
        let measured: Vec<String> = measured.chain(row.overload()).collect();
        let word = if row.holds { "holds" } else { "fails" };
        format!("  {word} ({})", measured.join("; "))
    }

    pub fn keep(&self, folder: &Path) {
        let _ = derived::write_found_so_far(folder, &self.found);
    }
}

fn begin(options: &FindOptions, wall_ns: u64) -> SearchResult {
    SearchResult {
        schema: 2,
        test: options.redacted.0.clone(),
        target: options.redacted.1.clone(),
        started_utc: record::utc(wall_ns, "%Y-%m-%dT%H:%M:%SZ"),
        varied: options.over,
        slos: options.slos.iter().map(|slo| slo.text.clone()).collect(),
        ending: Ending::Interrupted,
        estimate: None,
        interval: None,
        drift: None,
        last_pass: None,
        first_fail: None,
        duration_s: 0.0,
        sentence: String::new(),
        overload: None,
        scaling: None,
        notes: options.notes.clone(),
        probes: Vec::new(),
        probabilities: Vec::new(),
        exit_code: exit::INCONCLUSIVE,
    }
}

fn folder(options: &FindOptions, wall_ns: u64) -> PathBuf {
    let suffix = (wall_ns >> 8 ^ u64::from(std::process::id())) & 0xffff;
    let name = format!("{}-{suffix:04x}", record::utc(wall_ns, "%Y%m%dT%H%M%SZ"));
    let folder = options.folder.clone();
    let folder = folder.unwrap_or_else(|| Path::new(FOLDER).join(name));
    // If this fails, the first probe reports the problem.
    let _ = fs::create_dir_all(&folder);
    folder
}
