use formats::native::translate_text;
use plan::{
    Plan, Shape, Step,
    units::{MILLISECOND, SECOND},
};
use proptest::prelude::*;

use crate::support::{header, lines, phases};

const STEPS: &str = "steps: [ { post: { url: /say, json: { s: '{{ $intended }}', f: '{{ $sender }}', n: '{{ $message }}' } } } ]\n";
const PUSH: &str = "push: { sent: $.s, from: $.data.f, sequence: '$.list[0]' }";

fn with(listen: &str) -> String {
    format!(
        "loadline: 1\ntarget: http://x\nload: {{ rate: 5/s, duration: 10s, name: say }}\nlisten: {listen}\n{STEPS}"
    )
}

fn plan(listen: &str) -> Plan {
    let text = with(listen);
    translate_text("plan.yml", &text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

#[test]
fn listeners_connect_before_the_load() {
    let plan = plan(&format!(
        "{{ clients: 3, connect-rate: 50/s, open: /live, name: live, headers: {{ authorization: hush-hush }}, send: join, expect: joined, grace: 2s, {PUSH} }}"
    ));
    let listen = plan.listen.as_ref().expect("listeners");
    assert_eq!((listen.clients, listen.grace_ns), (3, 2 * SECOND));
    assert_eq!(listen.ready_ns(), SECOND + 40 * MILLISECOND);
    assert_eq!(
        (listen.push_label(), listen.connect_label()),
        ("PUSH live".to_owned(), "CONNECT live".to_owned())
    );
    let names: Vec<_> = phases(&plan)
        .iter()
        .map(|p| (p.name.as_deref(), p.duration_ns, p.shape == Shape::Pause))
        .collect();
    assert_eq!(
        names,
        [
            (Some("connect"), SECOND + 40 * MILLISECOND, true),
            (Some("say"), 10 * SECOND, false)
        ]
    );
    let request = listen.opening.requests().next().expect("a connect");
    assert_eq!(header(request, "authorization"), Some("hush-hush".into()));
    assert!(matches!(listen.opening.steps[1], Step::WebSocket(_)));
    assert!(plan.secrets.contains(&"hush-hush".to_owned()));
    assert_eq!(plan.peak_publications(), Some(5.0));
    assert!(plan.problems().is_empty());
}

#[test]
fn mistakes_are_refused_with_advice() {
    let fault = |listen: &str| {
        let errors = translate_text("plan.yml", &with(listen)).expect_err(listen);
        lines(&errors).join("\n")
    };
    for (listen, reason) in [
        (
            format!("{{ open: /a, {PUSH} }}"),
            "`clients` is missing: add, for example, clients: 100",
        ),
        (
            format!("{{ clients: 1, {PUSH} }}"),
            "`open` is missing: add, for example, open: /live",
        ),
        (
            "{ clients: 1, open: /a }".to_owned(),
            "`push` is missing: add, for example, push:",
        ),
        (
            "{ clients: 1, open: /a, push: { sent: $.a } }".to_owned(),
            "`from` is missing",
        ),
        (
            "{ clients: 1, open: /a, push: { sent: s, from: $.f, sequence: $.n } }".to_owned(),
            "`sent: s` must consist of names and indices",
        ),
        (
            format!("{{ clients: 1, open: live, {PUSH} }}"),
            "`live` is not a URL",
        ),
        (
            format!("{{ clients: 1, open: /a, steps: [], {PUSH} }}"),
            "steps",
        ),
        (
            format!("{{ clients: 1, open: '/{{{{ room }}}}', {PUSH} }}"),
            "`room` is never set",
        ),
    ] {
        let shown = fault(&listen);
        assert!(shown.contains(reason), "{listen}: {shown}");
    }
}

proptest! {
    #[test]
    fn any_value_is_handled(key in "(clients|open|push|send|expect|grace|connect-rate|name)", value in "[a-z0-9$./{} :\\[\\]-]{0,20}") {
        let _ = translate_text("plan.yml", &with(&format!("{{ {key}: {value} }}")));
    }
}
