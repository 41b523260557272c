use super::*;
use crate::find::{Cause, search::ProbeReason};
use analysis::saturation::Reached;

const SLOS: [&str; 2] = ["p99 < 200ms", "errors < 1%"];

fn row(level: f64, arrived: f64, answered: f64, beyond: [f64; 2]) -> ProbeRow {
    ProbeRow {
        level,
        reason: ProbeReason::Near,
        holds: false,
        invalid: None,
        counted_s: 15.0,
        requests: 1_000,
        goodput: answered,
        errors: Some(beyond[1]),
        ns: [None; 3],
        measured: vec![Some("240 ms".to_owned()), Some("0 %".to_owned())],
        beyond: beyond.map(Some).to_vec(),
        arrived: Some(arrived),
        answered: Some(answered),
        wait: None,
        service: None,
        backlog_growth: None,
        cause: None,
        saturated: None,
        run: String::new(),
    }
}

fn with_cause(mut row: ProbeRow, class: &str, reason: &str, share: f64) -> ProbeRow {
    row.cause = Some(Cause {
        reason: reason.to_owned(),
        class: class.to_owned(),
        share,
    });
    row
}

fn reached(resource: &str, source: &str, limit: &str) -> Reached {
    Reached {
        resource: resource.to_owned(),
        source: source.to_owned(),
        metric: "pool_capacity".to_owned(),
        limit: limit.to_owned(),
        instances: 1,
        all_instances: 1,
        at_ns: 0,
        held_ns: 0,
        issued_per_second: None,
        cause: None,
        held_by: None,
    }
}

fn text(rows: &[ProbeRow]) -> String {
    described(rows, &[], &SLOS)
}

fn described(rows: &[ProbeRow], held: &[ProbeRow], slos: &[&str]) -> String {
    let (rows, held): (Vec<&ProbeRow>, Vec<&ProbeRow>) =
        (rows.iter().collect(), held.iter().collect());
    let slos: Vec<String> = slos.iter().map(|slo| (*slo).to_owned()).collect();
    describe(&rows, &held, &slos, "420/s", "`p99 < 200ms` is 240 ms").unwrap()
}

fn overloaded() -> [ProbeRow; 2] {
    [
        row(425.0, 425.0, 410.0, [0.4, 0.0]),
        row(600.0, 600.0, 418.0, [0.9, 0.0]),
    ]
}

#[test]
fn answers_that_do_not_grow_with_what_comes_are_an_overload() {
    let mut rows = overloaded();
    rows[0].backlog_growth = Some(7.0);
    assert_eq!(
        text(&rows),
        "latency grows without bound: responses never exceed 418/s, even at higher load"
    );
    assert_eq!(
        text(&rows[..1]),
        "latency grows without bound: 425/s arrive and 410/s are answered"
    );
}

#[test]
fn a_resource_is_named_where_it_was_seen_at_its_limit() {
    let mut rows = overloaded();
    rows[1].saturated = Some(reached(THREADS, "puma", "0 of 5 left, and requests wait"));
    assert_eq!(
        text(&[row(420.0, 420.0, 395.0, [0.4, 0.0]), rows[1].clone()]),
        "latency grows without bound: above 418/s, arrivals find all threads busy (puma: 0 of 5 left, and requests wait)"
    );
    rows[1].saturated = Some(reached("connection pool", "app", "0 of 10 left"));
    assert_eq!(
        text(&[row(420.0, 420.0, 395.0, [0.4, 0.0]), rows[1].clone()]),
        "latency grows without bound: responses never exceed 418/s, even at higher load; first resource at its limit: connection pool (app: 0 of 10 left)"
    );
}

#[test]
fn a_service_that_answers_what_comes_keeps_up_whatever_it_takes() {
    let nearest = row(420.0, 421.0, 420.0, [0.02, 0.0]);
    let alone = "latency rises, the service keeps up, and `p99 < 200ms` is 240 ms at 420/s";
    assert_eq!(text(std::slice::from_ref(&nearest)), alone);
    let [_, far] = overloaded();
    let farther = row(840.0, 840.0, 425.0, [0.9, 0.0]);
    assert_eq!(
        text(&[nearest, far, farther]),
        format!("{alone}; far above, responses never exceed 425/s, even at higher load")
    );
}

#[test]
fn what_is_not_known_is_not_claimed() {
    let mut short = row(420.0, 420.0, 395.0, [0.4, 0.0]);
    let plain = "`p99 < 200ms` is 240 ms at 420/s";
    assert_eq!(text(&[short.clone()]), plain);
    (short.arrived, short.answered) = (None, None);
    assert_eq!(text(&[short]), plain);
}

#[test]
fn errors_are_named_by_cause() {
    let failing = || row(420.0, 420.0, 420.0, [0.0, 0.12]);
    let of = |class, reason| text(&[with_cause(failing(), class, reason, 0.12)]);
    assert_eq!(
        of("failed", "status 503"),
        "errors: 12.0 % of requests fail with status 503 at 420/s"
    );
    assert_eq!(
        of("failed", "body is no JSON"),
        "errors: 12.0 % of the answers fail at 420/s: body is no JSON"
    );
    assert_eq!(
        of("refused", "connection refused"),
        "errors: 12.0 % are not answered at 420/s: connection refused"
    );
    assert_eq!(
        of("timeout", "no answer in time"),
        "timeouts: 12.0 % at 420/s: no answer in time"
    );
    let refused = row(420.0, 420.0, 370.0, [0.12, 0.0]);
    let refused = with_cause(refused, "refused", "connection refused", 0.12);
    assert!(text(&[refused]).starts_with("errors: 12.0 % are not answered"));
    let slow = row(420.0, 420.0, 420.0, [0.4, 0.001]);
    let slow = with_cause(slow, "failed", "status 503", 0.001);
    assert!(text(&[slow]).starts_with("latency rises"));
}

#[test]
fn who_waits_until_it_is_too_long_waits_in_a_backlog_that_grows() {
    let mut rows = overloaded();
    rows[0] = with_cause(
        row(425.0, 425.0, 400.0, [0.3, 0.3]),
        "timeout",
        "no answer in time",
        0.3,
    );
    assert!(text(&rows).starts_with("latency grows without bound: responses never exceed 418/s"));
}

#[test]
fn what_held_was_answered_as_well() {
    let mut rows = overloaded();
    rows[0].backlog_growth = Some(7.0);
    let held = [row(419.0, 419.0, 421.0, [0.0, 0.0])];
    assert_eq!(
        described(&rows, &held, &SLOS),
        "latency grows without bound: responses never exceed 421/s, even at higher load"
    );
    rows[1].saturated = Some(reached(THREADS, "puma", "0 of 5 left"));
    let reported = described(&rows, &held, &SLOS);
    assert!(
        reported.contains("above 419/s, arrivals find"),
        "{reported}"
    );
}

#[test]
fn a_service_is_not_blamed_for_the_tests_own_connections() {
    let mut rows = overloaded();
    rows[0].backlog_growth = Some(7.0);
    let mut held = [row(400.0, 400.0, 400.0, [0.0, 0.0])];
    held[0].service = Some(50_000_000);
    (rows[0].wait, rows[0].service) = (Some(180_000_000), Some(52_000_000));
    let reported = described(&rows, &held, &SLOS);
    assert!(
        reported.contains("a free connection of the test"),
        "{reported}"
    );
    rows[0].service = Some(120_000_000);
    let reported = described(&rows, &held, &SLOS);
    assert!(
        reported.starts_with("latency grows without bound"),
        "{reported}"
    );
}

#[test]
fn latency_rises_only_where_a_time_fails() {
    let full = row(420.0, 421.0, 420.0, [0.6, 0.0]);
    assert_eq!(
        described(&[full], &[], &["server.host.cpu < 50%", "errors < 1%"]),
        "the service keeps up, but `p99 < 200ms` is 240 ms at 420/s"
    );
}
