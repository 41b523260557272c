use formats::native::{schema::schema, translate_text};
use plan::{Load, Plan, Rate, Shape, Workload, units::SECOND};
use proptest::prelude::*;

use crate::support::lines;

const SCENARIOS: &str = "scenarios:
  - { name: order, steps: [ { get: /order } ] }
  - { name: reorder, steps: [ { get: /reorder } ] }
  - { name: browse, steps: [ { get: / } ] }
";
const ORDERS: &str =
    "orders: { scenarios: { order: 3, reorder: 1 }, load: { rate: 100/m, duration: 10m } }";
const BROWSING: &str =
    "browsing: { scenario: browse, start-after: 30s, load: { users: 20, duration: 9m } }";

fn with(workloads: &[&str]) -> String {
    let workloads = workloads.join("\n  ");
    format!("loadline: 1\ntarget: http://x\nworkloads:\n  {workloads}\n{SCENARIOS}")
}

fn plan(text: &str) -> Plan {
    translate_text("plan.yml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn faults(text: &str) -> String {
    match translate_text("plan.yml", text) {
        Err(errors) => lines(&errors).join("\n"),
        Ok(_) => panic!("accepted:\n{text}"),
    }
}

fn workloads(plan: &Plan) -> &[Workload] {
    plan.workloads()
}

#[test]
fn workloads_have_scenarios_loads_and_starts() {
    let plan = plan(&with(&[ORDERS, BROWSING]));
    let [orders, browsing] = workloads(&plan) else {
        panic!("{:?}", plan.load);
    };
    assert_eq!((orders.name.as_str(), orders.starts_ns), ("orders", 0));
    assert_eq!(
        (orders.scenarios.as_slice(), browsing.scenarios.as_slice()),
        (&[0, 1][..], &[2][..])
    );
    assert_eq!(browsing.starts_ns, 30 * SECOND);
    assert_eq!(browsing.load, Load::users(20, 540 * SECOND));
    let weights: Vec<u32> = plan.scenarios().iter().map(|one| one.weight).collect();
    assert_eq!(weights, [3, 1, 1]);
    assert_eq!(plan.planned_of_workload(0, 1), Some(1000));
    assert_eq!(plan.planned_of_workload(1, 1), None);
    let drawn = plan.draw_of_workload(0, 1).counts(1000);
    assert_eq!((drawn.iter().sum::<u64>(), drawn[2]), (1000, 0));
    assert!(plan.is_mixed() && plan.problems().is_empty());
}

#[test]
fn workloads_may_have_lists_of_phases() {
    let checks = "checks: { scenario: reorder, load: [ { pause: 5s }, { count: 3, duration: 30s }, { from: 1/s, to: 9/s, duration: 10s } ] }";
    let plan = plan(&with(&[
        checks,
        "a: { scenario: order, load: { rate: 1/s, duration: 9s } }",
        BROWSING,
    ]));
    let Load::Open { phases, .. } = &workloads(&plan)[0].load else {
        panic!("{:?}", plan.load);
    };
    assert_eq!(phases.len(), 3);
    assert_eq!(phases[1].shape, Shape::Count(3));
}

/// Plans that are refused, with parts of all lines of the error.
const REFUSALS: &[(&str, &[&str])] = &[
    (
        "load: { rate: 1/s, duration: 1s }\n",
        &["plan.yml:10:1: a plan cannot have both `load` and `workloads`"],
    ),
    (
        "listen: { clients: 1 }\n",
        &["plan.yml:10:1: listeners need a plan with one load"],
    ),
    (
        "steps: [ { get: / } ]\n",
        &["plan.yml:10:1: workloads name the scenarios that they run: use `scenarios`"],
    ),
    (
        "stages: [ { name: s, load: { rate: 1/s, duration: 1s } } ]\n",
        &["plan.yml:10:1: this plan has stages"],
    ),
];

#[test]
fn keys_of_one_load_are_refused() {
    for (more, expected) in REFUSALS {
        let text = with(&[ORDERS, BROWSING]) + more;
        let faults = faults(&text);
        for part in *expected {
            assert!(faults.contains(part), "{faults}\n{text}");
        }
    }
}

/// Invalid workloads, each with the line of the error.
const FAULTS: &[(&str, &str)] = &[
    (
        "orders: { scenario: ordr, load: { rate: 1/s, duration: 1s } }",
        "plan.yml:4:23: there is no scenario `ordr` (did you mean `order`?): use one of `order`, `reorder`, `browse`",
    ),
    (
        "orders: { scenarios: { order: 1, rorder: 1 }, load: { rate: 1/s, duration: 1s } }",
        "plan.yml:4:36: there is no scenario `rorder` (did you mean `order`?)",
    ),
    (
        "orders: { scenario: browse, load: { rate: 1/s, duration: 1s } }",
        "scenario `browse` already belongs to workload",
    ),
    (
        "orders: { scenarios: [ order ], load: { rate: 1/s, duration: 1s } }",
        "plan.yml:4:24: `scenarios` of a workload must be names with weights, not a list: use, for example, { order: 3, reorder: 1 }",
    ),
    (
        "orders: { scenarios: { order: 0 }, load: { rate: 1/s, duration: 1s } }",
        "plan.yml:4:24: no scenario of this workload has a weight above 0",
    ),
    (
        "orders: { scenario: order, scenarios: { reorder: 1 }, load: { rate: 1/s, duration: 1s } }",
        "plan.yml:4:30: a workload cannot have both `scenario` and `scenarios`",
    ),
    (
        "orders: { load: { rate: 1/s, duration: 1s } }",
        "plan.yml:4:11: this workload has no scenario: add, for example, `scenario: order`",
    ),
    (
        "orders: { scenario: order }",
        "plan.yml:4:11: `load` is missing: add, for example, load: { rate: 100/m, duration: 10m }",
    ),
    (
        "orders: { scenario: order, load: { rate: 1/s } }",
        "`duration` is missing",
    ),
    (
        "orders: { scenario: order, start: 5s, load: { rate: 1/s, duration: 1s } }",
        "plan.yml:4:30: unknown key `start`",
    ),
    (
        "orders: { scenario: order, start-after: soon, load: { rate: 1/s, duration: 1s } }",
        "plan.yml:4:43: ",
    ),
    (
        "orders: { scenario: order, load: { name: peak, rate: 1/s, duration: 1s } }",
        "plan.yml:4:38: phases of a workload have no name",
    ),
    (
        "orders: { scenario: order, load: { level: 0.5x, duration: 1s } }",
        "plan.yml:4:45: `0.5x` is a share of volumes, which plans with `workloads` do not have",
    ),
    (
        "orders: { scenario: order, load: { rate: 1/s, duration: 200d } }",
        "`200d` is longer than 100 days",
    ),
    ("orders: 5", "plan.yml:4:11: `orders` must be a mapping"),
];

#[test]
fn mistakes_are_refused_with_position_and_advice() {
    for (workload, expected) in FAULTS {
        let text = with(&[workload, BROWSING]);
        let faults = match translate_text("plan.yml", &text) {
            Err(errors) => lines(&errors).join("\n"),
            Ok(plan) => plan.problems().iter().map(ToString::to_string).collect(),
        };
        assert!(faults.contains(expected), "{faults}\n{expected}\n{text}");
    }
}

#[test]
fn scenarios_without_workload_are_refused() {
    let faults = faults(&with(&[BROWSING]));
    assert!(
        faults.contains(
            "plan.yml:6:5: no workload runs scenario `order`: name it in a workload, or remove it"
        ),
        "{faults}"
    );
    let text = with(&[ORDERS, BROWSING]).replace("name: browse,", "");
    let faults = self::faults(&text);
    assert!(faults.contains("there is no scenario `browse`"), "{faults}");
}

#[test]
fn weights_and_volumes_of_scenarios_are_refused() {
    for key in ["weight: 2", "volume: 10/h"] {
        let text =
            with(&[ORDERS, BROWSING]).replace("name: order,", &format!("name: order, {key},"));
        let faults = faults(&text);
        assert!(faults.contains("plan.yml:7:20: `"), "{faults}");
        assert!(
            faults.contains("has no effect on a scenario of a workload"),
            "{faults}"
        );
    }
}

#[test]
fn empty_workloads_are_refused() {
    let text = format!("loadline: 1\ntarget: http://x\nworkloads: {{}}\n{SCENARIOS}");
    assert!(faults(&text).contains("plan.yml:3:12: `workloads` is empty"));
}

#[test]
fn workload_that_starts_after_the_end_is_refused() {
    let text = with(&[ORDERS, BROWSING]) + "max-duration: 20s\n";
    let problems = plan(&text).problems();
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(
        texts[0].contains("workload `browsing` would start when `max-duration`"),
        "{texts:?}"
    );
}

#[test]
fn schema_has_the_keys_of_workloads() {
    let schema = schema();
    assert_eq!(
        schema["properties"]["workloads"]["additionalProperties"]["$ref"],
        "#/$defs/workload"
    );
    let keys = schema["$defs"]["workload"]["properties"]
        .as_object()
        .expect("keys");
    let keys: Vec<&String> = keys.keys().collect();
    assert_eq!(keys, ["scenario", "scenarios", "start-after", "load"]);
}

/// Generates the load of a workload: its text, and whether it is open.
fn load() -> impl Strategy<Value = (String, Option<u64>)> {
    prop_oneof![
        (1..500u64, 1..100u64).prop_map(|(rate, seconds)| {
            let arrivals = Rate::per_second(rate).events_in(seconds * SECOND);
            (
                format!("{{ rate: {rate}/s, duration: {seconds}s }}"),
                Some(arrivals),
            )
        }),
        (1..500u64, 1..100u64).prop_map(|(count, seconds)| {
            (
                format!("{{ count: {count}, duration: {seconds}s }}"),
                Some(count),
            )
        }),
        (1..50u32, 1..100u64).prop_map(|(users, seconds)| {
            (format!("{{ users: {users}, duration: {seconds}s }}"), None)
        }),
    ]
}

proptest! {
    #[test]
    fn workloads_are_read_as_written(
        loads in proptest::collection::vec((load(), 1..60u64), 1..6),
    ) {
        let mut text = "loadline: 1\ntarget: http://x\nworkloads:\n".to_owned();
        let mut scenarios = "scenarios:\n".to_owned();
        for (index, ((load, _), start)) in loads.iter().enumerate() {
            text += &format!("  w{index}: {{ scenario: s{index}, start-after: {start}s, load: {load} }}\n");
            scenarios += &format!("  - {{ name: s{index}, steps: [ {{ get: /{index} }} ] }}\n");
        }
        let plan = plan(&(text + &scenarios));
        prop_assert_eq!(plan.problems(), vec![]);
        for (index, ((_, planned), start)) in loads.iter().enumerate() {
            let workload = &plan.workloads()[index];
            prop_assert_eq!(workload.starts_ns, start * SECOND);
            prop_assert_eq!(&workload.scenarios, &[index]);
            prop_assert_eq!(plan.planned_of_workload(index, 1), *planned);
            let schedule = plan.schedule_of_workload(index, 1);
            let first = schedule.at(0).map(|arrival| arrival.intended_ns);
            prop_assert_eq!(first, planned.map(|_| start * SECOND));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(at in 0..400usize, inserted in "[ -~\n]{0,6}") {
        let mut text = with(&[ORDERS, BROWSING]);
        let at = at.min(text.len());
        text.insert_str(at, &inserted);
        if let Ok(plan) = translate_text("plan.yml", &text) {
            let _ = plan.problems();
        }
    }
}
