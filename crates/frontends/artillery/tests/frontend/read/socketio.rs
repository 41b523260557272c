use plan::{
    Plan, Step,
    socketio::{ArgumentMatch, EmitAwaits, SocketIoAction, SocketIoStep},
};

use super::{errors, notes, plan};

const CONFIG: &str = "config: { target: 'http://x:1', timeout: 3 }\n";

fn steps(scenario: &str) -> Vec<Step> {
    let plan: Plan = plan(&format!(
        "{CONFIG}scenarios: [ {{ engine: socketio, {scenario} }} ]"
    ));
    plan.scenarios()[0].steps.clone()
}

fn session_step(step: &Step) -> &SocketIoStep {
    let Step::SocketIo(step) = step else {
        panic!("{step:?}");
    };
    step
}

fn labels(steps: &[Step]) -> Vec<String> {
    let label = |step: &Step| match step {
        Step::Request(request) => format!("{} {}", request.verb(), request.label),
        step => {
            let step = session_step(step);
            format!("{} {}", step.verb().unwrap_or_default(), step.label)
        }
    };
    steps.iter().map(label).collect()
}

#[test]
fn session_opens_before_the_first_step() {
    let steps = steps("flow: [ { emit: { channel: a, data: 1 } }, { get: { url: /page } } ]");
    assert_eq!(
        labels(&steps),
        ["CONNECT /", "UPGRADE /", "EMIT a", "GET /page"]
    );
    let Step::Request(request) = &steps[0] else {
        panic!("{steps:?}");
    };
    assert_eq!(request.url_text.expose(), "http://x:1/socket.io/");
}

#[test]
fn transports_decide_whether_the_session_moves() {
    for (transports, is_websocket, moves) in [
        ("[polling]", false, false),
        ("[websocket]", true, false),
        ("[websocket, polling]", true, false),
        ("[polling, websocket]", false, true),
    ] {
        let steps = steps(&format!(
            "socketio: {{ transports: {transports} }}, flow: [ {{ emit: [ a ] }} ]"
        ));
        let Step::Request(request) = &steps[0] else {
            panic!("{steps:?}");
        };
        let connect = request.socketio.as_ref().unwrap();
        assert_eq!(connect.is_websocket, is_websocket, "{transports}");
        assert_eq!(steps.len() == 3, moves, "{transports}");
    }
}

#[test]
fn options_of_the_scenario_replace_those_of_the_script() {
    let text = "config: { target: 'http://x/chat', socketio: { path: /a, query: 'r=1&s=2', extraHeaders: { x-a: b } } }\n\
        scenarios: [ { engine: socketio, socketio: { path: /b/ }, flow: [ { emit: [ a ] } ] } ]";
    let plan = plan(text);
    let Step::Request(request) = &plan.scenarios()[0].steps[0] else {
        panic!("no request");
    };
    assert_eq!(request.url_text.expose(), "http://x/b/");
    assert_eq!(request.label, "/chat");
    assert_eq!(request.query.as_ref().unwrap().len(), 2);
    assert_eq!(request.headers[0].0, "x-a");
}

#[test]
fn other_namespace_is_joined_first() {
    let steps = steps("flow: [ { emit: [ a ], namespace: /admin } ]");
    assert_eq!(
        labels(&steps),
        ["CONNECT /", "UPGRADE /", "CONNECT /admin", "EMIT a"]
    );
}

#[test]
fn response_collects_arguments_within_the_time_limit() {
    let steps = steps(
        "flow: [ { emit: [ a ], response: { on: b, args: [ 1 ], concat: true, match: { json: $.0, value: 1 }, capture: { json: $.1, as: x } } } ]",
    );
    let SocketIoAction::Emit(emit) = &session_step(&steps[2]).action else {
        panic!("{steps:?}");
    };
    let EmitAwaits::Event(event) = &emit.awaits else {
        panic!("{emit:?}");
    };
    assert!(matches!(
        event.fits,
        ArgumentMatch::Collected {
            expected: Some(_),
            is_joined: true
        }
    ));
    assert_eq!(event.content.within_ns, Some(3_000_000_000));
    let strict: Vec<bool> = event.content.captures.iter().map(|it| it.strict).collect();
    assert_eq!(strict, [false, true]);
}

#[test]
fn what_cannot_work_is_named_with_its_position() {
    for (flow, text) in [
        (
            "{ emit: { data: 1 } }",
            "`emit` needs the name of an event: `emit: { channel: NAME, data: … }`",
        ),
        ("{ emit: [ ] }", "`emit` needs the name of an event"),
        (
            "{ emit: [ a ], response: { data: 1 } }",
            "`response` needs the name of an event: `response: { on: NAME, data: … }`",
        ),
        (
            "{ parallel: [ { get: { url: / } } ] }",
            "`parallel` is not supported with `engine: socketio`",
        ),
        (
            "{ send: a }",
            "`send` is not supported: only scenarios with `engine: ws`",
        ),
    ] {
        let script = format!("{CONFIG}scenarios: [ {{ engine: socketio, flow: [ {flow} ] }} ]");
        let errors = errors(&script).to_string();
        assert!(errors.contains(text), "{errors}");
    }
}

#[test]
fn what_has_no_effect_is_noted() {
    let script = format!(
        "{CONFIG}scenarios: [ {{ engine: socketio, beforeScenario: f, flow: [ {{ emit: [ a ], response: {{ on: b }}, acknowledge: {{ data: 1 }} }} ] }} ]"
    );
    let notes = notes(&plan(&script)).join("\n");
    assert!(notes.contains("`beforeScenario` has no effect"), "{notes}");
    assert!(
        notes.contains("`acknowledge` has no effect together with `response`"),
        "{notes}"
    );
}
