//! Tests of the aggregation.

use super::{Aggregator, EXPECTED_RESPONSES, selection::Selection};
use crate::{
    metric::{
        CHECKS, Contains, DATA_SENT, HTTP_REQ_DURATION, HTTP_REQS, ITERATIONS, MetricType,
        Registry, VUS,
    },
    tags::Tags,
};

fn tags(pairs: &[(&str, &str)]) -> Tags {
    let mut tags = Tags::default();
    for (name, value) in pairs {
        tags.set(name, value);
    }
    tags
}

#[test]
fn sub_metrics_have_the_samples_with_their_tags() {
    let registry = Registry::default();
    let login = Selection::parse("http_req_duration{name:login}").unwrap();
    let mut aggregator = Aggregator::new(&registry, &[login], false);
    let good = tags(&[("name", "login"), ("expected_response", "true")]);
    let bad = tags(&[("name", "login"), ("expected_response", "false")]);
    for _ in 0..3 {
        aggregator.add(1, &good, &[(HTTP_REQS, 1.0), (HTTP_REQ_DURATION, 10.0)]);
    }
    aggregator.add(1, &bad, &[(HTTP_REQ_DURATION, 30.0)]);
    let value = |name: &str| aggregator.find(&registry, name).unwrap().value();
    assert_eq!(value("http_req_duration"), 15.0);
    assert_eq!(value("http_req_duration{name:login}"), 15.0);
    assert_eq!(value(EXPECTED_RESPONSES), 10.0);
    assert_eq!(value("http_reqs"), 3.0);
    assert!(aggregator.find(&registry, "iterations").is_none());
}

#[test]
fn tag_sets_beyond_the_cache_are_still_counted() {
    let mut registry = Registry::default();
    let selection = Selection::parse("mine{kind:a}").unwrap();
    let id = registry
        .declare("mine", MetricType::Counter, Contains::Default)
        .unwrap();
    let mut aggregator = Aggregator::new(&registry, &[selection], false);
    for number in 0..10_000 {
        let kind = if number % 2 == 0 { "a" } else { "b" };
        let own = tags(&[("kind", kind), ("url", &number.to_string())]);
        aggregator.add(1, &own, &[(id, 1.0), (CHECKS, 1.0)]);
    }
    assert_eq!(
        aggregator.find(&registry, "mine{kind:a}").unwrap().value(),
        5_000.0
    );
    assert!(aggregator.routes.len() <= super::MAX_ROUTES);
}

#[test]
fn checks_are_in_order_of_first_use_and_merged() {
    let registry = Registry::default();
    let mut first = Aggregator::new(&registry, &[], true);
    let mut second = first.clone();
    let in_group = tags(&[("check", "b"), ("group", "::g"), ("scenario", "s")]);
    first.add(5, &tags(&[("check", "a")]), &[(CHECKS, 1.0)]);
    first.add(6, &in_group, &[(CHECKS, 0.0), (ITERATIONS, 1.0)]);
    second.add(4, &tags(&[("check", "b")]), &[(CHECKS, 1.0)]);
    second.add(7, &in_group, &[(CHECKS, 1.0)]);
    first.merge(&second);
    let checks = first.checks();
    let names: Vec<_> = checks
        .iter()
        .map(|own| (&*own.name, own.passes, own.fails))
        .collect();
    assert_eq!(names, [("b", 2, 1), ("a", 1, 0)]);
    let section = first
        .sections()
        .into_iter()
        .find(|own| own.group == "::g")
        .unwrap();
    assert_eq!(section.checks[0].passes, 1);
    assert_eq!(section.series(ITERATIONS).unwrap().value(), 1.0);
    let scenarios = first.scenarios();
    assert_eq!(scenarios.len(), 1);
    assert_eq!(
        (scenarios[0].checks[0].passes, scenarios[0].checks[0].fails),
        (1, 1)
    );
}

#[test]
fn gauges_keep_the_last_value_of_all_workers() {
    let registry = Registry::default();
    let mut first = Aggregator::new(&registry, &[], false);
    let mut second = first.clone();
    first.add(10, &Tags::default(), &[(VUS, 5.0)]);
    second.add(9, &Tags::default(), &[(VUS, 7.0)]);
    first.merge(&second);
    assert_eq!(first.series(VUS).unwrap().value(), 5.0);
}

#[test]
fn unregistered_metrics_are_counted() {
    let mut registry = Registry::default();
    let mut aggregator = Aggregator::new(&registry, &[], false);
    let late = registry
        .declare("late", MetricType::Trend, Contains::Time)
        .unwrap();
    aggregator.add(1, &Tags::default(), &[(late, 1.0), (DATA_SENT, 2.0)]);
    assert_eq!(aggregator.dropped(), 1);
    aggregator.register(&registry);
    aggregator.add(1, &Tags::default(), &[(late, f64::NAN), (late, 1.0)]);
    assert_eq!(aggregator.find(&registry, "late").unwrap().value(), 1.0);
}
