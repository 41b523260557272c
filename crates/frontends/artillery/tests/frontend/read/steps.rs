use plan::{
    Step, Template,
    scenario::{Jitter, Loop, LoopCount, LoopRange, Over, ThinkTime},
    units::{MILLISECOND, SECOND},
};

use super::{errors, flow, notes, plan};
use crate::support::lines;

fn step(text: &str) -> (Step, Vec<String>) {
    let plan = plan(&flow(text));
    (plan.scenarios()[0].steps[0].clone(), notes(&plan))
}

fn repeat(text: &str) -> (Loop, Vec<String>) {
    match step(text) {
        (Step::Loop(inner), notes) => (inner, notes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn loops() {
    let count = |count: &str| match repeat(&format!(
        "- loop: [ {{ get: {{ url: / }} }} ]\n  count: {count}"
    ))
    .0
    .count
    {
        LoopCount::Fixed(LoopRange { start, end }) => (start, end),
        LoopCount::Templated(_) => panic!(),
    };
    assert_eq!(count("10"), (0, Some(10)));
    assert_eq!(count("'10'"), (0, Some(10)));
    assert_eq!(count("2.5"), (0, Some(3)));
    assert_eq!(count("3-7"), (3, Some(7)));
    assert_eq!(count("0"), (0, None));
    assert_eq!(count("-1"), (0, None));
    assert_eq!(count("'0'"), (0, Some(0)));
    let (inner, notes) = repeat(
        "- loop: [ { get: { url: '/{{ i }}/{{ item.id }}' } } ]\n  over: items\n  loopValue: i\n  loopElement: item",
    );
    assert!(matches!(&inner.over, Some(Over::Variable(name)) if name == "items"));
    assert_eq!(
        (inner.index_as.as_str(), inner.element_as.as_str()),
        ("i", "item")
    );
    assert_eq!(
        notes,
        ["5:15: `items` is never set, so it is undefined (did you mean `item`?)"]
    );
    let (inner, notes) =
        repeat("- loop: [ { get: { url: / } } ]\n  over: [ a, 2, '{{ $loopCount }}' ]");
    assert!(matches!(&inner.over, Some(Over::List(items)) if items.len() == 3));
    assert!(notes.is_empty(), "{notes:?}");
    let (inner, _) = repeat("- loop: [ { get: { url: / } } ]\n  count: '{{ $loopCount }}'");
    assert!(matches!(
        inner.count,
        LoopCount::Templated(Template::Variable(_))
    ));
    assert_eq!(
        repeat("- loop: [ { get: { url: / } } ]").1,
        ["4:9: this loop never ends: its virtual users run until the test is stopped"]
    );
}

#[test]
fn thinks() {
    let think = |text: &str| match step(&format!("- think: {text}")).0 {
        Step::Think(think) => think,
        other => panic!("{other:?}"),
    };
    let fixed = |text: &str| match think(text).time {
        ThinkTime::Fixed(ns) => ns,
        other => panic!("{other:?}"),
    };
    assert_eq!(fixed("3"), 3 * SECOND);
    assert_eq!(fixed("'3'"), 3 * SECOND);
    assert_eq!(fixed("500ms"), 500 * MILLISECOND);
    assert_eq!(fixed("1.5s"), 1500 * MILLISECOND);
    assert_eq!(fixed("2 minutes"), 120 * SECOND);
    assert_eq!(fixed("0.5"), 500 * MILLISECOND);
    assert_eq!(fixed("'1.5'"), 1500 * MILLISECOND);
    assert_eq!(fixed("0"), 0);
    assert_eq!(fixed("-5"), 0);
    assert!(matches!(
        think("'{{ $uuid }}'").time,
        ThinkTime::Templated(_)
    ));
    assert_eq!(think("1\n  jitter: 20%").jitter, Some(Jitter::Share(0.2)));
    assert_eq!(
        think("1\n  jitter: 300").jitter,
        Some(Jitter::Absolute(300 * MILLISECOND))
    );
    let plan = plan(&flow("- think: 0.5\n- think: 0.25"));
    assert_eq!(
        notes(&plan),
        [
            "4:16: `think: 0.5` is 0.5 seconds here; newer versions of Artillery wait 0.5 milliseconds"
        ]
    );
    assert!(
        lines(&errors(&flow("- think: soon")))[0]
            .starts_with("test.yml:4:16: Invalid think time: soon")
    );
    assert!(
        lines(&errors(&flow("- think: 1\n  jitter: 1s")))[0]
            .contains(":5:17: `jitter: 1s` is not valid")
    );
}

#[test]
fn shared_steps_are_flattened() {
    let text = "x-login: &login\n  - get: { url: /a }\n  - get: { url: /b }\nconfig: { target: 'http://x' }\nscenarios:\n  - flow:\n      - *login\n      - get: { url: /c }\n";
    assert_eq!(plan(text).scenarios()[0].steps.len(), 3);
}

#[test]
fn weights() {
    let weight = |weight: &str, variables: &str| {
        let text = format!(
            "config: {{ target: 'http://x', variables: {{ {variables} }} }}\nscenarios:\n  - flow: [ {{ get: {{ url: / }} }} ]\n  - {{ weight: {weight}, flow: [ {{ get: {{ url: / }} }} ] }}\n"
        );
        plan(&text).scenarios()[1].weight
    };
    assert_eq!(weight("3", ""), 3);
    assert_eq!(weight("'4'", ""), 4);
    assert_eq!(weight("2.9", ""), 2);
    assert_eq!(weight("x", ""), 0);
    assert_eq!(weight("-2", ""), 0);
    assert_eq!(weight("'{{ w }}'", "w: 6"), 6);
    let text = "config: { target: 'http://x', variables: { w: [1, 2] } }\nscenarios: [ { weight: '{{ w }}', flow: [ { get: { url: / } } ] } ]";
    assert!(lines(&errors(text))[0].contains(":2:24: the weight depends on `w`"));
    let text = "config: { target: 'http://x' }\nscenarios: [ { weight: 0, flow: [ { get: { url: / } } ] } ]";
    assert!(lines(&errors(text))[0].contains("every scenario has weight 0"));
}

#[test]
fn unset_variables_are_reported() {
    let plan = plan(&flow(
        "- get: { url: '/{{ tokne }}', capture: { json: $.t, as: token } }\n- log: '{{ token }} {{ n + 1 }} {{ $uuid }} {{ user.id }}'",
    ));
    assert_eq!(
        notes(&plan),
        [
            "5:27: `{{ n + 1 }}` is neither a variable nor a function: it is sent unchanged, because templates do not support operators",
            "4:26: `tokne` is never set, so it is undefined (did you mean `token`?)",
            "5:54: `user` is never set, so it is undefined",
        ]
    );
}

#[test]
fn functions_and_variables_that_do_not_exist_are_refused() {
    let refused = |step: &str| lines(&errors(&flow(step)));
    assert_eq!(
        refused("- get: { url: '/a/{{ $randomInt(1,5) }}' }"),
        [
            "test.yml:4:25: unknown function $randomInt (write $randomNumber(min, max)): available functions are $randomNumber(min, max) and $randomString(length)"
        ]
    );
    assert_eq!(
        refused("- post: { url: /, json: { id: '{{ $randomUUID }}' } }"),
        [
            "test.yml:4:41: there is no variable `$randomUUID`: write functions with parentheses: $randomNumber(min, max) and $randomString(length)"
        ]
    );
}
