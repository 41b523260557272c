//! Sweep: measures rising numbers of users until more users would show nothing new.

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
    pub fn sweep(&mut self, ground: &ProbeEnv<'_>) -> Result<Option<u8>, ProbeError> {
        let asked = &self.wanted.asked;
        let most = asked.most.unwrap_or(f64::INFINITY);
        let mut levels: Vec<(f64, f64)> = Vec::new();
        self.found.swept(&levels, asked.seed);
        let mut number = 0;
        'levels: while level(number) <= most && !is_enough(&levels) {
            let users = level(number);
            number += 1;
            for _ in 0..TRIES {
                if let Some(signal) = self.stop.signal() {
                    return Ok(Some(signal));
                }
                let is_over = self.took_s() + asked.settle_s + asked.probe_s > asked.budget_s;
                if is_over && !self.probes.is_empty() {
                    break 'levels;
                }
                self.voice
                    .say(&format!("{}:", self.wanted.over.level(users)));
                let probe = Probe {
                    level: users,
                    why: ProbeReason::Up,
                    seconds: asked.probe_s,
                };
                let became = ground.probe(self.probes.len(), &probe)?;
                self.found.took_s = self.took_s();
                let ran = match became {
                    ProbeOutcome::Over(ran) => *ran,
                    ProbeOutcome::Signal(signal) => return Ok(Some(signal)),
                };
                let got = ran.row.goodput;
                self.voice.say(&match &ran.row.spoilt {
                    Some(why) => format!("  does not count: {why}"),
                    None => format!("  {}/s answered well", record::units::rate(got)),
                });
                let (spoilt, is_mute) = (ran.probed.spoilt, ran.is_mute);
                self.probes.push(ran.probed);
                self.found.probes.push(ran.row);
                if is_mute {
                    self.found.died(&self.probes);
                    return Ok(None);
                }
                if spoilt.is_none() && got > 0.0 {
                    levels.push((users, got));
                }
                self.found.swept(&levels, asked.seed);
                self.keep(ground.folder);
                match spoilt {
                    None if got > 0.0 => break,
                    None => {
                        let note = format!(
                            "no request of {} was answered as expected: the sweep ends there",
                            self.wanted.over.level(users)
                        );
                        self.found.notes.push(note);
                        break 'levels;
                    }
                    Some(InvalidProbe::Limited) => {
                        let note = format!(
                            "this machine cannot drive {}: the sweep ends below that",
                            self.wanted.over.level(users)
                        );
                        self.found.notes.push(note);
                        break 'levels;
                    }
                    Some(InvalidProbe::Disturbed) => {}
                }
            }
        }
        self.found.took_s = self.took_s();
        self.found.swept(&levels, asked.seed);
        Ok(None)
    }
}
