//! Prepares a test: units (created, read from a file, or generated), the broker's address, and a
//! probe message.

use std::path::Path;

use session::SharedMessageSink;
use worker::clock;

use crate::{
    pipes::{MAX_SIZE, Pipe, Policy, same},
    probe::{self, BrokerAddress},
    rest::{self, RestClient, RestUnit},
    settings::{PepeunitConfig, Topics},
    watch::Broker,
};
use session::blocking_http::Base;

pub(crate) struct TestFixture {
    pub units: Vec<RestUnit>,
    pub host: String,
    pub port: u16,
    pub rest: Option<RestClient>,
    pub broker: Option<Broker>,
}

const LOOK_NS: u64 = 100_000_000;
/// Interval between repetitions of the message. A new pipe may drop messages, so it is sent again.
const AGAIN_NS: u64 = 2_000_000_000;
const PATIENCE_S: u64 = 30;

impl TestFixture {
    pub fn lay(settings: &PepeunitConfig, sink: &SharedMessageSink) -> Result<TestFixture, String> {
        let flags = &settings.flags;
        if let Some(path) = &flags.units {
            return Ok(TestFixture::bare(settings, read_units(path)?));
        }
        if flags.no_setup {
            return Ok(TestFixture::bare(settings, made_up(settings)));
        }
        let missing = "is missing: set it, or its flag, to the address of Pepeunit (loadline mqtt --help; for other MQTT servers: loadline mqtt pub --help)";
        let domain = settings
            .domain
            .as_ref()
            .ok_or_else(|| format!("PU_DOMAIN {missing}"))?;
        let login = settings.broker.clone().ok_or(
"PU_MQTT_USERNAME and PU_MQTT_PASSWORD are missing: they are needed to monitor the receiving backend",
)?;
        let base = Base::new(settings.is_secure, domain)
            .map_err(|reason| format!("PU_DOMAIN: {reason}"))?;
        let set_up = |reason: String| format!("set-up: {reason}");
        let rest =
            RestClient::enter(base, rest::mark(settings.is_secure, domain)).map_err(set_up)?;
        sink.say(&format_args!(
            "loadline: creating {} units at {domain}",
            settings.units
        ));
        let pipe = Pipe::from_policy(settings.policy);
        let is_of_pipes = flags.topics == Topics::Datapipe;
        let reported = rest
            .make(settings.units, &pipe, is_of_pipes)
            .map_err(set_up)?;
        let host = flags.host.clone().unwrap_or(reported.host);
        let topic = if is_of_pipes {
            "+/pepeunit"
        } else {
            "+/+/+/pepeunit"
        };
        let api = interface(settings, &reported.http, &host, domain)?;
        let broker =
            Broker::enter(api, login, &format!("{}/{topic}", reported.domain)).map_err(set_up)?;
        let fixture = TestFixture {
            units: reported.units,
            host,
            port: flags.port.unwrap_or(reported.port),
            rest: is_of_pipes.then_some(rest),
            broker: Some(broker),
        };
        fixture.probe(settings, &pipe, sink).map_err(set_up)?;
        Ok(fixture)
    }

    fn bare(settings: &PepeunitConfig, units: Vec<RestUnit>) -> TestFixture {
        let flags = &settings.flags;
        let of_domain = settings
            .domain
            .as_ref()
            .map(|domain| domain.split(':').next().unwrap_or_default().to_owned());
        TestFixture {
            units,
            host: flags
                .host
                .clone()
                .or(of_domain)
                .unwrap_or_else(|| "localhost".to_owned()),
            port: flags.port.unwrap_or(1883),
            rest: None,
            broker: None,
        }
    }

    /// Sends a message from the first and the last unit, and waits until the backend returns it.
    fn probe(
        &self,
        settings: &PepeunitConfig,
        pipe: &Pipe,
        sink: &SharedMessageSink,
    ) -> Result<(), String> {
        let (Some(first), Some(last)) = (self.units.first(), self.units.last()) else {
            return Err("the file contains no units".to_owned());
        };
        let token_of = |unit: &'_ RestUnit| unit.token.clone();
        let send = |unit: &RestUnit, payload: &[u8]| {
            let token = token_of(unit);
            let token_of = BrokerAddress {
                host: &self.host,
                port: self.port,
                token: token.as_deref(),
            };
            probe::publish(&token_of, &unit.topic, payload)
        };
        let letters = settings.letters as usize;
        if letters > MAX_SIZE {
            send(first, &vec![b'x'; letters])?;
        }
        let Some(rest) = self.rest.as_ref() else {
            return send(first, b"probe");
        };
        sink.say(&format_args!(
            "loadline: waiting for the backend to return a test message"
        ));
        for unit in [first, last] {
            let node = unit.node.as_deref().unwrap_or_default();
            let begun = clock::monotonic_ns();
            let until = begun + (pipe.patience_s() + PATIENCE_S) * 1_000_000_000;
            let mut next = begun;
            while !is_visible(rest, pipe, node)? {
                let now = clock::monotonic_ns();
                if now >= until {
                    return Err(format!(
                        "the broker read a message to {}, but the message was not visible within {}s: the backend that stores messages is down, or does not have the configuration",
                        unit.topic,
                        (until - begun) / 1_000_000_000
                    ));
                }
                if now >= next {
                    send(unit, pipe.probe().as_bytes())?;
                    next = now + AGAIN_NS;
                }
                worker::clock::pause(LOOK_NS);
            }
        }
        Ok(())
    }
}

fn is_visible(rest: &RestClient, pipe: &Pipe, node: &str) -> Result<bool, String> {
    let probe = pipe.through(pipe.probe()).map(|state| same(&state));
    if pipe.policy == Policy::LastValue {
        return Ok(rest.state(node)?.map(|state| same(&state)) == probe);
    }
    Ok(rest.count(node, pipe.policy.name())? > 0)
}

/// Returns the address of the broker's API: the broker's host, or Pepeunit's address if both run on
/// the same host.
fn interface(
    settings: &PepeunitConfig,
    http: &str,
    host: &str,
    domain: &str,
) -> Result<Base, String> {
    let is_secure = http == "https";
    let (of_domain, port) = domain.rsplit_once(':').unwrap_or((domain, ""));
    let port = match settings.api_port {
        Some(port) => format!(":{port}"),
        None if of_domain == host && !port.is_empty() => format!(":{port}"),
        None => String::new(),
    };
    Base::new(is_secure, &format!("{host}{port}"))
}

fn made_up(settings: &PepeunitConfig) -> Vec<RestUnit> {
    let domain = settings.domain.as_deref().unwrap_or("localhost");
    let mark = rest::mark(settings.is_secure, domain);
    let level = domain.split(':').next().unwrap_or_default();
    let topic = |number| match settings.flags.topics {
        Topics::Datapipe => format!("{level}/test_{number}_{mark}/pepeunit"),
        Topics::System => format!("{level}/output_base_topic/test_{number}_{mark}/state/pepeunit"),
    };
    let unit = |number| RestUnit {
        token: None,
        topic: topic(number),
        node: None,
    };
    (0..settings.units).map(unit).collect()
}

fn read_units(path: &Path) -> Result<Vec<RestUnit>, String> {
    let at = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("--units {at}: {error}"))?;
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let head = lines.next().map_or("", |(_, line)| line);
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let place = |wanted: &str| names.iter().position(|name| *name == wanted);
    let (Some(token), Some(topic)) = (place("token"), place("topic")) else {
        return Err(format!(
            "{at}:1: the first line must be the column names: id,token,topic"
        ));
    };
    let mut units = Vec::new();
    for (number, line) in lines {
        let unit = read_unit(line, token, topic);
        units.push(unit.map_err(|reason| format!("{at}:{}: {reason}", number + 1))?);
    }
    if units.is_empty() {
        return Err(format!("{at}: the file contains no units"));
    }
    Ok(units)
}

fn read_unit(line: &str, token: usize, topic: usize) -> Result<RestUnit, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let cell = |at: usize| cells.get(at).copied().filter(|cell| !cell.is_empty());
    let (Some(token), Some(topic)) = (cell(token), cell(topic)) else {
        return Err("a unit needs a token and a topic".to_owned());
    };
    if mqtt::topic::has_wildcard(topic.as_bytes()) {
        return Err(format!("`{topic}` is a filter, not a topic"));
    }
    Ok(RestUnit {
        token: Some(token.to_owned()),
        topic: topic.to_owned(),
        node: None,
    })
}
