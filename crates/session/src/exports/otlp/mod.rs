//! OpenTelemetry over HTTP with Protocol Buffers: metrics (`--export otlp`) and spans (`--export
//! otlp-traces`). Points are cumulative, so each export also contains what an earlier export failed
//! to deliver.

mod metrics;
mod run_identity;
mod settings;
mod spans;

use std::{io::Write, time::Duration};

use flate2::{Compression, write::GzEncoder};
use metrics::{MetricTotals, Period, RequestWriter};
use record::Run;
pub(super) use settings::{OtlpSettings, Signal};
pub(super) use spans::SpanExporter;

use super::{
    exporter::{ExportedInterval, IntervalExporter},
    protobuf::{self, Value},
    receiver::{ExportFailure, HttpReceiver, with_retries},
};

const CREDENTIALS: &str = "set OTEL_EXPORTER_OTLP_HEADERS";

pub(super) struct OtlpExporter {
    settings: OtlpSettings,
    receiver: HttpReceiver,
    writer: Option<RequestWriter>,
    totals: MetricTotals,
    /// Start of the run, in nanoseconds since 1970.
    zero_ns: u64,
    /// Start of the points' period, in nanoseconds from the start of the run. `to_ns` is the end of
    /// the newest interval.
    from_ns: u64,
    to_ns: u64,
    last_attempt_ns: u64,
    /// Number of intervals since the last attempt.
    pending: u64,
}

impl OtlpExporter {
    /// Checks that the receiver exists and accepts the path and the headers.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if a run could not export anything.
    pub fn open(settings: &OtlpSettings) -> Result<OtlpExporter, String> {
        let wrong = |reason| format!("--export otlp: {reason}");
        let receiver = receiver(settings).map_err(wrong)?;
        let exporter = OtlpExporter {
            settings: settings.clone(),
            receiver,
            writer: None,
            totals: MetricTotals::default(),
            zero_ns: 0,
            from_ns: 0,
            to_ns: 0,
            last_attempt_ns: 0,
            pending: 0,
        };
        let empty = encoded(settings, Vec::new());
        exporter.receiver.check(&empty).map_err(wrong)?;
        Ok(exporter)
    }

    /// Sends the totals. Returns the number of intervals since the last attempt.
    fn export(&mut self) -> Result<u64, ExportFailure> {
        let Some(writer) = &self.writer else {
            return Ok(0);
        };
        let pending = std::mem::take(&mut self.pending);
        self.last_attempt_ns = self.to_ns;
        let period = Period {
            from_ns: self.zero_ns + self.from_ns,
            to_ns: self.zero_ns + self.to_ns,
        };
        let body = encoded(&self.settings, writer.request(&self.totals, period));
        let answer = self.receiver.post(&body)?;
        // Rejected points must not be sent again, and the receiver accepted the others.
        if self.settings.is_delta {
            self.totals.clear();
            self.from_ns = self.to_ns;
        }
        match rejected(&answer, "points") {
            Some(failure) => Err(failure),
            None => Ok(pending),
        }
    }
}

impl IntervalExporter for OtlpExporter {
    fn start(&mut self, run: Run) -> Result<(), String> {
        self.zero_ns = run.manifest.start.wall_ns;
        let settings = &self.settings;
        let writer = RequestWriter::new(&settings.resource, settings.is_delta, run);
        self.writer = Some(writer);
        Ok(())
    }

    fn interval(&mut self, exported: ExportedInterval) -> Result<u64, String> {
        let Some(writer) = &mut self.writer else {
            return Ok(0);
        };
        let new = exported.labels.into_iter();
        let labels = &mut writer.run.labels;
        labels.extend(new.map(|label| (label.id, label)));
        self.totals.add(&exported.interval, labels);
        self.to_ns = exported.interval.span.to_ns;
        self.pending += 1;
        let waited_ms = self.to_ns.saturating_sub(self.last_attempt_ns) / 1_000_000;
        if waited_ms < self.settings.interval_ms {
            return Ok(0);
        }
        self.export().map_err(|failure| failure.reason)
    }

    fn finish(&mut self, _: Option<Run>) -> Result<u64, String> {
        self.totals.end();
        // Receivers refuse two values for the same time.
        self.to_ns += 1_000_000;
        let pending = self.pending;
        with_retries(|| self.export().map(drop)).map(|()| pending)
    }
}

/// Creates the receiver that the settings describe.
fn receiver(settings: &OtlpSettings) -> Result<HttpReceiver, String> {
    let timeout = Duration::from_millis(settings.timeout_ms);
    let mut headers = settings.headers.clone();
    if settings.has_gzip {
        headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
    }
    HttpReceiver::new(&settings.url, timeout, headers, CREDENTIALS)
}

fn encoded(settings: &OtlpSettings, message: Vec<u8>) -> Vec<u8> {
    if !settings.has_gzip {
        return message;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(&message);
    encoder.finish().unwrap_or_default()
}

/// Reads the part of a response that reports rejected points or spans.
fn rejected(body: &[u8], what: &str) -> Option<ExportFailure> {
    let (mut points, mut message) = (0, String::new());
    let mut response = body;
    while let Some((field, value)) = protobuf::next_field(&mut response) {
        let (1, Value::Bytes(mut partial)) = (field, value) else {
            continue;
        };
        while let Some(field) = protobuf::next_field(&mut partial) {
            match field {
                (1, Value::Number(rejected)) => points = rejected,
                (2, Value::Bytes(text)) => message = String::from_utf8_lossy(text).into_owned(),
                _ => {}
            }
        }
    }
    let message: String = message
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect();
    (points > 0).then(|| ExportFailure {
        reason: format!("the receiver rejects {points} {what}: {message}"),
        is_transient: false,
    })
}
