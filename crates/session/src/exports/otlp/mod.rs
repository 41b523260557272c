//! OpenTelemetry metrics over HTTP with Protocol Buffers (`--export otlp`). Points are cumulative,
//! so the next export also contains what an earlier one could not deliver.

mod metrics;
mod protobuf;
mod settings;

use std::{io::Write, time::Duration};

use flate2::{Compression, write::GzEncoder};
use metrics::{MetricTotals, Period, RequestWriter};
use protobuf::Value;
use record::Run;
pub(super) use settings::OtlpSettings;

use super::exporter::{ExportedInterval, IntervalExporter};
use crate::blocking_http::{Base, BlockingRequest, BlockingResponse};

const MEDIA_TYPE: &str = "application/x-protobuf";
/// Largest response that is read.
const RESPONSE_BYTES: usize = 1 << 20;
/// Pauses between attempts of the last export.
const LAST_PAUSES: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_millis(600),
    Duration::from_millis(1200),
];

pub(super) struct OtlpExporter {
    settings: OtlpSettings,
    receiver: Base,
    path: String,
    writer: Option<RequestWriter>,
    totals: MetricTotals,
    /// Start of the run, in nanoseconds since 1970.
    zero_ns: u64,
    /// Start of the points' period, and end of the newest interval, from the start of the run.
    from_ns: u64,
    to_ns: u64,
    last_attempt_ns: u64,
    /// Number of intervals since the last attempt.
    pending: u64,
}

/// Reason why an export failed.
#[derive(Debug, PartialEq, Eq)]
struct ExportFailure {
    reason: String,
    /// Whether the same request may succeed later.
    is_transient: bool,
}

impl OtlpExporter {
    /// Checks that the receiver exists and accepts the path and the headers.
    ///
    /// # Errors
    ///
    /// Returns a one-line error if a run could export nothing.
    pub fn open(settings: &OtlpSettings) -> Result<OtlpExporter, String> {
        let wrong = |reason| format!("--export otlp: {reason}");
        let (receiver, path) = Base::of_url(&settings.url).map_err(wrong)?;
        let timeout = Duration::from_millis(settings.timeout_ms);
        let exporter = OtlpExporter {
            settings: settings.clone(),
            receiver: receiver.patient_for(timeout).at_most(RESPONSE_BYTES),
            path,
            writer: None,
            totals: MetricTotals::default(),
            zero_ns: 0,
            from_ns: 0,
            to_ns: 0,
            last_attempt_ns: 0,
            pending: 0,
        };
        // A request without metrics. Some receivers refuse it with 400, but only if the path is
        // right. An overloaded receiver may recover.
        let answer = exporter.post(&[]).map_err(wrong)?;
        match answer.status {
            400 | 429 | 500.. => Ok(exporter),
            _ => failure(&answer, 0).map_or(Ok(exporter), |failure| Err(wrong(failure.reason))),
        }
    }

    fn post(&self, body: &[u8]) -> Result<BlockingResponse, String> {
        let mut headers: Vec<(&str, &str)> = Vec::new();
        let own = self.settings.headers.iter();
        headers.extend(own.map(|(name, value)| (name.as_str(), value.as_str())));
        let zipped;
        let body = if self.settings.has_gzip {
            headers.push(("content-encoding", "gzip"));
            zipped = gzip(body).map_err(|error| error.to_string())?;
            &zipped
        } else {
            body
        };
        self.receiver.send(&BlockingRequest {
            method: "POST",
            path: &self.path,
            headers: &headers,
            body: Some((MEDIA_TYPE, body)),
        })
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
        let body = writer.request(&self.totals, period);
        let answer = self.post(&body).map_err(|reason| ExportFailure {
            reason,
            is_transient: true,
        })?;
        if let Some(failure) = failure(&answer, body.len()) {
            return Err(failure);
        }
        if self.settings.is_delta {
            self.totals.clear();
            self.from_ns = self.to_ns;
        }
        Ok(pending)
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
        writer.labels.extend(new.map(|label| (label.id, label)));
        self.totals.add(&exported.interval, &writer.labels);
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
        let pending = self.pending;
        let mut result = self.export();
        for pause in LAST_PAUSES {
            if result.as_ref().is_err_and(|failure| failure.is_transient) {
                std::thread::park_timeout(pause);
                result = self.export();
            }
        }
        match result {
            Ok(_) => Ok(pending),
            Err(failure) => Err(failure.reason),
        }
    }
}

fn gzip(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish()
}

/// Returns why a response means that the receiver did not take the whole request.
fn failure(answer: &BlockingResponse, sent: usize) -> Option<ExportFailure> {
    let status = answer.status;
    let reason = match status {
        200..=299 => return rejected(&answer.body),
        300..=399 => format!("the receiver redirects ({status}): use its final URL"),
        401 | 403 => {
            format!(
                "the receiver refuses the credentials ({status}): set OTEL_EXPORTER_OTLP_HEADERS"
            )
        }
        404 | 405 => format!("the receiver takes no metrics at this path ({status})"),
        413 => format!(
            "the receiver refuses a request of {} kB as too large (413)",
            sent.div_ceil(1000)
        ),
        429 | 502..=504 => format!("the receiver is overloaded ({status})"),
        _ => format!("the receiver answers {status}"),
    };
    Some(ExportFailure {
        reason,
        is_transient: matches!(status, 429 | 502..=504),
    })
}

/// Reads the part of an `ExportMetricsServiceResponse` that reports rejected points.
fn rejected(body: &[u8]) -> Option<ExportFailure> {
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
        reason: format!("the receiver rejects {points} points: {message}"),
        is_transient: false,
    })
}
