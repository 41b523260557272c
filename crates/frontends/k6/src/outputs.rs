//! Writes every sample to the outputs of `--out`, on threads of their own.

use std::{fs::File, io::Write, sync::mpsc, thread::JoinHandle};

use flate2::{Compression, write::GzEncoder};
use jiff::tz::TimeZone;
use k6::{
    metric::Registry,
    options::value::SystemTags,
    output::{
        OutputSpec,
        csv::CsvLines,
        json::{JsonLines, Sample},
    },
    threshold::evaluate::ThresholdSet,
};
use session::SharedMessageSink;

/// Bytes after which lines are handed to the thread.
const FULL: usize = 1 << 16;

/// The outputs of a run.
#[derive(Default)]
pub struct Outputs(Vec<SampleOutput>);

struct SampleOutput {
    lines: Lines,
    waiting: String,
    sender: Option<mpsc::Sender<String>>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

enum Lines {
    Json(JsonLines),
    Csv(CsvLines),
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
            let mut waiting = String::new();
            let lines = match spec {
                OutputSpec::Json { .. } => Lines::Json(JsonLines::new(zone)),
                OutputSpec::Csv(csv) => {
                    let lines = CsvLines::new(system_tags, csv.time_format, zone);
                    waiting.push_str(&lines.header());
                    Lines::Csv(lines)
                }
            };
            let (sender, receiver) = mpsc::channel::<String>();
            let mut writer = writer(spec, sink)?;
            let name = spec.description();
            let thread = std::thread::Builder::new()
                .name("output".into())
                .spawn(move || {
                    let mut result = Ok(());
                    for text in receiver {
                        if result.is_ok() {
                            result = writer
                                .write(&text)
                                .map_err(|error| format!("{name}: {error}"));
                        }
                    }
                    result
                        .and_then(|()| writer.finish().map_err(|error| format!("{name}: {error}")))
                });
            Ok(SampleOutput {
                lines,
                waiting,
                sender: Some(sender),
                thread: Some(thread.map_err(|error| error.to_string())?),
            })
        };
        specs
            .iter()
            .map(open)
            .collect::<Result<_, String>>()
            .map(Outputs)
    }

    /// Writes a sample.
    pub fn push(&mut self, sample: &Sample<'_>, registry: &Registry, thresholds: &ThresholdSet) {
        for output in &mut self.0 {
            match &mut output.lines {
                Lines::Json(lines) => lines.push(&mut output.waiting, sample, registry, thresholds),
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

    /// Hands all lines to the threads.
    pub fn flush(&mut self) {
        self.0.iter_mut().for_each(SampleOutput::hand_over);
    }

    /// Waits until everything is written. Returns a line for each output that failed.
    pub fn finish(mut self) -> Vec<String> {
        self.flush();
        let ended = self.0.into_iter().filter_map(|mut output| {
            drop(output.sender.take());
            let ended = output.thread.take()?.join();
            ended
                .unwrap_or_else(|_| Err("an output crashed".to_owned()))
                .err()
        });
        ended.collect()
    }
}

impl SampleOutput {
    fn hand_over(&mut self) {
        if let Some(sender) = self.sender.as_ref().filter(|_| !self.waiting.is_empty()) {
            // A thread that has ended reports its error at the end.
            let _ = sender.send(std::mem::take(&mut self.waiting));
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
