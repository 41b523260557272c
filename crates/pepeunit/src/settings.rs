//! Settings, in order of precedence: flags, environment variables, `.env`, defaults.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Parser, ValueEnum};
use plan::{mqtt::PayloadKind, units};

use crate::{pipes::Policy, watch::BrokerLogin};

#[derive(Debug, Parser)]
#[command(
    name = "loadline mqtt",
    about = "Pepeunit's MQTT load test: units publish, and pipes store their messages; flags override PU_TEST_LOAD_MQTT_* variables, which override .env"
)]
pub(crate) struct Flags {
    /// Duration of publishing in seconds [PU_TEST_LOAD_MQTT_DURATION, 120]
    #[arg(long)]
    duration: Option<String>,
    /// Number of units, each of which is a client [PU_TEST_LOAD_MQTT_UNIT_COUNT, 100]
    #[arg(long)]
    unit_count: Option<String>,
    /// Messages per second of each unit [PU_TEST_LOAD_MQTT_RPS, 200]
    #[arg(long)]
    rps: Option<String>,
    #[arg(long)]
    value_type: Option<String>,
    /// Number of equal messages in a row [PU_TEST_LOAD_MQTT_DUPLICATE_COUNT, 10]
    #[arg(long)]
    duplicate_count: Option<String>,
    /// Length of a Text in letters [PU_TEST_LOAD_MQTT_MESSAGE_SIZE, 15]
    #[arg(long)]
    message_size: Option<String>,
    /// Policy of the pipes: LastValue, NRecords, TimeWindow or Aggregation
    /// [PU_TEST_LOAD_MQTT_POLICY_TYPE, TimeWindow]
    #[arg(long)]
    policy_type: Option<String>,
    /// Threads, at most one per core [PU_TEST_LOAD_MQTT_WORKERS, 10]
    #[arg(long)]
    workers: Option<String>,
    /// Pepeunit's host, with the port unless it is the default one [PU_DOMAIN]
    #[arg(long)]
    domain: Option<String>,
    /// Whether Pepeunit uses HTTPS: True or False [PU_SECURE, True]
    #[arg(long)]
    secure: Option<String>,
    #[arg(long)]
    mqtt_username: Option<String>,
    #[arg(long)]
    mqtt_password: Option<String>,
    /// Port of the broker's API [PU_MQTT_API_PORT]
    #[arg(long)]
    mqtt_api_port: Option<String>,
    /// Topics to publish to: datapipe or system
    #[arg(long, default_value = "datapipe")]
    pub topics: Topics,
    /// Host of the broker, instead of the one that units receive
    #[arg(long)]
    pub host: Option<String>,
    #[arg(long)]
    pub port: Option<u16>,
    /// Only publish: create no units and read nothing back
    #[arg(long)]
    pub no_setup: bool,
    /// Only publish, as the units in this file: a header, then a line id,token,topic for each unit
    #[arg(long, conflicts_with = "no_setup")]
    pub units: Option<PathBuf>,
    /// Connects per second
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub connect_rate: u32,
    /// How long to wait until stored messages become visible [15s, or 75s if the policy needs
    /// longer]
    #[arg(long)]
    settle: Option<String>,
    /// Time to wait for responses after the load
    #[arg(long, default_value = "10s")]
    drain: String,
    /// Criterion that must hold; repeatable
    #[arg(long)]
    pub check: Vec<String>,
    /// Write the summary as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Folder for records
    #[arg(long)]
    pub runs: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Topics {
    Datapipe,
    System,
}

pub(crate) struct PepeunitConfig {
    pub duration_s: u32,
    pub units: u32,
    pub per_second: u32,
    pub value: PayloadKind,
    pub copies: u32,
    pub letters: u32,
    pub policy: Policy,
    pub workers: usize,
    pub domain: Option<String>,
    pub is_secure: bool,
    pub broker: Option<BrokerLogin>,
    pub api_port: Option<u16>,
    pub settle_ns: Option<u64>,
    pub drain_ns: u64,
    pub flags: Flags,
}

const PREFIX: &str = "PU_TEST_LOAD_MQTT_";

pub(crate) struct Variables {
    file: BTreeMap<String, String>,
    environment: fn(&str) -> Option<String>,
}

impl Variables {
    pub fn here() -> Variables {
        let text = std::fs::read_to_string(".env").unwrap_or_default();
        Variables {
            file: parsed(&text),
            environment: |name| std::env::var(name).ok(),
        }
    }

    fn get(&self, name: &str) -> Option<String> {
        let found = (self.environment)(name).or_else(|| self.file.get(name).cloned());
        found
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    }
}

fn parsed(text: &str) -> BTreeMap<String, String> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    let pairs =
        lines.filter_map(|line| line.strip_prefix("export ").unwrap_or(line).split_once('='));
    let bare = |value: &str| {
        let value = value.trim();
        let quoted = |quote: char| {
            value
                .strip_prefix(quote)?
                .strip_suffix(quote)
                .map(str::to_owned)
        };
        quoted('"')
            .or_else(|| quoted('\''))
            .unwrap_or_else(|| value.to_owned())
    };
    pairs
        .map(|(name, value)| (name.trim().to_owned(), bare(value)))
        .collect()
}

struct GivenValue {
    name: String,
    text: String,
}

impl GivenValue {
    fn number(&self, range: std::ops::RangeInclusive<u32>) -> Result<u32, String> {
        let number = self.text.parse().ok().filter(|n| range.contains(n));
        number.ok_or_else(|| {
            let GivenValue { name, text } = self;
            format!(
                "{name}={text}: use a whole number from {} to {}",
                range.start(),
                range.end()
            )
        })
    }
}

impl PepeunitConfig {
    pub fn from_flags(flags: Flags, variables: &Variables) -> Result<PepeunitConfig, String> {
        let given = |flag: &Option<String>, short: &str, usual: &str| {
            let variable = format!("{PREFIX}{short}");
            match flag {
                Some(text) => GivenValue {
                    name: format!("--{}", short.to_lowercase().replace('_', "-")),
                    text: text.clone(),
                },
                None => GivenValue {
                    text: variables.get(&variable).unwrap_or_else(|| usual.to_owned()),
                    name: variable,
                },
            }
        };
        let or = |flag: &Option<String>, variable: &str| {
            flag.clone().or_else(|| variables.get(variable))
        };
        let value = given(&flags.value_type, "VALUE_TYPE", "Text");
        let policy = given(&flags.policy_type, "POLICY_TYPE", "TimeWindow");
        let broker = or(&flags.mqtt_username, "PU_MQTT_USERNAME")
            .zip(or(&flags.mqtt_password, "PU_MQTT_PASSWORD"))
            .map(|(username, password)| BrokerLogin { username, password });
        let api_port = or(&flags.mqtt_api_port, "PU_MQTT_API_PORT");
        let settle = flags
            .settle
            .as_deref()
            .map(|text| units::parse_duration(text).map_err(|e| format!("--settle '{text}': {e}")));
        let duration = given(&flags.duration, "DURATION", "120");
        Ok(PepeunitConfig {
            duration_s: GivenValue {
                text: duration.text.trim_end_matches('s').to_owned(),
                ..duration
            }
            .number(1..=86_400)?,
            units: given(&flags.unit_count, "UNIT_COUNT", "100").number(1..=100_000)?,
            per_second: given(&flags.rps, "RPS", "200").number(1..=1_000_000)?,
            copies: given(&flags.duplicate_count, "DUPLICATE_COUNT", "10").number(1..=1_000_000)?,
            letters: given(&flags.message_size, "MESSAGE_SIZE", "15").number(1..=16_000_000)?,
            workers: given(&flags.workers, "WORKERS", "10").number(1..=10_000)? as usize,
            value: match value.text.as_str() {
                "Text" => PayloadKind::Text,
                "Number" => PayloadKind::Number,
                other => return Err(format!("{}={other}: use Text or Number", value.name)),
            },
            policy: Policy::from_str(&policy.text, false).map_err(|_| {
                let GivenValue { name, text } = &policy;
                format!("{name}={text}: use LastValue, NRecords, TimeWindow or Aggregation")
            })?,
            domain: or(&flags.domain, "PU_DOMAIN"),
            is_secure: match or(&flags.secure, "PU_SECURE").as_deref() {
                None | Some("True" | "true" | "1") => true,
                Some("False" | "false" | "0") => false,
                Some(other) => {
                    return Err(format!(
                        "PU_SECURE={other} is not valid: write True or False"
                    ));
                }
            },
            broker,
            api_port: match api_port {
                None => None,
                Some(text) => Some(
                    text.parse()
                        .map_err(|_| format!("PU_MQTT_API_PORT={text} is not a valid port"))?,
                ),
            },
            settle_ns: settle.transpose()?,
            drain_ns: units::parse_duration(&flags.drain)
                .map_err(|e| format!("--drain '{}': {e}", flags.drain))?,
            flags,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config_from(line: &[&str], file: &str) -> Result<PepeunitConfig, String> {
        let words = ["mqtt"].iter().chain(line);
        let flags = Flags::try_parse_from(words).map_err(|e| e.to_string())?;
        let variables = Variables {
            file: parsed(file),
            environment: |name| (name == "PU_TEST_LOAD_MQTT_RPS").then(|| "7".to_owned()),
        };
        PepeunitConfig::from_flags(flags, &variables)
    }

    #[test]
    fn flags_win_over_variables_and_these_over_the_file() {
        let file = "# a comment\nPU_TEST_LOAD_MQTT_RPS=9\nexport PU_TEST_LOAD_MQTT_UNIT_COUNT='3'\nPU_TEST_LOAD_MQTT_POLICY_TYPE = \"NRecords\"\n";
        let read = config_from(&["--duration", "5"], file).unwrap();
        assert_eq!((read.duration_s, read.per_second, read.units), (5, 7, 3));
        assert_eq!(
            (read.policy, read.copies, read.letters),
            (Policy::NRecords, 10, 15)
        );
        assert_eq!(config_from(&["--rps", "8"], file).unwrap().per_second, 8);
    }

    #[test]
    fn invalid_settings_are_reported_by_name() {
        let reason = |line: &[&str], file| config_from(line, file).err().unwrap();
        assert!(reason(&["--policy-type", "Newest"], "").contains("--policy-type=Newest"));
        assert!(
            reason(&[], "PU_TEST_LOAD_MQTT_VALUE_TYPE=Blob")
                .contains("PU_TEST_LOAD_MQTT_VALUE_TYPE=Blob")
        );
        assert!(reason(&["--unit-count", "0"], "").contains("from 1"));
        assert!(reason(&[], "PU_SECURE=maybe").contains("True or False"));
    }
}
