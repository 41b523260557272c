//! A node: runs a part for a conductor and sends its intervals. It ends on request, when its lease
//! expires, or with its part.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    time::Duration,
};

use engine::{Cause, Lease, OutputLine, ShardTakeover, StopHandle, Urgency, clock};
use measure::Interval;
use plan::{Problem, Share};
use record::{Copier, RecordPiece, Run};
use serde_json::Value;
use session::{Job, MessageSink, Observer, Ready, RunRefused, SharedVoice, prepare, signals};

use crate::{
    bench,
    conductor::LEASE_NS,
    facts,
    wire::{self, Arming, Sort, ToConductor, ToNode},
};

const LEASE_POLL: Duration = Duration::from_millis(50);
const GONE: &str = "its conductor is gone";

pub type Maker<'a> = &'a mut dyn FnMut(&Value, u64, &SharedVoice) -> Result<Job, RunRefused>;

/// Runs parts until the conductor ends the node or is gone.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    make: Maker<'_>,
) -> Result<(), String> {
    let (out, writer) = Outbox::to(output);
    out.say(ToConductor::Hello(Box::new(facts::own())));
    let ears = ConductorReader::listen(input, &out);
    let mut node = NodeProcess {
        voice: Arc::new(Relayed(out.clone())),
        out,
        armed: None,
        signals: None,
        kept: None,
    };
    let mut trouble = Ok(());
    while let Ok(heard) = ears.heard.recv() {
        match heard {
            Incoming::Said(ToNode::Arm { test, part }) => node.arm(&test, *part, &ears.stop, make),
            Incoming::Said(ToNode::Measure { enough }) => node.measure(enough),
            Incoming::Said(ToNode::Go { start }) => node.go(start, &ears),
            Incoming::Said(ToNode::Bye) => {
                node.remove_record();
                break;
            }
            Incoming::Said(_) => {}
            Incoming::Gone(why) => {
                trouble = why.map_or(Ok(()), Err);
                break;
            }
        }
    }
    // The last message is queued. Nothing follows it.
    let _ = node.out.0.send(None);
    let _ = writer.join();
    trouble
}

struct NodeProcess {
    out: Outbox,
    voice: SharedVoice,
    armed: Option<(Ready, Lease)>,
    signals: Option<signals::SignalGuard>,
    kept: Option<PathBuf>,
}

impl NodeProcess {
    fn arm(&mut self, test: &Value, arming: Arming, stop: &SharedStop, make: Maker<'_>) {
        match self.ready(test, arming, stop, make) {
            Ok(workers) => self.out.say(ToConductor::Armed { workers }),
            Err(refused) => self.out.say(ToConductor::Refused {
                lines: refused.problems.iter().map(ToString::to_string).collect(),
                bad_input: refused.bad_input,
            }),
        }
    }

    fn ready(
        &mut self,
        test: &Value,
        arming: Arming,
        stop: &SharedStop,
        make: Maker<'_>,
    ) -> Result<usize, RunRefused> {
        let mut part = arming.part.0;
        let keep = arming.keep.unwrap_or_else(|| own_folder(&part.run_id));
        part.run.clone_from(&keep);
        self.kept = Some(keep.join("parts").join(part.share.index.to_string()));
        let mut job = make(test, part.seed, &self.voice)?;
        let lease = Lease::unbegun();
        job.hears_signals = false;
        job.live = session::live::LiveOptions::default();
        job.exports = session::exports::Exports::default();
        job.json = None;
        job.copier = Some(Box::new(self.out.clone()));
        job.options.lease = Some(lease.clone());
        job.options.adopts = arming.adopts;
        stop.set(Stopping {
            part: Some((job.options.stop.clone(), lease.clone())),
            adoptions: job.options.adoptions.clone(),
            ..Stopping::default()
        });
        let kept = format!("what was measured is in {}", keep.display());
        let heard = signals::hear(&job.options.stop, kept, &self.voice);
        self.signals = Some(heard.map_err(|error| {
            let line = format!("signals cannot be caught: {error}");
            RunRefused::from(vec![Problem::anywhere(line)])
        })?);
        let samplers = arming.looks.then(session::sampling::usual);
        let mut job = job.part(part);
        job.samplers = samplers.unwrap_or_default();
        let ready = prepare(job, &self.voice)?;
        let workers = ready.workers();
        self.armed = Some((ready, lease));
        Ok(workers)
    }

    fn measure(&self, enough: f64) {
        self.out.say(match bench::per_second(enough) {
            Ok(per_second) => ToConductor::Measured { per_second },
            Err(why) => ToConductor::Refused {
                lines: vec![format!(
                    "the capacity of this machine could not be measured: {why}"
                )],
                bad_input: false,
            },
        });
    }

    fn go(&mut self, start: record::RunStart, ears: &ConductorReader) {
        let Some((mut ready, lease)) = self.armed.take() else {
            self.out.say(ToConductor::Over {
                error: Some("was started before it was ready".into()),
            });
            return;
        };
        lease.begin(start.monotonic_ns + LEASE_NS);
        ears.stop.starts(start.monotonic_ns);
        ready.starts(start);
        self.out.say(ToConductor::Going);
        let (under_way, over) = mpsc::channel();
        let watch = watch(lease, ears.stop.clone(), over);
        let ran = ready.run(&mut Relay(self.out.clone()));
        drop(under_way);
        self.signals = None;
        if let Ok(watch) = watch {
            let _ = watch.join();
        }
        let error = match ran {
            Ok(ended) => ended.error.map(|error| error.to_string()),
            Err(session::StartError::Refused(refused)) => {
                let lines: Vec<String> = refused.problems.iter().map(ToString::to_string).collect();
                Some(lines.join("; "))
            }
            Err(session::StartError::Before { why, .. }) => Some(why),
        };
        let signal = ears.stop.own_signal();
        let error = error
            .or_else(|| signal.map(|number| format!("it was ended by {}", Cause::Signal(number))));
        if ears.stop.is_cancelled() {
            self.remove_record();
        }
        self.out.say(ToConductor::Over { error });
    }

    fn remove_record(&mut self) {
        let Some(part) = self.kept.take() else { return };
        let _ = fs::remove_dir_all(&part);
        let above = part.parent().map(Path::to_owned);
        let run = above.as_deref().and_then(Path::parent);
        for folder in [above.as_deref(), run].into_iter().flatten() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn own_folder(run_id: &str) -> PathBuf {
    std::env::temp_dir().join(format!("loadline-node-{run_id}"))
}

/// Ends the run when the lease expires, even if workers are blocked.
fn watch(
    lease: Lease,
    stop: SharedStop,
    over: Receiver<()>,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let thread = std::thread::Builder::new().name("lease".into());
    thread.spawn(move || {
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(LEASE_POLL) {
            if lease.has_ended() {
                stop.fail(engine::lease::ENDED);
                return;
            }
        }
    })
}

#[derive(Clone, Default)]
struct SharedStop(Arc<Mutex<Stopping>>);

#[derive(Default)]
struct Stopping {
    part: Option<(StopHandle, Lease)>,
    adoptions: ShardTakeover,
    /// Start of the run on `CLOCK_MONOTONIC`, once it is known.
    zero_ns: Option<u64>,
    cancelled: bool,
    stopped: bool,
}

impl SharedStop {
    fn set(&self, stopping: Stopping) {
        *self.lock() = stopping;
    }

    fn starts(&self, zero_ns: u64) {
        self.lock().zero_ns = Some(zero_ns);
    }

    fn adopt(&self, share: Share, from_ns: u64) -> bool {
        let (adoptions, zero_ns) = {
            let known = self.lock();
            (known.adoptions.clone(), known.zero_ns)
        };
        let now = |zero_ns: u64| clock::monotonic_ns().saturating_sub(zero_ns);
        zero_ns.is_some_and(|zero_ns| adoptions.adopt(share, from_ns, || now(zero_ns)).is_ok())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Stopping> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, why: &'static str) {
        if let Some((stop, _)) = &self.lock().part {
            stop.fail(why);
        }
    }

    fn own_signal(&self) -> Option<u8> {
        let stopping = self.lock();
        let (stop, _) = stopping.part.as_ref()?;
        stop.signal().filter(|_| !stopping.stopped)
    }

    fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    fn hear(&self, said: &ToNode) {
        let mut stopping = self.lock();
        stopping.cancelled |= matches!(said, ToNode::Cancel);
        stopping.stopped |= matches!(said, ToNode::Stop { .. });
        let Some((stop, lease)) = &stopping.part else {
            return;
        };
        match said {
            ToNode::Lease { until_ns } => lease.renew(*until_ns),
            ToNode::Cancel => stop.fail("a start that was cancelled"),
            ToNode::Stop { text, urgent } => {
                stop.stop(Cause::Limit(text.clone()));
                if *urgent && stop.urgency() != Urgency::Abort {
                    stop.stop(Cause::Signal(2));
                }
            }
            _ => {}
        }
    }
}

enum Incoming {
    Said(ToNode),
    Gone(Option<String>),
}

struct ConductorReader {
    heard: Receiver<Incoming>,
    stop: SharedStop,
}

impl ConductorReader {
    fn listen(mut input: impl Read + Send + 'static, out: &Outbox) -> ConductorReader {
        let (sender, heard) = mpsc::channel();
        let stop = SharedStop::default();
        let (own, out) = (stop.clone(), out.clone());
        let hear = move || {
            loop {
                let said = wire::read::<ToNode>(&mut input);
                let came_ns = clock::monotonic_ns();
                match said {
                    Ok(Some((ToNode::Ping { number }, _))) => out.say(ToConductor::Pong {
                        number,
                        came_ns,
                        went_ns: clock::monotonic_ns(),
                    }),
                    Ok(Some((ToNode::Adopt { share, from_ns }, _))) => {
                        out.say(ToConductor::Adopted {
                            share,
                            from_ns,
                            done: own.adopt(share, from_ns),
                        })
                    }
                    Ok(Some((said, _))) => {
                        own.hear(&said);
                        if sender.send(Incoming::Said(said)).is_err() {
                            return;
                        }
                    }
                    ended @ (Ok(None) | Err(_)) => {
                        own.fail(GONE);
                        let why = ended.err().map(|error| error.to_string());
                        let _ = sender.send(Incoming::Gone(why));
                        return;
                    }
                }
            }
        };
        // Without this thread, the end of the stream ends the node.
        let _ = std::thread::Builder::new().name("ears".into()).spawn(hear);
        ConductorReader { heard, stop }
    }
}

/// A queue for messages, so that the sender never waits.
#[derive(Clone)]
struct Outbox(Sender<Option<(ToConductor, Vec<u8>)>>);

impl Outbox {
    fn to(mut output: impl Write + Send + 'static) -> (Outbox, std::thread::JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel::<Option<(ToConductor, Vec<u8>)>>();
        let writer = std::thread::spawn(move || {
            while let Ok(Some((said, rest))) = receiver.recv() {
                // The conductor is gone. The part continues and keeps its record.
                if wire::write(&mut output, &said, &rest).is_err() {
                    return;
                }
            }
        });
        (Outbox(sender), writer)
    }

    fn say(&self, said: ToConductor) {
        self.say_with(said, Vec::new());
    }

    fn say_with(&self, said: ToConductor, rest: Vec<u8>) {
        let _ = self.0.send(Some((said, rest)));
    }
}

impl Copier for Outbox {
    fn take(&mut self, piece: RecordPiece) {
        self.say_with(ToConductor::Piece, piece.to_bytes());
    }
}

struct Relay(Outbox);

impl Observer for Relay {
    fn started(&mut self, _: &Run) {}

    fn interval(&mut self, _: &Interval, _: &Run) {}

    fn line(&mut self, line: &OutputLine) {
        let (sort, text) = match line {
            OutputLine::Log { text, .. } => (Sort::Log, text),
            OutputLine::Text(text) => (Sort::Text, text),
            OutputLine::Trace(text) => (Sort::Trace, text),
            OutputLine::Remark(text) => (Sort::Remark, text),
            OutputLine::Error(_) | OutputLine::Secret(_) | OutputLine::Step(_) => return,
        };
        let text = text.clone();
        self.0.say(ToConductor::Line { sort, text });
    }
}

struct Relayed(Outbox);

impl Relayed {
    fn said(&self, line: &dyn std::fmt::Display, warning: bool) {
        let text = line.to_string();
        self.0.say(ToConductor::Said { text, warning });
    }
}

impl MessageSink for Relayed {
    fn say(&self, line: &dyn std::fmt::Display) {
        self.said(line, false);
    }

    fn warning(&self, line: &dyn std::fmt::Display) {
        self.said(line, true);
    }

    fn error(&self, line: &dyn std::fmt::Display) {
        self.said(line, true);
    }

    fn out(&self, text: &str) {
        let text = text.to_owned();
        self.0.say(ToConductor::Line {
            sort: Sort::Text,
            text,
        });
    }

    fn document(&self, _: &str) {}

    fn last_words(&self, line: &dyn std::fmt::Display) {
        self.said(line, true);
    }
}
