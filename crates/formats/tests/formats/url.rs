use formats::{BodyOption, UrlOptions, url_plan};
use plan::{
    ArrivalProcess, FirstArrival, Load, PoolPolicy, Rate, Shape, Template, scenario::RequestBody,
    units::SECOND,
};

use crate::support::{phases, requests};

#[test]
fn defaults_are_applied() {
    let plan = url_plan(
        "http://user:p%40ss@h:81/a/{{x}}?b=1#frag",
        &UrlOptions::default(),
    )
    .unwrap();
    assert_eq!(plan.target, "http://h:81");
    let request = requests(&plan)[0];
    assert_eq!(
        (request.method.as_str(), request.label.as_str()),
        ("GET", "/a/%7B%7Bx%7D%7D?b=1")
    );
    assert!(request.url.as_literal().is_some());
    assert_eq!(
        request.basic_auth,
        Some((Template::from("user"), Template::from("p@ss")))
    );
    assert_eq!(plan.secrets, ["p@ss"]);
    assert!(!plan.name.contains("p%40ss"));
    assert_eq!(plan.http.pool, PoolPolicy::Shared(100));
    assert!(matches!(
        plan.load,
        Load::Open {
            first: FirstArrival::AtStart,
            ..
        }
    ));
    let phase = &phases(&plan)[0];
    assert_eq!(
        (phase.duration_ns, phase.shape, phase.arrivals),
        (
            10 * SECOND,
            Shape::Rate(Rate::per_second(10)),
            ArrivalProcess::Even
        )
    );
}

#[test]
fn options_are_applied() {
    let options = UrlOptions {
        rate: Some(Rate::per_second(200)),
        connections: Some(5),
        duration_ns: Some(SECOND),
        arrivals: Some(ArrivalProcess::Poisson),
        insecure: true,
        ..UrlOptions::default()
    };
    let plan = url_plan("https://h", &options).unwrap();
    assert_eq!(
        (plan.http.pool, plan.http.verify_tls),
        (PoolPolicy::Shared(5), false)
    );
    assert_eq!(phases(&plan)[0].arrivals, ArrivalProcess::Poisson);
    let closed = url_plan(
        "https://h",
        &UrlOptions {
            connections: Some(5),
            ..UrlOptions::default()
        },
    )
    .unwrap();
    assert_eq!(closed.load, Load::users(5, 10 * SECOND));
    for text in ["h", "ftp://h", "http://", "localhost:80"] {
        assert!(
            url_plan(text, &UrlOptions::default())
                .unwrap_err()
                .to_string()
                .contains("is not a URL"),
            "{text}"
        );
    }
}

#[test]
fn invalid_urls_are_rejected() {
    let body = BodyOption {
        text: "{{ not a template }}".into(),
        content_type: Some("text/plain".into()),
    };
    let options = UrlOptions {
        users: Some(3),
        body: Some(body),
        user: Some(("a".into(), "b".into())),
        ..UrlOptions::default()
    };
    let plan = url_plan("http://x:y@h/p", &options).unwrap();
    assert_eq!(plan.http.pool, PoolPolicy::PerUser);
    assert!(matches!(plan.load, Load::Closed { users: 3, .. }));
    let request = requests(&plan)[0];
    assert_eq!(request.method, "POST");
    assert!(
        matches!(&request.body, RequestBody::Text(text) if *text == Template::from("{{ not a template }}")),
        "{:?}",
        request.body
    );
    assert!(
        request
            .headers
            .iter()
            .any(|(name, _)| name == "content-type")
    );
    let named = UrlOptions {
        method: Some("PUT".into()),
        ..options
    };
    let plan = url_plan("http://h/p", &named).unwrap();
    assert_eq!(requests(&plan)[0].method, "PUT");
}
