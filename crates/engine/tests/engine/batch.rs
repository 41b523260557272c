//! The batch driver: raw requests on a fixed number of connections.

use std::{
    cell::RefCell,
    collections::VecDeque,
    rc::Rc,
    sync::atomic::{AtomicU32, Ordering},
};

use codec::{
    reply::{Keep, Reply},
    url,
};
use engine::driver::batch::{Batch, BatchDriver, BatchPace, BatchSource, Turns};
use worker::stop::{Cause, StopHandle};

use super::{
    peer::{Peer, ok},
    *,
};

struct Fixed {
    batch: Batch,
    left: u32,
    seen: Arc<Mutex<VecDeque<(u16, String)>>>,
}

impl BatchSource for Fixed {
    fn next(&mut self, _: usize, batch: &mut Batch) -> bool {
        let more = self.left > 0;
        self.left = self.left.saturating_sub(1);
        batch.clone_from(&self.batch);
        more
    }

    fn answered(&mut self, _: usize, reply: &Reply) -> bool {
        let body = String::from_utf8_lossy(&reply.body).into_owned();
        let seen = (reply.status, body);
        self.seen.lock().expect("no panic").push_back(seen);
        true
    }
}

fn batch(text: &str, answers: u32) -> Batch {
    Batch {
        bytes: text.as_bytes().to_vec(),
        answers,
        heads: Vec::new(),
        keep: Keep::Body,
    }
}

struct Given {
    connections: usize,
    until_ns: u64,
    times: u32,
    rate: Option<u64>,
}

/// Runs a batch against a server. Returns the counts, and what the source received.
fn drive(to: &str, batch: &Batch, given: &Given) -> (RecordedRun, Vec<(u16, String)>) {
    drive_until(&StopHandle::default(), to, batch, given)
}

fn drive_until(
    stop: &StopHandle,
    to: &str,
    batch: &Batch,
    given: &Given,
) -> (RecordedRun, Vec<(u16, String)>) {
    let seen = Arc::default();
    let received = Arc::clone(&seen);
    let origin = url::parse(to).expect("a URL").origin;
    let load = given
        .rate
        .map_or(Load::Once, |per_second| rate(per_second, given.until_ns));
    let mut plan = super::plan(to, load, Vec::new());
    plan.work = plan::Work::Batch(plan::work::Batch {
        method: "GET".into(),
        name: "/".into(),
    });
    plan.http.timeouts.total_ns = Some(500 * MILLISECOND);
    let (connections, until_ns, left) = (given.connections, given.until_ns, given.times);
    let pace = given.rate;
    let pace = move || {
        pace.map(|rate| BatchPace {
            turns: Turns::Even(Rate::per_second(rate)),
            share: plan::Share::WHOLE,
            connections: connections as u64,
        })
    };
    let batch = batch.clone();
    let driver = Arc::new(
        move |given: engine::run::DriverContext| -> Box<dyn engine::driver::Driver> {
            Box::new(BatchDriver {
                settings: given.client,
                origin: origin.clone(),
                patient: false,
                connections,
                until_ns,
                label: 2,
                pace: pace().map(|pace| (pace, 3)),
                source: Rc::new(RefCell::new(Fixed {
                    batch: batch.clone(),
                    left,
                    seen: Arc::clone(&received),
                })),
            })
        },
    );
    let options = EngineOptions {
        drain_ns: Some(SECOND),
        stop: stop.clone(),
        driver: Some(driver),
        ..EngineOptions::default()
    };
    let prepared = Prepared::new(&plan, options).expect("compiles");
    let mut recorded = RecordedRun::default();
    prepared
        .run(Zero::in_ns(MILLISECOND), &mut recorded)
        .expect("a run");
    let seen = seen.lock().expect("no panic").drain(..).collect();
    (recorded, seen)
}

const GET: &str = "GET /raw HTTP/1.1\r\nHost: x\r\n\r\n";

#[test]
fn connections_send_their_sources_requests() {
    let peer = Peer::start(|_| ok("hi"));
    let given = Given {
        connections: 4,
        until_ns: SECOND,
        times: 100,
        rate: None,
    };
    let (recorded, seen) = drive(&peer.url(), &batch(GET, 1), &given);
    assert_eq!(recorded.total(label::ALL).counters.ok, 100);
    assert_eq!(seen, vec![(200, "hi".to_owned()); 100]);
    let opened = recorded.intervals.iter().map(|i| i.run.opened).sum::<u64>();
    assert_eq!(opened, 4);
    let heads = peer.heads();
    let sent = |head: &String| head == "GET /raw HTTP/1.1\r\nHost: x\r\n";
    assert!(heads.iter().all(sent));
}

#[test]
fn batched_requests_get_a_response_each() {
    let lab = lab::Lab::start("truth", &lab::LabOptions::default()).expect("a lab");
    let given = Given {
        connections: 2,
        until_ns: 2 * SECOND,
        times: 50,
        rate: None,
    };
    let mut many = batch(&GET.repeat(16), 16);
    many.bytes = format!("{}HEAD / HTTP/1.1\r\nHost: x\r\n\r\n{GET}", GET.repeat(14)).into_bytes();
    many.heads = vec![14];
    let url = format!("http://{}", lab.address());
    let (recorded, seen) = drive(&url, &many, &given);
    let counters = recorded.total(label::ALL).counters;
    assert_eq!((counters.issued, counters.ok), (800, 800));
    assert_eq!(seen.len(), 800);
    assert_eq!(seen.iter().filter(|(_, body)| body.is_empty()).count(), 50);
}

#[test]
fn silent_server_is_given_up() {
    let options = lab::LabOptions {
        extra: vec![("mode".into(), "never".into())],
        ..lab::LabOptions::default()
    };
    let lab = lab::Lab::start("truth", &options).expect("a lab");
    let given = Given {
        connections: 3,
        until_ns: 950 * MILLISECOND,
        times: 1000,
        rate: None,
    };
    let url = format!("http://{}", lab.address());
    let (recorded, _) = drive(&url, &batch(GET, 1), &given);
    let counters = recorded.total(label::ALL).counters;
    assert_eq!(counters.unanswered[NoAnswer::Timeout as usize], 6);
    assert_eq!(counters.issued, 6);
}

#[test]
fn pace_and_due_count_are_independent_of_server() {
    let stall = [
        "mode=stall",
        "stall=300ms",
        "every=10s",
        "first=200ms",
        "service=0",
    ];
    let extra = stall.map(|pair| pair.split_once('=').expect("a pair"));
    let options = lab::LabOptions {
        extra: extra.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec(),
        ..lab::LabOptions::default()
    };
    let lab = lab::Lab::start("truth", &options).expect("a lab");
    let given = Given {
        connections: 4,
        until_ns: SECOND,
        times: 10_000,
        rate: Some(200),
    };
    let url = format!("http://{}", lab.address());
    let (recorded, _) = drive(&url, &batch(GET, 1), &given);
    let counters = recorded.total(label::ALL).counters;
    assert_eq!(recorded.arrivals(), (200, 200, 0));
    assert_eq!((counters.issued, counters.ok), (200, 200));
    // Each request that is due during the stall waits until its end.
    let response = recorded.total(2);
    let response = response
        .histogram(measure::TimeKind::Response, measure::OutcomeClass::Ok)
        .expect("answers");
    let slow = response.above(30 * MILLISECOND);
    // 300 ms at 200/s are 60 requests. The machine may also pause at other times.
    assert!((40..=140).contains(&slow), "{slow} waited");
    assert_eq!(recorded.total(3).counters.ok, 200, "each an iteration");
}

#[test]
fn long_bodies_are_discarded_and_counted() {
    let options = lab::LabOptions {
        extra: vec![("body".into(), "300000".into())],
        ..lab::LabOptions::default()
    };
    let lab = lab::Lab::start("truth", &options).expect("a lab");
    let given = Given {
        connections: 2,
        until_ns: SECOND,
        times: 100,
        rate: None,
    };
    let url = format!("http://{}", lab.address());
    let mut unread = batch(GET, 1);
    let bytes = |keep, unread: &mut Batch| {
        unread.keep = keep;
        let (recorded, seen) = drive(&url, unread, &given);
        let counters = recorded.total(label::ALL).counters;
        assert_eq!(counters.ok, 100);
        (counters.bytes_in, seen)
    };
    let (thrown, _) = bytes(Keep::Nothing, &mut unread);
    let (read, seen) = bytes(Keep::Body, &mut unread);
    assert!(seen.iter().all(|(_, body)| body.len() == 300_000));
    assert_eq!(thrown, read);
}

#[test]
fn waiting_requests_count_as_in_flight() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", silent.local_addr().expect("bound"));
    for rate in [None, Some(2)] {
        let given = Given {
            connections: 1,
            until_ns: SECOND,
            times: 100,
            rate,
        };
        let (recorded, _) = drive(&url, &batch(GET, 1), &given);
        let all = recorded.total(label::ALL);
        assert!(all.counters.issued > 0 && all.counters.ok == 0);
        let waits = measure::OutcomeClass::ALL.map(|outcome| {
            let waits = all.histogram(measure::TimeKind::Wait, outcome);
            waits.map_or(0, measure::Histogram::sum)
        });
        let time = waits.iter().sum::<u128>();
        assert!(time > u128::from(SECOND / 2), "{time} ns of waiting");
        let (mut sum, mut samples, mut length) = (0, 0, 0);
        for interval in &recorded.intervals {
            sum += interval.run.in_flight.sum;
            samples += interval.run.in_flight.samples;
            length += interval.span.to_ns - interval.span.from_ns;
        }
        let (sampled, by_the_law) = (sum as f64 / samples as f64, time as f64 / length as f64);
        assert!(
            (sampled - by_the_law).abs() < 0.2 * by_the_law,
            "{sampled} sampled, {by_the_law} by rate × time"
        );
    }
}

/// The cause of a stop is recorded even if connections end before the worker's next tick. Each stop
/// has a different offset from a tick.
#[test]
fn stop_is_recorded_on_every_path() {
    for nth in [101, 203, 305, 407, 509] {
        let stop = StopHandle::default();
        let (asked, came) = (stop.clone(), AtomicU32::new(0));
        let peer = Peer::start(move |_| {
            if came.fetch_add(1, Ordering::Relaxed) == nth {
                asked.stop(Cause::Page);
            }
            ok("hi")
        });
        let given = Given {
            connections: 1,
            until_ns: 60 * SECOND,
            times: u32::MAX,
            rate: Some(1_000),
        };
        drive_until(&stop, &peer.url(), &batch(GET, 1), &given);
        assert!(stop.noticed_at().is_some(), "{nth}");
    }
}
