//! A protocol and a front end, built only with what docs/how-to/extend-loadline.md mentions. If
//! this does not compile, that page is wrong.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex},
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
    FirstArrival, Format, Load, Phase, Plan, Rate, Schedule, Shape, Work, units::SECOND,
    work::External,
};
use record::Run;
use session::{
    FrontEnd, FrontEndInfo, Job, Observer, RunObserver, RunOutcome, SharedMessageSink, StartError,
    exit, prepare,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use worker::{OutputLine, Worker, deadlines::Limit, stop::StopHandle};

/// Sends `TOPIC\n` over one connection at each arrival, and waits for a line. Each worker has one
/// connection.
struct Ping {
    schedule: Schedule,
    to: SocketAddr,
}

impl Driver for Ping {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let limit = Rc::new(Limit::default());
            let place = worker.enter(&limit);
            let mut stream = tokio::net::TcpStream::connect(self.to).await.ok();
            let share = worker.share();
            for arrival in self.schedule.shard(share.index, share.of) {
                let slept = worker.sleep_until(arrival.intended_ns, &worker.arrivals_end);
                if slept.await.is_err() {
                    break;
                }
                let topic = format!("topic/{}", arrival.number % 2);
                ping(&worker, &mut stream, &topic, arrival.intended_ns).await;
            }
            worker.leave(place);
        })
    }
}

async fn ping(
    worker: &Worker,
    stream: &mut Option<tokio::net::TcpStream>,
    topic: &str,
    intended_ns: u64,
) {
    let label = worker.label(LabelGroup::Mqtt, "ping", topic);
    let intended = Intended::scheduled(intended_ns);
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
    if let Some(stream) = stream {
        let line = format!("{topic}\n");
        sample.first_write_ns = Some(worker.clock.now());
        let mut answer = [0; 64];
        let came = match stream.write_all(line.as_bytes()).await {
            Ok(()) => stream.read(&mut answer).await.unwrap_or(0),
            Err(_) => 0,
        };
        (sample.bytes_out, sample.bytes_in) = (line.len() as u64, came as u64);
        sample.ended = if came > 0 {
            RequestOutcome::Ok
        } else {
            RequestOutcome::Unanswered(Fault::ClosedEarly)
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

fn server() -> (SocketAddr, Arc<Mutex<u64>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let counted = Arc::new(Mutex::new(0));
    let count = Arc::clone(&counted);
    thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        let mut out: TcpStream = stream.try_clone().expect("a copy");
        for _ in BufReader::new(stream).lines().map_while(Result::ok) {
            *count.lock().expect("no panic") += 1;
            if out.write_all(b"pong\n").is_err() {
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
