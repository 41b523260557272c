use std::{fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use measure::{
    Fault, Intended, Interval, interval::FirstSeen, label::LabelGroup, sample::RequestOutcome,
};
use plan::scenario::RequestBody;
use plan::{Note, Phase, Plan, Request, Scenario, Shape, Step, Template, Variable};
use proptest::prelude::*;
use record::{
    Event, EventKind, HostSample, Manifest, RunContext, RunEnd, RunLocation, RunState, Writer,
    redact::{Redactor, Salt},
};
use serde_json::json;

use crate::support::{Folder, end, intervals, labels, plan, sample, started};

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

fn forms(secret: &str) -> Vec<String> {
    let escaped = serde_json::to_string(secret).unwrap();
    let basic = STANDARD.encode(format!("ada:{secret}"));
    vec![
        secret.to_owned(),
        escaped[1..escaped.len() - 1].to_owned(),
        percent_encoded(secret),
        basic,
    ]
}

fn all_text(dir: &Path) -> String {
    fs::read_dir(dir)
        .unwrap()
        .flatten()
        .map(|entry| fs::read_to_string(entry.path()).unwrap())
        .collect()
}

fn plan_with(secret: &str, in_plan_list: bool) -> Plan {
    let mut plan = plan(&[]);
    if in_plan_list {
        plan.secrets.push(secret.to_owned());
    }
    let mut request = Request::new("GET", Template::from("/x"), "/x");
    let bearer = format!("Bearer {secret}");
    request.headers = vec![
        ("Authorization".into(), Template::from(bearer.as_str())),
        ("X-Pin".into(), Template::from(secret)),
    ];
    let body = json!({ "user": "ada", "password": secret, "pin": secret });
    request.body = RequestBody::Json(Template::Literal(body));
    request.basic_auth = Some((Template::from("ada"), Template::from(secret)));
    let steps = vec![Step::Request(Box::new(request))];
    plan.work = plan::Work::Scenarios(vec![Scenario {
        name: Some(format!("checkout with {secret}")),
        weight: 1,
        volume: None,
        on_error: Vec::new(),
        steps,
    }]);
    let values = vec![json!(secret), json!({ "nested": secret })];
    plan.variables = vec![("api_key".into(), Variable::OneOf(values))];
    let note = |text: &String| Note {
        at: None,
        text: format!("about {text}"),
    };
    plan.provenance.notes = forms(secret).iter().map(note).collect();
    if let plan::Load::Open { phases, .. } = &mut plan.load {
        let name = Some(format!("with {secret}"));
        phases.push(Phase {
            name,
            ..Phase::new(1, Shape::Pause)
        });
    }
    plan
}

fn run_with(secret: &str, in_plan_list: bool, extra: &[String]) -> String {
    let folder = Folder::new();
    let plan = plan_with(secret, in_plan_list);
    let texts = forms(secret);
    let mut labels = labels();
    for text in &texts {
        labels.id(LabelGroup::Request, "GET", &format!("/x?a={text}"));
    }
    let flag = format!("--token={secret}");
    let command = ["loadline", &flag, "--api-key", secret, secret]
        .map(str::to_owned)
        .to_vec();
    let manifest = Manifest::new(
        &plan,
        RunContext {
            command,
            ..started()
        },
    );
    let place = RunLocation::new(Some(folder.0.join("runs")), 1);
    let redactor = Redactor::new(&plan, extra, Salt::default());
    let mut writer = Writer::create(&place, &manifest, &plan, labels.all(), redactor).unwrap();
    let mut interval: Interval = intervals().remove(0);
    for (i, text) in texts.iter().enumerate() {
        let id = 5 + i as u16;
        let slot = interval.slots[&(2, 0)].clone();
        interval.slots.insert((id, 0), slot);
        let sample = sample(
            id,
            Intended::scheduled(1),
            5,
            RequestOutcome::Unanswered(Fault::BadUrl),
            None,
        );
        let detail = format!("GET /x?a={text} Authorization: Basic {text}");
        interval.firsts.push(FirstSeen {
            sample,
            detail: detail.into(),
        });
        interval
            .frontend
            .counters
            .insert(format!("errors.Invalid URL - {text}"), 1);
        let event = Event::new(1, EventKind::Note, format!("met {text}"));
        assert!(writer.event(&event).is_none());
    }
    assert!(writer.interval(&interval, &HostSample::default()).is_none());
    let dir = writer.dir().unwrap().to_owned();
    let reason = Some(format!("stopped by {secret}"));
    assert!(
        writer
            .finish(RunState::Interrupted, RunEnd { reason, ..end() })
            .1
            .is_none()
    );
    all_text(&dir)
}

#[test]
fn a_plain_secret_is_hidden_and_the_rest_stays() {
    let text = run_with("hunter2-hunter2", true, &[]);
    assert!(!text.contains("hunter2"), "{text}");
    assert!(
        text.contains("‹redacted:")
            && text.contains("about ")
            && text.contains("checkout")
            && text.contains("\"ada\"")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_file_holds_a_secret(secret in "[A-Za-z0-9/+&=?\"\\\\é{} ]{6,24}", listed: bool) {
        prop_assume!(secret.trim() == secret && !secret.contains("{{") && secret.bytes().any(|b| b.is_ascii_uppercase()));
        let text = run_with(&secret, listed, &["pin".into()]);
        for form in forms(&secret) {
            prop_assert!(!text.contains(&form), "{form} in {}", text.lines().find(|line| line.contains(&form)).unwrap_or_default());
        }
    }
}

#[test]
fn no_text_is_too_strange() {
    let redactor = Redactor::default();
    let render = |text: &str| redactor.text(text);
    for text in [
        r#"token=\"é""#,
        r#"bad {\"token\":\"é"}"#,
        r#"{"msg":"bad {\"token\":\"é"}"#,
        r#"password=\\"ü\"""#,
        "token='",
        r"secret=\",
    ] {
        assert!(!render(text).contains(['é', 'ü']), "{text}");
    }
}
