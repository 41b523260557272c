//! Exports of a run: parses `--export` flags, opens the exporters that run during the load, and
//! writes the exported files after it.

mod exponential;
mod exporter;
mod otlp;
mod prometheus;
mod protobuf;
mod receiver;
mod remote_write;
mod statsd;

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs},
    path::{Path, PathBuf},
};

use analysis::summary::Summary;
use exporter::IntervalExporter;
pub(crate) use exporter::{Exporters, OpenExporter};
use otlp::{OtlpExporter, OtlpSettings, Signal, SpanExporter};
use plan::{Plan, Problem};
use prometheus::PrometheusEndpoint;
use record::Run;
use remote_write::RemoteWriteExporter;
use report::export;
use statsd::{StatsdDestination, StatsdExporter};

use crate::{RunRefused, blocking_http::Base, messages::SharedMessageSink};

const FILE_FORMATS: &str = "junit=FILE or csv=FILE";
const FORMATS: &str =
    "junit=FILE, csv=FILE, prometheus, remote-write=URL, statsd=URL, otlp=URL or otlp-traces=URL";

/// All requested exports of a run.
#[derive(Debug, Default)]
pub struct Exports {
    files: Vec<(Format, PathBuf)>,
    live: Vec<LiveExport>,
}

/// An export that receives the intervals of a run while it is in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LiveExport {
    Prometheus(SocketAddr),
    Statsd(StatsdDestination),
    Otlp(Box<OtlpSettings>),
    OtlpTraces(Box<OtlpSettings>),
    /// URL of the receiver, which may contain credentials.
    RemoteWrite(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Junit,
    Csv,
}

impl Exports {
    /// Parses the flags.
    ///
    /// # Errors
    ///
    /// Fails with a description of the first invalid flag.
    pub fn read<'a>(
        name: &str,
        wanted: impl IntoIterator<Item = &'a str>,
    ) -> Result<Exports, String> {
        let mut exports = Exports::default();
        for text in wanted {
            exports
                .add(text)
                .map_err(|reason| without_password(text, format!("{name} '{text}': {reason}")))?;
        }
        Ok(exports)
    }

    /// Parses the flags of a command that reads a finished run.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`Exports::read`], and for exports that need a run in progress.
    pub fn of_finished_run<'a>(
        wanted: impl IntoIterator<Item = &'a str>,
    ) -> Result<Exports, String> {
        let exports = Exports::read("--export", wanted)?;
        match exports.live.first() {
            None => Ok(exports),
            Some(live) => Err(format!(
                "--export {} works only during a run: use {FILE_FORMATS}",
                live.format()
            )),
        }
    }

    /// Removes the exports that receive intervals. Returns whether there were any.
    pub fn remove_live(&mut self) -> bool {
        !std::mem::take(&mut self.live).is_empty()
    }

    /// Checks that the run provides the data that the exports send. `is_distributed` means that
    /// other processes send the requests.
    ///
    /// # Errors
    ///
    /// Returns the first export that would send nothing.
    pub(crate) fn fit(&self, plan: &Plan, is_distributed: bool) -> Result<(), RunRefused> {
        let sends_spans = |live: &LiveExport| matches!(live, LiveExport::OtlpTraces(_));
        if !self.live.iter().any(sends_spans) {
            return Ok(());
        }
        let reason = if plan.http.trace_context.is_none() {
            "no request carries a trace context: add --trace-context"
        } else if is_distributed {
            "spans are sent only by a run in one process"
        } else {
            return Ok(());
        };
        let line = format!("--export otlp-traces: {reason}");
        Err(RunRefused::bad_input(vec![Problem::anywhere(line)]))
    }

    /// Opens ports and connections for the exports that receive intervals.
    ///
    /// # Errors
    ///
    /// Fails with a one-line description of the first export that is not available.
    pub(crate) fn open(&self, sink: &SharedMessageSink) -> Result<Vec<OpenExporter>, String> {
        let open = |live: &LiveExport| live.open(sink);
        self.live.iter().map(open).collect()
    }

    /// Parses `LOADLINE_EXPORT`, a comma-separated list, for front ends that have only the flags of
    /// the original tool.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`Exports::read`].
    pub fn from_environment() -> Result<Exports, String> {
        let text = std::env::var("LOADLINE_EXPORT").unwrap_or_default();
        let wanted = text
            .split(',')
            .map(str::trim)
            .filter(|text| !text.is_empty());
        Exports::read("LOADLINE_EXPORT", wanted)
    }

    fn add(&mut self, text: &str) -> Result<(), String> {
        let (format, value) = match text.split_once('=') {
            Some((format, value)) => (format, Some(value)),
            None => (text, None),
        };
        let format = match format {
            "prometheus" => return self.add_live(LiveExport::Prometheus(endpoint(value)?)),
            "remote-write" => {
                let url = value.filter(|url| !url.is_empty());
                let url = url.ok_or(
                    "the receiver is missing, use remote-write=http://HOST:9090/api/v1/write",
                )?;
                Base::of_url(url)?;
                return self.add_live(LiveExport::RemoteWrite(url.to_owned()));
            }
            "otlp" => {
                let settings = otlp_settings(Signal::Metrics, value)?;
                return self.add_live(LiveExport::Otlp(settings));
            }
            "otlp-traces" => {
                let settings = otlp_settings(Signal::Traces, value)?;
                return self.add_live(LiveExport::OtlpTraces(settings));
            }
            "statsd" => {
                return self.add_live(LiveExport::Statsd(StatsdDestination::parse(value)?));
            }
            "junit" => Format::Junit,
            "csv" => Format::Csv,
            _ => {
                return Err(format!("unknown format, use {FORMATS}"));
            }
        };
        let Some(path) = value.filter(|path| !path.is_empty()) else {
            return Err(format!("the file name is missing, use {text}=FILE").replace("==", "="));
        };
        let path = PathBuf::from(path);
        if self.files.iter().any(|(_, known)| *known == path) {
            return Err("another export uses the same file".to_owned());
        }
        self.files.push((format, path));
        Ok(())
    }

    fn add_live(&mut self, live: LiveExport) -> Result<(), String> {
        let format = live.format();
        if self.live.iter().any(|known| known.format() == format) {
            return Err(format!(
                "only one {format} export is allowed: remove the other"
            ));
        }
        self.live.push(live);
        Ok(())
    }

    /// Checks before the run that the files can be written.
    ///
    /// # Errors
    ///
    /// Fails with a description of the first file that cannot be written.
    pub fn can_be_written(&self) -> Result<(), String> {
        self.files
            .iter()
            .try_for_each(|(_, path)| can_be_written(path))
    }

    /// Writes all files, even if some fail. Returns `false` if any file could not be written.
    #[must_use]
    pub fn write(&self, run: &Run, summary: &Summary, sink: &SharedMessageSink) -> bool {
        let mut all = true;
        for (format, path) in &self.files {
            if let Err(reason) = write(*format, path, run, summary) {
                sink.error(&format_args!("cannot write {}: {reason}", path.display()));
                all = false;
            }
        }
        all
    }
}

impl LiveExport {
    fn format(&self) -> &'static str {
        match self {
            LiveExport::Prometheus(_) => "prometheus",
            LiveExport::Statsd(_) => "statsd",
            LiveExport::Otlp(_) => "otlp",
            LiveExport::OtlpTraces(_) => "otlp-traces",
            LiveExport::RemoteWrite(_) => "remote-write",
        }
    }

    fn open(&self, sink: &SharedMessageSink) -> Result<OpenExporter, String> {
        let exporter: Box<dyn IntervalExporter> = match self {
            LiveExport::Prometheus(address) => Box::new(PrometheusEndpoint::bind(*address, sink)?),
            LiveExport::Statsd(destination) => Box::new(StatsdExporter::open(destination)?),
            LiveExport::Otlp(settings) => Box::new(OtlpExporter::open(settings)?),
            LiveExport::OtlpTraces(settings) => Box::new(SpanExporter::open(settings)?),
            LiveExport::RemoteWrite(url) => Box::new(RemoteWriteExporter::open(url)?),
        };
        Ok(OpenExporter {
            name: format!("--export {}", self.format()),
            exporter,
        })
    }
}

fn otlp_settings(signal: Signal, url: Option<&str>) -> Result<Box<OtlpSettings>, String> {
    let env = |name: &str| std::env::var(name).ok();
    let url = url.filter(|url| !url.is_empty());
    OtlpSettings::read(signal, url, env).map(Box::new)
}

fn endpoint(value: Option<&str>) -> Result<SocketAddr, String> {
    let Some(text) = value else {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));
    };
    let wrong = |reason: String| {
        format!("{reason}, use prometheus=HOST:PORT, for example prometheus=127.0.0.1:9464")
    };
    let mut addresses = text
        .to_socket_addrs()
        .map_err(|error| wrong(error.to_string()))?;
    addresses
        .next()
        .ok_or_else(|| wrong("the host name has no address".to_owned()))
}

/// Checks that a file can be written, without creating or changing it.
///
/// # Errors
///
/// Fails with a one-line error if the file cannot be written.
pub fn can_be_written(path: &Path) -> Result<(), String> {
    let tried = match path.metadata() {
        Ok(known) if known.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(known) if known.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        // Do not open a pipe or a device, because that may have side effects.
        Ok(_) => Ok(()),
        Err(_) if path.is_symlink() => OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|_| path.canonicalize())
            .and_then(std::fs::remove_file),
        Err(_) => File::create_new(path).and_then(|_| std::fs::remove_file(path)),
    };
    tried.map_err(|reason| format!("cannot write {}: {reason}", path.display()))
}

fn write(format: Format, path: &Path, run: &Run, summary: &Summary) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    match format {
        Format::Junit => out.write_all(export::junit(summary).as_bytes())?,
        Format::Csv => {
            if !export::csv(run, &mut out)? {
                let reason = "the run has no record to take its intervals from";
                return Err(io::Error::other(reason));
            }
        }
    }
    out.flush()
}

/// Hides the password of the URL in an export.
fn without_password(export: &str, message: String) -> String {
    let url = export.split_once('=').map_or(export, |(_, url)| url);
    match plan::server::password_of(url) {
        Some(password) => message.replace(password, "‹redacted›"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        let exports = Exports::read("--export", ["junit=a.xml", "csv=b=c.csv", "prometheus"]);
        let exports = exports.unwrap();
        let paths: Vec<_> = exports.files.iter().map(|(_, path)| path.clone()).collect();
        assert_eq!(paths, [PathBuf::from("a.xml"), PathBuf::from("b=c.csv")]);
        let endpoint = "127.0.0.1:0".parse().unwrap();
        assert_eq!(exports.live, [LiveExport::Prometheus(endpoint)]);
    }

    #[test]
    fn what_cannot_be_read() {
        for (wanted, message) in [
            (
                vec!["xml=a"],
                "--export 'xml=a': unknown format, use junit=FILE, csv=FILE, prometheus, remote-write=URL, statsd=URL, otlp=URL or otlp-traces=URL",
            ),
            (
                vec!["junit"],
                "--export 'junit': the file name is missing, use junit=FILE",
            ),
            (
                vec!["csv="],
                "--export 'csv=': the file name is missing, use csv=FILE",
            ),
            (
                vec!["csv=a", "junit=a"],
                "--export 'junit=a': another export uses the same file",
            ),
            (
                vec!["remote-write"],
                "--export 'remote-write': the receiver is missing, use remote-write=http://HOST:9090/api/v1/write",
            ),
            (
                vec!["prometheus", "prometheus"],
                "--export 'prometheus': only one prometheus export is allowed: remove the other",
            ),
        ] {
            assert_eq!(Exports::read("--export", wanted).unwrap_err(), message);
        }
        let message = Exports::of_finished_run(["csv=a", "prometheus"]).unwrap_err();
        let only = "--export prometheus works only during a run: use junit=FILE or csv=FILE";
        assert_eq!(message, only);
        let message = Exports::read("--export", ["prometheus=9464"]).unwrap_err();
        assert!(
            message.ends_with("for example prometheus=127.0.0.1:9464"),
            "{message}"
        );
    }
}
