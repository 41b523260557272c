use formats::{
    Inputs,
    native::{load, translate_text},
};
use plan::{
    ArrivalProcess, FirstArrival, Load, Plan, PoolPolicy, Rate, RowOrder, Shape, Step, Template,
    Variable,
    scenario::{CaptureSource, LoopCount, LoopRange, Over, RequestBody, ResponseCheck, ThinkTime},
    units::{MILLISECOND, SECOND},
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{Folder, header, lines, phases, render, requests};

fn plan(text: &str) -> Plan {
    translate_text("plan.yml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn refused(text: &str) -> Vec<String> {
    match translate_text("plan.yml", text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => lines(&errors),
    }
}

fn with(text: &str) -> String {
    format!("loadline: 1\ntarget: http://x\n{text}\nsteps: [ {{ get: / }} ]\n")
}

fn steps(text: &str) -> String {
    format!(
        "loadline: 1\ntarget: http://x\nload: {{ rate: 1/s, duration: 1s }}\nvariables: {{ v: [1], s: x }}\nsteps:\n{}",
        text.lines()
            .map(|line| format!("  {line}\n"))
            .collect::<String>()
    )
}

#[test]
fn documented_example_is_loaded() {
    let page = include_str!("../../../../docs/reference/plan.md");
    let example = page
        .split("```yaml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let folder = Folder::new("example");
    folder.file("patients.csv", "family\nAda\n");
    let inputs = Inputs {
        process_env: vec![("TOKEN".into(), "t0ken".into())],
        ..folder.inputs("plan.yml", example)
    };
    let plan = load(&inputs).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(phases(&plan).len(), 4);
    assert_eq!(
        (
            plan.policy.criteria.len(),
            plan.policy.stop.len(),
            plan.scenarios().len()
        ),
        (3, 1, 2)
    );
    assert!(plan.secrets.contains(&"t0ken".to_owned()));
    assert!(plan.rules.status_fails && plan.rules.failure_ends_iteration);
    assert_eq!(plan.problems(), []);
}

#[test]
fn loads_are_parsed() {
    let load = |text: &str| plan(&with(&format!("load: {text}"))).load;
    let one = |text: &str| match load(text) {
        Load::Open {
            phases,
            first: FirstArrival::AtStart,
        } => phases[0].clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        one("{ rate: 200/s, duration: 10s }").shape,
        Shape::Rate(Rate::from_f64(200.0).unwrap())
    );
    assert_eq!(
        one("{ rate: 90/m, duration: 10s, arrivals: poisson, max-users: 5 }").arrivals,
        ArrivalProcess::Poisson
    );
    let ramp = one("[ { name: up, from: 10/s, to: 100/s, duration: 5m } ]");
    assert_eq!(
        (
            ramp.name.as_deref(),
            ramp.duration_ns,
            ramp.duration_text.as_str()
        ),
        (Some("up"), 300 * SECOND, "5m")
    );
    assert!(matches!(ramp.shape, Shape::Staircase { .. }));
    assert_eq!(
        one("{ count: 100, duration: 10s }").shape,
        Shape::Count(100)
    );
    assert_eq!(
        load("{ users: 50, duration: 30s }"),
        Load::users(50, 30 * SECOND)
    );
    let paused = plan(&with(
        "load: [ { rate: 1/s, duration: 1s }, { pause: 5s } ]",
    ));
    assert_eq!(
        (phases(&paused)[1].shape, phases(&paused)[1].duration_ns),
        (Shape::Pause, 5 * SECOND)
    );
}

#[test]
fn user_phases_are_parsed() {
    let load = |text: &str| plan(&with(&format!("load: {text}"))).load;
    let Load::Closed {
        users,
        duration_ns,
        phases,
    } = load(
        "[ { name: up, users: { from: 0, to: 50 }, duration: 30s }, { users: 50, duration: 1m }, { pause: 5s } ]",
    )
    else {
        panic!("open");
    };
    assert_eq!((users, duration_ns), (50, 95 * SECOND));
    let ends: Vec<_> = phases.iter().map(|phase| (phase.from, phase.to)).collect();
    assert_eq!(ends, [(0, 50), (50, 50), (0, 0)]);
    assert_eq!(phases[0].name.as_deref(), Some("up"));
    assert!(matches!(
        load("{ users: { from: 9, to: 0 }, duration: 9s }"),
        Load::Closed { users: 9, .. }
    ));
    for (text, expected) in [
        (
            "{ users: { from: 0, to: 0 }, duration: 1s }",
            "4:7: no phase has users: use, for example, { users: { from: 0, to: 50 }, duration: 1m }",
        ),
        (
            "{ users: { from: -1, to: 3 }, duration: 1s }",
            "4:24: `from: -1` must be a whole number, 0 or more",
        ),
        (
            "{ users: { from: 1, too: 3 }, duration: 1s }",
            "4:27: unknown key `too`: did you mean `to`?",
        ),
        (
            "{ users: { from: 1 }, duration: 1s }",
            "4:16: `users` needs a start and an end, but `to` is missing: use, for example, { from: 0, to: 50 }",
        ),
        (
            "[ { users: 3, duration: 1s }, { rate: 1/s, duration: 1s } ]",
            "4:37: `rate` sets arrivals, but other phases of this load set users: use only one kind",
        ),
        (
            "{ users: 0, duration: 1s }",
            "4:16: `users: 0` must be a whole number, 1 or more",
        ),
        (
            "{ users: { from: 1, to: 2 } }",
            "4:7: `duration` is missing: add, for example, duration: 10s",
        ),
    ] {
        let text = with(&format!("\nload: {text}"));
        assert_eq!(refused(&text), [format!("plan.yml:{expected}")]);
    }
}

#[test]
fn max_duration_limits_the_load() {
    let ramp = "load: [ { rate: 10/s, duration: 4s }, { from: 10/s, to: 40/s, duration: 4s }, { rate: 1/s, duration: 1s } ]";
    let cut = plan(&with(&format!("max-duration: 5.5s\n{ramp}")));
    let schedule = cut.schedule(1);
    // 10 arrivals in the first second of the ramp, and half of the 20 in the second one.
    assert_eq!((schedule.total(), cut.end_ns()), (60, 5_500_000_000));
    assert_eq!(schedule.phase_ends(), [4 * SECOND, 5_500_000_000]);
    let closed = plan(&with("max-duration: 1m\nload: { users: 3, duration: 1h }"));
    assert_eq!(closed.schedule(1).end_ns(), 60 * SECOND);
    let longer = plan(&with(
        "max-duration: 1h\nload: { rate: 10/s, duration: 4s }",
    ));
    assert_eq!(
        (longer.schedule(1).total(), longer.end_ns()),
        (40, 4 * SECOND)
    );
    assert_eq!(
        refused(&with("load: { rate: 1/s, duration: 1s }\nmax-duration: 0s")),
        ["plan.yml:4:15: a duration must be longer than zero"]
    );
    assert_eq!(
        refused(&with("load: { rate: 1/s, duration: 1s }\nmax-duration: 10")),
        ["plan.yml:4:15: `10` has no unit: use, for example, 10s"]
    );
}

fn business(volumes: [&str; 2], load: &str) -> String {
    let [a, b] = volumes;
    format!(
        "loadline: 1\ntarget: http://x\nload: {load}\nscenarios:\n  - {{ name: a, {a}, steps: [ {{ get: / }} ] }}\n  - {{ name: b, {b}, steps: [ {{ get: / }} ] }}\n"
    )
}

#[test]
fn volumes_yield_weights_and_levels_yield_rates() {
    let text = business(
        ["volume: 35260/h", "volume: 145000/h"],
        "[ { name: base, level: 0.5x, duration: 10s }, { level: 150%, duration: 1m }, { from: 0.5x, to: 1x, duration: 30s } ]",
    );
    let plan = plan(&text);
    let weights: Vec<u32> = plan.scenarios().iter().map(|s| s.weight).collect();
    assert_eq!(weights, [1763, 7250]);
    let hour = |shape: Shape| match shape {
        Shape::Rate(rate) => rate.events_in(3600 * SECOND),
        other => panic!("{other:?}"),
    };
    assert_eq!(hour(phases(&plan)[0].shape), 90_130);
    assert_eq!(hour(phases(&plan)[1].shape), 270_390);
    let Shape::Staircase { from, to } = phases(&plan)[2].shape else {
        panic!("{:?}", phases(&plan)[2]);
    };
    assert_eq!(
        [from, to].map(|rate| rate.events_in(3600 * SECOND)),
        [90_130, 180_260]
    );
    assert_eq!(plan.scenarios()[0].volume.as_ref().unwrap().text, "35260/h");
}

#[test]
fn volume_within_hours_is_parsed() {
    let text = business(
        [
            "volume: { volume: 500000, hours: 12, clustering: 1.5 }",
            "volume: 500/s",
        ],
        "{ level: 1x, duration: 10s }",
    );
    let rates = |text: &str| -> Vec<f64> {
        let plan = plan(text);
        let volumes = plan.scenarios().iter().map(|s| s.volume.as_ref());
        volumes
            .map(|volume| volume.unwrap().rate.as_f64())
            .collect()
    };
    let found = rates(&text);
    assert!((found[0] - 17.3611).abs() < 1e-4 && (found[1] - 500.0).abs() < 1e-9);
    let text = business(
        [
            "volume: { volume: 28800/d, hours: 8, growth: 20% }",
            "volume: 1/s",
        ],
        "{ rate: 1/s, duration: 10s }",
    );
    let grown = rates(&text)[0];
    assert!((grown - 1.2).abs() < 1e-9, "{grown}");
}

#[test]
fn stairs_and_spikes_become_named_phases() {
    let render = |text: &str| -> Vec<(String, u64, String)> {
        let plan = plan(&business(["volume: 4/s", "volume: 6/s"], text));
        phases(&plan)
            .iter()
            .map(|phase| {
                let shape = match phase.shape {
                    Shape::Rate(rate) => format!("{}", rate.as_f64()),
                    Shape::Staircase { from, to } => format!("{}..{}", from.as_f64(), to.as_f64()),
                    other => format!("{other:?}"),
                };
                (
                    phase.name.clone().unwrap(),
                    phase.duration_ns / MILLISECOND,
                    shape,
                )
            })
            .collect()
    };
    let row = |name: &str, ms: u64, shape: &str| (name.to_owned(), ms, shape.to_owned());
    assert_eq!(
        render("{ name: stairs, from: 0.5x, to: 1.5x, steps: 3, duration: 10s }"),
        [
            row("stairs 0.5x", 3333, "5"),
            row("stairs 1x", 3333, "10"),
            row("stairs 1.5x", 3333, "15"),
        ]
    );
    assert_eq!(
        render("{ from: 0/s, to: 30/s, steps: 2, duration: 10s }"),
        [row("0/s", 5000, "Pause"), row("30/s", 5000, "30")]
    );
    assert_eq!(
        render("{ name: s, base: 1x, peak: 5x, hold: 5s, ramp: 1s, duration: 60s }"),
        [
            row("s before", 26_500, "10"),
            row("s rise", 1000, "10..50"),
            row("s peak", 5000, "50"),
            row("s fall", 1000, "50..10"),
            row("s after", 26_500, "10"),
        ]
    );
    assert_eq!(
        render("{ base: 10/s, peak: 5x, at: 2s, hold: 8s, duration: 10s }"),
        [
            row("spike before", 2000, "10"),
            row("spike peak", 8000, "50")
        ]
    );
}

proptest! {
#[test]
fn stairs_fill_their_phase(steps in 2u64..40, ms in 1000u64..1_000_000, from in 1u64..500, to in 1u64..500) {
let text = with(&format!("load: {{ from: {from}/s, to: {to}/s, steps: {steps}, duration: {ms}ms }}"));
let plan = plan(&text);
let stairs = phases(&plan);
prop_assert_eq!(stairs.iter().map(|stair| stair.duration_ns).sum::<u64>(), ms * MILLISECOND);
let rates: Vec<f64> = stairs.iter().map(|stair| match stair.shape {
Shape::Rate(rate) => rate.as_f64(),
_ => f64::NAN,
}).collect();
prop_assert_eq!(rates.len() as u64, steps);
for (i, rate) in rates.iter().enumerate() {
let line = from as f64 + (to as f64 - from as f64) * i as f64 / (steps - 1) as f64;
prop_assert!((rate - line).abs() < 1e-9, "{i} {rate} {line}");
}
}
}

#[test]
fn invalid_volumes_are_rejected() {
    let level = "{ level: 1x, duration: 1s }";
    for (volumes, expected) in [
        (
            ["volume: 500000", "volume: 1/h"],
            "5:24: `500000` has no unit of time: use, for example, 500000/h, or { volume: 500000, hours: 12 }",
        ),
        (
            ["volume: 1/h, weight: 2", "volume: 1/h"],
            "5:29: `weight` cannot be combined with `volume`",
        ),
        (
            ["volume: 1/h", "weight: 1"],
            "6:5: this scenario has no `volume`, but others do",
        ),
        (
            ["volume: { volume: 5, hour: 2 }", "volume: 1/h"],
            "5:37: unknown key `hour`: did you mean `hours`?",
        ),
        (
            ["volume: { hours: 2 }", "volume: 1/h"],
            "5:24: the number is missing: use, for example,",
        ),
        (
            ["volume: { volume: 5, hours: 25 }", "volume: 1/h"],
            "5:44: `25`: `hours` must be the number of hours of a day",
        ),
        (
            ["volume: { volume: 5/h, hours: 2 }", "volume: 1/h"],
            "5:34: `5/h` already has a unit of time",
        ),
        (
            ["volume: { volume: 5/h, clustering: 0.5 }", "volume: 1/h"],
            "5:51: `0.5`: `clustering` must be the peak divided by the mean",
        ),
        (
            ["volume: { volume: 5/h, growth: 20 }", "volume: 1/h"],
            "5:47: `growth: 20` is not a share: use, for example, 20%",
        ),
        (
            ["volume: 900000000/s", "volume: 900000000/s"],
            "5:3: the sum of all volumes is above the maximum rate: use smaller volumes",
        ),
        (
            ["volume: 0/h", "volume: 1/h"],
            "5:24: a volume of `0/h` has no arrivals: remove the scenario",
        ),
        (
            ["volume: 5/w", "volume: 1/h"],
            "5:24: `/w` is not a unit of rate: use /s /m /h /d",
        ),
        (
            ["volume: [1]", "volume: 1/h"],
            "5:24: `volume` must be text, not a list",
        ),
    ] {
        let found = refused(&business(volumes, level));
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("plan.yml:{expected}")),
            "{volumes:?}: {found:?}"
        );
    }
}

#[test]
fn invalid_levels_stairs_and_spikes_are_rejected() {
    let volumes = ["volume: 1/s", "volume: 1/s"];
    for (load, expected) in [
        (
            "{ level: 10/s, duration: 1s }",
            "3:16: `10/s` is not a level: use `rate: 10/s`",
        ),
        (
            "{ level: 2, duration: 1s }",
            "3:16: `2` is not a level: use a multiple of the volumes such as 2x",
        ),
        (
            "{ level: 0x, duration: 1s }",
            "3:7: a rate of 0 is not allowed: use `pause: 10s`",
        ),
        ("{ level: 1x }", "3:7: `duration` is missing"),
        (
            "{ from: 1x, to: 2x, steps: 1, duration: 1s }",
            "3:34: `steps: 1` must be a whole number, 2 or more",
        ),
        (
            "{ from: 1x, to: 2x, steps: 2000, duration: 1s }",
            "3:34: `steps: 2000`: at most 1000 steps are allowed",
        ),
        (
            "{ from: 0.00001/d, to: 0.00002/d, steps: 900, duration: 1s }",
            "3:7: these steps differ by less than the smallest possible change of a rate: use fewer steps",
        ),
        (
            "{ base: 1x, peak: 2x, duration: 1s }",
            "3:7: `hold` is missing",
        ),
        (
            "{ peak: 2x, hold: 1s, duration: 2s }",
            "3:7: `base` is missing",
        ),
        (
            "{ base: 1x, peak: 2x, hold: 5s, ramp: 1s, duration: 6s }",
            "3:7: this spike takes 7s and would end 7s into a phase that lasts only 6s",
        ),
        (
            "{ base: 1x, peak: 2x, hold: 5s, at: 3s, duration: 6s }",
            "3:7: this spike takes 5s and would end 8s into a phase that lasts only 6s",
        ),
        (
            "{ level: 1x, rate: 1/s, duration: 1s }",
            "3:9: `level` is not allowed with `rate`",
        ),
    ] {
        let found = refused(&business(volumes, load));
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("plan.yml:{expected}")),
            "{load}: {found:?}"
        );
    }
    let without = refused(&with("load: { level: 1x, duration: 1s }"));
    assert!(
        without[0].starts_with("plan.yml:3:16: `1x` needs volumes: give each scenario a `volume`"),
        "{without:?}"
    );
}

#[test]
fn invalid_loads_are_rejected() {
    for (text, expected) in [
        (
            "{ rate: 200, durations: 10s }",
            "3:20: unknown key `durations`: did you mean `duration`?",
        ),
        (
            "{ rate: 10/s }",
            "3:7: `duration` is missing: add, for example, duration: 10s",
        ),
        (
            "{ rate: 10/s, duration: 10 }",
            "3:31: `10` has no unit: use, for example, 10s",
        ),
        (
            "{ rate: 10/x, duration: 1s }",
            "3:15: `/x` is not a unit of rate: use /s /m /h /d",
        ),
        (
            "{ rate: 0/s, duration: 1s }",
            "3:7: a rate of 0 is not allowed: use `pause: 10s`",
        ),
        (
            "{ rate: 1/s, count: 5, duration: 1s }",
            "3:20: `count` is not allowed with `rate`; allowed are rate, duration, name, arrivals, max-users",
        ),
        (
            "{ from: 1/s, duration: 1s }",
            "3:7: `from` needs `to`: add the rate at the end",
        ),
        (
            "{ count: 0, duration: 1s }",
            "3:16: `count: 0` must be a whole number, 1 or more",
        ),
        ("{ duration: 1s }", "3:7: this is not a load: use one of {"),
        (
            "[ { users: 5, duration: 1s }, { count: 1, duration: 1s } ]",
            "3:37: `count` sets arrivals",
        ),
        (
            "{ users: 0, duration: 1s }",
            "3:16: `users: 0` must be a whole number, 1 or more",
        ),
        (
            "{ rate: 1/s, duration: 1s, arrivals: random }",
            "3:44: `arrivals: random` is unknown: use even or poisson",
        ),
        ("{ pause: 1s }", "3:7: no phase has arrivals: add a rate"),
        ("5", "3:7: `load` must be a mapping, not a number"),
    ] {
        let found = refused(&with(&format!("load: {text}")));
        assert!(
            found[0].starts_with(&format!("plan.yml:{expected}")),
            "{text}\n{found:#?}"
        );
    }
    assert!(
        refused(&with(""))[0]
            .ends_with("`load` is missing: add, for example, load: { rate: 200/s, duration: 10s }")
    );
}

#[test]
fn full_request_is_parsed() {
    let plan = plan(&steps(
        "- get: /a\n- post:\n    url: /b/{{ s }}\n    name: create\n    headers: { X-A: 1 }\n    query: { q: [1, 2] }\n    json: { a: '{{ v }}' }\n    cookies: { c: d }\n    auth: { user: u, password: p }\n    redirects: false\n    capture: { id: $.id, etag: { header: etag }, n: { regexp: 'n(.)', group: 1, optional: true }, all: { json: '$..x', all: true } }\n    check: [ status: [200, 404], json: { $.a: '{{ s }}' }, json: $.b, header: { etag: x }, body: text ]\n    expect: 409\n- put: { url: 'https://o/x', form: { a: 1 } }\n- patch: { url: /, body: text }",
    ));
    let requests = requests(&plan);
    assert_eq!(
        requests
            .iter()
            .map(|r| (r.method.as_str(), r.label.as_str()))
            .collect::<Vec<_>>(),
        [
            ("GET", "/a"),
            ("POST", "create"),
            ("PUT", "https://o/x"),
            ("PATCH", "/")
        ]
    );
    let post = requests[1];
    assert!(header(post, "user-agent").is_some_and(|agent| agent.starts_with("loadline/")));
    assert_eq!(
        (
            header(post, "content-type").as_deref(),
            header(post, "X-A").as_deref()
        ),
        (Some("application/json"), Some("1"))
    );
    assert_eq!(
        post.query
            .as_ref()
            .map(|query| render(&query[0].1))
            .as_deref(),
        Some("[1,2]")
    );
    assert!(!post.follow_redirects && !post.redirects_keep_method);
    assert!(post.captures[0].strict && !post.captures[2].strict);
    assert!(
        matches!(&post.captures[1].from, CaptureSource::Header(Template::Literal(name)) if name == "etag")
    );
    assert!(matches!(
        &post.captures[3].from,
        CaptureSource::Json { pick: false, .. }
    ));
    assert_eq!(
        post.checks
            .iter()
            .map(ResponseCheck::kind)
            .collect::<Vec<_>>(),
        ["status", "json", "json", "header", "body"]
    );
    assert_eq!(post.expected_status, [409, 404]);
    assert!(matches!(&requests[2].body, RequestBody::Form(pairs) if pairs.len() == 1));
    assert!(matches!(&requests[3].body, RequestBody::Text(_)));
    assert_eq!(plan.secrets, ["x"; 0]);
}

#[test]
fn other_steps_are_parsed() {
    let plan = plan(&steps(
        "- think: 500ms\n- think: { time: 1s, jitter: 20% }\n- think: '{{ s }}'\n- loop: { count: 3, steps: [ { get: '/{{ $loopCount }}' } ] }\n- loop: { over: v, element: e, index: i, steps: [ { log: '{{ e }} {{ i }} {{ $uuid }}' } ] }\n- loop: { over: [ a, '{{ s }}' ], steps: [ { get: / } ] }\n- loop: { count: '{{ s }}', steps: [ { get: / } ] }",
    ));
    let steps = &plan.scenarios()[0].steps;
    assert!(
        matches!(&steps[0], Step::Think(think) if matches!(think.time, ThinkTime::Fixed(ns) if ns == 500 * MILLISECOND))
    );
    assert!(matches!(&steps[1], Step::Think(think) if think.jitter.is_some()));
    assert!(
        matches!(&steps[2], Step::Think(think) if matches!(think.time, ThinkTime::Templated(_)))
    );
    assert!(
        matches!(&steps[3], Step::Loop(inner) if matches!(inner.count, LoopCount::Fixed(LoopRange { start: 0, end: Some(3) })))
    );
    assert!(
        matches!(&steps[4], Step::Loop(inner) if matches!(&inner.over, Some(Over::Variable(name)) if name == "v"))
    );
    assert!(
        matches!(&steps[5], Step::Loop(inner) if matches!(&inner.over, Some(Over::List(items)) if items.len() == 2))
    );
    assert!(
        matches!(&steps[6], Step::Loop(inner) if matches!(inner.count, LoopCount::Templated(_)))
    );
}

#[test]
fn times_and_leave_are_parsed() {
    let plan = plan(&steps(
        "- get: { url: /a, times: 3 }\n- get: { url: /b, times: 0.1 }\n- get: { url: /c, times: 2.1 }\n- exit: 12%\n- get: { url: /d, times: 1 }",
    ));
    let steps = &plan.scenarios()[0].steps;
    let round = |step: &Step, times: i64| matches!(step, Step::Loop(inner) if matches!(inner.count, LoopCount::Fixed(LoopRange { start: 0, end: Some(end) }) if end == times));
    let chance = |step: &Step| match step {
        Step::Request(request) => request.probability,
        other => panic!("{other:?}"),
    };
    assert_eq!(steps.len(), 6);
    assert!(round(&steps[0], 3) && round(&steps[2], 2));
    assert_eq!(
        (chance(&steps[1]), chance(&steps[3])),
        (Some(10.0), Some(10.0))
    );
    assert!(matches!(steps[4], Step::Exit(share) if (share - 0.12).abs() < 1e-12));
    assert_eq!(chance(&steps[5]), None);
    let labels: Vec<&str> = requests(&plan).iter().map(|r| r.label.as_str()).collect();
    assert_eq!(labels, ["/a", "/b", "/c", "/c", "/d"]);
}

#[test]
fn wrong_indent_is_explained() {
    let text = "- get:\n  url: /";
    let found = refused(&steps(text));
    assert_eq!(
        found,
        [
            "plan.yml:7:5: `url` is at the same level as `get`, which is empty: indent it to make it part of `get`"
        ]
    );
}

const INVALID_STEPS: &[(&str, &str)] = &[
    (
        "- gett: /",
        "6:5: `gett` is not a step: did you mean `get`?",
    ),
    (
        "- { get: /, post: / }",
        "6:15: a step can have only one key, but this one has `get` and `post`: write two steps",
    ),
    (
        "- get: { uri: / }",
        "6:12: unknown key `uri`: did you mean `url`?",
    ),
    (
        "- get: path",
        "6:10: `path` is not a URL: start it with / or with http:// or https://",
    ),
    (
        "- get: '/{{ nobody }}'",
        "6:15: `nobody` is never set: add it to `variables`, or capture it first",
    ),
    (
        "- get: '/{{ s + 1 }}'",
        "6:12: `{{ s + 1 }}` is neither a variable nor a function",
    ),
    (
        "- get: '/{{ $uid }}'",
        "6:15: `$uid` is never set: add it to `variables`, or capture it first (did you mean `$uuid`?)",
    ),
    (
        "- get: '/{{ $env.NONE }}'",
        "6:15: the environment variable NONE is not set",
    ),
    (
        "- get: { url: /, capture: { id: id } }",
        "6:35: `id` is not a JSONPath: start it with $, for example $.id",
    ),
    (
        "- get: { url: /, capture: { id: '$.a[' } }",
        "6:40: `$.a[` is not a JSONPath",
    ),
    (
        "- get: { url: /, capture: { id: {} } }",
        "6:35: `id` must be captured from one of",
    ),
    (
        "- get: { url: /, check: { statu: 5 } }",
        "6:29: unknown key `statu`: did you mean `status`?",
    ),
    (
        "- get: { url: /, check: { status: 5 } }",
        "6:37: `status: 5` is not a status",
    ),
    (
        "- post: { url: /, json: 1, body: x }",
        "6:30: a request can have only one body, but this one has `json` and `body`: remove one",
    ),
    ("- think: 5", "6:12: `5` has no unit: use, for example, 5s"),
    (
        "- loop: { steps: [ { get: / } ] }",
        "6:11: this loop never ends: add `count: 10`, `over` with a list, or `while` with a function",
    ),
    (
        "- loop: { count: 0, steps: [ { get: / } ] }",
        "6:20: `count: 0` must be a whole number, 1 or more",
    ),
    (
        "- 5",
        "6:5: a step must be a mapping like { get: / }, not a number",
    ),
    (
        "- get: '/{{ $randomInt(1) }}'",
        "6:12: unknown function $randomInt",
    ),
];

#[test]
fn invalid_steps_are_rejected() {
    for (text, expected) in INVALID_STEPS {
        let found = refused(&steps(text));
        assert!(
            found[0].starts_with(&format!("plan.yml:{expected}")),
            "{text}\n{found:#?}"
        );
        assert_eq!(found.len(), 1, "{text}\n{found:#?}");
    }
}

#[test]
fn invalid_times_and_exit_are_rejected() {
    for (text, expected) in [
        (
            "- get: { url: /, times: 0 }",
            "6:27: `times: 0` must be a number from 0.000001 to 10000: 3 means three times in a row",
        ),
        (
            "- get: { url: /, times: often }",
            "6:27: `times: often` must be a number",
        ),
        (
            "- exit: 12",
            "6:11: `exit: 12` is not a share of the users that reach this step: use, for example, 12%",
        ),
        ("- exit: 0%", "6:11: `exit: 0%` is not a share"),
        ("- exit: 101%", "6:11: `exit: 101%` is not a share"),
    ] {
        let found = refused(&steps(text));
        assert!(
            found[0].starts_with(&format!("plan.yml:{expected}")),
            "{found:#?}"
        );
        assert_eq!(found.len(), 1, "{text}\n{found:#?}");
    }
}

#[test]
fn top_level_keys_are_validated() {
    for (text, expected) in [
        ("", "1:1: the file is empty"),
        (
            "- 1",
            "1:1: a plan must be a mapping that starts with `loadline: 1`, not a list",
        ),
        (
            "target: http://x\nload: { rate: 1/s, duration: 1s }\nsteps: [ { get: / } ]",
            "1:1: a plan must start with `loadline: 1`",
        ),
        (
            "loadline: 2\ntarget: http://x\nload: { rate: 1/s, duration: 1s }\nsteps: [ { get: / } ]",
            "1:11: version `loadline: 2`",
        ),
        (
            "loadline: 1\nload: { rate: 1/s, duration: 1s }\nsteps: [ { get: / } ]",
            "1:1: `target` is missing",
        ),
        (
            "loadline: 1\ntarget: x\nload: { rate: 1/s, duration: 1s }\nsteps: [ { get: / } ]",
            "2:9: `target: x` is not a URL that starts with http:// or https://",
        ),
        (
            "loadline: 1\ntarget: http://x\nload: { rate: 1/s, duration: 1s }",
            "1:1: the plan has no steps: add, for example, `steps",
        ),
        (
            "loadline: 1\ntarget: http://x\nload: { rate: 1/s, duration: 1s }\nsteps: []\nscenarios: []",
            "4:1: a plan cannot have both `steps` and `scenarios`: remove one",
        ),
        (
            "loadline: 1\ntarget: http://x\nload: { rate: 1/s, duration: 1s }\nscenarios: [ { weight: 0, steps: [ { get: / } ] } ]",
            "4:12: no scenario has a weight above 0",
        ),
        (
            "loadline: 1\ntaget: http://x",
            "2:1: unknown key `taget`: did you mean `target`?",
        ),
    ] {
        assert!(
            refused(text)[0].starts_with(&format!("plan.yml:{expected}")),
            "{text}\n{:#?}",
            refused(text)
        );
    }
    assert_eq!(
        refused("loadline: 1\nbla: 1\ntarget: x\nload: 5\nsteps: [ { gett: / } ]").len(),
        4
    );
}

#[test]
fn criteria_errors_have_positions() {
    let rules = "load: { rate: 1/s, duration: 1s }\n";
    let ok = plan(&with(&format!(
        "{rules}criteria: [ p99 < 250ms, 'p95 of \"GET /\" < 1s' ]\nstop:\n  - errors > 10% for 10s: stop fail\n  - 'p99 > 2s for 5s'"
    )));
    assert_eq!(
        (
            ok.policy.criteria.len(),
            ok.policy.stop.len(),
            ok.policy.stop[0].for_ns
        ),
        (2, 2, 10 * SECOND)
    );
    assert!(
        refused(&with(&format!("{rules}criteria:\n  - p99 < 250 parsecs")))[0]
            .starts_with("plan.yml:5:15: `parsecs` is not a unit")
    );
    assert!(
        refused(&with(&format!("{rules}criteria:\n  - 'p101 < 1s'")))[0]
            .starts_with("plan.yml:5:6: `p101` is not a metric")
    );
    assert!(
        refused(&with(&format!(
            "{rules}stop:\n  - errors > 10% for 10: stop fail"
        )))[0]
            .starts_with("plan.yml:5:22: `10` has no unit")
    );
    assert!(
        refused(&with(&format!("{rules}criteria: p99 < 1s")))[0]
            .starts_with("plan.yml:4:11: `criteria` must be a list, not text")
    );
}

#[test]
fn http_and_variables_are_parsed() {
    let folder = Folder::new("native");
    folder.file("u.csv", "id;name\n007;Ada\n");
    let text = "loadline: 1
target: '{{ $env.BASE }}/x'
load: { rate: 1/s, duration: 1s }
http: { timeout: 5s, connections: 100, verify: false, redirects: 3, cookies: false, headers: { Authorization: 'Bearer {{ token }}', User-Agent: me } }
variables: { token: 't-{{ $env.T }}', colour: { one-of: [red, green] }, list: [1, 2] }
csv: { file: u.csv, delimiter: ';' }
secrets: colour
steps: [ { get: '/{{ id }}/{{ name }}/{{ colour }}/{{ $env.T }}/{{ given }}' } ]
";
    let inputs = Inputs {
        process_env: vec![
            ("BASE".into(), "http://b".into()),
            ("T".into(), "12345".into()),
            ("U".into(), "no".into()),
        ],
        variables: Some(r#"{"given": 1.0}"#.into()),
        ..folder.inputs("p.yml", text)
    };
    let plan = load(&inputs).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.target, "http://b/x");
    assert_eq!(
        (
            plan.http.timeouts.total_ns,
            plan.http.pool,
            plan.http.max_redirects
        ),
        (Some(5 * SECOND), PoolPolicy::Shared(100), 3)
    );
    assert!(!plan.http.verify_tls && !plan.http.cookie_jar);
    assert_eq!(
        plan.variables,
        [
            ("$env".into(), Variable::Constant(json!({"T": "12345"}))),
            ("token".into(), Variable::Constant(json!("t-12345"))),
            (
                "colour".into(),
                Variable::OneOf(vec![json!("red"), json!("green")])
            ),
            ("list".into(), Variable::Constant(json!([1, 2]))),
            ("given".into(), Variable::Constant(json!(1))),
        ]
    );
    assert_eq!(plan.secrets, ["green", "t-12345"]);
    assert_eq!(
        (plan.payloads[0].rows[0].clone(), plan.payloads[0].order),
        (vec![json!("007"), json!("Ada")], RowOrder::Sequence)
    );
    assert_eq!(
        header(requests(&plan)[0], "User-Agent").as_deref(),
        Some("me")
    );
    let solo = load(&Inputs {
        solo: true,
        target: Some("http://other".into()),
        insecure: true,
        ..inputs
    })
    .unwrap();
    assert_eq!(
        (solo.load, solo.target.expose().as_str()),
        (Load::Once, "http://other")
    );
}

proptest! {
#[test]
fn any_text_yields_plan_or_problems(
key in prop::sample::select(vec!["load", "http", "variables", "csv", "steps", "scenarios", "criteria", "stop", "secrets", "target"]),
text in r#"[a-z{}\[\]:,'"$/0-9 -]{0,60}"#,
) {
for text in [text.clone(), format!("loadline: 1\n{key}: {text}"), format!("loadline: 1\n{key}: [ {text} ]"), format!("loadline: 1\n{key}: {{ {text} }}")] {
if let Err(errors) = translate_text("x.yml", &text) {
prop_assert!(!errors.problems.is_empty());
}
}
}
}

#[test]
fn invalid_variable_is_reported_once() {
    let lines = refused(
        "loadline: 1\ntarget: http://a\nload: { rate: 1/s, duration: 1s }\nvariables: { token: '{{ $env.NONE }}' }\nsteps: [ { get: '/{{ token }}' } ]\n",
    );
    assert_eq!(
        lines,
        ["plan.yml:4:25: the environment variable NONE is not set"]
    );
}

#[test]
fn invalid_variable_in_setup_is_reported_once() {
    let text = "loadline: 1\nload: { rate: 1/s, duration: 1s }\ntarget: http://a\nvariables: { key: '{{ $env.NOT_SET_AT_ALL }}' }\n\
                setup: [ { get: '/{{ key }}' } ]\nsteps: [ { get: / } ]\nteardown: [ { get: '/{{ key }}' } ]\n";
    let errors = formats::native::translate_text("p.yml", text).unwrap_err();
    let reported: Vec<&str> = errors
        .problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(
        reported,
        ["the environment variable NOT_SET_AT_ALL is not set"]
    );
}
