//! Faults by kind, with a server that causes each of them.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
};

use measure::{Fault, Status};
use socket2::{Domain, Socket, Type};

use super::{
    peer::{Peer, Reply, ok},
    *,
};

fn faults(target: &str, change: impl Fn(&mut Plan)) -> Vec<(Fault, u64)> {
    let mut plan = plan(target, rate(20, SECOND / 2), vec![request(get("/"))]);
    change(&mut plan);
    let all = run(&plan).total(label::ALL).counters;
    assert_eq!(all.issued, 10);
    assert_eq!(all.issued, all.ended());
    all.faults.0
}

#[test]
fn refused() {
    // Bind the port without listening, because another test could listen on a free port.
    let held = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    held.bind(&any_port.into()).expect("a free port");
    let address = held.local_addr().expect("an address").as_socket();
    let address = address.expect("an address of IPv4");
    assert_eq!(
        faults(&format!("http://{address}"), |_| {}),
        [(Fault::Refused, 10)]
    );
}

#[test]
fn unresolvable() {
    let found = faults("http://no-such-host.invalid", |_| {});
    assert!(
        matches!(
            found.as_slice(),
            [(Fault::DnsNotFound | Fault::DnsAgain, 10)]
        ),
        "{found:?}"
    );
}

#[test]
fn garbage_and_early_ends_are_faults() {
    let garbage = Peer::start(|_| Reply::Bytes(b"220 mail.example.test ESMTP\r\n\r\n".to_vec()));
    assert!(matches!(
        faults(&garbage.url(), |_| {}).as_slice(),
        [(Fault::Protocol(_), 10)]
    ));
    let early =
        Peer::start(|_| Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".to_vec()));
    assert_eq!(faults(&early.url(), |_| {}), [(Fault::ClosedEarly, 10)]);
    let silent = Peer::start(|_| Reply::Close(Vec::new()));
    assert_eq!(faults(&silent.url(), |_| {}), [(Fault::ClosedEarly, 10)]);
}

#[test]
fn ends_of_reused_connections_are_distinguished() {
    let once = Peer::start(|seen| match seen.head.starts_with("GET /first ") {
        true => ok("x"),
        false => Reply::Close(Vec::new()),
    });
    let two = vec![request(get("/first")), request(get("/second"))];
    let all = run(&plan(&once.url(), Load::Once, two)).total(label::ALL);
    assert_eq!(all.counters.ok, 1);
    let [(Fault::Kept(_), 1)] = all.counters.faults.0[..] else {
        panic!("{:?}", all.counters.faults)
    };
    assert_eq!(all.counters.unanswered[NoAnswer::Reset as usize], 1);
    let half = Peer::start(|seen| match seen.head.starts_with("GET /first ") {
        true => ok("x"),
        false => Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_vec()),
    });
    let two = vec![request(get("/first")), request(get("/second"))];
    let all = run(&plan(&half.url(), Load::Once, two)).total(label::ALL);
    assert_eq!(all.counters.faults.0, [(Fault::ClosedEarly, 1)]);
}

#[test]
fn undecodable_body_fails_only_readers() {
    let peer = Peer::start(|seen| {
        let encoding = seen.head.split(['/', ' ']).nth(2).unwrap_or_default();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n");
        Reply::Bytes(format!("{head}Content-Length: 5\r\n\r\nhello").into_bytes())
    });
    for encoding in ["gzip", "zstd", "dcb"] {
        let path = format!("/{encoding}");
        let plain = run(&plan(&peer.url(), Load::Once, vec![request(get(&path))]));
        assert_eq!(plain.total(label::ALL).counters.ok, 1);
        let mut wants = get(&path);
        wants.checks = vec![ResponseCheck::BodyContains(Template::Literal(json!("h")))];
        let mut wanting = plan(&peer.url(), Load::Once, vec![request(wants)]);
        let all = run(&wanting).total(label::ALL).counters;
        assert_eq!(all.failures.0, [(Failure::Encoding, 1)], "{encoding}");
        assert_eq!(all.codes.0, [(Status::Http(200), 1)]);
        assert_eq!(all.without_answer(), 0);
        wanting.http.takes_any_encoding = true;
        let known = u64::from(encoding == "gzip");
        assert_eq!(run(&wanting).total(label::ALL).counters.failed, known);
    }
}

#[test]
fn early_response_counts() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.read_exact(&mut [0; 16]).expect("a beginning");
        stream
            .write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            .expect("still connected");
    });
    let mut post = Request::new("POST", Template::Literal(json!("/")), "/");
    post.body = plan::scenario::RequestBody::Text(Template::Literal(json!("x".repeat(16 << 20))));
    let all = run(&plan(&url, Load::Once, vec![request(post)]))
        .total(label::ALL)
        .counters;
    server.join().expect("no panic");
    assert_eq!((all.failed, all.without_answer()), (1, 0), "{all:?}");
    assert_eq!(all.codes.0, [(Status::Http(413), 1)]);
}

#[test]
fn unanswered_requests_time_out() {
    let peer = Peer::start(|_| Reply::Never);
    assert_eq!(
        faults(&peer.url(), |plan| plan.http.timeouts.total_ns =
            Some(SECOND / 5)),
        [(Fault::ResponseTimeout, 10)]
    );
    let idle = |plan: &mut Plan| {
        plan.http.timeouts = plan::Timeouts {
            total_ns: None,
            headers_ns: None,
            idle_ns: Some(SECOND / 5),
        }
    };
    assert_eq!(faults(&peer.url(), idle), [(Fault::IdleTimeout, 10)]);
    let headers = |plan: &mut Plan| {
        plan.http.timeouts = plan::Timeouts {
            total_ns: None,
            headers_ns: Some(SECOND / 5),
            idle_ns: Some(SECOND),
        }
    };
    assert_eq!(faults(&peer.url(), headers), [(Fault::ResponseTimeout, 10)]);
}

#[test]
fn requests_after_the_drain_are_unfinished() {
    let peer = Peer::start(|_| Reply::Never);
    let plan = plan(&peer.url(), rate(20, SECOND / 2), vec![request(get("/"))]);
    let all = run_with(
        &plan,
        EngineOptions {
            drain_ns: Some(SECOND / 5),
            ..EngineOptions::default()
        },
    )
    .total(label::ALL)
    .counters;
    assert_eq!(all.faults.0, [(Fault::Unfinished, 10)]);
}

#[test]
fn endless_loop_ends_with_the_run() {
    let peer = Peer::start(|_| ok("x"));
    let endless = |steps| {
        vec![Step::Loop(Loop {
            steps,
            count: LoopCount::Fixed(LoopRange {
                start: 0,
                end: None,
            }),
            over: None,
            index_as: "$loopCount".into(),
            element_as: "$loopElement".into(),
            while_true: None,
        })]
    };
    for steps in [
        endless(vec![request(get("/"))]),
        endless(endless(Vec::new())),
    ] {
        let recorded = run_with(
            &plan(&peer.url(), Load::Once, steps),
            EngineOptions {
                drain_ns: Some(SECOND / 10),
                ..EngineOptions::default()
            },
        );
        let iteration = recorded.total(kept_iteration(&recorded)).counters;
        assert_eq!(
            iteration.unanswered[NoAnswer::Unfinished as usize],
            1,
            "{iteration:?}"
        );
    }
}

fn kept_iteration(recorded: &RecordedRun) -> u16 {
    recorded
        .intervals
        .iter()
        .flat_map(|i| i.slots.keys())
        .map(|(id, _)| *id)
        .max()
        .unwrap_or(0)
}

fn early_head(mut stream: std::net::TcpStream, body: usize) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (mut seen, mut head) = (0, None);
        while head.is_none_or(|head: usize| seen < head + body) {
            let Ok(n @ 1..) = stream.read(&mut buffer) else {
                return;
            };
            if head.is_none() {
                let end = buffer[..n].windows(4).position(|w| w == b"\r\n\r\n");
                head = Some(end.expect("a head in one piece") + 4);
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok";
                stream.write_all(answer).expect("a client that reads");
            }
            seen += n;
        }
        stream.write_all(b"!!").expect("a client that reads");
    }
}

#[test]
fn early_responder_keeps_its_connection() {
    const BODY: usize = 16 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        early_head(stream, BODY);
    });
    let mut upload = get("/");
    upload.method = "POST".into();
    upload.body = plan::scenario::RequestBody::Text(Template::Literal("x".repeat(BODY).into()));
    let steps = vec![request(upload.clone()), request(upload)];
    let recorded = run(&plan(&format!("http://{address}"), Load::Once, steps));
    let all = recorded.total(label::ALL).counters;
    assert_eq!((all.issued, all.ok), (2, 2), "{:?}", all.faults);
    server.join().expect("a server that saw everything");
}
