use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::time::Duration;

use super::*;

#[test]
fn constant_service_is_measured() {
    let lab = Truth::start("service=20ms");
    let seen = requests_of_many(lab.address(), 3, 5);
    assert!(seen.iter().all(|seen| seen.answer.body == "lab truth: 0"));
    assert!(seen.iter().all(|seen| seen.received - seen.sent >= 20 * MS));
    let stats = lab.stats();
    let log = lab.stop();
    assert_same(&log, &seen);
    log.assert_agrees(stats);
    assert!(
        log.requests
            .iter()
            .all(|reported| reported.due == Some(reported.arrival + 20 * MS))
    );
}

#[test]
fn constant_defaults_to_no_delay() {
    let lab = Truth::start("body=0");
    let seen = requests(lab.address(), "a", 5);
    assert!(seen.iter().all(|seen| seen.answer.body.is_empty()));
    let log = lab.stop();
    assert_same(&log, &seen);
    assert!(
        log.requests
            .iter()
            .all(|reported| reported.due == Some(reported.arrival))
    );
}

#[test]
fn table_is_drawn() {
    let services = |seed| {
        let lab = Truth::seeded(seed, "mode=table table=1ms:2,5ms:1,10ms:1");
        let seen = requests_of_many(lab.address(), 1, 24);
        if seed != 7 {
            return Vec::new();
        }
        let log = lab.stop();
        assert_same(&log, &seen);
        assert!(
            log.requests
                .iter()
                .all(|reported| reported.due == Some(reported.arrival + reported.service))
        );
        log.in_order_of_arrival()
            .iter()
            .map(|reported| reported.service)
            .collect()
    };
    let drawn = services(7);
    assert_eq!(drawn, services(7), "the seed decides");
    let distinct: BTreeSet<_> = drawn.into_iter().collect();
    assert_eq!(distinct, BTreeSet::from([MS, 5 * MS, 10 * MS]));
}

#[test]
fn exponential_is_a_queue_in_virtual_time() {
    for servers in [1, 3] {
        let lab = Truth::start(&format!("mode=exponential mean=5ms servers={servers}"));
        let seen = requests_of_many(lab.address(), 6, 20);
        let log = lab.stop();
        assert_same(&log, &seen);
        let mut free = vec![0; servers];
        for reported in log.in_order_of_arrival() {
            let earliest = free.iter_mut().min().unwrap();
            *earliest = reported.arrival.max(*earliest) + reported.service;
            assert_eq!(reported.due, Some(*earliest), "{reported:?}");
        }
        let mean = log
            .requests
            .iter()
            .map(|reported| reported.service)
            .sum::<u64>()
            / 120;
        assert!(mean > 3 * MS && mean < 8 * MS, "{mean}");
        let queued =
            |reported: &&LoggedRequest| reported.due > Some(reported.arrival + reported.service);
        assert!(
            log.requests.iter().any(|reported| queued(&reported)),
            "a request waits"
        );
    }
}

#[test]
fn slow_share_is_slow() {
    let lab = Truth::start("mode=slow share=50% slow=60ms service=1ms");
    let seen = requests_of_many(lab.address(), 4, 6);
    let log = lab.stop();
    assert_same(&log, &seen);
    let slow = log
        .requests
        .iter()
        .filter(|reported| reported.service == 60 * MS)
        .count();
    let fast = log
        .requests
        .iter()
        .filter(|reported| reported.service == MS)
        .count();
    assert_eq!(slow + fast, 24);
    assert!(slow > 3 && fast > 3, "{slow} {fast}");
    assert!(
        log.requests
            .iter()
            .all(|reported| reported.due == Some(reported.arrival + reported.service))
    );
}

#[test]
fn error_share_fails() {
    let lab = Truth::start("mode=error share=50% code=429 service=30ms");
    let seen = requests_of_many(lab.address(), 2, 12);
    let stats = lab.stats();
    let log = lab.stop();
    assert_same(&log, &seen);
    log.assert_agrees(stats);
    for reported in &log.requests {
        let service = if reported.code == Some(429) {
            0
        } else {
            30 * MS
        };
        assert_eq!(
            (reported.service, reported.due),
            (service, Some(reported.arrival + service))
        );
    }
    let errors = log
        .requests
        .iter()
        .filter(|reported| reported.code == Some(429))
        .count();
    assert!(errors > 3 && errors < 21, "{errors}");
}

#[test]
fn never_keeps_the_connection_open() {
    let lab = Truth::start("mode=never");
    let mut client = lab.client().with_header("X-Request-Id", "lost");
    client.send("GET", "/", "");
    assert!(client.is_silent_for(Duration::from_millis(100)));
    client.send("POST", "/", "body");
    client.send("GET", "/__lab/stats", "");
    assert!(client.is_silent_for(Duration::from_millis(100)));
    let mut gone = lab.client();
    gone.send("GET", "/", "");
    drop(gone);
    let stats = lab.stats_when(|stats| stats["never"] == 3);
    let log = lab.stop();
    assert!(client.is_closed());
    log.assert_agrees(stats);
    assert_eq!(log.requests[0].id.as_deref(), Some("lost"));
    assert!(
        log.requests
            .iter()
            .all(|reported| reported.release.is_none() && reported.due.is_none())
    );
}

#[test]
fn only_the_share_is_never_answered() {
    let lab = Truth::start("mode=never share=50%");
    let mut clients: Vec<_> = (0..30).map(|_| lab.client()).collect();
    for client in &mut clients {
        client.send("GET", "/", "");
    }
    let stats = lab.stats_when(|stats| stats["received"]["total"] == 30);
    let never = stats["never"].as_u64().unwrap();
    assert!(never > 5 && never < 25, "{never}");
    let log = lab.stop();
    log.assert_agrees(stats);
    for (client, n) in clients.iter_mut().zip(0..) {
        let reported = log
            .requests
            .iter()
            .find(|reported| reported.conn == n)
            .unwrap();
        let (bytes, _) = client.receive_all();
        assert_eq!(bytes.is_empty(), reported.release.is_none(), "{reported:?}");
    }
}

#[test]
fn connection_is_reset_before_response() {
    let lab = Truth::start("mode=reset share=100%");
    for _ in 0..5 {
        let mut client = lab.client();
        client.send("POST", "/", "body");
        let (bytes, ended) = client.receive_all();
        assert_eq!(bytes, b"");
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    let stats = lab.stats();
    assert_eq!(stats["resets"], 5);
    let log = lab.stop();
    log.assert_agrees(stats);
    assert!(log.requests.iter().all(|reported| reported.code == Some(0)));
}

#[test]
fn connection_is_reset_halfway_through_response() {
    let lab = Truth::start("mode=reset share=100% when=half service=5ms body=10");
    let mut client = lab.client();
    client.send_raw(&b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n".repeat(2));
    let (bytes, ended) = client.receive_all();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\nlab t"), "{text}");
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let log = lab.stop();
    assert!(!log.requests.is_empty());
    assert!(log.requests.iter().all(|reported| reported.code == Some(0)));
}
