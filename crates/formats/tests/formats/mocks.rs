use formats::native::{self, mocks};
use plan::mocks::{FaultKind, Measured, MeasuredCell, MockBody, MockLatency, Reference};

fn none(reference: &Reference) -> Result<MockLatency, String> {
    Err(format!("there is no run {}", reference.run))
}

const PLAN: &str = "\
loadline: 1
target: '{{ mocks.lorota }}'
load: { rate: 1/s, duration: 1s }
steps: [{ get: '{{ mocks.chip }}/x' }]
mocks:
  lorota:
    latency: { p50: 120ms, p95: 300ms, p99: 900ms }
    routes:
      - post: /token
        status: 201
        headers: { x-made: '{{ body.uuid }}' }
        json: { id: '{{ body.uuid }}' }
        latency: 20ms
        remember: '{{ body.uuid }}'
      - get: /token/{id}
        recall: '{{ id }}'
        json: '{{ remembered }}'
    faults:
      - at 2m for 30s: latency x5
      - 'at 3m for 10s: errors 20% 500'
  chip:
    port: 8001
    routes:
      - { get: /a, latency: { queue: { capacity: 1000/s, workers: 8 } } }
      - { get: /b, latency: { mean: 1100ms, episodes: { every: 60s, for: 5s, latency: 3s } } }
      - { get: /c, latency: { lognormal: { p50: 120ms, p99: 900ms } }, body: hello }
";

#[test]
fn mocks_are_parsed() {
    let mocks = mocks::of_text("plan.yml", PLAN, &none).unwrap();
    let [lorota, chip] = &mocks[..] else {
        panic!("{mocks:?}");
    };
    assert_eq!(
        (lorota.name.as_str(), lorota.port, chip.port),
        ("lorota", 0, 8001)
    );
    let names: Vec<String> = lorota
        .routes
        .iter()
        .map(plan::mocks::MockRoute::name)
        .collect();
    assert_eq!(names, ["POST /token", "GET /token/{id}"]);
    assert_eq!(lorota.routes[0].status, 201);
    assert_eq!(lorota.routes[0].latency, MockLatency::Constant(20_000_000));
    assert!(lorota.routes[0].remember.is_some() && lorota.routes[1].recall.is_some());
    assert_eq!(
        lorota.routes[1].latency.percentile_ns(0.99),
        Some(900_000_000)
    );
    assert_eq!(lorota.faults[0].kind, FaultKind::Latency(5.0));
    assert_eq!(lorota.faults[1].kind, FaultKind::Errors(0.2, 500));
    let queue = MockLatency::Queue {
        workers: 8,
        service_ns: 8_000_000,
    };
    assert_eq!(chip.routes[0].latency, queue);
    assert_eq!(
        chip.routes[1].latency.mean_ns().map(f64::round),
        Some(1.1e9)
    );
    assert!(matches!(chip.routes[2].body, MockBody::Text(_)));
}

#[test]
fn recorded_latencies_are_looked_up_by_run_and_label() {
    let text = "loadline: 1\nmocks:\n  m:\n    latency: from last of \"GET /x\"\n    routes:\n      - get: /\n      - { get: /y, latency: from 'old runs/a' of \"y\" }\n";
    let asked = std::cell::RefCell::new(Vec::new());
    let known = |reference: &Reference| {
        asked.borrow_mut().push(reference.clone());
        let cell = MeasuredCell {
            low_ns: 5,
            high_ns: 5,
            count: 200,
        };
        let cells = [cell].into_iter();
        let measured = Measured::new("a run".into(), cells, 5, 5, 5.0);
        Ok(MockLatency::Measured(measured.unwrap()))
    };
    let mocks = mocks::of_text("plan.yml", text, &known).unwrap();
    let reference = |run: &str, label: &str| Reference {
        run: run.into(),
        label: label.into(),
    };
    let wanted = [reference("last", "GET /x"), reference("'old runs/a'", "y")];
    assert_eq!(asked.into_inner(), wanted);
    for route in &mocks[0].routes {
        assert_eq!(route.latency.percentile_ns(0.99), Some(5));
    }
    let plan = format!(
        "{text}target: '{{{{ mocks.m }}}}'\nload: {{ rate: 1/s, duration: 1s }}\nsteps: [{{ get: / }}]\n"
    );
    native::translate_text("plan.yml", &plan).unwrap();
    let errors = mocks::of_text("plan.yml", text, &none).unwrap_err();
    let reported: Vec<String> = errors.problems.iter().map(ToString::to_string).collect();
    let wanted = [
        "plan.yml:4:14: there is no run last",
        "plan.yml:7:29: there is no run 'old runs/a'",
    ];
    assert_eq!(reported, wanted);
}

#[test]
fn addresses_are_in_the_plan() {
    let plan = native::translate_text("plan.yml", PLAN).unwrap();
    assert_eq!(plan.target, "http://127.0.0.1:0");
    assert!(plan.variables.iter().any(|(name, _)| name == "mocks"));
}

const WRONG: &[(&str, &str, &str)] = &[
    ("5", "2:13", "a mapping"),
    ("{ routs: [] }", "2:15", "did you mean `routes`?"),
    ("{ routes: [] }", "2:13", "`routes` is empty"),
    ("{ port: 0, routes: [{ get: / }] }", "2:21", "1 or more"),
    (
        "{ port: 70000, routes: [{ get: / }] }",
        "2:21",
        "above 65535",
    ),
    (
        "{ routes: [{ json: {} }] }",
        "2:24",
        "must start with its method",
    ),
    (
        "{ routes: [{ get: /, post: / }] }",
        "2:34",
        "only one method",
    ),
    ("{ routes: [{ gett: / }] }", "2:26", "did you mean `get`?"),
    ("{ routes: [{ get: a }] }", "2:31", "begins with `/`"),
    (
        "{ routes: [{ get: '/a?b=1' }] }",
        "2:31",
        "cannot contain a query",
    ),
    (
        "{ routes: [{ get: '/a{b}' }] }",
        "2:31",
        "whole path segment",
    ),
    ("{ routes: [{ get: '/{a-b}' }] }", "2:31", "not a variable"),
    (
        "{ routes: [{ get: '/{a}/{a}' }] }",
        "2:31",
        "is defined twice",
    ),
    ("{ routes: [{ get: '/{body}' }] }", "2:31", "is reserved"),
    (
        "{ routes: [{ get: /, status: 99 }] }",
        "2:42",
        "200 or more",
    ),
    ("{ routes: [{ get: /, status: 700 }] }", "2:42", "above 599"),
    (
        "{ routes: [{ get: /, status: 204, body: x }] }",
        "2:42",
        "cannot have a body",
    ),
    (
        "{ routes: [{ get: /, body: x, json: x }] }",
        "2:24",
        "cannot have both",
    ),
    (
        "{ routes: [{ get: '/{id}', json: '{{ ib }}' }] }",
        "2:50",
        "did you mean `id`?",
    ),
    (
        "{ routes: [{ get: /, json: '{{ remembered.a }}' }] }",
        "2:44",
        "to the route",
    ),
    ("{ routes: [{ get: /, latency: 120 }] }", "2:43", "no unit"),
    (
        "{ routes: [{ get: /, latency: { p50: 1ms } }] }",
        "2:43",
        "add another one",
    ),
    (
        "{ routes: [{ get: /, latency: { p50: 9ms, p99: 1ms } }] }",
        "2:43",
        "must not be shorter",
    ),
    (
        "{ routes: [{ get: /, latency: { p50: 9ms, q99: 1ms } }] }",
        "2:55",
        "not a percentile",
    ),
    (
        "{ routes: [{ get: /, latency: { p50: 9ms, p100: 10ms } }] }",
        "2:55",
        "not a percentile",
    ),
    (
        "{ routes: [{ get: /, latency: { often: 1ms } }] }",
        "2:43",
        "not a latency",
    ),
    (
        "{ routes: [{ get: /, latency: { lognormal: { p50: 1ms } } }] }",
        "2:56",
        "two percentiles",
    ),
    (
        "{ routes: [{ get: /, latency: { queue: { workers: 2 } } }] }",
        "2:52",
        "capacity",
    ),
    (
        "{ routes: [{ get: /, latency: { queue: { capacity: 0/s } } }] }",
        "2:52",
        "a capacity above 0",
    ),
    (
        "{ routes: [{ get: /, latency: { mean: 1ms } }] }",
        "2:43",
        "must be used together",
    ),
    (
        "{ routes: [{ get: /, latency: { mean: 1ms, episodes: { every: 9s, for: 5s, latency: 3s } } }] }",
        "2:51",
        "alone exceed this mean",
    ),
    (
        "{ routes: [{ get: /, latency: { mean: 1s, episodes: { every: 5s, for: 5s, latency: 3s } } }] }",
        "2:51",
        "shorter than",
    ),
    (
        "{ routes: [{ get: /, latency: { mean: 1s, episodes: { every: 5s, latency: 3s } } }] }",
        "2:65",
        "has no `for`",
    ),
    (
        "{ routes: [{ get: /, latency: from last }] }",
        "2:48",
        "does not contain a label",
    ),
    (
        "{ routes: [{ get: /, latency: from last of GET }] }",
        "2:56",
        "double quotes",
    ),
    (
        "{ routes: [{ get: / }], faults: [at 2m for 3s: noise] }",
        "2:60",
        "not a fault",
    ),
    (
        "{ routes: [{ get: / }], faults: [silence] }",
        "2:46",
        "not a fault",
    ),
];

#[test]
fn errors_have_positions() {
    for (mock, place, words) in WRONG {
        let text = format!("loadline: 1\nmocks: {{ m: {mock} }}\n");
        let errors = mocks::of_text("plan.yml", &text, &none).unwrap_err();
        let lines: Vec<String> = errors.problems.iter().map(ToString::to_string).collect();
        let all = lines.join("\n");
        assert!(
            all.contains(&format!("plan.yml:{place}: ")),
            "{mock}\n{all}"
        );
        assert!(all.contains(words), "{mock}\n{all}");
        let plan = format!("{text}load: {{ rate: 1/s, duration: 1s }}\nsteps: [{{ get: / }}]\n");
        let refused = native::translate_text("plan.yml", &plan).unwrap_err();
        assert!(
            refused
                .problems
                .iter()
                .any(|one| one.to_string() == lines[0]),
            "{mock}"
        );
    }
}

#[test]
fn unknown_mock_is_rejected() {
    for (line, place) in [
        ("target: '{{ mocks.lorotta }}'", "4:13"),
        ("steps: [{ get: '{{ mocks.lorotta }}/x' }]", "4:20"),
    ] {
        let rest = if line.starts_with("steps") {
            "target: http://a"
        } else {
            "steps: [{ get: / }]"
        };
        let text = format!(
            "loadline: 1\nmocks: {{ lorota: {{ routes: [{{ get: / }}] }} }}\n{rest}\n{line}\nload: {{ rate: 1/s, duration: 1s }}\n"
        );
        let errors = native::translate_text("plan.yml", &text).unwrap_err();
        let reported = errors.problems[0].to_string();
        assert!(
            reported.starts_with(&format!("plan.yml:{place}: ")),
            "{reported}"
        );
        assert!(reported.contains("did you mean `lorota`?"), "{reported}");
    }
}
