use formats::native::translate_text;
use plan::{
    Step,
    scenario::{BlockKind, Branch},
};
use proptest::prelude::*;

use crate::support::lines;

fn flow(steps: &str) -> String {
    format!(
        "loadline: 1\ntarget: http://x\nload: {{ rate: 1/s, duration: 1s }}\nvariables: {{ kind: new, n: 1 }}\nsteps:\n  {steps}\n"
    )
}

fn steps(text: &str) -> Vec<Step> {
    let plan = translate_text("plan.yml", &flow(text)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    plan.scenarios()[0].steps.clone()
}

fn refused(text: &str) -> Vec<String> {
    match translate_text("plan.yml", &flow(text)) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => lines(&errors),
    }
}

#[test]
fn conditions_apply_to_a_step_or_block() {
    let read = steps(
        "[ { if: kind == \"new\" and n > 0, get: / }, { if: 'n', steps: [ { get: /a }, { think: 1s } ] }, { get: { url: /b, times: 3 }, if: not n } ]",
    );
    let blocks: Vec<(&str, usize)> = read
        .iter()
        .map(|step| match step {
            Step::Block(block) => {
                let BlockKind::If(condition) = &block.by else {
                    panic!("{block:?}");
                };
                (condition.text(), block.steps.len())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        blocks,
        [("kind == \"new\" and n > 0", 1), ("n", 2), ("not n", 1)]
    );
}

#[test]
fn choices_have_branches_with_weights() {
    let read = steps(
        "[ { choose: [ { weight: 3, steps: [ { get: / } ] }, { steps: [ { get: /a }, { log: x } ] } ] } ]",
    );
    let Step::Choose(branches) = &read[0] else {
        panic!("{read:?}");
    };
    let found: Vec<(u32, usize)> = branches
        .iter()
        .map(|Branch { weight, steps }| (*weight, steps.len()))
        .collect();
    assert_eq!(found, [(3, 1), (1, 2)]);
}

fn shape(steps: &[Step]) -> Vec<String> {
    let mut all = Vec::new();
    for step in steps {
        match step {
            Step::Block(block) => {
                let inner = shape(&block.steps).join(", ");
                all.push(match &block.by {
                    BlockKind::If(condition) => format!("if {}: [{inner}]", condition.text()),
                    BlockKind::Group(name) => format!("{name}: [{inner}]"),
                });
            }
            Step::Loop(inner) => all.push(format!("loop: [{}]", shape(&inner.steps).join(", "))),
            Step::Request(request) => all.push(request.label.clone()),
            _ => all.push("step".to_owned()),
        }
    }
    all
}

#[test]
fn groups_are_named_blocks() {
    let read = steps(
        "[ { group: Log in, steps: [ { get: /a }, { think: 1s }, { group: Token, steps: [ { get: /b } ] } ] }, { steps: [ { get: /c } ], group: Pay, if: 'n > 0' }, { loop: { count: 2, steps: [ { group: Log in, steps: [ { get: /d } ] } ] } } ]",
    );
    assert_eq!(
        shape(&read),
        [
            "Log in: [/a, step, Token: [/b]]",
            "if n > 0: [Pay: [/c]]",
            "loop: [Log in: [/d]]",
        ]
    );
}

#[test]
fn captures_of_a_group_are_set_after_it() {
    let read = steps(
        "[ { group: Log in, steps: [ { get: { url: /a, capture: { id: $.id } } } ] }, { get: '/b/{{ id }}' } ]",
    );
    assert_eq!(shape(&read), ["Log in: [/a]", "/b/{{ id }}"]);
}

#[test]
fn invalid_groups_are_rejected_with_position() {
    for (text, expected) in [
        (
            "[ { group: Pay } ]",
            "6:7: a group needs `steps` in addition to its name: use { group: NAME, steps: [{ get: / }] }",
        ),
        (
            "[ { group: Pay, get: / } ]",
            "6:19: `get` is not allowed with `group`: move it into the group's `steps`",
        ),
        (
            "[ { group: Pay, step: [ { get: / } ] } ]",
            "6:19: `step` is not allowed with `group`: move it into the group's `steps`",
        ),
        ("[ { group: Pay, steps: [] } ]", "6:26: `steps` is empty"),
        (
            "[ { group: '', steps: [ { get: / } ] } ]",
            "6:14: `group` is empty",
        ),
        (
            "[ { group: ' ', steps: [ { get: / } ] } ]",
            "6:14: `group` is empty",
        ),
        (
            "[ { group: 7, steps: [ { get: / } ] } ]",
            "6:14: `group` must be text, not a number: quote it",
        ),
        (
            "[ { group: 'Pay {{ n }}', steps: [ { get: / } ] } ]",
            "6:14: a group name cannot be a template such as `Pay {{ n }}`: use a fixed name",
        ),
        (
            "[ { group: Pay, steps: [ { loop: { count: 2, steps: [ { group: Pay, steps: [ { get: / } ] } ] } } ] } ]",
            "6:66: group `Pay` is nested in another group `Pay`, so its time would count twice: use another name",
        ),
        (
            "[ { grup: Pay, steps: [ { get: / } ] } ]",
            "6:18: a step can have only one key, but this one has `grup` and `steps`: write two steps",
        ),
        (
            "[ { grup: Pay } ]",
            "6:7: `grup` is not a step: did you mean `group`?",
        ),
    ] {
        assert_eq!(refused(text), [format!("plan.yml:{expected}")], "{text}");
    }
}

#[test]
fn setup_and_teardown_have_no_groups() {
    let text = "loadline: 1\ntarget: http://x\nload: { rate: 1/s, duration: 1s }\nsetup:\n  - { group: Log in, steps: [ { get: { url: /a, capture: { id: $.id } } } ] }\nsteps: [ { get: '/{{ id }}' } ]\n";
    let errors = translate_text("plan.yml", text).expect_err("a group in setup");
    assert_eq!(
        lines(&errors),
        ["plan.yml:5:14: `setup` and `teardown` are not measured: remove `group` here"]
    );
}

#[test]
fn invalid_steps_are_rejected_with_position() {
    for (text, expected) in [
        (
            "[ { if: 'n >', get: / } ]",
            "6:15: `if`: a value is missing here",
        ),
        (
            "[ { if: m > 1, get: / } ]",
            "6:11: `m` is never set: add it to `variables`, or capture it first (did you mean `n`?)",
        ),
        (
            "[ { if: n == true, get: / } ]",
            "6:16: `true` is a variable name in conditions: write only the other operand, or put `not` before it",
        ),
        (
            "[ { if: n } ]",
            "6:5: `if` needs a step: use { if: 'n > 1', get: / }, or add `steps`",
        ),
        (
            "[ { if: [1], get: / } ]",
            "6:11: `if` must be text, not a list",
        ),
        (
            "[ { if: n, get: /, post: / } ]",
            "6:22: a step can have only one key, but this one has `get` and `post`: write two steps",
        ),
        (
            "[ { get: /, check: { status: 200 } } ]",
            "6:15: `check` belongs to the request: write `get: { url: …, check: … }`",
        ),
        (
            "[ { name: a, post: / } ]",
            "6:7: `name` belongs to the request: write `post: { url: …, name: … }`",
        ),
        ("[ { if: n, steps: [] } ]", "6:21: `steps` is empty"),
        (
            "[ { steps: [ { get: / } ] } ]",
            "6:7: `steps` in a step needs `if` or `group`",
        ),
        (
            "[ { choose: [] } ]",
            "6:15: `choose` is empty: use, for example, choose: [{ weight: 3, steps: [...] }, { weight: 1, steps: [...] }]",
        ),
        (
            "[ { choose: { a: 1 } } ]",
            "6:15: `choose` must be a list, not a mapping",
        ),
        (
            "[ { choose: [ { weight: 0, steps: [ { get: / } ] } ] } ]",
            "6:27: `weight: 0` must be a whole number, 1 or more",
        ),
        (
            "[ { choose: [ { weight: 1 } ] } ]",
            "6:17: this branch has no `steps`: use { weight: 3, steps: [...] }",
        ),
        (
            "[ { choose: [ { weigth: 1, steps: [ { get: / } ] } ] } ]",
            "6:19: unknown key `weigth`: did you mean `weight`?",
        ),
        (
            "[ { chose: [] } ]",
            "6:7: `chose` is not a step: did you mean `choose`?",
        ),
    ] {
        assert_eq!(refused(text), [format!("plan.yml:{expected}")]);
    }
}

proptest! {
    #[test]
    fn any_condition_and_weight_are_handled(condition in "[ -~]{0,24}", weight in "[ -~]{0,8}") {
        let quoted = condition.replace('\'', "''");
        let text = flow(&format!("[ {{ if: '{quoted}', get: / }}, {{ choose: [ {{ weight: {weight:?}, steps: [ {{ get: / }} ] }} ] }} ]"));
        if let Err(errors) = translate_text("plan.yml", &text) {
            prop_assert!(lines(&errors).iter().all(|line| line.starts_with("plan.yml:")));
        }
    }
}
