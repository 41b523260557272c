//! StatsD over UDP or a Unix socket (`--export statsd`), with tags as in DogStatsD. Counters are
//! the differences of each interval.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket},
    os::unix::net::UnixDatagram,
    path::PathBuf,
    time::Duration,
};

use measure::{
    Interval, Label, LabelId, NoAnswer, OutcomeClass, Slot, TimeKind,
    label::{self, LabelGroup, Role},
};
use record::Run;

use super::{
    exponential::{self, ExponentialHistogram},
    exporter::{ExportedInterval, IntervalExporter},
};
use crate::bounded::io_error_text;

const PORT: &str = ":8125";
/// Maximum size of a datagram that fits into one Ethernet packet.
const UDP_BYTES: usize = 1432;
const UNIX_BYTES: usize = 8192;
/// Maximum time to wait for a receiver on a Unix socket that does not read.
const PATIENCE: Duration = Duration::from_millis(500);
/// Number of datagrams sent before a pause, so that a large interval fits into the receiver's
/// buffer.
const BURST: usize = 32;
const PAUSE: Duration = Duration::from_millis(2);

/// The destination of datagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StatsdDestination {
    /// Host and port.
    Udp(String),
    Unix(PathBuf),
}

impl StatsdDestination {
    /// Parses `udp://HOST[:PORT]` or `unix:///PATH`.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if the text is neither.
    pub fn parse(text: Option<&str>) -> Result<StatsdDestination, String> {
        let wrong = "use statsd=udp://HOST:PORT, for example statsd=udp://127.0.0.1:8125, or statsd=unix:///PATH";
        let text = text.ok_or_else(|| format!("the receiver is missing: {wrong}"))?;
        match text.split_once("://") {
            Some(("udp", host)) if !host.is_empty() && !host.contains('/') => {
                let has_port = host
                    .rsplit_once(':')
                    .is_some_and(|(_, port)| !port.contains(']'));
                let port = if has_port { "" } else { PORT };
                Ok(StatsdDestination::Udp(format!("{host}{port}")))
            }
            Some(("unix", path)) if path.starts_with('/') => {
                Ok(StatsdDestination::Unix(PathBuf::from(path)))
            }
            _ => Err(format!("not the address of a StatsD receiver: {wrong}")),
        }
    }

    fn connect(&self) -> Result<DatagramSocket, String> {
        match self {
            StatsdDestination::Udp(host) => {
                let addresses = host.to_socket_addrs();
                let mut addresses =
                    addresses.map_err(|error| format!("{host} cannot be resolved: {error}"))?;
                let address = addresses.next();
                let address = address.ok_or_else(|| format!("{host} has no address"))?;
                let connected = connect_udp(address);
                connected.map_err(|error| format!("{host}: {}", io_error_text(&error)))
            }
            StatsdDestination::Unix(path) => {
                let connected = connect_unix(path);
                connected.map_err(|error| format!("{}: {}", path.display(), io_error_text(&error)))
            }
        }
    }
}

enum DatagramSocket {
    Udp(UdpSocket),
    Unix(UnixDatagram),
}

fn connect_udp(address: SocketAddr) -> io::Result<DatagramSocket> {
    let socket = if address.is_ipv4() {
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?
    } else {
        UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?
    };
    socket.connect(address)?;
    Ok(DatagramSocket::Udp(socket))
}

fn connect_unix(path: &PathBuf) -> io::Result<DatagramSocket> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(path)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(DatagramSocket::Unix(socket))
}

impl DatagramSocket {
    fn limit(&self) -> usize {
        match self {
            DatagramSocket::Udp(_) => UDP_BYTES,
            DatagramSocket::Unix(_) => UNIX_BYTES,
        }
    }

    fn send(&self, datagram: &[u8]) -> io::Result<()> {
        match self {
            DatagramSocket::Udp(socket) => socket.send(datagram),
            DatagramSocket::Unix(socket) => socket.send(datagram),
        }
        .map(drop)
    }

    /// Fails if an earlier datagram was refused. For a receiver on this machine, this is known
    /// immediately.
    fn check(&self) -> io::Result<()> {
        match self {
            DatagramSocket::Udp(socket) => socket.take_error()?.map_or(Ok(()), Err),
            DatagramSocket::Unix(_) => Ok(()),
        }
    }
}

pub(super) struct StatsdExporter {
    destination: StatsdDestination,
    /// `None` after a failure, until the next interval.
    socket: Option<DatagramSocket>,
    labels: BTreeMap<LabelId, Label>,
    /// Tags that every line contains.
    tags: String,
}

impl StatsdExporter {
    /// Opens the socket, and checks that the receiver exists where possible.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if the receiver does not exist.
    pub fn open(destination: &StatsdDestination) -> Result<StatsdExporter, String> {
        let wrong = |reason| format!("--export statsd: {reason}: start the receiver first");
        let socket = destination.connect().map_err(wrong)?;
        // An empty datagram has no effect, but is refused if no receiver uses this port.
        let sent = socket.send(&[]).and_then(|()| socket.check());
        if let (Err(error), StatsdDestination::Udp(host)) = (sent, destination) {
            return Err(wrong(format!("{host}: {}", io_error_text(&error))));
        }
        Ok(StatsdExporter {
            destination: destination.clone(),
            socket: Some(socket),
            labels: BTreeMap::new(),
            tags: String::new(),
        })
    }

    fn deliver(&mut self, text: &str) -> Result<(), String> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => self.destination.connect()?,
        };
        send_all(&socket, text).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => "the receiver does not read its socket".to_owned(),
            _ => io_error_text(&error),
        })?;
        self.socket = Some(socket);
        Ok(())
    }
}

/// Sends lines in datagrams.
fn send_all(socket: &DatagramSocket, text: &str) -> io::Result<()> {
    let mut datagram = String::new();
    let mut sent = 0;
    for line in text.lines() {
        if !datagram.is_empty() && datagram.len() + 1 + line.len() > socket.limit() {
            socket.send(datagram.as_bytes())?;
            datagram.clear();
            sent += 1;
            if sent % BURST == 0 {
                std::thread::park_timeout(PAUSE);
            }
        }
        if !datagram.is_empty() {
            datagram.push('\n');
        }
        datagram.push_str(line);
    }
    socket.send(datagram.as_bytes())?;
    socket.check()
}

impl IntervalExporter for StatsdExporter {
    fn start(&mut self, run: Run) -> Result<(), String> {
        self.tags = format!("test:{}", tag_value(&run.manifest.name));
        let labels = run.labels.into_iter();
        self.labels = labels.map(|label| (label.id, label)).collect();
        Ok(())
    }

    fn interval(&mut self, exported: ExportedInterval) -> Result<u64, String> {
        let new = exported.labels.into_iter();
        self.labels.extend(new.map(|label| (label.id, label)));
        let mut lines = Lines::new(&self.tags);
        lines.interval(&exported.interval, &self.labels);
        let text = lines.text;
        self.deliver(&text).map(|()| 1)
    }

    fn finish(&mut self, _: Option<Run>) -> Result<u64, String> {
        // A gauge keeps its value until it is set again, and the load has ended.
        let mut lines = Lines::new(&self.tags);
        lines.levels([0; 3]);
        let text = lines.text;
        self.deliver(&text).map(|()| 0)
    }
}

struct Lines<'a> {
    text: String,
    tags: &'a str,
}

impl<'a> Lines<'a> {
    fn new(tags: &'a str) -> Lines<'a> {
        Lines {
            text: String::new(),
            tags,
        }
    }

    fn line(&mut self, name: &str, value: impl Display, kind: &str, tags: &[(&str, &str)]) {
        let _ = write!(self.text, "loadline.{name}:{value}|{kind}|#{}", self.tags);
        for (tag, value) in tags {
            let _ = write!(self.text, ",{tag}:{}", tag_value(value));
        }
        self.text.push('\n');
    }

    fn count(&mut self, name: &str, n: u64, tags: &[(&str, &str)]) {
        if n > 0 {
            self.line(name, n, "c", tags);
        }
    }

    fn levels(&mut self, [in_flight, users, connections]: [u64; 3]) {
        self.line("in_flight", in_flight, "g", &[]);
        self.line("users", users, "g", &[]);
        self.line("connections", connections, "g", &[]);
    }

    fn interval(&mut self, interval: &Interval, labels: &BTreeMap<LabelId, Label>) {
        let run = &interval.run;
        self.levels([run.in_flight.last, run.users.last, run.connections]);
        for (state, n) in [
            ("due", run.due),
            ("started", run.started),
            ("skipped", run.skipped),
        ] {
            self.count("arrivals", n, &[("state", state)]);
        }
        for ((id, _), slot) in &interval.slots {
            let Some(label) = labels.get(id).filter(|label| label.id != label::ALL) else {
                continue;
            };
            match label.group {
                LabelGroup::Iteration => self.passes("iterations", ("scenario", label), slot),
                LabelGroup::Transaction => {
                    self.passes("transactions", ("transaction", label), slot);
                }
                group if group.role() == Role::Request => self.requests(label, slot),
                _ => {}
            }
        }
    }

    fn requests(&mut self, label: &Label, slot: &Slot) {
        let counters = &slot.counters;
        let tag = ("label", label.text.as_str());
        self.count("requests.issued", counters.issued, &[tag]);
        self.outcomes("requests", tag, slot);
        for (code, n) in &counters.codes.0 {
            self.count("responses", *n, &[tag, ("code", &code.to_string())]);
        }
        for class in NoAnswer::ALL {
            let n = counters.unanswered[class as usize];
            self.count("requests.unanswered", n, &[tag, ("cause", class.name())]);
        }
        self.count("sent_bytes", counters.bytes_out, &[tag]);
        self.count("received_bytes", counters.bytes_in, &[tag]);
        self.times("response_time", tag, slot, TimeKind::Response);
        self.times("service_time", tag, slot, TimeKind::Service);
    }

    fn passes(&mut self, name: &str, (tag, label): (&str, &Label), slot: &Slot) {
        let tag = (tag, label.text.as_str());
        self.outcomes(name, tag, slot);
        self.times(&format!("{name}.duration"), tag, slot, TimeKind::Iteration);
    }

    fn outcomes(&mut self, name: &str, tag: (&str, &str), slot: &Slot) {
        let counters = &slot.counters;
        for (outcome, n) in [
            (OutcomeClass::Ok, counters.ok),
            (OutcomeClass::Failed, counters.failed),
            (OutcomeClass::Unanswered, counters.without_answer()),
        ] {
            self.count(name, n, &[tag, ("outcome", outcome.name())]);
        }
    }

    /// Writes one line per bucket. The sample rate gives the line the weight of all times in the
    /// bucket.
    fn times(&mut self, name: &str, tag: (&str, &str), slot: &Slot, kind: TimeKind) {
        for outcome in OutcomeClass::ALL {
            let Some(times) = slot.histogram(kind, outcome) else {
                continue;
            };
            let mut buckets = ExponentialHistogram::default();
            buckets.add(times);
            let zero = (buckets.zero > 0).then_some((0.0, buckets.zero));
            let filled = buckets.buckets.iter();
            let filled = filled.map(|(bucket, n)| (exponential::middle_s(*bucket) * 1e3, *n));
            for (ms, n) in zero.into_iter().chain(filled) {
                let kind = match n {
                    1 => "ms".to_owned(),
                    n => format!("ms|@{}", sample_rate(n)),
                };
                self.line(
                    name,
                    format_args!("{ms:.4}"),
                    &kind,
                    &[tag, ("outcome", outcome.name())],
                );
            }
        }
    }
}

/// Returns the sample rate of a line that represents `n` times. Receivers round `1 / rate` down.
fn sample_rate(n: u64) -> f64 {
    let rate = 1.0 / n as f64;
    match (1.0 / rate) as u64 {
        weight if weight < n => rate.next_down(),
        _ => rate,
    }
}

/// Replaces the characters that would end a tag.
fn tag_value(text: &str) -> String {
    text.replace(['|', ',', '#', '\n', '\r'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations() {
        let parse = |text| StatsdDestination::parse(Some(text));
        let udp = |host: &str| Ok(StatsdDestination::Udp(host.to_owned()));
        assert_eq!(parse("udp://metrics"), udp("metrics:8125"));
        assert_eq!(parse("udp://[::1]"), udp("[::1]:8125"));
        assert_eq!(parse("udp://10.0.0.1:9"), udp("10.0.0.1:9"));
        let unix = StatsdDestination::Unix(PathBuf::from("/run/dsd.socket"));
        assert_eq!(parse("unix:///run/dsd.socket"), Ok(unix));
        for wrong in [
            "127.0.0.1:8125",
            "tcp://h",
            "unix://relative",
            "udp://h/path",
            "udp://",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(StatsdDestination::parse(None).is_err());
    }

    #[test]
    fn weight_of_a_line_is_the_number_of_its_times() {
        let mut slot = Slot::default();
        (0..3000).for_each(|_| slot.record(TimeKind::Response, OutcomeClass::Ok, 20_000_000));
        let mut lines = Lines::new("test:a_b");
        lines.times(
            "response_time",
            ("label", "GET /|x"),
            &slot,
            TimeKind::Response,
        );
        let line = lines.text.trim_end();
        let rest = line.strip_prefix("loadline.response_time:").unwrap();
        let (ms, rest) = rest.split_once("|ms|@").unwrap();
        assert!((ms.parse::<f64>().unwrap() - 20.0).abs() < 0.24, "{line}");
        let (rate, tags) = rest.split_once("|#").unwrap();
        assert_eq!((1.0 / rate.parse::<f64>().unwrap()) as u64, 3000);
        assert_eq!(tags, "test:a_b,label:GET /_x,outcome:ok");
    }

    #[test]
    fn receivers_that_round_down_find_the_weight() {
        for n in 2..200_000 {
            let written = super::sample_rate(n).to_string();
            assert_eq!((1.0 / written.parse::<f64>().unwrap()) as u64, n);
        }
    }
}
