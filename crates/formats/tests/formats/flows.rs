//! Which steps native plans carry out: conditions and choices.

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
fn conditions_stand_beside_a_step_or_several() {
    let read = steps(
        "[ { if: kind == \"new\" and n > 0, get: / }, { if: 'n', steps: [ { get: /a }, { think: 1s } ] }, { get: { url: /b, times: 3 }, if: not n } ]",
    );
    let blocks: Vec<(&str, usize)> = read
        .iter()
        .map(|step| match step {
            Step::Block(block) => {
                let BlockKind::If(condition) = &block.by;
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

#[test]
fn what_is_no_flow_is_refused_where_it_stands() {
    for (text, expected) in [
        (
            "[ { if: 'n >', get: / } ]",
            "6:15: `if`: a value is missing here",
        ),
        (
            "[ { if: m > 1, get: / } ]",
            "6:11: nothing ever sets `m`: add it to `variables`, or capture it first (did you mean `n`?)",
        ),
        (
            "[ { if: n == true, get: / } ]",
            "6:16: `true` is a variable's name in conditions: write the other side alone, or `not` before it",
        ),
        (
            "[ { if: n } ]",
            "6:5: `if` stands beside what it decides: { if: 'n > 1', get: / }, or `steps`",
        ),
        ("[ { if: [1], get: / } ]", "6:11: `if` is text, not a list"),
        (
            "[ { if: n, get: /, post: / } ]",
            "6:22: a step has one key, and this one has `get` and `post`: make two steps of it",
        ),
        ("[ { if: n, steps: [] } ]", "6:21: `steps` is empty"),
        (
            "[ { steps: [ { get: / } ] } ]",
            "6:7: `steps` as a step stand beside what they belong together by: `if`",
        ),
        (
            "[ { choose: [] } ]",
            "6:15: `choose` is empty: write for example choose: [{ weight: 3, steps: [...] }, { weight: 1, steps: [...] }]",
        ),
        (
            "[ { choose: { a: 1 } } ]",
            "6:15: `choose` is a list, not a mapping",
        ),
        (
            "[ { choose: [ { weight: 0, steps: [ { get: / } ] } ] } ]",
            "6:27: `weight: 0` must be a whole number, 1 or more",
        ),
        (
            "[ { choose: [ { weight: 1 } ] } ]",
            "6:17: this branch has no `steps`: write { weight: 3, steps: [...] }",
        ),
        (
            "[ { choose: [ { weigth: 1, steps: [ { get: / } ] } ] } ]",
            "6:19: unknown key `weigth`: did you mean `weight`?",
        ),
        (
            "[ { chose: [] } ]",
            "6:7: `chose` is no step: did you mean `choose`?",
        ),
    ] {
        assert_eq!(refused(text), [format!("plan.yml:{expected}")]);
    }
}

proptest! {
    /// Whatever stands in it: a plan, or lines that say where and why not.
    #[test]
    fn any_condition_and_any_weight_are_read_or_refused(condition in "[ -~]{0,24}", weight in "[ -~]{0,8}") {
        let quoted = condition.replace('\'', "''");
        let text = flow(&format!("[ {{ if: '{quoted}', get: / }}, {{ choose: [ {{ weight: {weight:?}, steps: [ {{ get: / }} ] }} ] }} ]"));
        if let Err(errors) = translate_text("plan.yml", &text) {
            prop_assert!(lines(&errors).iter().all(|line| line.starts_with("plan.yml:")));
        }
    }
}
