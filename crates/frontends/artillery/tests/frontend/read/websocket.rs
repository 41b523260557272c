use super::{errors, notes, plan};
use crate::support::lines;
use plan::{
    Request, Step, Template,
    units::SECOND,
    websocket::{WebSocketAction, WebSocketDeflate},
};
use serde_json::json;

fn script(config: &str, steps: &str) -> String {
    format!(
        "config: {{ target: 'ws://h:1/chat?a=1'{config} }}\nscenarios:\n  - engine: ws\n    flow: [ {steps} ]\n"
    )
}

fn connect(steps: &[Step]) -> &Request {
    let Some(Step::Request(request)) = steps.first() else {
        panic!("{steps:?}")
    };
    request
}

fn action(step: &Step) -> &WebSocketAction {
    let Step::WebSocket(step) = step else {
        panic!("{step:?}")
    };
    assert_eq!(step.label, "/chat");
    &step.action
}

#[test]
fn flow_opens_a_connection_to_the_target_and_sends() {
    let plan = plan(&script(
        "",
        "{ send: hi }, { send: { a: '{{ b }}' } }, { send: { payload: p, match: { json: $.a, value: 1 } } }, { wait: { capture: { json: $.b, as: b } } }",
    ));
    let steps = &plan.scenarios()[0].steps;
    let request = connect(steps);
    assert_eq!(request.url, Template::from("ws://h:1/chat?a=1"));
    assert_eq!(request.label, "/chat");
    let websocket = request.websocket.as_ref().unwrap();
    assert_eq!(websocket.deflate, WebSocketDeflate::Full);
    assert!(websocket.subprotocols.is_empty() && request.headers.is_empty());
    let [_, text, object, matched, waits] = steps.as_slice() else {
        panic!("{steps:?}")
    };
    let WebSocketAction::Send { payload, expect } = action(text) else {
        panic!()
    };
    assert_eq!((payload, expect.is_none()), (&Template::from("hi"), true));
    assert!(matches!(
        action(object),
        WebSocketAction::Send {
            payload: Template::Map(_),
            expect: None
        }
    ));
    let WebSocketAction::Send {
        payload,
        expect: Some(expect),
    } = action(matched)
    else {
        panic!()
    };
    assert_eq!(payload, &Template::from("p"));
    // As in Artillery, any message is the expected one, and a wrong one fails.
    assert!(expect.conditions.is_empty() && expect.captures[0].strict);
    assert_eq!(expect.captures[0].equals, Some(Template::Literal(json!(1))));
    assert_eq!((expect.count, expect.within_ns), (1, Some(10 * SECOND)));
    let WebSocketAction::Expect(expect) = action(waits) else {
        panic!()
    };
    assert_eq!(expect.captures[0].store.as_deref(), Some("b"));
}

#[test]
fn settings_and_first_step_choose_the_connection() {
    let settings = ", timeout: 3, ws: { subprotocols: [ json ], headers: { X-A: '1', Sec-WebSocket-Protocol: 'soap, xmpp' }, perMessageDeflate: false, timeout: 7, rejectUnauthorized: false }";
    let names = |request: &Request| {
        let websocket = request.websocket.as_ref().unwrap();
        let text = |name: &Template| name.as_literal().unwrap().as_str().unwrap().to_owned();
        websocket.subprotocols.iter().map(text).collect::<Vec<_>>()
    };
    let by_config = plan(&script(
        settings,
        "{ wait: { capture: { json: $.a, as: a } } }",
    ));
    let steps = &by_config.scenarios()[0].steps;
    let request = connect(steps);
    assert_eq!(names(request), ["json", "soap", "xmpp"]);
    assert_eq!(request.headers, [("x-a".to_owned(), Template::from("1"))]);
    assert_eq!(
        request.websocket.as_ref().unwrap().deflate,
        WebSocketDeflate::Off
    );
    assert!(!by_config.http.verify_tls);
    let WebSocketAction::Expect(expect) = action(&steps[1]) else {
        panic!()
    };
    assert_eq!(expect.within_ns, Some(3 * SECOND));

    let own = "{ connect: { target: 'wss://h/chat', headers: { X-B: '2' }, subprotocols: [ wamp ] } }, { send: x }";
    let by_step = plan(&script(settings, own));
    let request = connect(&by_step.scenarios()[0].steps);
    assert_eq!(request.url, Template::from("wss://h/chat"));
    assert_eq!(names(request), ["wamp"]);
    assert_eq!(request.headers, [("x-b".to_owned(), Template::from("2"))]);

    let templated = plan(&script(
        "",
        "{ connect: 'ws://h/{{ $uuid }}' }, { send: x }",
    ));
    let request = connect(&templated.scenarios()[0].steps);
    assert!(request.url.as_literal().is_none());
}

#[test]
fn what_has_no_effect_is_noted() {
    let text = script("", "{ send: x }, { connect: ws://other }");
    assert_eq!(
        notes(&plan(&text)),
        ["4:28: `connect` has no effect here: only the first step opens the connection"]
    );
    let hooked = text.replace("engine: ws", "engine: ws\n    beforeScenario: f");
    assert_eq!(
        notes(&plan(&hooked))[0],
        "4:5: `beforeScenario` has no effect: Artillery's engine ws calls no hooks (use a `function` step)"
    );
    let unused = "config: { target: 'http://x', ws: { timeout: 5 } }\nscenarios: [ { flow: [ { get: { url: / } } ] } ]";
    assert_eq!(
        notes(&plan(unused)),
        ["1:31: `ws` has no effect: no scenario uses the engine ws"]
    );
}

#[test]
fn every_refusal_has_its_place_and_a_way_out() {
    for (config, steps, expected) in [
        (
            "",
            "{ get: { url: / } }",
            "4:15: `get` is not a step of the engine ws: use connect, send, wait, loop, think, log, function",
        ),
        (
            "",
            "{ loop: [ { sned: x } ], count: 2 }",
            "4:25: `sned` is not a step of the engine ws: use connect, send, wait, loop, think, log, function (did you mean `send`?)",
        ),
        (
            "",
            "{ connect: { function: f } }",
            "4:26: `function` is not supported: write the address with variables instead, like `connect: 'ws://HOST/{{ room }}'`",
        ),
        (
            "",
            "{ connect: /room }",
            "4:24: `/room` is not the URL of a WebSocket",
        ),
        (
            "",
            "",
            "4:11: a scenario of the engine ws needs at least one step",
        ),
        (
            ", ws: { proxy: { url: 'http://p' } }",
            "{ send: x }",
            "1:46: `proxy` is not supported: proxies of WebSocket connections are not supported yet",
        ),
        (
            ", ws: { timeout: soon }",
            "{ send: x }",
            "1:55: `timeout: soon` is not a time: use a number of seconds",
        ),
    ] {
        let found = lines(&errors(&script(config, steps)));
        assert!(
            found[0].contains(expected) && found[0].starts_with("test.yml:"),
            "{found:?}\n{expected}"
        );
        assert_eq!(found.len(), 1, "{found:#?}");
    }
    let of_http = super::flow("- send: x");
    let found = lines(&errors(&of_http));
    assert!(
        found[0].contains(
            "4:9: `send` is not supported: only scenarios with `engine: ws` have this step"
        ),
        "{found:?}"
    );
}
