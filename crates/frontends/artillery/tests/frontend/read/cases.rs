use super::{plan, rate};
use crate::support::phases;
use plan::{
    ArrivalProcess, PoolPolicy, Shape, Step, Template, Variable,
    scenario::{CaptureSource, LoopCount, LoopRange, RequestBody, ThinkTime},
    units::SECOND,
};
use serde_json::json;

#[test]
fn healthcheck() {
    let plan = plan(include_str!("../../golden/medplum-healthcheck.yml"));
    assert_eq!(plan.target, "https://api.staging.medplum.com");
    let [warm, ramp] = phases(&plan) else {
        panic!()
    };
    assert_eq!(
        (warm.name.as_deref(), warm.duration_ns, warm.shape),
        (Some("Warm up"), 10 * SECOND, Shape::Rate(rate(10.0)))
    );
    assert_eq!(
        (ramp.duration_text.as_str(), ramp.shape),
        (
            "300s",
            Shape::Staircase {
                from: rate(10.0),
                to: rate(100.0)
            }
        )
    );
    let [Step::Loop(inner)] = plan.scenarios()[0].steps.as_slice() else {
        panic!()
    };
    assert!(matches!(
        inner.count,
        LoopCount::Fixed(LoopRange {
            start: 0,
            end: Some(10)
        })
    ));
    let [Step::Request(request)] = inner.steps.as_slice() else {
        panic!()
    };
    assert_eq!(
        (request.method.as_str(), request.label.as_str()),
        ("GET", "/healthcheck")
    );
    assert_eq!(plan.provenance.notes, []);
    assert!(!plan.rules.status_fails && !plan.rules.failure_ends_iteration);
}

#[test]
fn fhir_and_stress() {
    let stress = plan(include_str!("../../golden/medplum-stress.yml"));
    assert_eq!(phases(&stress)[1].duration_ns, 300 * SECOND);
    let plan = plan(include_str!("../../golden/medplum-fhir.yml"));
    assert_eq!(
        plan.variables,
        [(
            "auth".to_owned(),
            Variable::Constant(json!("Bearer MY_ACCESS_TOKEN"))
        )]
    );
    assert_eq!(plan.secrets, ["Bearer MY_ACCESS_TOKEN", "MY_ACCESS_TOKEN"]);
    let [Step::Loop(inner)] = plan.scenarios()[0].steps.as_slice() else {
        panic!()
    };
    let [
        Step::Request(post),
        Step::Request(get),
        Step::Request(search),
    ] = inner.steps.as_slice()
    else {
        panic!()
    };
    let header = |name: &str| {
        post.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    };
    assert_eq!(
        header("authorization"),
        Template::parse_text("{{ auth }}").ok().as_ref()
    );
    assert_eq!(
        header("content-type").and_then(Template::as_literal),
        Some(&json!("application/json"))
    );
    assert!(matches!(&post.body, RequestBody::Json(Template::Map(entries)) if entries.len() == 2));
    let stored: Vec<_> = post
        .captures
        .iter()
        .map(|capture| (capture.store.as_deref(), capture.strict))
        .collect();
    assert_eq!(
        stored,
        [(Some("patientId"), true), (Some("familyName"), true)]
    );
    assert!(
        matches!(&post.captures[0].from, CaptureSource::Json { path: Template::Literal(path), pick: true } if path == "$.id")
    );
    assert_eq!(get.label, "/fhir/R4/Patient/{{ patientId }}");
    assert_eq!(search.label, "/fhir/R4/Patient?name={{ familyName }}");
    assert_eq!(plan.provenance.notes, []);
}

#[test]
fn transcripts() {
    let capped = plan(include_str!("../../golden/max-vusers-think.yml"));
    let [first, pause, count] = phases(&capped) else {
        panic!()
    };
    assert_eq!(
        (first.max_users, first.shape),
        (Some(3), Shape::Rate(rate(10.0)))
    );
    assert_eq!(
        (pause.shape, pause.duration_text.as_str()),
        (Shape::Pause, "2s")
    );
    assert_eq!(
        (count.shape, count.arrivals),
        (Shape::Count(5), ArrivalProcess::Even)
    );
    assert_eq!(
        capped
            .scenarios()
            .iter()
            .map(|s| s.weight)
            .collect::<Vec<_>>(),
        [3, 1]
    );
    let [_, Step::Think(think), Step::Log(log)] = capped.scenarios()[0].steps.as_slice() else {
        panic!()
    };
    assert!(matches!(think.time, ThinkTime::Fixed(SECOND)));
    assert_eq!(
        log.variables()
            .map(query::path::Path::text)
            .collect::<Vec<_>>(),
        ["$uuid"]
    );

    let looped = plan(include_str!("../../golden/loop-capture.yml"));
    let [Step::Loop(inner)] = looped.scenarios()[0].steps.as_slice() else {
        panic!()
    };
    let [.., Step::Request(search)] = inner.steps.as_slice() else {
        panic!()
    };
    assert_eq!(
        (search.label.as_str(), search.name.as_deref()),
        ("search", Some("search"))
    );

    assert_eq!(
        plan(include_str!("../../golden/refused.yml")).http.pool,
        PoolPolicy::PerUser
    );
    plan(include_str!("../../golden/failed-capture.yml"));
}
