use proptest::prelude::*;

use super::*;
use crate::{
    ArrivalProcess, FirstArrival, Format, LoadLevel, Phase, Rate, Request, Scenario, Shape, Step,
    Template,
    scenario::{Loop, LoopCount, LoopRange, Think, ThinkTime},
    units::parse_rate,
    volume::{PeakRate, Volume},
};

fn call(method: &str, name: &str) -> Step {
    Step::Request(Box::new(Request::new(method, Template::from(name), name)))
}

fn scenario(name: &str, volume: &str, steps: Vec<Step>) -> Scenario {
    Scenario {
        name: Some(name.into()),
        weight: 1,
        volume: Some(Volume::read(volume, PeakRate::default()).expect("a volume")),
        on_error: Vec::new(),
        steps,
    }
}

fn plan(scenarios: Vec<Scenario>, levels: &[&str]) -> Plan {
    let full = volume::full(&scenarios).expect("volumes");
    let mut scenarios = scenarios;
    let rates: Vec<Rate> = scenarios
        .iter()
        .filter_map(|s| Some(s.volume.as_ref()?.rate))
        .collect();
    for (scenario, weight) in scenarios.iter_mut().zip(volume::weights(&rates)) {
        scenario.weight = weight;
    }
    let phase = |level: &&str| {
        let rate = LoadLevel::read(level)
            .expect("a level")
            .scale(full)
            .expect("a rate");
        Phase::new(60 * SECOND, Shape::Rate(rate))
    };
    let load = Load::Open {
        phases: levels.iter().map(phase).collect(),
        first: FirstArrival::AtStart,
    };
    Plan::new(
        "check-in".into(),
        Format::NATIVE,
        "http://x".into(),
        load,
        scenarios,
    )
}

fn vets() -> Plan {
    let calls = |names: &[(&str, &str)]| {
        names
            .iter()
            .map(|(method, name)| call(method, name))
            .collect()
    };
    let check_in = calls(&[
        ("GET", "/sessions"),
        ("POST", "/sessions"),
        ("GET", "/patient_check_ins"),
        ("PATCH", "/demographics"),
        ("POST", "/patient_check_ins"),
    ]);
    let pre = calls(&[
        ("GET", "/sessions"),
        ("POST", "/sessions"),
        ("GET", "/pre_check_ins"),
        ("POST", "/pre_check_ins"),
    ]);
    plan(
        vec![
            scenario("Check-in", "35260/h", check_in),
            scenario("Pre check-in", "145000/h", pre),
        ],
        &["0.5x", "1x"],
    )
}

fn rounded(figures: &[f64]) -> Vec<u64> {
    figures.iter().map(|figure| figure.round() as u64).collect()
}

#[test]
fn vets_api_check_in_profile_matches_its_tables() {
    let profile = Profile::new(&vets(), 1, Assumed::default(), &[]);
    let names: Vec<&str> = profile
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names, ["0.5x", "1x"]);
    let scenarios: Vec<Vec<u64>> = profile
        .scenarios
        .iter()
        .map(|row| rounded(&row.per_second))
        .collect();
    assert_eq!(scenarios, [[5, 10], [20, 40]]);
    let endpoints: Vec<(&str, Vec<u64>)> = profile
        .endpoints
        .iter()
        .map(|row| (row.name.as_str(), rounded(&row.per_second)))
        .collect();
    assert_eq!(
        endpoints,
        [
            ("GET /sessions", vec![25, 50]),
            ("POST /sessions", vec![25, 50]),
            ("GET /patient_check_ins", vec![5, 10]),
            ("PATCH /demographics", vec![5, 10]),
            ("POST /patient_check_ins", vec![5, 10]),
            ("GET /pre_check_ins", vec![20, 40]),
            ("POST /pre_check_ins", vec![20, 40]),
        ]
    );
    assert_eq!(rounded(&profile.requests_per_second), [105, 210]);
    assert!((profile.requests_per_second[1] - 210.083).abs() < 1e-3);
    // 180,260 per hour is 50.07 per second. One minute at half this rate has 1,502 arrivals, and
    // one at the full rate has 3,004.
    assert_eq!(profile.arrivals, Some(1502 + 3004));
    assert!(!profile.requests_are_exact && profile.is_known);
}

#[test]
fn concurrency_requires_a_latency() {
    let mut plan = vets();
    let think = Think {
        time: ThinkTime::Fixed(2 * SECOND),
        jitter: None,
    };
    plan.work.scenarios_mut()[0].steps.push(Step::Think(think));
    let without = Profile::new(&plan, 1, Assumed::default(), &[]);
    assert!(without.in_flight[1].requests.is_none());
    assert!((without.in_flight[1].users - 19.589).abs() < 1e-3);
    let assumed = Assumed {
        latency_ns: Some(SECOND / 2),
        answer_bytes: Some(1000),
    };
    let with = Profile::new(&plan, 1, assumed, &[]);
    assert!(
        with.in_flight[1]
            .requests
            .is_some_and(|n| (n - 105.042).abs() < 1e-3)
    );
    assert!((with.in_flight[1].users - 105.042 - 19.589).abs() < 1e-2);
    assert_eq!(with.bandwidth[1].received.map(f64::round), Some(210_083.0));
    assert!(with.bandwidth[1].sent.is_none());
}

#[test]
fn bandwidth_requires_sizes_of_all_endpoints() {
    let plan = plan(
        vec![scenario(
            "a",
            "10/s",
            vec![call("GET", "/a"), call("GET", "/b")],
        )],
        &["1x"],
    );
    let sent = |name: &str, bytes| RequestBytes {
        method: "GET".into(),
        name: name.into(),
        bytes,
    };
    let both = Profile::new(
        &plan,
        1,
        Assumed::default(),
        &[sent("/a", 100), sent("/b", 50)],
    );
    assert!(
        both.bandwidth[0]
            .sent
            .is_some_and(|bytes| (bytes - 1500.0).abs() < 1e-6)
    );
    assert!(both.requests_are_exact);
    assert_eq!(both.requests, Some(1200.0));
    let one = Profile::new(&plan, 1, Assumed::default(), &[sent("/a", 100)]);
    assert!(one.bandwidth[0].sent.is_none());
}

#[test]
fn curve_has_highest_rate_per_period() {
    let rate = |text: &str| parse_rate(text).expect("a rate");
    let load = Load::Open {
        phases: vec![
            Phase::new(99 * SECOND, Shape::Rate(rate("10/s"))),
            Phase::new(SECOND, Shape::Rate(rate("500/s"))),
            Phase::new(
                100 * SECOND,
                Shape::Staircase {
                    from: rate("10/s"),
                    to: rate("20/s"),
                },
            ),
        ],
        first: FirstArrival::AtStart,
    };
    let drawn = curve(&load, load.end_ns(), 4).expect("a curve");
    assert_eq!(drawn[0], 10.0);
    assert_eq!(drawn[1], 500.0);
    assert!((drawn[2] - 15.0).abs() < 0.01 && (drawn[3] - 20.0).abs() < 0.01);
    assert!(curve(&Load::Once, 0, 4).is_none());
}

#[test]
fn thinned_columns_keep_ends_and_1x() {
    let levels: Vec<String> = (1..=20)
        .map(|n| format!("{}x", f64::from(n) * 0.13))
        .collect();
    let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
    let plan = plan(
        vec![scenario("a", "10/s", vec![call("GET", "/a")])],
        &levels,
    );
    let profile = Profile::new(&plan, 1, Assumed::default(), &[]);
    let names: Vec<&str> = profile
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!((names.len(), profile.columns_omitted), (5, 16));
    assert_eq!((names[0], names[4]), ("0.13x", "2.6x"));
    assert!(names.contains(&"1x"), "{names:?}");
}

proptest! {
    #[test]
    fn computed_calls_match_executed_steps(
        rounds in 1i64..6,
        percent in 0.0f64..100.0,
        leave in 0.0f64..1.0,
        inner in 0.0f64..1.0,
    ) {
        let seldom = Step::Request(Box::new(Request {
            probability: Some(percent),
            ..Request::new("GET", Template::from("/seldom"), "/seldom")
        }));
        let steps = vec![
            call("GET", "/first"),
            Step::Exit(leave),
            Step::Loop(Loop {
                steps: vec![call("GET", "/round"), Step::Exit(inner), seldom],
                count: LoopCount::Fixed(LoopRange { start: 0, end: Some(rounds) }),
                over: None,
                index_as: "i".into(),
                element_as: "e".into(),
                while_true: None,
            }),
            call("GET", "/last"),
        ];
        let mut plan = plan(vec![scenario("a", "1/s", steps)], &["1x"]);
        if let Load::Open { phases, .. } = &mut plan.load {
            phases[0].arrivals = ArrivalProcess::Poisson;
        }
        let profile = Profile::new(&plan, 7, Assumed::default(), &[]);
        let (mut round, mut seldom, mut here) = (0.0, 0.0, 1.0 - leave);
        for _ in 0..rounds {
            round += here;
            here *= 1.0 - inner;
            seldom += here * percent / 100.0;
        }
        let expected = [1.0, round, seldom, here];
        for (row, expected) in profile.endpoints.iter().zip(expected) {
            prop_assert!((row.per_second[0] - expected).abs() < 1e-9, "{} {expected}", row.name);
        }
        prop_assert!((profile.requests_per_second[0] - expected.iter().sum::<f64>()).abs() < 1e-9);
        prop_assert!(!profile.requests_are_exact);
    }
}
