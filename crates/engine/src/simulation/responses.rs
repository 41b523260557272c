//! The times that virtual users measure with slow, stalling and silent servers.

use super::*;

#[test]
fn stall_affects_all_arrivals_in_it() {
    let intervals = simulate(
        &plan(open(1000, 60), PoolPolicy::PerUser),
        stalling(MILLISECOND, SECOND, 10 * SECOND),
    );
    let all = total(&intervals, label::ALL);
    assert_eq!((all.counters.issued, all.counters.ok), (60_000, 60_000));
    near(response_ms(&intervals, 0.5), 1.0, 0.01);
    near(response_ms(&intervals, 0.95), 500.0, 0.01);
    near(response_ms(&intervals, 0.99), 900.0, 0.01);
    near(response_ms(&intervals, 0.999), 990.0, 0.01);
    let mean = all
        .histogram(TimeKind::Response, OutcomeClass::Ok)
        .and_then(measure::Histogram::mean)
        .unwrap_or(0.0);
    near(mean / MILLISECOND as f64, 51.0, 0.02);
    let lateness = all
        .histogram(TimeKind::Lateness, OutcomeClass::Ok)
        .and_then(measure::Histogram::max);
    assert_eq!(lateness, Some(0));
}

#[test]
fn connection_limit_adds_wait_to_response_time() {
    for (cap, p99) in [(2, 950.0), (10, 910.0), (100, 901.0)] {
        let intervals = simulate(
            &plan(open(1000, 60), PoolPolicy::Shared(cap)),
            stalling(MILLISECOND, SECOND, 10 * SECOND),
        );
        near(response_ms(&intervals, 0.99), p99, 0.01);
        let all = total(&intervals, label::ALL);
        assert_eq!(
            all.histogram(TimeKind::Lateness, OutcomeClass::Ok)
                .and_then(measure::Histogram::max),
            Some(0)
        );
        assert_eq!(
            intervals.iter().map(|i| i.run.opened).sum::<u64>(),
            u64::from(cap.min(100))
        );
    }
}

#[test]
fn independent_slow_requests_do_not_slow_others() {
    let mut k = 0;
    let model: Model = Box::new(move |arrival| {
        k += 1;
        Some(arrival + if k % 10 == 0 { SECOND } else { MILLISECOND })
    });
    let intervals = simulate(&plan(open(1000, 20), PoolPolicy::PerUser), model);
    near(response_ms(&intervals, 0.5), 1.0, 0.01);
    near(response_ms(&intervals, 0.89), 1.0, 0.01);
    near(response_ms(&intervals, 0.95), 1000.0, 0.01);
}

#[test]
fn closed_users_see_a_stall_once_each() {
    let load = Load::users(10, 20 * SECOND);
    let intervals = simulate(
        &plan(load, PoolPolicy::PerUser),
        stalling(MILLISECOND, SECOND, 10 * SECOND),
    );
    let all = total(&intervals, label::ALL);
    let slow = all
        .histogram(TimeKind::Response, OutcomeClass::Ok)
        .map(|h| h.above(10 * MILLISECOND));
    assert_eq!(slow, Some(20));
    // 10 users with 1 ms per request send 180,000 requests in 18 s, minus one per user and stall.
    near(all.counters.ok as f64, 180_000.0, 0.001);
}

#[test]
fn unanswered_requests_time_out_and_are_counted() {
    let mut k = 0;
    let model: Model = Box::new(move |arrival| {
        k += 1;
        (k % 100 != 0).then_some(arrival + MILLISECOND)
    });
    let mut plan = plan(open(100, 60), PoolPolicy::PerUser);
    plan.http.timeouts.total_ns = Some(2 * SECOND);
    let intervals = simulate(&plan, model);
    let all = total(&intervals, label::ALL).counters;
    assert_eq!((all.issued, all.ok, all.without_answer()), (6000, 5940, 60));
    let times = KindTimes::from_slot(&total(&intervals, label::ALL), TimeKind::Response);
    assert!(
        matches!(times.quantile(0.995), measure::summary::Quantile::NoAnswer(ns) if ns >= 2 * SECOND)
    );
    assert!(matches!(
        times.quantile(0.98),
        measure::summary::Quantile::Ns(_)
    ));
}

#[test]
fn timeout_does_not_end_think_times() {
    let mut plan = plan(open(10, 5), PoolPolicy::PerUser);
    plan.http.timeouts.total_ns = Some(SECOND);
    let think = Step::Think(Think {
        time: ThinkTime::Fixed(5 * SECOND),
        jitter: None,
    });
    let steps = &mut plan.work.scenarios_mut()[0].steps;
    let request = steps[0].clone();
    steps.extend([think, request]);
    let intervals = simulate(&plan, Box::new(|arrival| Some(arrival + MILLISECOND)));
    let all = total(&intervals, label::ALL).counters;
    assert_eq!((all.issued, all.ok), (100, 100));
    assert_eq!(total(&intervals, 3).counters.ok, 50);
}

#[test]
fn exiting_users_complete_their_iteration() {
    let mut plan = plan(open(200, 20), PoolPolicy::PerUser);
    let steps = &mut plan.work.scenarios_mut()[0].steps;
    let Step::Request(first) = steps[0].clone() else {
        panic!("{steps:?}");
    };
    let named = |label: &str, probability| {
        Step::Request(Box::new(Request {
            label: label.into(),
            probability,
            ..(*first).clone()
        }))
    };
    steps.extend([
        Step::Exit(0.25),
        named("behind", None),
        named("seldom", Some(10.0)),
    ]);
    let counted = || {
        let intervals = simulate(&plan, Box::new(|arrival| Some(arrival + MILLISECOND)));
        let left: u64 = intervals.iter().map(|interval| interval.run.exited).sum();
        let counts = [2, 3, 4, 5].map(|label| total(&intervals, label).counters.ok);
        assert_eq!(counts[1] + left, counts[0]);
        counts
    };
    let [first, after, seldom, iterations] = counted();
    assert_eq!((first, iterations), (4000, 4000));
    assert!(after.abs_diff(3000) < 137, "{after}");
    assert!(seldom.abs_diff(after / 10) < 83, "{seldom} of {after}");
    assert_eq!(counted(), [first, after, seldom, iterations]);
}

#[test]
fn requests_in_flight_follow_littles_law() {
    let intervals = simulate(
        &plan(open(1000, 30), PoolPolicy::PerUser),
        Box::new(|arrival| Some(arrival + 25 * MILLISECOND)),
    );
    let (sum, samples) = intervals.iter().fold((0, 0), |(s, n), i| {
        (s + i.run.in_flight.sum, n + i.run.in_flight.samples)
    });
    near(sum as f64 / samples as f64, 25.0, 0.02);
}
