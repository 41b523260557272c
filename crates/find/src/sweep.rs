//! Sweep: measures increasing numbers of users until more users would give no new information.

use decisions::find::{
    search::{InvalidProbe, Probe, ProbeReason},
    sweep::{is_enough, level},
};

use crate::{
    conduct::Searching,
    probes::{ProbeEnv, ProbeError, ProbeOutcome},
};

const TRIES: usize = 2;

impl Searching<'_> {
    pub fn sweep(&mut self, env: &ProbeEnv<'_>) -> Result<Option<u8>, ProbeError> {
        let config = &self.options.config;
        let most = config.most.unwrap_or(f64::INFINITY);
        let mut levels: Vec<(f64, f64)> = Vec::new();
        self.found.swept(&levels, config.seed);
        let mut number = 0;
        'levels: while level(number) <= most && !is_enough(&levels) {
            let users = level(number);
            number += 1;
            for _ in 0..TRIES {
                if let Some(signal) = self.stop.signal() {
                    return Ok(Some(signal));
                }
                let is_over = self.took_s() + config.settle_s + config.probe_s > config.budget_s;
                if is_over && !self.probes.is_empty() {
                    break 'levels;
                }
                self.sink
                    .say(&format!("{}:", self.options.over.level(users)));
                let probe = Probe {
                    level: users,
                    reason: ProbeReason::Up,
                    seconds: config.probe_s,
                };
                let became = env.probe(self.probes.len(), &probe)?;
                self.found.duration_s = self.took_s();
                let ran = match became {
                    ProbeOutcome::Over(ran) => *ran,
                    ProbeOutcome::Signal(signal) => return Ok(Some(signal)),
                };
                let actual = ran.row.goodput;
                self.sink.say(&match &ran.row.invalid {
                    Some(reason) => format!("  not counted: {reason}"),
                    None => format!("  {}/s answered as expected", record::units::rate(actual)),
                });
                let (invalid, is_mute) = (ran.probed.invalid, ran.is_mute);
                self.probes.push(ran.probed);
                self.found.probes.push(ran.row);
                if is_mute {
                    self.found.died(&self.probes);
                    return Ok(None);
                }
                if invalid.is_none() && actual > 0.0 {
                    levels.push((users, actual));
                }
                self.found.swept(&levels, config.seed);
                self.keep(env.folder);
                match invalid {
                    None if actual > 0.0 => break,
                    None => {
                        let note = format!(
                            "no request to {} was answered as expected: the sweep ends at this level",
                            self.options.over.level(users)
                        );
                        self.found.notes.push(note);
                        break 'levels;
                    }
                    Some(InvalidProbe::Limited) => {
                        let note = format!(
                            "this machine cannot generate {}: the sweep ends below that",
                            self.options.over.level(users)
                        );
                        self.found.notes.push(note);
                        break 'levels;
                    }
                    Some(InvalidProbe::Disturbed) => {}
                }
            }
        }
        self.found.duration_s = self.took_s();
        self.found.swept(&levels, config.seed);
        Ok(None)
    }
}
