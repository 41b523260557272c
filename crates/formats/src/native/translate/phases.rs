//! Reads the shapes of phases: constant, ramps, stairs and spikes. Stairs and spikes become several
//! named phases, so that each has a row in the report.

use plan::{LoadLevel, Rate, Shape, units};

use super::{Translator, model};
use crate::{document::Node, native::read};

const MOST_STAIRS: u64 = 1000;

pub(super) struct PhasePart {
    part: Option<String>,
    pub(super) duration_ns: u64,
    pub(super) duration_text: String,
    pub(super) shape: Shape,
}

impl PhasePart {
    fn single(duration_ns: u64, duration_text: String, shape: Shape) -> Vec<PhasePart> {
        vec![PhasePart {
            part: None,
            duration_ns,
            duration_text,
            shape,
        }]
    }

    fn part(part: String, duration_ns: u64, shape: Shape) -> PhasePart {
        PhasePart {
            part: Some(part),
            duration_ns,
            duration_text: in_words(duration_ns),
            shape,
        }
    }

    pub(super) fn named(&self, name: Option<&str>) -> Option<String> {
        match (name, &self.part) {
            (Some(name), Some(part)) => Some(format!("{name} {part}")),
            (name, part) => name.map(ToOwned::to_owned).or_else(|| part.clone()),
        }
    }
}

#[derive(Clone, Copy)]
struct Amount {
    rate: Rate,
    level: Option<f64>,
}

impl Amount {
    fn shape(self) -> Shape {
        steady(self.rate)
    }
}

fn steady(rate: Rate) -> Shape {
    if rate.is_zero() {
        Shape::Pause
    } else {
        Shape::Rate(rate)
    }
}

impl Translator<'_> {
    pub(super) fn constant_rate(&mut self, node: &Node) -> Option<Vec<PhasePart>> {
        let rate = node
            .get("rate")
            .and_then(|rate| read::rate(rate, "rate", self.findings));
        self.steady(node, rate)
    }

    pub(super) fn constant_level(&mut self, node: &Node) -> Option<Vec<PhasePart>> {
        let level = node.get("level").and_then(|level| self.level(level));
        self.steady(node, level.map(|amount| amount.rate))
    }

    fn steady(&mut self, node: &Node, rate: Option<Rate>) -> Option<Vec<PhasePart>> {
        if rate.is_some_and(Rate::is_zero) {
            self.findings
                .problem(node.mark, "a rate of 0 is not allowed: use `pause: 10s`");
        }
        let duration = self.duration(node);
        let (ns, text) = duration?;
        Some(PhasePart::single(ns, text, Shape::Rate(rate?)))
    }

    pub(super) fn ramp(&mut self, node: &Node) -> Option<Vec<PhasePart>> {
        let ends = self.ends(node);
        let duration = self.duration(node);
        let (from, to) = ends?;
        let shape = Shape::Staircase {
            from: from.rate,
            to: to.rate,
        };
        let (ns, text) = duration?;
        Some(PhasePart::single(ns, text, shape))
    }

    pub(super) fn stairs(&mut self, node: &Node) -> Option<Vec<PhasePart>> {
        let ends = self.ends(node);
        let steps = node.get("steps")?;
        let number = read::whole_number(steps, "steps", 2, self.findings);
        if number.is_some_and(|number| number > MOST_STAIRS) {
            let text = format!(
                "`steps: {}`: at most {MOST_STAIRS} steps are allowed",
                steps.text()
            );
            self.findings.problem(steps.mark, text);
            return None;
        }
        let duration = self.duration(node);
        let ((from, to), number, (duration_ns, _)) = (ends?, number?, duration?);
        let stair = |i: u64| {
            let begin = duration_ns / number * i + duration_ns % number * i / number;
            let end = duration_ns / number * (i + 1) + duration_ns % number * (i + 1) / number;
            let rate = between(from.rate, to.rate, i, number - 1)?;
            let part = match (from.level, to.level) {
                (Some(from), Some(to)) => {
                    let share = i as f64 / (number - 1) as f64;
                    format!("{}x", rounded(from + (to - from) * share))
                }
                _ => format!("{}/s", rounded(rate.as_f64())),
            };
            Some(PhasePart::part(part, end - begin, steady(rate)))
        };
        let stairs: Option<Vec<PhasePart>> = (0..number).map(stair).collect();
        if stairs.is_none() {
            let text = "these steps differ by less than the smallest possible change of a rate: use fewer steps";
            self.findings.problem(node.mark, text);
        }
        stairs
    }

    /// Reads a spike: from the base to the peak and back, immediately or by ramps.
    pub(super) fn spike(&mut self, node: &Node) -> Option<Vec<PhasePart>> {
        let base = match node.get("base") {
            Some(base) => self.amount(base, "base"),
            None => {
                let help = "`base` is missing: add the rate before and after the spike, for example base: 1x";
                read::missing(node, model::PHASE, help, self.findings);
                None
            }
        };
        let peak = node.get("peak").and_then(|peak| self.amount(peak, "peak"));
        let hold = match node.get("hold") {
            Some(hold) => read::duration(hold, "hold", self.findings),
            None => {
                let help =
                    "`hold` is missing: add the duration of the spike's peak, for example hold: 5s";
                read::missing(node, model::PHASE, help, self.findings);
                None
            }
        };
        let mut optional = |key: &str| match node.get(key) {
            Some(value) => read::duration(value, key, self.findings).map(Some),
            None => Some(None),
        };
        let (ramp, at) = (optional("ramp"), optional("at"));
        let duration = self.duration(node);
        let (ramp_ns, hold_ns, at, (whole_ns, single)) =
            (ramp?.unwrap_or(0), hold?, at?, duration?);
        let spike_ns = 2 * ramp_ns + hold_ns;
        let before_ns = at.unwrap_or(whole_ns.saturating_sub(spike_ns) / 2);
        let Some(after_ns) = whole_ns.checked_sub(before_ns + spike_ns) else {
            let text = format!(
                "this spike takes {} and would end {} into a phase that lasts only {single}: increase `duration`",
                in_words(spike_ns),
                in_words(before_ns + spike_ns),
            );
            self.findings.problem(node.mark, text);
            return None;
        };
        let (base, peak) = (base?, peak?);
        let slope = |from: Amount, to: Amount| Shape::Staircase {
            from: from.rate,
            to: to.rate,
        };
        let parts = [
            ("before", before_ns, base.shape()),
            ("rise", ramp_ns, slope(base, peak)),
            ("peak", hold_ns, peak.shape()),
            ("fall", ramp_ns, slope(peak, base)),
            ("after", after_ns, base.shape()),
        ];
        let named = node.get("name").is_some();
        let stretch = |(part, ns, shape): (&str, u64, Shape)| {
            let part = if named {
                part.to_owned()
            } else {
                format!("spike {part}")
            };
            PhasePart::part(part, ns, shape)
        };
        Some(
            parts
                .into_iter()
                .filter(|(_, ns, _)| *ns > 0)
                .map(stretch)
                .collect(),
        )
    }

    pub(super) fn so_many(&mut self, node: &Node) -> Option<Vec<PhasePart>> {
        let count = node
            .get("count")
            .and_then(|count| read::whole_number(count, "count", 1, self.findings));
        let duration = self.duration(node);
        let (ns, text) = duration?;
        Some(PhasePart::single(ns, text, Shape::Count(count?)))
    }

    pub(super) fn pause(&mut self, node: &Node) -> Option<Vec<PhasePart>> {
        let pause = node.get("pause")?;
        let ns = read::duration(pause, "pause", self.findings)?;
        Some(PhasePart::single(ns, pause.text(), Shape::Pause))
    }

    fn ends(&mut self, node: &Node) -> Option<(Amount, Amount)> {
        let from = node.get("from").and_then(|from| self.amount(from, "from"));
        let to = match node.get("to") {
            Some(to) => self.amount(to, "to"),
            None => {
                let help = "`from` needs `to`: add the rate at the end";
                read::missing(node, model::PHASE, help, self.findings);
                None
            }
        };
        Some((from?, to?))
    }

    fn amount(&mut self, node: &Node, what: &str) -> Option<Amount> {
        let text = read::scalar(node, what, self.findings)?;
        if LoadLevel::is_meant(&text) {
            return self.level(node);
        }
        let rate = read::rate(node, what, self.findings)?;
        Some(Amount { rate, level: None })
    }

    fn level(&mut self, node: &Node) -> Option<Amount> {
        let text = read::scalar(node, "level", self.findings)?;
        let level = read::grammar(node, LoadLevel::read(&text), self.findings)?;
        if self.has_workloads {
            let text = format!(
                "`{}` is a share of volumes, which plans with `workloads` do not have: use a rate, for example 10/s",
                text.trim()
            );
            self.findings.problem(node.mark, text);
            return None;
        }
        let Some(full) = self.volumes.full() else {
            if !self.volumes.are_said() {
                let text = format!(
                    "`{}` needs volumes: give each scenario a `volume`, for example volume: 35260/h; or use a rate, for example 10/s",
                    text.trim()
                );
                self.findings.problem(node.mark, text);
            }
            return None;
        };
        let Some(rate) = level.scale(full) else {
            let text = format!("`{}` is above the maximum rate", text.trim());
            self.findings.problem(node.mark, text);
            return None;
        };
        Some(Amount {
            rate,
            level: Some(level.as_f64()),
        })
    }
}

fn between(from: Rate, to: Rate, step: u64, steps: u64) -> Option<Rate> {
    let (rest, gone) = (from.times(steps - step, steps)?, to.times(step, steps)?);
    rest.plus(gone)
}

fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

fn in_words(ns: u64) -> String {
    for (unit, name) in [
        (units::HOUR, "h"),
        (units::MINUTE, "m"),
        (units::SECOND, "s"),
        (units::MILLISECOND, "ms"),
    ] {
        if ns >= unit && ns.is_multiple_of(unit) {
            return format!("{}{name}", ns / unit);
        }
    }
    if ns >= units::SECOND {
        return format!("{}s", rounded(ns as f64 / units::SECOND as f64));
    }
    format!("{}ms", rounded(ns as f64 / units::MILLISECOND as f64))
}
