//! Complete scenarios: what they send, capture and count.

use worker::{
    step_trace::{RequestTrace, StepTrace},
    stop::Cause,
};

use measure::{OutcomeClass, Status, TimeKind};
use plan::{
    Raw,
    scenario::{Think, ThinkTime},
};

use super::{
    peer::{Peer, Reply, ok},
    *,
};

#[test]
fn open_run_matches_counts_of_the_lab() {
    let lab = lab::Lab::start("sum", &lab::LabOptions::default()).expect("a lab");
    let plan = plan(
        &format!("http://{}", lab.address()),
        rate(500, SECOND),
        vec![request(get("/api/sum?a=1&b=2"))],
    );
    let recorded = run(&plan);
    let all = recorded.total(label::ALL);
    assert_eq!(recorded.arrivals(), (500, 500, 0));
    assert_eq!(
        (all.counters.issued, all.counters.ok, all.counters.ended()),
        (500, 500, 500)
    );
    assert_eq!(all.counters.codes.0, [(Status::Http(200), 500)]);
    let iterations = recorded.total(3);
    assert_eq!(
        (iterations.counters.issued, iterations.counters.ok),
        (500, 500)
    );
    lab.stop().expect("a clean stop");
}

#[test]
fn arrivals_are_split_over_workers() {
    let peer = Peer::start(|_| ok("x"));
    let plan = plan(&peer.url(), rate(300, SECOND), vec![request(get("/"))]);
    let recorded = run_with(
        &plan,
        EngineOptions {
            workers: Some(3),
            drain_ns: Some(SECOND),
            ..EngineOptions::default()
        },
    );
    assert_eq!(recorded.total(label::ALL).counters.ok, 300);
    assert_eq!(peer.heads().len(), 300);
    assert!(
        recorded
            .intervals
            .windows(2)
            .all(|w| w[0].index + 1 == w[1].index && w[0].span.to_ns == w[1].span.from_ns)
    );
}

#[test]
fn captures_templates_and_loops_work() {
    let peer = Peer::start(|seen| {
        if seen.head.starts_with("POST") {
            ok(r#"{"id":"p7","name":[{"family":"Q r"}]}"#)
        } else {
            ok("{}")
        }
    });
    let parse = |value| Template::parse(&value).expect("a template");
    let mut create = Request::new("POST", parse(json!("/Patient")), "/Patient");
    create.body =
        plan::scenario::RequestBody::Json(parse(json!({"n": "{{ n }}", "i": "{{ $loopCount }}"})));
    create.headers = vec![
        ("authorization".into(), parse(json!("{{ auth }}"))),
        ("x-none".into(), parse(json!("{{ nothing }}"))),
    ];
    let capture = |path: &str, name: &str| Capture {
        from: CaptureSource::Json {
            path: parse(json!(path)),
            pick: true,
        },
        store: Some(name.into()),
        strict: true,
        equals: None,
    };
    create.captures = vec![capture("$.id", "id"), capture("$.name[0].family", "family")];
    let steps = vec![Step::Loop(Loop {
        steps: vec![
            request(create),
            request(get("/Patient/{{ id }}")),
            request(get("/Patient?name={{ family }}")),
        ],
        count: LoopCount::Fixed(LoopRange {
            start: 0,
            end: Some(2),
        }),
        over: None,
        index_as: "$loopCount".into(),
        element_as: "$loopElement".into(),
        while_true: None,
    })];
    let mut plan = plan(&peer.url(), Load::Once, steps);
    plan.variables = vec![
        ("auth".into(), Variable::Constant(json!("Bearer x"))),
        ("n".into(), Variable::Constant(json!(5))),
    ];
    let recorded = run(&plan);
    assert_eq!(recorded.total(label::ALL).counters.ok, 6);
    let seen = peer.seen.lock().expect("no panic").clone();
    assert!(
        seen[0]
            .head
            .starts_with("POST /Patient HTTP/1.1\r\nHost: 127.0.0.1:"),
        "{}",
        seen[0].head
    );
    assert!(
        seen[0].head.contains("authorization: Bearer x\r\n") && !seen[0].head.contains("x-none")
    );
    assert_eq!(String::from_utf8_lossy(&seen[0].body), r#"{"n":5,"i":0}"#);
    assert_eq!(String::from_utf8_lossy(&seen[3].body), r#"{"n":5,"i":1}"#);
    assert!(seen[1].head.starts_with("GET /Patient/p7 HTTP/1.1\r\n"));
    assert!(
        seen[2]
            .head
            .starts_with("GET /Patient?name=Q%20r HTTP/1.1\r\n")
    );
}

#[test]
fn failed_checks_and_statuses_are_failed_requests() {
    let peer = Peer::start(|seen| {
        if seen.head.starts_with("GET /404") {
            Reply::Bytes(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec())
        } else {
            ok("hello")
        }
    });
    let mut checked = get("/");
    checked.checks = vec![ResponseCheck::BodyContains(
        Template::parse(&json!("bye")).expect("a template"),
    )];
    let mut expected = get("/404");
    expected.expected_status = vec![404];
    let mut plan = plan(
        &peer.url(),
        Load::Once,
        vec![request(get("/404")), request(checked), request(expected)],
    );
    plan.rules.failure_ends_iteration = false;
    let all = run(&plan).total(label::ALL).counters;
    assert_eq!((all.issued, all.ok, all.failed), (3, 1, 2));
    let reasons: Vec<String> = all.failures.0.iter().map(|(f, _)| f.to_string()).collect();
    assert_eq!(reasons, ["status 404", "check body"]);
    plan.rules.failure_ends_iteration = true;
    assert_eq!(run(&plan).total(label::ALL).counters.issued, 1);
}

#[test]
fn redirects_and_cookies_are_followed() {
    let peer = Peer::start(|seen| {
        let to = |code, path| {
            Reply::Bytes(format!("HTTP/1.1 {code} X\r\nLocation: {path}\r\nSet-Cookie: sid=a\r\nContent-Length: 0\r\n\r\n").into_bytes())
        };
        match seen.head.split(' ').nth(1) {
            Some("/301") => to(301, "/there"),
            Some("/loop") => to(302, "/loop"),
            _ => ok("x"),
        }
    });
    let mut post = Request::new(
        "POST",
        Template::parse(&json!("/301")).expect("a template"),
        "/301",
    );
    post.body = plan::scenario::RequestBody::Text(Template::Literal(json!("b")));
    let mut keeps = post.clone();
    keeps.redirects_keep_method = true;
    let mut plan = plan(
        &peer.url(),
        Load::Once,
        vec![request(post), request(keeps), request(get("/loop"))],
    );
    plan.http.max_redirects = 3;
    let all = run(&plan).total(label::ALL).counters;
    assert_eq!((all.issued, all.ok, all.redirects), (3, 2, 5));
    assert_eq!((all.failed, all.without_answer()), (1, 0));
    assert_eq!(all.failures.0, [(Failure::RedirectLimit, 1)]);
    assert!(
        all.codes.0.contains(&(Status::Http(302), 1)),
        "{:?}",
        all.codes
    );
    let heads = peer.heads();
    assert!(
        heads[1].starts_with("GET /there") && heads[1].contains("cookie: sid=a"),
        "{}",
        heads[1]
    );
    assert!(heads[3].starts_with("POST /there"));
}

#[test]
fn redirect_drops_host_and_length() {
    let second = Peer::start(|_| ok("x"));
    let there = second.url();
    let first = Peer::start(move |_| {
        Reply::Bytes(
            format!("HTTP/1.1 303 X\r\nLocation: {there}/there\r\nContent-Length: 0\r\n\r\n")
                .into_bytes(),
        )
    });
    let mut post = Request::new("POST", Template::Literal(json!("/")), "/");
    post.body = plan::scenario::RequestBody::Text(Template::Literal(json!("b")));
    post.headers = [
        ("host", "a.test"),
        ("content-length", "1"),
        ("authorization", "s"),
    ]
    .map(|(name, value)| (name.into(), Template::Literal(json!(value))))
    .into();
    let plan = plan(&first.url(), Load::Once, vec![request(post)]);
    let all = run(&plan).total(label::ALL).counters;
    assert_eq!((all.ok, all.redirects), (1, 1));
    let head = second.heads()[0].to_ascii_lowercase();
    assert!(
        head.contains(&format!("host: {}\r\n", second.address)),
        "{head}"
    );
    assert!(
        !head.contains("content-length") && !head.contains("authorization"),
        "{head}"
    );
}

#[test]
fn shared_pool_limits_connections_without_lateness() {
    let peer = Peer::start(|_| {
        worker::clock::pause(20 * MILLISECOND);
        ok("x")
    });
    let mut plan = plan(&peer.url(), rate(100, SECOND / 5), vec![request(get("/"))]);
    plan.http.pool = PoolPolicy::Shared(1);
    let recorded = run(&plan);
    assert_eq!(recorded.total(label::ALL).counters.ok, 20);
    assert_eq!(
        recorded.intervals.iter().map(|i| i.run.opened).sum::<u64>(),
        1
    );
    let wait = recorded
        .total(label::ALL)
        .histogram(measure::TimeKind::Wait, measure::OutcomeClass::Ok)
        .and_then(measure::Histogram::max);
    // Twenty requests of 20 ms each run in sequence but arrive within 200 ms. The last request
    // waits about 200 ms.
    assert!(wait.is_some_and(|ns| ns > 100 * MILLISECOND), "{wait:?}");
}

#[test]
fn user_limit_skips_arrivals_by_phase() {
    let peer = Peer::start(|_| {
        worker::clock::pause(900 * MILLISECOND);
        ok("x")
    });
    let mut capped = Phase::new(SECOND / 5, Shape::Rate(Rate::per_second(50)));
    capped.max_users = Some(2);
    let mut poisson = Phase::new(SECOND / 5, Shape::Rate(Rate::per_second(50)));
    poisson.arrivals = ArrivalProcess::Poisson;
    let load = Load::Open {
        phases: vec![capped, poisson],
        first: FirstArrival::AtStart,
    };
    let recorded = run(&plan(&peer.url(), load.clone(), vec![request(get("/"))]));
    let (due, started, skipped) = recorded.arrivals();
    assert_eq!(due, plan::schedule::Schedule::new(&load, 0).total());
    assert_eq!((started, skipped), (due - 8, 8));
    let phase = |p: u32| {
        recorded
            .intervals
            .iter()
            .filter_map(|i| i.slots.get(&(label::ALL, p)))
            .map(|s| s.counters.ok)
            .sum::<u64>()
    };
    assert_eq!((phase(0), phase(1)), (2, started - 2));
}

#[test]
fn closed_users_reuse_connections() {
    let peer = Peer::start(|_| ok("x"));
    let load = Load::users(3, SECOND);
    let recorded = run(&plan(&peer.url(), load, vec![request(get("/"))]));
    let all = recorded.total(label::ALL).counters;
    assert!(all.ok > 10 && all.ok == all.issued, "{all:?}");
    assert_eq!(
        recorded.intervals.iter().map(|i| i.run.opened).sum::<u64>(),
        3
    );
    assert_eq!(peer.heads().len() as u64, all.ok);
}

#[test]
fn logs_and_traces_are_emitted() {
    let peer = Peer::start(|_| ok("hello"));
    let log = Step::Log(Template::parse(&json!("loop {{ $uuid }}")).expect("a template"));
    let recorded = run_with(
        &plan(&peer.url(), Load::Once, vec![log, request(get("/x"))]),
        EngineOptions {
            trace: true,
            ..EngineOptions::default()
        },
    );
    assert!(matches!(&recorded.lines[0], OutputLine::Log { text, .. } if text.len() == 5 + 36));
    assert!(
        matches!(&recorded.lines[1], OutputLine::Trace(text) if text.contains("> GET /x HTTP/1.1"))
    );
    assert!(
        matches!(&recorded.lines[2], OutputLine::Trace(text) if text.contains("< 200") && text.contains("< hello"))
    );
}

#[test]
fn redirect_keeps_the_body() {
    let peer = Peer::start(|seen| match seen.head.split(' ').nth(1) {
        Some("/there") => ok("x"),
        _ => Reply::Bytes(
            b"HTTP/1.1 307 X\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n".to_vec(),
        ),
    });
    let template = |text: &str| Template::parse(&json!(text)).expect("a template");
    let mut post = Request::new("POST", template("/{{ $randomString(8) }}"), "/");
    post.body = plan::scenario::RequestBody::Text(template("{{ $randomString(16) }}"));
    let plan = plan(&peer.url(), Load::Once, vec![request(post)]);
    assert_eq!(run(&plan).total(label::ALL).counters.ok, 1);
    let seen = peer.seen.lock().expect("no panic");
    assert_eq!((seen.len(), seen[0].body.len()), (2, 16));
    assert_eq!(seen[0].body, seen[1].body);
}

#[test]
fn invalid_location_and_cookie_are_handled() {
    let peer = Peer::start(|_| {
        Reply::Bytes(b"HTTP/1.1 302 X\r\nLocation: http://[x\r\nContent-Length: 0\r\n\r\n".to_vec())
    });
    let to_nowhere = plan(&peer.url(), Load::Once, vec![request(get("/"))]);
    let none = run(&to_nowhere).total(label::ALL).counters.unanswered;
    assert_eq!(none[NoAnswer::Protocol as usize], 1);
    let mut cookie = get("/");
    cookie.cookies = vec![("a".into(), Template::Literal(json!("b\r\nInjected: yes")))];
    let injecting = plan(&peer.url(), Load::Once, vec![request(cookie)]);
    let none = run(&injecting).total(label::ALL).counters.unanswered;
    assert_eq!(none[NoAnswer::Generator as usize], 1);
    assert_eq!(peer.heads().len(), 1);
}

struct Lookup(Arc<Mutex<std::sync::mpsc::Receiver<()>>>);

impl engine::driver::Driver for Lookup {
    fn run(
        self: Box<Self>,
        _: std::rc::Rc<worker::Worker>,
    ) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            tokio::task::spawn_blocking(move || {
                self.0.lock().is_ok_and(|answer| answer.recv().is_ok())
            });
            tokio::task::yield_now().await;
        })
    }
}

#[test]
fn run_does_not_wait_for_resolver() {
    let (answer, waiting) = std::sync::mpsc::channel();
    let waiting = Arc::new(Mutex::new(waiting));
    let plan = plan("http://127.0.0.1:1", Load::Once, vec![request(get("/"))]);
    let options = EngineOptions {
        driver: Some(Arc::new(move |_| Box::new(Lookup(Arc::clone(&waiting))))),
        ..EngineOptions::default()
    };
    let prepared = Prepared::new(&plan, options).expect("compiles");
    // Without the limit, this would hang.
    prepared
        .run(Zero::in_ns(0), &mut RecordedRun::default())
        .expect("a run");
    drop(answer);
}

struct StopAtOnce(StopHandle, RecordedRun);

impl Sink for StopAtOnce {
    fn interval(&mut self, interval: Interval) {
        if self.0.urgency() == worker::stop::Urgency::None {
            self.0.stop(Cause::Signal(2));
        }
        self.1.intervals.push(interval);
    }
    fn line(&mut self, _: Raw<OutputLine>) {}
}

fn stopped(plan: &Plan, drain_ns: u64) -> RecordedRun {
    let stop = StopHandle::default();
    let options = EngineOptions {
        stop: stop.clone(),
        drain_ns: Some(drain_ns),
        ..EngineOptions::default()
    };
    let mut sink = StopAtOnce(stop, RecordedRun::default());
    let prepared = Prepared::new(plan, options).expect("compiles");
    prepared.run(Zero::in_ns(0), &mut sink).expect("a run");
    sink.1
}

#[test]
fn drain_starts_at_the_stop() {
    let peer = Peer::start(|_| Reply::Never);
    let mut plan = plan(
        &peer.url(),
        rate(20, 3600 * SECOND),
        vec![request(get("/"))],
    );
    plan.http.timeouts.total_ns = None;
    let recorded = stopped(&plan, SECOND / 10);
    let all = recorded.total(label::ALL).counters;
    assert!(all.issued > 0);
    assert_eq!(all.issued, all.unanswered[NoAnswer::Unfinished as usize]);
}

#[test]
fn delayed_worker_can_be_stopped() {
    let load = rate(1_000_000, 4 * SECOND);
    let log = Step::Log(Template::Literal(json!("")));
    let plan = plan("http://127.0.0.1:1", load, vec![log]);
    let (due, started, _) = stopped(&plan, SECOND).arrivals();
    assert!(
        started > 0 && started <= due && due < 3_000_000,
        "{started} of {due} due"
    );
}

#[test]
fn second_stop_aborts() {
    let peer = Peer::start(|_| Reply::Never);
    let stop = StopHandle::default();
    let (started, handle) = (Arc::new(Mutex::new(false)), stop.clone());
    struct Stopper(StopHandle, RecordedRun, Arc<Mutex<bool>>);
    impl Sink for Stopper {
        fn interval(&mut self, interval: Interval) {
            self.0.stop(Cause::Signal(2));
            *self.2.lock().expect("no panic") = true;
            self.1.intervals.push(interval);
        }
        fn line(&mut self, _: Raw<OutputLine>) {}
    }
    let mut sink = Stopper(handle, RecordedRun::default(), Arc::clone(&started));
    let plan = plan(&peer.url(), rate(20, 60 * SECOND), vec![request(get("/"))]);
    let prepared = Prepared::new(
        &plan,
        EngineOptions {
            stop: stop.clone(),
            ..EngineOptions::default()
        },
    )
    .expect("compiles");
    prepared.run(Zero::in_ns(0), &mut sink).expect("a run");
    let all = sink.1.total(label::ALL).counters;
    assert!(*started.lock().expect("no panic") && stop.noticed_at().is_some());
    assert_eq!(all.issued, all.unanswered[NoAnswer::Unfinished as usize]);
    assert!(all.issued > 0 && all.issued < 100);
    let iterations = sink.1.total(3).counters;
    assert_eq!(
        iterations.unanswered[NoAnswer::Unfinished as usize],
        all.issued
    );
}

#[test]
fn steps_of_a_user_are_reported() {
    let peer = Peer::start(|_| ok(r#"{"id":7}"#));
    let mut asks = get("/x");
    let capture = |name: &str, path: &str| Capture {
        from: CaptureSource::Json {
            path: Template::from(path),
            pick: true,
        },
        store: Some(name.into()),
        strict: true,
        equals: None,
    };
    asks.captures = vec![capture("id", "$.id"), capture("gone", "$.gone")];
    asks.checks = vec![ResponseCheck::Status(vec![200, 201])];
    let walks = EngineOptions {
        walks: true,
        ..EngineOptions::default()
    };
    let plan = plan(
        &peer.url(),
        Load::Once,
        vec![
            request(get("/first")),
            request(asks),
            request(get("/never")),
        ],
    );
    let recorded = run_with(&plan, walks);
    let reported: Vec<&RequestTrace> = recorded
        .lines
        .iter()
        .map(|line| match line {
            OutputLine::Step(StepTrace::Request(asked)) => &**asked,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(reported.len(), 2);
    assert_eq!(
        (
            reported[0].status,
            reported[0].failed.as_deref(),
            &reported[0].body
        ),
        (Some(200), None, &None)
    );
    assert_eq!(reported[1].url, format!("{}/x", peer.url()));
    let found: Vec<(bool, &str)> = reported[1]
        .found
        .iter()
        .map(|found| (found.holds, found.text.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (true, "id = 7"),
            (false, "gone: $.gone finds nothing"),
            (true, "status is 200")
        ]
    );
    assert_eq!(reported[1].body.as_deref(), Some(r#"{"id":7}"#));
    assert!(run_with(&plan, EngineOptions::default()).lines.is_empty());
}

#[test]
fn iteration_time_without_pauses_is_recorded() {
    const PAUSE: u64 = 30_000_000;
    let peer = Peer::start(|_| ok("x"));
    let pause = || {
        Step::Think(Think {
            time: ThinkTime::Fixed(PAUSE),
            jitter: None,
        })
    };
    let steps = vec![request(get("/")), pause(), request(get("/")), pause()];
    let recorded = run(&plan(&peer.url(), rate(20, SECOND), steps));
    let times = |kind| {
        let slot = recorded.total(3);
        let times = slot.histogram(kind, OutcomeClass::Ok);
        times.map(|times| (times.count(), times.sum()))
    };
    let (n, took) = times(TimeKind::Iteration).expect("iterations");
    let (same, without) = times(TimeKind::Unpaused).expect("iterations without pauses");
    assert_eq!((n, same), (20, 20));
    assert_eq!(took - without, u128::from(20 * 2 * PAUSE));
    let steps = vec![request(get("/"))];
    let recorded = run(&plan(&peer.url(), rate(20, SECOND), steps));
    let none = recorded.total(3);
    assert!(
        none.histogram(TimeKind::Unpaused, OutcomeClass::Ok)
            .is_none()
    );
}
