//! Writes every sample to the outputs of `--out`, on separate threads.

use std::{
    fs::File,
    io::Write,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::JoinHandle,
};

use flate2::{Compression, write::GzEncoder};
use jiff::tz::TimeZone;
use k6::{
    metric::{MetricId, Registry},
    options::value::SystemTags,
    output::{
        OutputSpec,
        csv::CsvLines,
        json::{Definitions, JsonLines, Sample},
    },
    threshold::evaluate::ThresholdSet,
};
use session::SharedMessageSink;

/// Maximum number of texts that wait for the thread. Workers wait if there are more, because the
/// texts would otherwise need unlimited memory.
const WAITING: usize = 256;
/// Number of bytes after which lines are passed to the thread.
const FULL: usize = 1 << 16;

/// The outputs of a run.
#[derive(Default)]
pub struct Outputs(Vec<SampleOutput>);

struct SampleOutput {
    lines: Lines,
    definitions: Arc<Mutex<Definitions>>,
    sender: mpsc::SyncSender<OutputMessage>,
    thread: JoinHandle<Result<(), String>>,
}

/// What the thread of an output receives.
enum OutputMessage {
    Text(String),
    /// Nothing follows. Workers that still have a sender are ignored.
    End,
}

#[derive(Clone)]
enum Lines {
    Json(JsonLines),
    Csv(CsvLines),
}

/// The outputs of a run, as one worker uses them.
#[derive(Default)]
pub struct WorkerOutputs(Vec<WorkerOutput>);

struct WorkerOutput {
    lines: Lines,
    definitions: Arc<Mutex<Definitions>>,
    waiting: String,
    sender: mpsc::SyncSender<OutputMessage>,
}

impl Outputs {
    /// Opens the outputs. Fails if a file cannot be written.
    pub fn open(
        specs: &[OutputSpec],
        system_tags: &SystemTags,
        sink: &SharedMessageSink,
    ) -> Result<Outputs, String> {
        let open = |spec: &OutputSpec| {
            let zone = TimeZone::system();
            let (sender, receiver) = mpsc::sync_channel(WAITING);
            let lines = match spec {
                OutputSpec::Json { .. } => Lines::Json(JsonLines::new(zone)),
                OutputSpec::Csv(csv) => {
                    let lines = CsvLines::new(system_tags, csv.time_format, zone);
                    // The receiver exists.
                    let _ = sender.send(OutputMessage::Text(lines.header()));
                    Lines::Csv(lines)
                }
            };
            let mut writer = writer(spec, sink)?;
            let name = spec.description();
            let thread = std::thread::Builder::new()
                .name("output".into())
                .spawn(move || {
                    let failed = |error: std::io::Error| format!("{name}: {error}");
                    let mut result = Ok(());
                    while let Ok(OutputMessage::Text(text)) = receiver.recv() {
                        if result.is_ok() {
                            result = writer.write(&text).map_err(failed);
                        }
                    }
                    result.and_then(|()| writer.finish().map_err(failed))
                });
            Ok(SampleOutput {
                lines,
                definitions: Arc::default(),
                sender,
                thread: thread.map_err(|error| error.to_string())?,
            })
        };
        specs
            .iter()
            .map(open)
            .collect::<Result<_, String>>()
            .map(Outputs)
    }

    /// Returns the outputs for one more worker.
    pub fn for_worker(&self) -> WorkerOutputs {
        let outputs = self.0.iter().map(|output| WorkerOutput {
            lines: output.lines.clone(),
            definitions: Arc::clone(&output.definitions),
            waiting: String::new(),
            sender: output.sender.clone(),
        });
        WorkerOutputs(outputs.collect())
    }

    /// Waits until everything that was handed over is written. Returns a line for each output that
    /// failed.
    pub fn finish(self) -> Vec<String> {
        let ended = self.0.into_iter().filter_map(|output| {
            // A thread that has ended reports its error below.
            let _ = output.sender.send(OutputMessage::End);
            let ended = output.thread.join();
            ended
                .unwrap_or_else(|_| Err("an output crashed".to_owned()))
                .err()
        });
        ended.collect()
    }
}

impl WorkerOutputs {
    /// Writes a sample.
    pub fn push(&mut self, sample: &Sample<'_>, registry: &Registry, thresholds: &ThresholdSet) {
        for output in &mut self.0 {
            output.define(sample.metric, registry, thresholds);
            match &output.lines {
                Lines::Json(lines) => lines.push(&mut output.waiting, sample, registry),
                Lines::Csv(lines) => lines.push(&mut output.waiting, sample, registry),
            }
            if output.waiting.len() >= FULL {
                output.hand_over();
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes all lines to the threads.
    pub fn flush(&mut self) {
        self.0.iter_mut().for_each(WorkerOutput::hand_over);
    }
}

impl WorkerOutput {
    /// Writes the definition of a metric, if this is its first sample.
    fn define(&mut self, metric: MetricId, registry: &Registry, thresholds: &ThresholdSet) {
        let Lines::Json(lines) = &mut self.lines else {
            return;
        };
        if !lines.is_first(metric) {
            return;
        }
        // Other workers wait, because the definition precedes their samples.
        let definitions = Arc::clone(&self.definitions);
        let mut definitions = definitions.lock().unwrap_or_else(PoisonError::into_inner);
        if definitions.add(metric) {
            lines.define(&mut self.waiting, metric, registry, thresholds);
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if !self.waiting.is_empty() {
            // A thread that has ended reports its error at the end.
            let _ = self
                .sender
                .send(OutputMessage::Text(std::mem::take(&mut self.waiting)));
        }
    }
}

enum OutputWriter {
    Stdout(SharedMessageSink),
    Plain(File),
    Compressed(Box<GzEncoder<File>>),
}

fn writer(spec: &OutputSpec, sink: &SharedMessageSink) -> Result<OutputWriter, String> {
    let Some(path) = spec.path() else {
        return Ok(OutputWriter::Stdout(SharedMessageSink::clone(sink)));
    };
    let file = File::create(path).map_err(|error| format!("--out {path}: {error}"))?;
    Ok(match spec.is_compressed() {
        true => OutputWriter::Compressed(Box::new(GzEncoder::new(file, Compression::fast()))),
        false => OutputWriter::Plain(file),
    })
}

impl OutputWriter {
    fn write(&mut self, text: &str) -> std::io::Result<()> {
        match self {
            OutputWriter::Stdout(sink) => {
                sink.out(text);
                Ok(())
            }
            OutputWriter::Plain(file) => file.write_all(text.as_bytes()),
            OutputWriter::Compressed(file) => file.write_all(text.as_bytes()),
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            OutputWriter::Stdout(_) => Ok(()),
            OutputWriter::Plain(mut file) => file.flush(),
            OutputWriter::Compressed(file) => file.finish().map(|_| ()),
        }
    }
}
