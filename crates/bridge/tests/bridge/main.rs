#![allow(clippy::expect_used, reason = "helpers of tests may")]

use std::{
    os::fd::AsFd,
    sync::{Arc, Mutex},
    thread,
};

use bridge::{Bridge, Completion, ExternalSample, Order, Settlement, arrivals::Due, now_ns};
use engine::{EngineOptions, Prepared};
use measure::{Failure, NoAnswer, OutcomeClass, TimeKind, label, sample::RequestOutcome};
use plan::{
    FirstArrival, Format, HttpVersion, Load, Phase, Plan, Rate, Shape, Work, units::SECOND,
    work::External,
};
use worker::{client::Built, clock::Zero, stop::StopHandle};

#[path = "../../../engine/tests/engine/peer.rs"]
#[allow(dead_code, reason = "the engine's own tests use the rest")]
mod peer;

#[path = "../../../engine/tests/engine/recorded.rs"]
#[allow(dead_code, reason = "the engine's own tests use the rest")]
mod recorded;
use peer::{Peer, Reply};
use recorded::RecordedRun;

struct Run {
    bridge: Arc<Bridge>,
    thread: thread::JoinHandle<RecordedRun>,
}

impl Run {
    fn begin() -> Run {
        Run::begin_with(Load::users(1, SECOND))
    }

    fn begin_with(load: Load) -> Run {
        Run::begin_over(HttpVersion::Http1, load)
    }

    fn begin_over(version: HttpVersion, load: Load) -> Run {
        let (bridge, driver) = Bridge::new(1).expect("a bridge");
        let work = Work::External(External { by: "test".into() });
        let mut plan = Plan::new("bridge".into(), Format("test"), String::new(), load, work);
        plan.http.versions.usual = version;
        let options = EngineOptions {
            driver: Some(driver),
            workers: Some(1),
            stop: StopHandle::default(),
            hosts: worker::client::hosts::Allow {
                others_too: true,
                ..Default::default()
            },
            ..EngineOptions::default()
        };
        let prepared = Prepared::new(&plan, options).expect("a plan");
        let thread = thread::spawn(move || {
            let recorded = Arc::new(Mutex::new(RecordedRun::default()));
            let mut recorded = recorded.lock().expect("no other thread");
            prepared
                .run(Zero::in_ns(1_000_000), &mut *recorded)
                .expect("a run");
            std::mem::take(&mut *recorded)
        });
        Run {
            bridge: Arc::new(bridge),
            thread,
        }
    }

    fn order(&self, port: u16, path: &str) -> Order {
        let origin = codec::Origin {
            tls: false,
            host: "127.0.0.1".into(),
            port,
        };
        let bytes = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes();
        Order {
            session: 7,
            verifies: true,
            method: "GET".into(),
            name: path.into(),
            request: Built::from_wire(origin, bytes).expect("a request"),
            connect_ns: None,
            read_ns: None,
            called_ns: now_ns(),
            arrival_ns: None,
        }
    }

    fn wait(&self) {
        let fd = self.bridge.readable();
        let mut fds = [rustix::event::PollFd::from_borrowed_fd(
            fd.as_fd(),
            rustix::event::PollFlags::IN,
        )];
        rustix::event::poll(&mut fds, None).expect("a descriptor");
    }

    fn arrivals(&self, most: usize) -> Vec<Due> {
        let mut due = Vec::new();
        while due.len() < most {
            self.wait();
            assert!(self.bridge.take(64).is_empty());
            due.extend(self.bridge.arrivals());
        }
        due
    }

    fn next(&self) -> Completion {
        loop {
            self.wait();
            if let Some(done) = self.bridge.take(1).pop() {
                return done;
            }
        }
    }

    fn settle(&self, done: Completion, ended: RequestOutcome, renamed: Option<(&str, &str)>) {
        self.bridge.settle(Settlement {
            account: done.account,
            renamed: renamed.map(|(method, name)| (method.to_owned(), name.to_owned())),
            ended,
            detail: String::new(),
            resumed_ns: Some(now_ns()),
        });
    }

    fn end(self) -> RecordedRun {
        self.bridge.end();
        self.thread.join().expect("a thread")
    }
}

fn label_of(recorded: &RecordedRun, text: &str) -> u16 {
    let mut labels = recorded.intervals.iter().flat_map(|i| &i.labels);
    labels.find(|label| label.text == text).expect(text).id
}

#[test]
fn submitted_requests_are_answered_and_counted_as_settled() {
    let peer = Peer::start(|_| {
        Reply::Bytes(b"HTTP/1.1 201 Made\r\nContent-Length: 2\r\nX-Two: 2\r\n\r\nok".to_vec())
    });
    let run = Run::begin();
    for (ended, renamed) in [
        (RequestOutcome::Ok, None),
        (RequestOutcome::Failed(Failure::Check("script")), None),
        (RequestOutcome::Ok, Some(("POST", "another name"))),
    ] {
        let token = run.bridge.send(run.order(peer.address.port(), "/a"));
        let done = run.next();
        assert_eq!((Some(done.token), done.answer.status), (token, 201));
        assert_eq!(done.answer.body, b"ok");
        assert!(done.answer.head.ends_with(b"X-Two: 2\r\n\r\n"));
        run.settle(done, ended, renamed);
    }
    run.bridge.foreign(ExternalSample {
        method: "RPC".into(),
        name: "elsewhere".into(),
        done_ns: now_ns(),
        took_ns: Some(1_000),
        bytes_in: 5,
        ended: RequestOutcome::Ok,
        detail: String::new(),
    });
    let recorded = run.end();
    let (a, renamed) = (
        label_of(&recorded, "GET /a"),
        label_of(&recorded, "POST another name"),
    );
    let foreign = label_of(&recorded, "RPC elsewhere");
    let counted = |id| {
        let counters = recorded.total(id).counters;
        (counters.issued, counters.ok, counters.failed)
    };
    assert_eq!(counted(a), (2, 1, 1));
    assert_eq!(counted(renamed), (1, 1, 0));
    assert_eq!(counted(foreign), (1, 1, 0));
    assert_eq!(counted(label::ALL), (4, 3, 1));
    let all = recorded.total(label::ALL);
    let times = |kind, outcome| all.histogram(kind, outcome).map_or(0, |h| h.count());
    assert_eq!(times(TimeKind::Script, OutcomeClass::Ok), 2);
    assert_eq!(times(TimeKind::Lag, OutcomeClass::Ok), 2);
    assert_eq!(
        recorded.intervals.iter().map(|i| i.run.opened).sum::<u64>(),
        1
    );
}

#[test]
fn orders_of_a_session_share_an_http2_connection() {
    const SERVICE: &str = "20ms";
    let options = lab::LabOptions {
        extra: vec![("service".into(), SERVICE.into())],
        ..lab::LabOptions::default()
    };
    let lab = lab::Lab::start("http2", &options).expect("a lab");
    let run = Run::begin_over(HttpVersion::Http2PriorKnowledge, Load::users(1, SECOND));
    let paths = ["/a", "/b", "/c"];
    for path in paths {
        run.bridge.send(run.order(lab.address().port(), path));
    }
    for _ in paths {
        let done = run.next();
        assert_eq!((done.fault, done.answer.status), (None, 200));
        assert!(done.answer.head.starts_with(b"HTTP/2 200\r\n"));
        run.settle(done, RequestOutcome::Ok, None);
    }
    let recorded = run.end();
    for path in paths {
        let counters = recorded.total(label_of(&recorded, &format!("GET {path}")));
        assert_eq!((counters.counters.ok, counters.counters.failed), (1, 0));
    }
    let opened = recorded.intervals.iter().map(|i| i.run.opened).sum::<u64>();
    assert_eq!(opened, 1);
}

#[test]
fn given_up_orders_count_as_cancelled() {
    let peer = Peer::start(|_| Reply::Never);
    let run = Run::begin();
    let token = run.bridge.send(run.order(peer.address.port(), "/first"));
    run.bridge.cancel(token.expect("a worker"), 7);
    run.bridge.send(run.order(peer.address.port(), "/second"));
    let recorded = run.end();
    let counters = recorded.total(label::ALL).counters;
    assert_eq!(counters.issued, 2);
    assert_eq!(counters.unanswered[NoAnswer::Unfinished as usize], 2);
}

#[test]
fn limits_are_each_orders_own() {
    let peer = Peer::start(|_| Reply::Never);
    let run = Run::begin();
    run.bridge.send(Order {
        read_ns: Some(30_000_000),
        ..run.order(peer.address.port(), "/")
    });
    let done = run.next();
    assert_eq!(
        done.fault.map(measure::Fault::class),
        Some(NoAnswer::Timeout)
    );
    assert!(done.account.was_sent());
    run.settle(done, RequestOutcome::Ok, None);
    let counters = run.end().total(label::ALL).counters;
    assert_eq!(
        (counters.ok, counters.unanswered[NoAnswer::Timeout as usize]),
        (1, 0)
    );
}

#[test]
fn sending_after_the_end_is_refused() {
    let run = Run::begin();
    let (bridge, order) = (Arc::clone(&run.bridge), run.order(1, "/"));
    run.end();
    assert_eq!(bridge.send(order), None);
    assert!(bridge.is_ending());
}

#[test]
fn arrivals_are_reported_when_due_and_end_as_settled() {
    let peer =
        Peer::start(|_| Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let run = Run::begin_with(Load::Open {
        phases: vec![Phase::new(60 * SECOND, Shape::Rate(Rate::per_second(100)))],
        first: FirstArrival::AtStart,
    });
    let due = run.arrivals(4);
    let first = due[0];
    for (number, one) in due.iter().enumerate() {
        assert_eq!(one.number, number as u64);
        assert_eq!(
            one.intended_ns - first.intended_ns,
            number as u64 * SECOND / 100
        );
        assert!(one.intended_ns <= now_ns());
    }
    for (one, ended) in [
        (due[0], Some(RequestOutcome::Ok)),
        (
            due[1],
            Some(RequestOutcome::Failed(Failure::Check("script"))),
        ),
        (due[2], None),
    ] {
        run.bridge.started(one, "task".into());
        if let Some(ended) = ended {
            run.bridge.over(one.number, ended);
            run.bridge.over(one.number, RequestOutcome::Ok);
        }
    }
    let noticed_ns = now_ns();
    run.bridge.send(Order {
        arrival_ns: Some((first.intended_ns, noticed_ns)),
        ..run.order(peer.address.port(), "/a")
    });
    let done = run.next();
    run.settle(done, RequestOutcome::Ok, None);
    run.bridge.end_arrivals();
    let recorded = run.end();
    let (planned, started, _) = recorded.arrivals();
    assert_eq!(started, 3);
    assert!((4..6_000).contains(&planned));
    let task = label_of(&recorded, "task");
    let counters = recorded.total(task).counters;
    assert_eq!((counters.ok, counters.failed), (1, 1));
    assert_eq!(counters.unanswered[NoAnswer::Unfinished as usize], 1);
    let all = recorded.total(label::ALL);
    let late = all.histogram(TimeKind::Lateness, OutcomeClass::Ok);
    let late_ns = late.expect("a request that was due").max();
    assert!(late_ns.is_some_and(|ns| ns >= (noticed_ns - first.intended_ns) / 1000 * 999));
}
