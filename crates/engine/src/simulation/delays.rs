//! A delayed worker: stalls, levels, and arrivals that do not depend on the delay.

use super::*;

#[test]
fn delayed_closed_loop_is_visible_as_stall() {
    let instant = || -> Model { Box::new(|arrival| Some(arrival + MILLISECOND)) };
    let stalls = |held_up: &dyn Fn(u64) -> u64| {
        let intervals = simulate_held_up(
            &plan(closed(8, 20), PoolPolicy::PerUser),
            instant(),
            held_up,
        );
        let all = total(&intervals, label::ALL);
        let stalls = all.histogram(TimeKind::Stall, OutcomeClass::Ok).cloned();
        stalls.expect("a look in every slot of time")
    };
    let healthy = stalls(&|at| at);
    assert_eq!((healthy.count() / 100, healthy.max()), (20, Some(0)));
    let held_up = stalls(&stolen(50 * MILLISECOND));
    assert_eq!(held_up.count() / 100, 20);
    assert_eq!(held_up.quantile(0.94), Some(0));
    let p99 = held_up.quantile(0.99).expect("looks") as f64;
    near(p99 / MILLISECOND as f64, 40.0, 0.1);
}

#[test]
fn levels_are_correct_while_worker_is_delayed() {
    let model: Model = Box::new(|arrival| Some(arrival + MILLISECOND));
    let intervals = simulate_held_up(
        &plan(closed(8, 20), PoolPolicy::PerUser),
        model,
        stolen(500 * MILLISECOND),
    );
    let all = total(&intervals, label::ALL);
    let time: u128 = [TimeKind::Wait, TimeKind::Service]
        .into_iter()
        .filter_map(|kind| all.histogram(kind, OutcomeClass::Ok))
        .map(measure::Histogram::sum)
        .sum();
    let (sum, samples, length) = intervals.iter().fold((0, 0, 0), |(sum, n, length), i| {
        let gauge = i.run.in_flight;
        (
            sum + gauge.sum,
            n + gauge.samples,
            length + i.span.to_ns - i.span.from_ns,
        )
    });
    let by_littles_law = time as f64 / length as f64;
    near(sum as f64 / samples as f64, by_littles_law, 0.02);
    near(by_littles_law, 8.0, 0.02);
}

#[test]
fn planned_arrivals_are_independent_of_worker() {
    let model: Model = Box::new(|arrival| Some(arrival + MILLISECOND));
    let intervals = simulate_held_up(&plan(open(100, 6), PoolPolicy::PerUser), model, |at| {
        at.max(3 * SECOND)
    });
    let planned: Vec<u64> = intervals.iter().map(|i| i.run.due).collect();
    let started: Vec<u64> = intervals.iter().map(|i| i.run.started).collect();
    assert_eq!(planned[..6], [100; 6]);
    assert_eq!(started[..4], [1, 0, 0, 399]);
    assert_eq!(planned.iter().sum::<u64>(), started.iter().sum::<u64>());
}
