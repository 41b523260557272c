//! Metric sources that are polled: a URL, a Redis server, or a command. An unavailable source
//! leaves a gap.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
    time::Duration,
};

use plan::server::MetricSource;
use record::server::{Descriptor, MetricReading};

use super::{Sampler, exporters::ExporterNames, exposition};
use crate::{
    blocking_http::{Base, BlockingRequest},
    bounded::{self, Deadline, io_error_text},
};

const PATIENCE: Duration = Duration::from_secs(2);
const MOST: usize = 200;
const MOST_ANSWER: usize = 16 << 20;
/// Maximum size in bytes of a response from Redis, or of a command's output.
const MOST_BYTES: usize = 1 << 20;

const MOST_ERRORS: u64 = 4 << 10;

enum EndpointQuery {
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

pub(super) struct Endpoint {
    source: MetricSource,
    asked: EndpointQuery,
    names: ExporterNames,
    known: Vec<Descriptor>,
    has_answered: bool,
}

impl Endpoint {
    /// Creates a source from a URL that returns metrics.
    pub fn url(source: MetricSource, url: &str) -> Result<Endpoint, String> {
        let (base, path) = Base::of_url(url)?;
        let base = base.patient_for(PATIENCE).at_most(MOST_ANSWER);
        Ok(Endpoint::new(source, EndpointQuery::Url { base, path }))
    }

    /// Creates a source from a Redis URL: `redis://[[user]:password@]host[:port]`.
    pub fn redis(source: MetricSource, url: &str) -> Endpoint {
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
        Endpoint::new(source, EndpointQuery::Redis { address, password })
    }

    /// Creates a source from a command that prints metrics.
    pub fn command(source: MetricSource, line: &str) -> Endpoint {
        Endpoint::new(source, EndpointQuery::Command(line.to_owned()))
    }

    fn new(source: MetricSource, asked: EndpointQuery) -> Endpoint {
        Endpoint {
            source,
            asked,
            names: ExporterNames::default(),
            known: Vec::new(),
            has_answered: false,
        }
    }

    /// Polls for the first time. Returns the number of metrics beyond the limit.
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

    /// Returns the patterns of `only` and `counters` that match no metric of the first response.
    /// Empty before the first response.
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

    fn ask(&mut self) -> Result<Vec<MetricReading>, String> {
        match &self.asked {
            EndpointQuery::Url { base, path } => {
                let readings = exposition::read(&body(base, path)?)?;
                let named = self.names.given(readings, worker::clock::monotonic_ns());
                Ok(exposition::wanted(named, &self.source))
            }
            EndpointQuery::Redis { address, password } => {
                let text = info(address, password.as_deref())?;
                Ok(exposition::wanted(exposition::redis(&text), &self.source))
            }
            EndpointQuery::Command(line) => {
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

    fn look(&mut self) -> Result<Vec<MetricReading>, String> {
        let mut readings = self.ask()?;
        readings.truncate(MOST);
        Ok(readings)
    }
}

fn body(base: &Base, path: &str) -> Result<String, String> {
    let answer = base.send(&BlockingRequest {
        method: "GET",
        path,
        headers: &[],
        body: None,
    })?;
    match answer.status {
        200 => {}
        401 => {
            return Err(
                "returned 401, credentials required: use http://USER:PASSWORD@HOST/PATH".to_owned(),
            );
        }
        status => return Err(format!("the response has status {status}")),
    }
    String::from_utf8(answer.body).map_err(|_| "the response is not text".to_owned())
}

fn info(address: &str, password: Option<&str>) -> Result<String, String> {
    let failed = |reason: std::io::Error| format!("{address}: {}", io_error_text(&reason));
    let (host, port) = address.rsplit_once(':').unwrap_or((address, "6379"));
    let host = host.trim_matches(['[', ']']);
    let port: u16 = port
        .parse()
        .map_err(|_| format!("`{address}`: the port is not a number"))?;
    let deadline = Deadline::default();
    deadline.set(PATIENCE);
    let stream = bounded::connect(host, port, &deadline);
    let mut stream = stream.map_err(|reason| format!("{address}: {reason}"))?;
    let mut asked = String::new();
    if let Some(password) = password {
        asked += &format!("*2\r\n$4\r\nAUTH\r\n${}\r\n{password}\r\n", password.len());
    }
    asked += "*1\r\n$4\r\nINFO\r\n";
    stream.write_all(asked.as_bytes()).map_err(failed)?;
    let mut reader = BufReader::new(stream).take(MOST_BYTES as u64);
    for _ in 0..=usize::from(password.is_some()) {
        let mut line = String::new();
        reader.read_line(&mut line).map_err(failed)?;
        let line = line.trim_end();
        if let Some(reason) = line.strip_prefix('-') {
            return Err(format!("the server reports: {reason:.200}"));
        }
        let Some(length) = line.strip_prefix('$') else {
            continue;
        };
        let length: usize = length
            .parse()
            .map_err(|_| "the response is not from a Redis server")?;
        let mut text = vec![0; length.min(MOST_BYTES)];
        reader.read_exact(&mut text).map_err(failed)?;
        return String::from_utf8(text).map_err(|_| "the response is not text".to_owned());
    }
    Err("the response is not from a Redis server".to_owned())
}

/// Runs a command and returns its output. `timeout` ends a slow command even if this process has
/// ended before. A command with too much output ends at its next write.
fn output(line: &str) -> Result<String, String> {
    let failed = |reason: std::io::Error| format!("`{line}`: {reason}");
    let seconds = PATIENCE.as_secs().to_string();
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", &seconds, "sh", "-c", line]);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let errors = child.stderr.take();
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = errors.map(|errors| errors.take(MOST_ERRORS).read_to_end(&mut bytes));
        read.and_then(Result::ok).map(|_| bytes).unwrap_or_default()
    });
    let mut written = Vec::new();
    if let Some(out) = child.stdout.take() {
        out.take(MOST_BYTES as u64 + 1)
            .read_to_end(&mut written)
            .map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    let reason = errors.join().unwrap_or_default();
    if written.len() > MOST_BYTES {
        return Err(format!(
            "the output of `{line}` exceeds the limit of {} MB",
            MOST_BYTES >> 20
        ));
    }
    if !status.success() {
        let reason = String::from_utf8_lossy(&reason);
        let reason = reason.lines().next().unwrap_or_default();
        return Err(format!("`{line}` ended with {status}: {reason:.80}"));
    }
    String::from_utf8(written).map_err(|_| format!("the output of `{line}` is not text"))
}
