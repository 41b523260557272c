//! Prometheus remote write 1.0 (`--export remote-write`): the series of the Prometheus endpoint,
//! sent every five seconds and after the load.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use record::{Run, RunState};
use report::export::{self, PrometheusSample};

use super::{
    exporter::{ExportedInterval, IntervalExporter},
    protobuf::Message,
    receiver::{ExportFailure, HttpReceiver, with_retries},
};

/// Time between two exports.
const EVERY_NS: u64 = 5_000_000_000;
const TIMEOUT: Duration = Duration::from_secs(10);
const CREDENTIALS: &str = "use http://USER:PASSWORD@HOST/PATH";
const JOB: &str = "loadline";
/// Value that ends a series in Prometheus.
const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

pub(super) struct RemoteWriteExporter {
    receiver: HttpReceiver,
    /// 1 if the next interval must include a copy of the run.
    is_due: Arc<AtomicUsize>,
    exported_ns: u64,
    to_ns: u64,
    pending: u64,
}

impl RemoteWriteExporter {
    /// Checks that the receiver exists and accepts the path and the credentials.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if a run could not export anything.
    pub fn open(url: &str) -> Result<RemoteWriteExporter, String> {
        let wrong = |reason| format!("--export remote-write: {reason}");
        let headers = [
            ("content-encoding", "snappy"),
            ("x-prometheus-remote-write-version", "0.1.0"),
            ("user-agent", JOB),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let receiver = HttpReceiver::new(url, TIMEOUT, headers.to_vec(), CREDENTIALS);
        let exporter = RemoteWriteExporter {
            receiver: receiver.map_err(wrong)?,
            is_due: Arc::default(),
            exported_ns: 0,
            to_ns: 0,
            pending: 0,
        };
        let empty = compressed(Message::default()).map_err(|failure| wrong(failure.reason))?;
        exporter.receiver.check(&empty).map_err(wrong)?;
        Ok(exporter)
    }

    fn send(&self, request: Message) -> Result<(), ExportFailure> {
        self.receiver.post(&compressed(request)?).map(drop)
    }
}

impl IntervalExporter for RemoteWriteExporter {
    fn waiting(&self) -> Option<Arc<AtomicUsize>> {
        Some(Arc::clone(&self.is_due))
    }

    fn start(&mut self, run: Run) -> Result<(), String> {
        // Without a first value, Prometheus cannot see the increase to the second value.
        let request = write_request(&run, at_ms(&run, 0), None);
        self.send(request).map_err(|failure| failure.reason)
    }

    fn interval(&mut self, exported: ExportedInterval) -> Result<u64, String> {
        let span = exported.interval.span;
        self.to_ns = span.to_ns;
        self.pending += 1;
        let Some(run) = exported.run else {
            let next_ns = span.to_ns + span.length_ns();
            let is_due = next_ns >= self.exported_ns + EVERY_NS;
            self.is_due.store(usize::from(is_due), Ordering::Relaxed);
            return Ok(0);
        };
        self.is_due.store(0, Ordering::Relaxed);
        self.exported_ns = span.to_ns;
        let pending = std::mem::take(&mut self.pending);
        let request = write_request(&run, at_ms(&run, span.to_ns), None);
        self.send(request)
            .map(|()| pending)
            .map_err(|failure| failure.reason)
    }

    fn finish(&mut self, run: Option<Run>) -> Result<u64, String> {
        let Some(mut run) = run else {
            return Ok(0);
        };
        // The load has ended, and the record is about to be closed.
        run.manifest.state = RunState::Complete;
        // A series has at most one value per millisecond, and an earlier export may have used this
        // time.
        let at_ms = at_ms(&run, self.to_ns) + 1;
        with_retries(|| self.send(write_request(&run, at_ms, None)))?;
        with_retries(|| self.send(write_request(&run, at_ms + 1, Some(STALE))))?;
        Ok(self.pending)
    }
}

fn at_ms(run: &Run, ns: u64) -> u64 {
    (run.manifest.start.wall_ns + ns) / 1_000_000
}

fn compressed(request: Message) -> Result<Vec<u8>, ExportFailure> {
    let compressed = snap::raw::Encoder::new().compress_vec(&request.into_bytes());
    compressed.map_err(|error| ExportFailure {
        reason: error.to_string(),
        is_transient: false,
    })
}

/// Returns a `WriteRequest` with one sample for each series. `value` replaces all values.
fn write_request(run: &Run, at_ms: u64, value: Option<f64>) -> Message {
    let mut request = Message::default();
    for sample in export::prometheus_samples(run) {
        request.message(1, |series| write_series(series, &sample, run, at_ms, value));
    }
    request
}

fn write_series(
    series: &mut Message,
    sample: &PrometheusSample,
    run: &Run,
    at_ms: u64,
    value: Option<f64>,
) {
    let own = sample.labels.iter();
    let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
    let common = [
        ("__name__", sample.name.as_str()),
        ("job", JOB),
        ("run_id", run.manifest.run_id.as_str()),
    ];
    let mut labels: Vec<_> = own.chain(common).collect();
    // The protocol requires this order.
    labels.sort_unstable();
    for (name, value) in labels.into_iter().filter(|(_, value)| !value.is_empty()) {
        series.message(1, |label| {
            label.string(1, name);
            label.string(2, value);
        });
    }
    series.message(2, |point| {
        let measured = sample.value.parse().unwrap_or(f64::NAN);
        point.double(1, value.unwrap_or(measured));
        point.varint(2, at_ms);
    });
}
