//! A protocol and a front end, built only with what docs/how-to/extend-loadline.md mentions. If
//! this does not compile, that page is wrong.

use std::{
    cell::RefCell,
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::Poll,
    thread,
};

use engine::{EngineOptions, driver::Driver, run::DriverMaker};
use formats::{Inputs, LoadErrors, TestFileReader};
use measure::{
    Fault, Interval, Sample,
    label::LabelGroup,
    sample::{Intended, RequestOutcome},
};
use plan::{
    FirstArrival, Format, Load, Phase, Plan, Rate, Schedule, Shape, Work, schedule::Arrival,
    units::SECOND, work::External,
};
use record::Run;
use session::{
    FrontEnd, FrontEndInfo, Job, Observer, RunObserver, RunOutcome, SharedMessageSink, StartError,
    exit, prepare,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt},
    net::tcp::OwnedWriteHalf,
    sync::{Mutex, oneshot},
    task::spawn_local,
};
use worker::{OutputLine, Worker, deadlines::Limit, stop::StopHandle};

/// Sends `NUMBER TOPIC\n` at each arrival, over one connection per worker that carries all of them
/// at a time. Answers come in any order, with the number.
struct Ping {
    schedule: Schedule,
    to: SocketAddr,
}

impl Driver for Ping {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let connection = PingConnection::open(self.to).await.map(Rc::new);
            let share = worker.share();
            let mut pings = Vec::new();
            for arrival in self.schedule.shard(share.index, share.of) {
                let slept = worker.sleep_until(arrival.intended_ns, &worker.arrivals_end);
                if slept.await.is_err() {
                    break;
                }
                let worker = Rc::clone(&worker);
                let connection = connection.clone();
                pings.push(spawn_local(async move {
                    // A limit wakes one task, so each ping has its own.
                    let limit = Rc::new(Limit::default());
                    let place = worker.enter(&limit);
                    ping(&worker, connection.as_deref(), arrival, &limit).await;
                    worker.leave(place);
                }));
            }
            for ping in pings {
                let _ = ping.await;
            }
        })
    }
}

/// A connection, and the pings that wait for their answers.
struct PingConnection {
    out: Mutex<OwnedWriteHalf>,
    waiting: Rc<Waiting>,
}

/// Senders of the answers' lengths, by number of the ping.
type Waiting = RefCell<HashMap<u64, oneshot::Sender<usize>>>;

impl PingConnection {
    /// Opens a connection, and starts the task that reads for all pings.
    async fn open(to: SocketAddr) -> Option<PingConnection> {
        let stream = tokio::net::TcpStream::connect(to).await.ok()?;
        let (input, out) = stream.into_split();
        let waiting = Rc::new(Waiting::default());
        let answers = Rc::clone(&waiting);
        spawn_local(async move {
            let mut lines = tokio::io::BufReader::new(input).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let number = line.split(' ').next().and_then(|word| word.parse().ok());
                let ping = number.and_then(|number: u64| answers.borrow_mut().remove(&number));
                if let Some(ping) = ping {
                    let _ = ping.send(line.len() + 1);
                }
            }
            // The pings that wait receive nothing.
            answers.borrow_mut().clear();
        });
        Some(PingConnection {
            out: Mutex::new(out),
            waiting,
        })
    }

    /// Sends a line and waits for its answer. Returns the answer's length, or `None` if the
    /// connection was closed.
    async fn exchange(&self, number: u64, line: &str) -> Option<usize> {
        let (answer, answered) = oneshot::channel();
        self.waiting.borrow_mut().insert(number, answer);
        let sent = self.out.lock().await.write_all(line.as_bytes()).await;
        sent.ok()?;
        answered.await.ok()
    }
}

async fn ping(
    worker: &Worker,
    connection: Option<&PingConnection>,
    arrival: Arrival,
    limit: &Limit,
) {
    let topic = format!("topic/{}", arrival.number % 2);
    let label = worker.label(LabelGroup::Mqtt, "ping", &topic);
    let intended = Intended::scheduled(arrival.intended_ns);
    let started_ns = worker.clock.now();
    worker.recorder.borrow_mut().run.started += 1;
    worker.issue(started_ns, label, intended);
    let mut sample = Sample {
        label,
        intended,
        started_ns,
        first_write_ns: None,
        first_read_ns: None,
        done_ns: 0,
        ended: RequestOutcome::Unanswered(Fault::Refused),
        status: None,
        bytes_out: 0,
        bytes_in: 0,
        trace: None,
    };
    if let Some(connection) = connection {
        let line = format!("{} {topic}\n", arrival.number);
        sample.first_write_ns = Some(worker.clock.now());
        sample.bytes_out = line.len() as u64;
        let mut exchange = pin!(connection.exchange(arrival.number, &line));
        let answered = std::future::poll_fn(|cx| match exchange.as_mut().poll(cx) {
            Poll::Ready(answered) => Poll::Ready(answered.ok_or(Fault::ClosedEarly)),
            Poll::Pending => limit.poll(cx).map(|_| Err(Fault::Unfinished)),
        });
        sample.ended = match answered.await {
            Ok(bytes) => {
                sample.bytes_in = bytes as u64;
                RequestOutcome::Ok
            }
            Err(fault) => RequestOutcome::Unanswered(fault),
        };
    }
    sample.done_ns = worker.clock.now();
    sample.first_read_ns = (sample.ended == RequestOutcome::Ok).then_some(sample.done_ns);
    worker.record(&sample, String::new);
}

struct Files;

impl TestFileReader for Files {
    fn reads(&self) -> &'static str {
        "a ping file ends in .ping"
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["ping"]
    }

    fn load(&self, inputs: &Inputs) -> Result<Plan, LoadErrors> {
        let path = inputs.files.first().ok_or(LoadErrors::refused("no file"))?;
        let text = std::fs::read_to_string(path).map_err(|e| LoadErrors::refused(e.to_string()))?;
        let mut words = text.split_whitespace();
        let (Some(to), Some(rate), Some(seconds)) = (words.next(), words.next(), words.next())
        else {
            return Err(LoadErrors::refused("ADDRESS RATE SECONDS"));
        };
        let number = |word: &str| {
            word.parse::<u64>()
                .map_err(|e| LoadErrors::refused(e.to_string()))
        };
        let shape = Shape::Rate(Rate::per_second(number(rate)?));
        let load = Load::Open {
            phases: vec![Phase::new(number(seconds)? * SECOND, shape)],
            first: FirstArrival::AtStart,
        };
        let work = Work::External(External { by: "ping".into() });
        Ok(Plan::new(
            "toy".into(),
            Format("ping"),
            format!("tcp://{to}"),
            load,
            work,
        ))
    }
}

struct Toy {
    runs: PathBuf,
}

impl FrontEnd for Toy {
    fn card(&self) -> FrontEndInfo {
        FrontEndInfo {
            name: "ping",
            about: "pings",
            ..FrontEndInfo::default()
        }
    }

    fn reader(&self) -> &'static dyn TestFileReader {
        &Files
    }

    fn run(&self, _called: &str, arguments: &[String], sink: &SharedMessageSink) -> u8 {
        let inputs = Inputs {
            files: arguments.iter().map(PathBuf::from).collect(),
            ..Inputs::default()
        };
        let plan = match self.reader().load(&inputs) {
            Ok(plan) => plan,
            Err(errors) => {
                sink.error(&errors);
                return exit::BAD_INPUT;
            }
        };
        let to = plan.target.expose()["tcp://".len()..]
            .parse()
            .expect("an address");
        let driver: DriverMaker = Arc::new(move |given| {
            Box::new(Ping {
                schedule: given.schedule,
                to,
            })
        });
        let options = EngineOptions {
            driver: Some(driver),
            stop: StopHandle::default(),
            drain_ns: Some(SECOND),
            ..EngineOptions::default()
        };
        let job = Job {
            runs: Some(self.runs.clone()),
            ..Job::new("ping", plan, options)
        };
        match prepare(job, sink) {
            Ok(ready) => ready.conduct(&mut Pinged::default()),
            Err(refused) => exit::of_not_run(&refused.into()),
        }
    }

    fn printed(&self, run: &Run) -> String {
        format!(
            "{} pings\n",
            run.totals.label(measure::label::ALL).slot.counters.ok
        )
    }
}

#[derive(Default)]
struct Pinged {
    intervals: usize,
}

impl Observer for Pinged {
    fn started(&mut self, _: &Run) {}
    fn interval(&mut self, _: &Interval, _: &Run) {
        self.intervals += 1;
    }
    fn line(&mut self, _: &OutputLine) {}
}

impl RunObserver for Pinged {
    fn page(&self, run: &record::Run) -> analysis::page::Page {
        analysis::page::build(run)
    }

    fn observer(&mut self) -> &mut dyn Observer {
        self
    }
    fn not_run(&mut self, reason: &StartError) -> u8 {
        exit::of_not_run(reason)
    }
    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8 {
        assert!(self.intervals > 0);
        if outcome.summary.requests.ok == outcome.summary.requests.issued {
            exit::PASS
        } else {
            7
        }
    }
}

/// Starts a server that answers two pings together, the later one first. A driver that waits for
/// each answer before it sends the next ping would wait forever.
fn server() -> (SocketAddr, Arc<std::sync::Mutex<u64>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let counted = Arc::new(std::sync::Mutex::new(0));
    let count = Arc::clone(&counted);
    thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        let mut out: TcpStream = stream.try_clone().expect("a copy");
        let mut held: Option<String> = None;
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            *count.lock().expect("no panic") += 1;
            let number = line.split(' ').next().unwrap_or_default().to_owned();
            let Some(earlier) = held.take() else {
                held = Some(number);
                continue;
            };
            let answers = format!("{number} pong\n{earlier} pong\n");
            if out.write_all(answers.as_bytes()).is_err() {
                break;
            }
        }
    });
    (address, counted)
}

#[test]
fn external_protocol_and_front_end_yield_a_report() {
    let runs = super::Runs::new("toy");
    let (address, counted) = server();
    let folder = super::Runs::new("toy-file");
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let file = folder.0.join("test.ping");
    std::fs::write(&file, format!("{address} 50 1")).expect("a file");

    let frontends: [&dyn FrontEnd; 1] = [&Toy {
        runs: runs.0.clone(),
    }];
    let readers: Vec<&dyn TestFileReader> =
        frontends.iter().map(|frontend| frontend.reader()).collect();
    let inputs = Inputs {
        files: vec![file.clone()],
        ..Inputs::default()
    };
    assert!(matches!(
        formats::load(&inputs, &readers).expect("a plan").work,
        Work::External(_)
    ));
    let code = frontends[0].run("ping", &[file.display().to_string()], &super::sink());
    assert_eq!(code, exit::PASS);

    let run = Run::find(&runs.0, "last").expect("a record");
    let summary = analysis::summarise(&run);
    assert_eq!((summary.requests.issued, summary.requests.ok), (50, 50));
    assert_eq!(*counted.lock().expect("no panic"), 50);
    let rows: Vec<(&str, u64)> = summary
        .labels
        .iter()
        .map(|row| (row.text.as_str(), row.count))
        .collect();
    assert_eq!(rows, [("ping topic/0", 25), ("ping topic/1", 25)]);
    assert_eq!(frontends[0].printed(&run), "50 pings\n");
    assert_eq!(summary.arrivals.expect("an open load").started, 50);
}
