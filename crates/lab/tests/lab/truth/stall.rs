use super::*;

fn assert_follows(log: &Log, service: u64) {
    for reported in log.in_order_of_arrival() {
        let done = reported.arrival + service;
        let meets = |&&(begin, end): &&(u64, u64)| {
            begin < done.max(reported.arrival + 1) && reported.arrival < end
        };
        let expected = log
            .stalls
            .iter()
            .find(meets)
            .map_or(done, |(_, end)| end + service);
        assert_eq!(
            reported.due,
            Some(expected),
            "{reported:?} {:?}",
            log.stalls
        );
    }
}

#[test]
fn first_request_starts_a_stall_that_holds_everything() {
    let lab = Truth::start("mode=stall stall=100ms every=250ms first=50ms service=2ms");
    let seen = requests_of_many(lab.address(), 3, 150);
    let stats = lab.stats();
    let log = lab.stop();
    assert_same(&log, &seen);
    log.assert_agrees(stats);
    assert!(log.stalls.len() > 1, "{:?}", log.stalls);
    for (&(begin, end), k) in log.stalls.iter().zip(0..) {
        assert_eq!(begin, log.start.unwrap() + 50 * MS + k * 250 * MS);
        assert_eq!(end, begin + 100 * MS);
    }
    assert_follows(&log, 2 * MS);
    let held = log
        .requests
        .iter()
        .filter(|reported| reported.due > Some(reported.arrival + 2 * MS))
        .count();
    assert!(held > 3 && held <= 3 * log.stalls.len(), "{held}");
}

#[test]
fn backlog_drains_immediately_or_at_its_rate() {
    for (drain, gap) in [("", 0), ("drain=100/s", 10 * MS)] {
        let lab = Truth::start(&format!(
            "mode=stall stall=200ms every=10s first=0 service=1ms {drain}"
        ));
        let mut clients = [lab.client(), lab.client()];
        for k in [0, 1, 1, 0, 1, 1] {
            clients[k].send("GET", "/", "");
        }
        for (client, n) in clients.iter_mut().zip([2, 4]) {
            for _ in 0..n {
                assert_eq!(client.receive("GET").code, 200);
            }
        }
        let log = lab.stop();
        let (begin, end) = log.stalls[0];
        assert_eq!(
            (log.stalls.len(), Some(begin), end),
            (1, log.start, begin + 200 * MS)
        );
        let mut turn = end;
        for reported in log.in_order_of_arrival() {
            if reported.arrival >= turn {
                turn = reported.arrival;
            }
            assert_eq!(reported.due, Some(turn + MS), "{reported:?}");
            turn += gap;
        }
    }
}

#[test]
fn end_during_a_stall_is_logged() {
    let lab = Truth::start("mode=stall stall=9s every=10s first=0");
    let mut client = lab.client();
    client.send("GET", "/", "");
    lab.stats_when(|stats| stats["waiting"] == 1);
    let log = lab.stop();
    assert!(client.is_closed());
    let reported = &log.requests[0];
    assert_eq!(
        log.stalls,
        [(reported.arrival, reported.arrival + 9000 * MS)]
    );
    assert_eq!(
        (reported.release, reported.due),
        (None, Some(reported.arrival + 9001 * MS))
    );
}

#[test]
fn responses_due_within_grace_are_sent() {
    let lab = Truth::start("service=150ms");
    let mut client = lab.client();
    client.send("GET", "/", "");
    lab.stats_when(|stats| stats["waiting"] == 1);
    let log = lab.stop();
    assert_eq!(client.receive("GET").code, 200);
    assert!(client.is_closed());
    assert_eq!(
        log.requests[0].due,
        Some(log.requests[0].arrival + 150 * MS)
    );
    assert_eq!(log.requests[0].code, Some(200));
}
