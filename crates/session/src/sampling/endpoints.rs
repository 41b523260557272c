//! Sources that are asked: a URL, a Redis, a command. What they answer is read elsewhere; one that is down is a gap.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    process::{Command, Stdio},
    time::Duration,
};

use plan::server::Source;
use record::server::{Descriptor, Reading};

use super::{Sampler, exporters::Names, exposition};
use crate::asking::{Base, Request};

/// Behind so long a wait a look is a gap.
const PATIENCE: Duration = Duration::from_secs(2);
/// Of one source so many metrics are kept.
const MOST: usize = 200;
/// The largest answer of a Redis.
const MOST_BYTES: usize = 1 << 20;

/// How a source is asked.
enum Asked {
    Url {
        base: Base,
        path: String,
    },
    Redis {
        address: String,
        password: Option<String>,
    },
    Command(String),
}

/// A source that is asked once a second.
pub(super) struct Endpoint {
    source: Source,
    asked: Asked,
    names: Names,
    /// What it said when it was asked first.
    known: Vec<Descriptor>,
    has_answered: bool,
}

impl Endpoint {
    /// What a URL answers.
    pub fn url(source: Source, url: &str) -> Result<Endpoint, String> {
        let (base, path) = Base::of_url(url)?;
        let base = base.patient_for(PATIENCE);
        Ok(Endpoint::of(source, Asked::Url { base, path }))
    }

    /// A Redis: `redis://[[user]:password@]host[:port]`.
    pub fn redis(source: Source, url: &str) -> Endpoint {
        let password = plan::server::password_of(url).map(ToOwned::to_owned);
        let rest = url.trim_start_matches("redis://");
        let rest = rest.split('/').next().unwrap_or_default();
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        let address = if host
            .rsplit_once(':')
            .is_some_and(|(_, port)| !port.contains(']'))
        {
            host.to_owned()
        } else {
            format!("{host}:6379")
        };
        Endpoint::of(source, Asked::Redis { address, password })
    }

    /// What a command writes.
    pub fn command(source: Source, line: &str) -> Endpoint {
        Endpoint::of(source, Asked::Command(line.to_owned()))
    }

    fn of(source: Source, asked: Asked) -> Endpoint {
        Endpoint {
            source,
            asked,
            names: Names::default(),
            known: Vec::new(),
            has_answered: false,
        }
    }

    /// Asks for the first time; how many metrics there are beyond those that are kept, or why there are none.
    pub fn probe(&mut self) -> Result<usize, String> {
        let all = self.ask()?;
        self.has_answered = true;
        let too_many = all.len().saturating_sub(MOST);
        self.known = all
            .into_iter()
            .take(MOST)
            .map(|reading| reading.of)
            .collect();
        Ok(too_many)
    }

    /// The patterns of `only` and `counters` that no metric of the first answer matches. Empty while
    /// nothing has been answered.
    pub fn unmatched(&self) -> Vec<&str> {
        if !self.has_answered {
            return Vec::new();
        }
        let metrics: Vec<&str> = self
            .known
            .iter()
            .map(|known| known.metric.as_str())
            .collect();
        self.source.unmatched(&metrics)
    }

    fn ask(&mut self) -> Result<Vec<Reading>, String> {
        match &self.asked {
            Asked::Url { base, path } => {
                let readings = exposition::read(&body(base, path)?)?;
                let named = self.names.given(readings, engine::clock::monotonic_ns());
                Ok(exposition::wanted(named, &self.source))
            }
            Asked::Redis { address, password } => {
                let text = info(address, password.as_deref())?;
                Ok(exposition::wanted(exposition::redis(&text), &self.source))
            }
            Asked::Command(line) => {
                let readings = exposition::lines(&output(line)?)?;
                Ok(exposition::wanted(readings, &self.source))
            }
        }
    }
}

impl Sampler for Endpoint {
    fn source(&self) -> &str {
        &self.source.name
    }

    fn metrics(&self) -> Vec<Descriptor> {
        self.known.clone()
    }

    fn is_all_known(&self) -> bool {
        false
    }

    fn look(&mut self) -> Result<Vec<Reading>, String> {
        let mut readings = self.ask()?;
        readings.truncate(MOST);
        Ok(readings)
    }
}

fn body(base: &Base, path: &str) -> Result<String, String> {
    let answer = base.ask(&Request {
        method: "GET",
        path,
        headers: &[],
        body: None,
    })?;
    match answer.status {
        200 => {}
        401 => {
            return Err(
                "it answers 401, for it wants to know who asks: http://USER:PASSWORD@HOST/PATH"
                    .to_owned(),
            );
        }
        status => return Err(format!("it answers {status}")),
    }
    String::from_utf8(answer.body).map_err(|_| "its answer is no text".to_owned())
}

/// What INFO says.
fn info(address: &str, password: Option<&str>) -> Result<String, String> {
    let failed = |why: std::io::Error| format!("{address}: {why}");
    let mut addresses = address.to_socket_addrs().map_err(failed)?;
    let address = addresses.next().ok_or("its name has no address")?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed_at(&address))?;
    let failed = failed_at(&address);
    stream.set_read_timeout(Some(PATIENCE)).map_err(&failed)?;
    let mut asked = String::new();
    if let Some(password) = password {
        asked += &format!("*2\r\n$4\r\nAUTH\r\n${}\r\n{password}\r\n", password.len());
    }
    asked += "*1\r\n$4\r\nINFO\r\n";
    stream.write_all(asked.as_bytes()).map_err(&failed)?;
    let mut reader = BufReader::new(stream);
    for _ in 0..=usize::from(password.is_some()) {
        let mut line = String::new();
        reader.read_line(&mut line).map_err(&failed)?;
        let line = line.trim_end();
        if let Some(why) = line.strip_prefix('-') {
            return Err(format!("it says: {why}"));
        }
        let Some(length) = line.strip_prefix('$') else {
            continue;
        };
        let length: usize = length.parse().map_err(|_| "its answer is no Redis'")?;
        let mut text = vec![0; length.min(MOST_BYTES)];
        reader.read_exact(&mut text).map_err(&failed)?;
        return String::from_utf8(text).map_err(|_| "its answer is no text".to_owned());
    }
    Err("its answer is no Redis'".to_owned())
}

fn failed_at(address: &std::net::SocketAddr) -> impl Fn(std::io::Error) -> String {
    let address = address.to_string();
    move |why| match why.kind() {
        std::io::ErrorKind::ConnectionRefused => format!("{address}: connection refused"),
        _ => format!("{address}: {why}"),
    }
}

/// What a command writes. It is ended when it takes too long: by `timeout`, which outlives whoever waits.
fn output(line: &str) -> Result<String, String> {
    let seconds = PATIENCE.as_secs().to_string();
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", &seconds, "sh", "-c", line]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|why| format!("`{line}`: {why}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.lines().next().unwrap_or_default();
        return Err(format!("`{line}` ended with {}: {why:.80}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{line}` writes no text"))
}
