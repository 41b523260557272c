//! Options of the lab `checkin`.

use std::time::Duration;

use super::NAME;
use super::downstream::RemoteService;
use crate::cores::Pauses;
use crate::lab_config::{self, LabConfig};
use lab::units;
use lab::{LabError, LabOptions};

pub(super) const OPTIONS: &[&str] = &[
    "instances",
    "threads",
    "cores",
    "cpu",
    "lock",
    "hold",
    "spread",
    "downstream",
    "downstream-timeout",
    "pauses",
    "background",
    "autoscale",
    "time",
    "control-port",
];

#[derive(Clone, Copy, Debug)]
pub(super) struct CheckInConfig {
    pub(super) instances: u64,
    pub(super) threads: u64,
    pub(super) cores: u32,
    pub(super) cpu_ns: u64,
    pub(super) lock_ns: u64,
    pub(super) hold_ns: u64,
    pub(super) spread: f64,
    pub(super) patience: Duration,
    pub(super) pauses: Option<Pauses>,
    pub(super) background: f64,
    pub(super) autoscale: Option<Autoscale>,
    pub(super) hurry: u64,
    pub(super) control_port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Autoscale {
    pub(super) above: f64,
    pub(super) times: u32,
    pub(super) every_ns: u64,
    pub(super) up_to: usize,
}

fn bad(option: &str, value: &str, advice: impl Into<String>) -> LabError {
    lab_config::bad(NAME, option, value, advice)
}

impl CheckInConfig {
    pub(super) fn read(options: &LabOptions) -> Result<Self, LabError> {
        let given = LabConfig { lab: NAME, options };
        let patience = given.value("downstream-timeout", "30s", units::duration_above_zero)?;
        let autoscale = options.extra("autoscale").map(|text| {
            let read = Autoscale::read(text);
            read.map_err(|reason| bad("autoscale", text, reason))
        });
        let settings = Self {
            instances: given.count("instances", "1", 1_000)?,
            threads: given.count("threads", "16", 10_000)?,
            cores: given.count("cores", "4", 1_000)? as u32,
            cpu_ns: given.value("cpu", "25ms", units::duration)?,
            lock_ns: given.value("lock", "0", units::duration)?,
            hold_ns: given.value("hold", "1100ms", units::duration)?,
            spread: given.value("spread", "30%", units::share)?,
            patience: Duration::from_nanos(patience),
            pauses: given.value("pauses", "120ms/4s", pauses)?,
            background: given.value("background", "0%", units::share)?,
            autoscale: autoscale.transpose()?,
            hurry: given.value("time", "1x", hurry)?,
            control_port: given.value("control-port", "0", lab_config::port)?,
        };
        if let (None, Some(text)) = (settings.autoscale, options.extra("time")) {
            return Err(bad("time", text, "time= requires autoscale="));
        }
        if let Some(rule) = settings.autoscale
            && (rule.up_to as u64) < settings.instances
        {
            let text = options.extra("autoscale").unwrap_or_default();
            let advice = format!("there are already {} instances", settings.instances);
            return Err(bad("autoscale", text, advice));
        }
        Ok(settings)
    }
}

pub(super) fn services(
    options: &LabOptions,
    names: &[&'static str],
    patience: Duration,
) -> Result<Vec<(&'static str, RemoteService)>, LabError> {
    let mut services: Vec<(&'static str, RemoteService)> = Vec::new();
    for text in options.all("downstream") {
        let refuse = |advice: String| bad("downstream", text, advice);
        let (name, url) = text.split_once('=').unwrap_or((text, ""));
        let Some(&name) = names.iter().find(|known| **known == name) else {
            let known = names.join(", ");
            return Err(refuse(format!("use NAME=URL; the lab calls only {known}")));
        };
        if services.iter().any(|(other, _)| *other == name) {
            return Err(refuse(format!("{name} is named twice")));
        }
        services.push((name, RemoteService::at(url, patience).map_err(refuse)?));
    }
    Ok(services)
}

fn pauses(text: &str) -> Result<Option<Pauses>, String> {
    if text == "none" {
        return Ok(None);
    }
    let form = "use the length and the interval of the pauses, for example 120ms/4s, or none";
    let (length, every) = text.split_once('/').ok_or(form)?;
    let length_ns = units::duration_above_zero(length)?;
    let every_ns = units::duration_above_zero(every)?;
    if length_ns > every_ns / 2 {
        return Err(
            "a pause must be at most half as long as the time between the starts of two pauses"
                .to_owned(),
        );
    }
    Ok(Some(Pauses {
        length_ns,
        every_ns,
    }))
}

fn hurry(text: &str) -> Result<u64, String> {
    let form = "set how many times faster the platform's time runs, for example 60x";
    let number = text.strip_suffix('x').ok_or(form)?;
    units::count(number, 1..=1_000).map_err(|_| form.to_owned())
}

impl Autoscale {
    /// Parses `cpu>60% 3x60s up-to 32`.
    fn read(text: &str) -> Result<Self, String> {
        let form = "write, for example, cpu>60% 3x60s up-to 32: add instances when the CPU is above 60 % in 3 checks, 60 s apart, up to 32 instances";
        let words: Vec<&str> = text.split_whitespace().collect();
        let [cpu, looks, "up-to", most] = words[..] else {
            return Err(form.to_owned());
        };
        let above = cpu.strip_prefix("cpu>").ok_or(form)?;
        let (times, every) = looks.split_once('x').ok_or(form)?;
        Ok(Self {
            above: units::share(above)?,
            times: units::count(times, 1..=1_000)? as u32,
            every_ns: units::duration_above_zero(every)?,
            up_to: units::count(most, 1..=1_000)? as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<CheckInConfig, String> {
        let extra = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let options = LabOptions {
            extra: extra.collect(),
            ..LabOptions::default()
        };
        CheckInConfig::read(&options).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_asked_for_is_read() {
        let read = read(&[
            ("instances", "6"),
            ("threads", "40"),
            ("background", "35%"),
            ("autoscale", "cpu>60% 3x60s up-to 32"),
            ("time", "60x"),
            ("pauses", "120ms/4s"),
        ])
        .unwrap();
        assert_eq!((read.instances, read.threads, read.hurry), (6, 40, 60));
        assert_eq!(read.background, 0.35);
        let rule = Autoscale {
            above: 0.6,
            times: 3,
            every_ns: 60_000_000_000,
            up_to: 32,
        };
        assert_eq!(read.autoscale, Some(rule));
        assert!(read.pauses.is_some());
    }

    #[test]
    fn what_cannot_be_is_refused_with_advice() {
        for (option, value) in [
            ("instances", "0"),
            ("threads", "many"),
            ("cores", "-1"),
            ("cpu", "25"),
            ("lock", "often"),
            ("hold", "long"),
            ("spread", "0.3"),
            ("downstream-timeout", "0s"),
            ("pauses", "4s/120ms"),
            ("pauses", "often"),
            ("background", "101%"),
            ("autoscale", "cpu>60%"),
            ("autoscale", "memory>60% 3x60s up-to 32"),
            ("time", "60x"),
            ("control-port", "70000"),
        ] {
            let line = read(&[(option, value)]).unwrap_err();
            assert!(
                line.contains(&format!("{option}={value} is not valid: ")),
                "{line}"
            );
        }
        let line = read(&[("instances", "6"), ("autoscale", "cpu>60% 3x60s up-to 5")]);
        assert!(line.unwrap_err().contains("there are already 6 instances"));
    }
}
