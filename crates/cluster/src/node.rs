//! A node runs a part for a conductor, until the conductor ends it, its lease expires, or the part
//! has finished.

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

use engine::RunRole;
use measure::Interval;
use plan::{Problem, Share};
use record::{Copier, RecordPiece, Run};
use serde_json::Value;
use session::{Job, MessageSink, Observer, Ready, RunRefused, SharedMessageSink, prepare, signals};
use worker::{
    OutputLine, clock,
    lease::Lease,
    stop::{Cause, StopHandle, Urgency},
    takeover::ShardTakeover,
};

use crate::{
    bench, facts,
    start::LEASE_NS,
    wire::{self, Arming, Sort, ToConductor, ToNode},
};

const LEASE_POLL: Duration = Duration::from_millis(50);
const GONE: &str = "the loss of its conductor";

pub type Maker<'a> = &'a mut dyn FnMut(&Value, u64, &SharedMessageSink) -> Result<Job, RunRefused>;

pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    make: Maker<'_>,
) -> Result<(), String> {
    let (out, writer) = Outbox::to(output);
    out.say(ToConductor::Hello(Box::new(facts::own())));
    let ears = ConductorReader::listen(input, &out);
    let mut node = NodeProcess {
        sink: Arc::new(Relayed(out.clone())),
        out,
        armed: None,
        signals: None,
        kept_folder: None,
    };
    let mut trouble = Ok(());
    while let Ok(incoming) = ears.incoming.recv() {
        match incoming {
            Incoming::Said(ToNode::Arm { test, part }) => node.arm(&test, *part, &ears.stop, make),
            Incoming::Said(ToNode::Measure { enough }) => node.measure(enough),
            Incoming::Said(ToNode::Go { start }) => node.go(start, &ears),
            Incoming::Said(ToNode::Bye) => {
                node.remove_record();
                break;
            }
            Incoming::Said(_) => {}
            Incoming::Gone(reason) => {
                trouble = reason.map_or(Ok(()), Err);
                break;
            }
        }
    }
    let _ = node.out.0.send(None);
    let _ = writer.join();
    trouble
}

struct NodeProcess {
    out: Outbox,
    sink: SharedMessageSink,
    armed: Option<(Ready, Lease)>,
    signals: Option<signals::SignalGuard>,
    kept_folder: Option<PathBuf>,
}

impl NodeProcess {
    fn arm(&mut self, test: &Value, arming: Arming, stop: &SharedStop, make: Maker<'_>) {
        match self.ready(test, arming, stop, make) {
            Ok((workers, plan_digest)) => self.out.say(ToConductor::Armed {
                workers,
                plan_digest,
            }),
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
    ) -> Result<(usize, Option<String>), RunRefused> {
        let mut part = arming.part.0;
        let keep = arming.keep.unwrap_or_else(|| own_folder(&part.run_id));
        part.run.clone_from(&keep);
        self.kept_folder = Some(keep.join("parts").join(part.share.index.to_string()));
        let mut job = make(test, part.seed, &self.sink)?;
        let lease = Lease::unbegun();
        job.hears_signals = false;
        job.live = session::live::LiveOptions::default();
        job.exports = session::exports::Exports::default();
        job.json = None;
        job.copier = Some(Box::new(self.out.clone()));
        job.options.lease = Some(lease.clone());
        if arming.takes_over {
            job.options.role = RunRole::TakesOver;
        }
        stop.set(Stopping {
            part: Some((job.options.stop.clone(), lease.clone())),
            takeovers: job.options.takeovers.clone(),
            ..Stopping::default()
        });
        let goodbye = format!("the measurements so far are in {}", keep.display());
        let handler = signals::hear(&job.options.stop, goodbye, &self.sink);
        self.signals = Some(handler.map_err(|error| {
            let line = format!("cannot handle signals: {error}");
            RunRefused::from(vec![Problem::anywhere(line)])
        })?);
        let samplers = arming.looks.then(session::sampling::usual);
        let mut job = job.part(part);
        job.samplers = samplers.unwrap_or_default();
        let ready = prepare(job, &self.sink)?;
        let armed = (ready.workers(), ready.plan_digest());
        self.armed = Some((ready, lease));
        Ok(armed)
    }

    fn measure(&self, enough: f64) {
        self.out.say(match bench::per_second(enough) {
            Ok(per_second) => ToConductor::Measured { per_second },
            Err(reason) => ToConductor::Refused {
                lines: vec![format!(
                    "cannot measure the capacity of this machine: {reason}"
                )],
                bad_input: false,
            },
        });
    }

    fn go(&mut self, start: record::RunStart, ears: &ConductorReader) {
        let Some((mut ready, lease)) = self.armed.take() else {
            self.out.say(ToConductor::Over {
                error: Some("received the start before it was ready".into()),
            });
            return;
        };
        lease.begin(start.monotonic_ns + LEASE_NS);
        ears.stop.starts(start.monotonic_ns);
        ready.starts(start);
        self.out.say(ToConductor::Going);
        let (in_flight_ages, over) = mpsc::channel();
        let watch = watch(lease, ears.stop.clone(), over);
        let ran = ready.run(&mut Relay(self.out.clone()));
        drop(in_flight_ages);
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
            Err(session::StartError::Before { reason, .. }) => Some(reason),
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
        let Some(part) = self.kept_folder.take() else {
            return;
        };
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
                stop.fail(worker::lease::ENDED);
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
    takeovers: ShardTakeover,
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

    fn take_over(&self, share: Share, from_ns: u64) -> bool {
        let (takeovers, zero_ns) = {
            let known = self.lock();
            (known.takeovers.clone(), known.zero_ns)
        };
        let now = |zero_ns: u64| clock::monotonic_ns().saturating_sub(zero_ns);
        zero_ns.is_some_and(|zero_ns| takeovers.take_over(share, from_ns, || now(zero_ns)).is_ok())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Stopping> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, reason: &'static str) {
        if let Some((stop, _)) = &self.lock().part {
            stop.fail(reason);
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

    fn hear(&self, message: &ToNode) {
        let mut stopping = self.lock();
        stopping.cancelled |= matches!(message, ToNode::Cancel);
        stopping.stopped |= matches!(message, ToNode::Stop { .. });
        let Some((stop, lease)) = &stopping.part else {
            return;
        };
        match message {
            ToNode::Lease { until_ns } => lease.renew(*until_ns),
            ToNode::Cancel => stop.fail("a cancelled start"),
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
    incoming: Receiver<Incoming>,
    stop: SharedStop,
}

impl ConductorReader {
    fn listen(mut input: impl Read + Send + 'static, out: &Outbox) -> ConductorReader {
        let (sender, incoming) = mpsc::channel();
        let stop = SharedStop::default();
        let (own, out) = (stop.clone(), out.clone());
        let hear = move || {
            loop {
                let message = wire::read::<ToNode>(&mut input);
                let came_ns = clock::monotonic_ns();
                match message {
                    Ok(Some((ToNode::Ping { number }, _))) => out.say(ToConductor::Pong {
                        number,
                        came_ns,
                        went_ns: clock::monotonic_ns(),
                    }),
                    Ok(Some((ToNode::TakeOver { share, from_ns }, _))) => {
                        out.say(ToConductor::TakenOver {
                            share,
                            from_ns,
                            done: own.take_over(share, from_ns),
                        })
                    }
                    Ok(Some((message, _))) => {
                        own.hear(&message);
                        if sender.send(Incoming::Said(message)).is_err() {
                            return;
                        }
                    }
                    ended @ (Ok(None) | Err(_)) => {
                        own.fail(GONE);
                        let reason = ended.err().map(|error| error.to_string());
                        let _ = sender.send(Incoming::Gone(reason));
                        return;
                    }
                }
            }
        };
        // If the thread cannot start, the end of the stream will end the node.
        let _ = std::thread::Builder::new().name("ears".into()).spawn(hear);
        ConductorReader { incoming, stop }
    }
}

/// A queue for outgoing messages, so that the sender never waits.
#[derive(Clone)]
struct Outbox(Sender<Option<(ToConductor, Vec<u8>)>>);

impl Outbox {
    fn to(mut output: impl Write + Send + 'static) -> (Outbox, std::thread::JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel::<Option<(ToConductor, Vec<u8>)>>();
        let writer = std::thread::spawn(move || {
            while let Ok(Some((message, rest))) = receiver.recv() {
                // The conductor is gone, but the part continues and keeps its record.
                if wire::write(&mut output, &message, &rest).is_err() {
                    return;
                }
            }
        });
        (Outbox(sender), writer)
    }

    fn say(&self, message: ToConductor) {
        self.say_with(message, Vec::new());
    }

    fn say_with(&self, message: ToConductor, rest: Vec<u8>) {
        let _ = self.0.send(Some((message, rest)));
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
            OutputLine::ErrorText(text) => (Sort::ErrorText, text),
            OutputLine::Trace(text) => (Sort::Trace, text),
            OutputLine::Remark(text) => (Sort::Remark, text),
            OutputLine::Error(_)
            | OutputLine::Secret(_)
            | OutputLine::Step(_)
            | OutputLine::Negotiated { .. } => return,
        };
        let text = text.clone();
        self.0.say(ToConductor::Line { sort, text });
    }
}

struct Relayed(Outbox);

impl Relayed {
    fn relay(&self, line: &dyn std::fmt::Display, warning: bool) {
        let text = line.to_string();
        self.0.say(ToConductor::Said { text, warning });
    }
}

impl MessageSink for Relayed {
    fn say(&self, line: &dyn std::fmt::Display) {
        self.relay(line, false);
    }

    fn warning(&self, line: &dyn std::fmt::Display) {
        self.relay(line, true);
    }

    fn error(&self, line: &dyn std::fmt::Display) {
        self.relay(line, true);
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
        self.relay(line, true);
    }
}
