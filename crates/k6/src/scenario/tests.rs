//! Tests of scenarios, against closed forms and by properties.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    ConstantArrivalRate, Executor, Plan, PlanError, RampingArrivalRate, RampingVus, Stage, plan,
    schedule::VuStep,
};
use crate::options::{OptionSource, Options};

const S: u64 = 1_000_000_000;

fn planned(options: Value) -> Result<Plan, PlanError> {
    let options = Options::from_json(&options, OptionSource::Script).unwrap();
    plan(&options.options, &|name| name != "missing")
}

fn described(options: Value) -> String {
    let plan = planned(options).unwrap();
    let scenarios = plan.scenarios.iter();
    let lines = scenarios.map(|own| format!("{}: {}", own.name, own.description()));
    lines.collect::<Vec<_>>().join("\n")
}

fn problem(scenario: Value) -> String {
    let error = planned(json!({"scenarios": {"s": scenario}})).unwrap_err();
    let text = error.to_string();
    let prefix = "There were problems with the specified script configuration:\n\t- ";
    text.strip_prefix(prefix).unwrap_or(&text).to_owned()
}

#[test]
fn shortcuts_become_scenarios() {
    for (options, text) in [
        (
            json!({}),
            "1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
        (
            json!({"vus": 10, "duration": "30s"}),
            "10 looping VUs for 30s (gracefulStop: 30s)",
        ),
        (
            json!({"vus": 3, "iterations": 5, "duration": "1m"}),
            "5 iterations shared among 3 VUs (maxDuration: 1m0s, gracefulStop: 30s)",
        ),
        (
            json!({"vus": 3}),
            "3 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
        (
            json!({"stages": [{"duration": "10s", "target": 5}, {"duration": "5s", "target": 0}]}),
            "Up to 5 looping VUs for 15s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
        ),
    ] {
        assert_eq!(described(options), format!("default: {text}"));
    }
}

#[test]
fn scenarios_are_sorted_and_described() {
    let scenarios = json!({
        "b": {"executor": "constant-arrival-rate", "rate": 90, "timeUnit": "1m", "duration": "1m",
            "preAllocatedVUs": 5, "maxVUs": 10, "exec": "f", "gracefulStop": "0s"},
        "a": {"executor": "ramping-arrival-rate", "startRate": 10, "preAllocatedVUs": 5,
            "stages": [{"duration": "1m", "target": 5}], "startTime": "5s"},
        "c": {"executor": "per-vu-iterations", "vus": 2, "iterations": 20, "maxDuration": "1s"},
    });
    assert_eq!(
        described(json!({"scenarios": scenarios})),
        "b: 1.50 iterations/s for 1m0s (maxVUs: 5-10, exec: f)\n\
         c: 20 iterations for each of 2 VUs (maxDuration: 1s, gracefulStop: 30s)\n\
         a: Up to 10.00 iterations/s for 1m0s over 1 stages (maxVUs: 5, startTime: 5s, \
         gracefulStop: 30s)"
    );
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let stages = json!([{"duration": "1s", "target": 1}]);
    let scenarios = json!({"a": {"executor": "constant-vus", "duration": "1s"}});
    for (options, pair) in [
        (
            json!({"iterations": 1, "stages": stages}),
            "`iterations` and `stages`",
        ),
        (
            json!({"duration": "1s", "stages": stages}),
            "`duration` and `stages`",
        ),
        (
            json!({"duration": "1s", "scenarios": scenarios}),
            "`duration` and `scenarios`",
        ),
        (
            json!({"stages": stages, "scenarios": scenarios}),
            "`stages` and `scenarios`",
        ),
    ] {
        assert_eq!(
            planned(options).unwrap_err().to_string(),
            format!("using {pair} options simultaneously is not allowed")
        );
    }
    assert_eq!(
        planned(json!({"duration": 0})).unwrap_err().to_string(),
        "`duration` option should be more than 0, for infinite duration use the \
         externally-controlled executor"
    );
    assert!(planned(json!({"executionSegment": "0:1/2"})).is_err());
    let both = planned(json!({"vus": 5, "scenarios": scenarios})).unwrap();
    assert_eq!(both.warnings, ["`vus=5` overrides scenarios configuration"]);
    assert_eq!(
        planned(json!({"stages": []})).unwrap().warnings,
        [
            "`stages` was explicitly set to an empty value, running the script with 1 iteration in \
             1 VU"
        ]
    );
}

#[test]
fn errors_of_scenarios_have_k6s_texts() {
    let errors = |text: &str| format!("scenario s has configuration errors: {text}");
    for (scenario, text) in [
        (
            json!({"executor": "constant-vus", "vus": 0}),
            "the number of VUs must be more than 0, the duration is unspecified",
        ),
        (
            json!({"executor": "constant-vus", "duration": "500ms", "exec": "",
                "startTime": "-1s", "gracefulStop": "-1s"}),
            "exec value cannot be empty, the startTime can't be negative, the gracefulStop \
             timeout can't be negative, the duration must be at least 1s, but is 500ms",
        ),
        (
            json!({"executor": "shared-iterations", "vus": 5, "iterations": 3}),
            "the number of iterations (3) can't be less than the number of VUs (5)",
        ),
        (
            json!({"executor": "per-vu-iterations", "iterations": 0, "maxDuration": "10ms"}),
            "the number of iterations must be more than 0, the maxDuration must be at least 1s, \
             but is 10ms",
        ),
        (
            json!({"executor": "ramping-vus"}),
            "at least one stage has to be specified",
        ),
        (
            json!({"executor": "ramping-vus", "startVUs": 0, "stages": [{"target": 0},
                {"duration": "-1s"}, {"duration": "1s", "target": -1}]}),
            "either startVUs or one of the stages' target values must be greater than 0, stage 1 \
             doesn't have a duration, the duration for stage 2 can't be negative, stage 2 doesn't \
             have a target, the target for stage 3 can't be negative",
        ),
        (
            json!({"executor": "constant-arrival-rate", "timeUnit": "0s", "duration": "1s"}),
            "the iteration rate isn't specified, the timeUnit must be more than 0, the number of \
             preAllocatedVUs isn't specified",
        ),
        (
            json!({"executor": "ramping-arrival-rate", "startRate": -1, "preAllocatedVUs": 2,
                "maxVUs": 1, "stages": [{"duration": "1s", "target": 100_000_001}]}),
            "the startRate value can't be negative, target for stage 1 exceeds max limit of \
             100000000, maxVUs can't be less than preAllocatedVUs",
        ),
    ] {
        assert_eq!(problem(scenario), errors(text));
    }
    assert_eq!(
        problem(json!({"executor": "constant-vus", "duration": "1s", "exec": "missing"})),
        "executor s: function 'missing' not found in exports"
    );
    let error = planned(json!({"scenarios": {"a b": {"executor": "per-vu-iterations"}}}));
    assert!(error.unwrap_err().to_string().ends_with(
        "the scenario name should contain only numbers, latin letters, underscores, and dashes"
    ));
}

#[test]
fn scenarios_that_do_not_overlap_share_virtual_users() {
    let scenario = |vus: u64, start: u64| {
        json!({"executor": "constant-vus", "vus": vus, "duration": "10s", "gracefulStop": "5s",
            "startTime": start * 1000})
    };
    let apart = planned(json!({"scenarios": {"a": scenario(5, 0), "b": scenario(7, 15)}})).unwrap();
    assert_eq!((apart.planned_vus(), apart.max_duration_ns()), (7, 30 * S));
    let close = planned(json!({"scenarios": {"a": scenario(5, 0), "b": scenario(7, 14)}})).unwrap();
    assert_eq!(close.planned_vus(), 12);
    let ramp = json!({"executor": "ramping-vus", "startVUs": 0, "gracefulRampDown": "1s",
        "stages": [{"duration": "10s", "target": 10}, {"duration": "10s", "target": 0}]});
    let with_ramp = json!({"scenarios": {"a": scenario(5, 17), "r": ramp}});
    // At 17 s, three virtual users are looping and one more may be finishing.
    let plan = planned(with_ramp).unwrap();
    assert_eq!(plan.planned_vus(), 10);
    let rate = json!({"executor": "constant-arrival-rate", "rate": 1, "duration": "1s",
        "preAllocatedVUs": 1, "maxVUs": 9});
    let plan = planned(json!({"scenarios": {"a": rate}})).unwrap();
    assert_eq!((plan.planned_vus(), plan.max_vus()), (1, 9));
}

fn ramp(start_vus: u64, stages: &[(u64, u64)], graceful_ramp_down_ns: u64) -> RampingVus {
    let stages = stages.iter().map(|(duration_ns, target)| Stage {
        duration_ns: *duration_ns,
        target: *target,
    });
    RampingVus {
        start_vus,
        stages: stages.collect(),
        graceful_ramp_down_ns,
    }
}

fn pairs(steps: impl IntoIterator<Item = VuStep>) -> Vec<(u64, u64)> {
    steps
        .into_iter()
        .map(|step| (step.at_ns, step.vus))
        .collect()
}

#[test]
fn ramps_step_at_k6s_moments() {
    let up = ramp(1, &[(10 * S, 5), (5 * S, 5), (0, 2), (3, 0)], 0);
    assert_eq!(
        pairs(up.steps()),
        [
            (0, 1),
            (25 * S / 10, 2),
            (5 * S, 3),
            (75 * S / 10, 4),
            (10 * S, 5),
            (15 * S, 2),
            (15 * S + 2, 1),
            (15 * S + 3, 0),
        ]
    );
}

#[test]
fn virtual_users_that_finish_keep_their_place() {
    // Down by one each second, then up again before the first virtual user has left.
    let wave = ramp(3, &[(2 * S, 1), (2 * S, 3), (S, 3)], 3 * S);
    assert_eq!(pairs(wave.reserved_steps(S)), [(0, 3), (6 * S, 0)]);
    let down = ramp(2, &[(2 * S, 0)], S);
    assert_eq!(
        pairs(down.reserved_steps(30 * S)),
        [(0, 2), (2 * S, 1), (3 * S, 0)]
    );
    assert_eq!(down.last_reserved_ns(30 * S), 3 * S);
    // There is no additional time beyond the graceful stop.
    assert_eq!(pairs(down.reserved_steps(0)), [(0, 2), (2 * S, 0)]);
}

#[test]
fn constant_rate_starts_at_multiples_of_the_period() {
    let rate = ConstantArrivalRate {
        rate: 3,
        time_unit_ns: S,
        duration_ns: 2 * S,
        pre_allocated_vus: 1,
        max_vus: 1,
    };
    let period = S / 3;
    let schedule = rate.schedule();
    let starts: Vec<_> = schedule.iter().collect();
    assert_eq!(starts, (0..7).map(|k| k * period).collect::<Vec<_>>());
    assert_eq!(schedule.planned(period), 1);
    assert_eq!(schedule.planned(period + 1), 2);
    assert_eq!(schedule.planned(u64::MAX), 7);
}

fn ramping_rate(start_rate: u64, stages: &[(u64, u64)]) -> RampingArrivalRate {
    RampingArrivalRate {
        start_rate,
        time_unit_ns: S,
        stages: ramp(0, stages, 0).stages,
        pre_allocated_vus: 1,
        max_vus: 1,
    }
}

#[test]
fn ramping_rate_starts_when_the_area_is_whole() {
    let constant = ramping_rate(10, &[(10 * S, 10)]).schedule();
    assert_eq!(constant.total(), 100);
    assert_eq!(constant.start_ns(0), Some(S / 10));
    assert_eq!(constant.start_ns(99), Some(10 * S));
    // The area of a ramp from 0 to 10 in 10 s is t²/2, so start k is at √(2k) s.
    let up = ramping_rate(0, &[(10 * S, 10)]).schedule();
    assert_eq!(up.total(), 50);
    assert_eq!(up.start_ns(1), Some(2 * S));
    assert_eq!(up.start_ns(7), Some(4 * S));
    assert_eq!(up.start_ns(49), Some(10 * S));
    // The mirrored ramp: the remaining area after t is (10−t)²/2.
    let down = ramping_rate(10, &[(10 * S, 0)]).schedule();
    assert_eq!(down.start_ns(49), Some(10 * S));
    assert_eq!(down.start_ns(47), Some(8 * S));
    // A jump, and a fraction that is carried over: 0.5 + 1.5.
    let jump = ramping_rate(1, &[(S / 2, 1), (0, 3), (S / 2, 3)]).schedule();
    let starts: Vec<_> = jump.iter().collect();
    assert_eq!(starts, [S / 2 + S / 6, S]);
    let executor = Executor::RampingArrivalRate(ramping_rate(0, &[(10 * S, 10)]));
    assert_eq!(executor.rate_at(5 * S), Some(5.0));
    assert_eq!(executor.rate_at(50 * S), Some(10.0));
}

#[test]
fn extreme_parameters_do_not_panic() {
    let big = i64::MAX as u64;
    let rate = ConstantArrivalRate {
        rate: big,
        time_unit_ns: 1,
        duration_ns: big,
        pre_allocated_vus: big,
        max_vus: big,
    };
    assert_eq!(rate.schedule().planned(10), 10);
    let ramping = RampingArrivalRate {
        start_rate: big,
        time_unit_ns: 1,
        stages: vec![
            Stage {
                duration_ns: big,
                target: 0
            };
            5
        ],
        pre_allocated_vus: 0,
        max_vus: 0,
    };
    let schedule = ramping.schedule();
    assert_eq!(schedule.planned(u64::MAX), schedule.total());
    let huge = ramp(0, &[(S, 100_000_000), (S, 0)], S);
    assert_eq!(
        pairs(huge.reserved_steps(S)),
        [(0, 100_000_000), (3 * S, 0)]
    );
    let ramp = ramp(100_000_000, &[(big, 0), (big, 100_000_000), (big, 5)], big);
    assert_eq!(ramp.vus_at(0), 100_000_000);
    assert!(ramp.steps().take(10).count() == 10);
}

proptest! {
    #[test]
    fn vus_at_agrees_with_the_steps(
        start in 0_u64..20,
        stages in prop::collection::vec((0_u64..50, 0_u64..20), 1..6),
        at in 0_u64..300,
    ) {
        let ramp = ramp(start, &stages, 0);
        let before = ramp.steps().filter(|step| step.at_ns <= at).last().unwrap();
        prop_assert_eq!(ramp.vus_at(at), before.vus);
    }

    #[test]
    fn reserved_is_the_largest_of_a_window(
        start in 0_u64..20,
        stages in prop::collection::vec((30_u64..50, 0_u64..20), 1..6),
        grace in 0_u64..60,
        at in 0_u64..250,
    ) {
        let ramp = ramp(start, &stages, grace);
        let end: u64 = stages.iter().map(|stage| stage.0).sum();
        let at = at % end;
        let reserved = ramp.reserved_steps(1_000);
        let now = reserved.iter().rfind(|step| step.at_ns <= at).map_or(0, |step| step.vus);
        let first = at.saturating_sub(grace);
        // A virtual user leaves at the end of its time to finish. One that stops without such time
        // leaves immediately.
        let largest = (first..=at).map(|moment| ramp.vus_at(moment)).max().unwrap();
        let open = (first + 1..=at).map(|moment| ramp.vus_at(moment)).max().unwrap_or(0);
        prop_assert!(now <= largest.max(start) && now >= open, "{} {} {}", now, largest, open);
    }

    #[test]
    fn ramping_starts_match_the_area(
        start_rate in 0_u64..1000,
        stages in prop::collection::vec((0_u64..100_000_000_000, 0_u64..1000), 1..5),
        share in 0.0_f64..1.0,
    ) {
        let schedule = ramping_rate(start_rate, &stages).schedule();
        prop_assume!(schedule.total() > 0);
        let index = (schedule.total() as f64 * share) as u64;
        prop_assume!(index < schedule.total());
        let at = schedule.start_ns(index).unwrap();
        let (mut area, mut begin, mut from) = (0.0_f64, 0_u64, start_rate as f64);
        for (duration, target) in &stages {
            let inside = at.saturating_sub(begin).min(*duration) as f64 / 1e9;
            let length = *duration as f64 / 1e9;
            if *duration > 0 {
                area += from * inside + (*target as f64 - from) * inside * inside / (2.0 * length);
            }
            begin += duration;
            from = *target as f64;
        }
        let expected = (index + 1) as f64;
        prop_assert!((area - expected).abs() < 1e-4, "{} {}", area, expected);
        prop_assert_eq!(schedule.planned(at + 1).max(index + 1), schedule.planned(at + 1));
        if index > 0 {
            prop_assert!(schedule.start_ns(index - 1).unwrap() <= at);
        }
    }
}
