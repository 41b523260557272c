//! Tests of the summaries against the layout of the specification.

use serde_json::{Value, json};

use super::{MachineInfo, Summary, SummaryState, number::TimeUnit};
use crate::{
    aggregate::{Aggregator, trend_stat::TrendStat},
    metric::{
        CHECKS, Contains, DATA_RECEIVED, DATA_SENT, GROUP_DURATION, HTTP_REQ_BLOCKED,
        HTTP_REQ_DURATION, HTTP_REQ_FAILED, HTTP_REQS, ITERATION_DURATION, ITERATIONS, MetricType,
        Registry, VUS,
    },
    options::{settings::SummaryMode, value::OptionValue},
    tags::Tags,
    threshold::{Thresholds, evaluate::ThresholdSet},
};

struct Fixture {
    registry: Registry,
    aggregator: Aggregator,
    thresholds: ThresholdSet,
    stats: Vec<TrendStat>,
}

impl Fixture {
    fn new(thresholds: Value, is_full: bool) -> Fixture {
        let mut registry = Registry::default();
        let declared = registry.declare("my_wait", MetricType::Trend, Contains::Default);
        assert!(declared.is_ok());
        let thresholds = Thresholds::from_json(&thresholds).unwrap().unwrap();
        let thresholds = ThresholdSet::parse(&thresholds, &registry).unwrap();
        let aggregator = Aggregator::new(&registry, &thresholds.selections(), is_full);
        let stats = ["avg", "min", "med", "max", "p(90)", "p(95)"];
        Fixture {
            registry,
            aggregator,
            thresholds,
            stats: stats.map(|name| TrendStat::parse(name).unwrap()).to_vec(),
        }
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            registry: &self.registry,
            aggregator: &self.aggregator,
            thresholds: &self.thresholds,
            trend_stats: &self.stats,
            time_unit: TimeUnit::Auto,
            duration_ns: 6_858_600_000,
        }
    }

    fn text(&self, mode: SummaryMode) -> String {
        self.summary().text(mode, false).unwrap()
    }
}

fn tags(pairs: &[(&str, &str)]) -> Tags {
    let mut tags = Tags::default();
    for (name, value) in pairs {
        tags.set(name, value);
    }
    tags
}

/// Returns a fixture with three requests, with two checks each.
fn example(is_full: bool) -> Fixture {
    let mut own = Fixture::new(
        json!({
            "http_req_failed": ["rate<0.01"],
            "http_req_duration{name:login}": [" p(99)<100 "],
            "http_req_duration": ["p(95)<1500"],
        }),
        is_full,
    );
    let my_wait = own.registry.find("my_wait").unwrap();
    let request = tags(&[("expected_response", "true"), ("name", "login")]);
    let status = tags(&[("check", "status is 200")]);
    let token = tags(&[("check", "has token"), ("group", "::login")]);
    for (index, ms) in [119.08, 140.96, 154.63].into_iter().enumerate() {
        own.aggregator.add(1, &status, &[(CHECKS, 1.0)]);
        let passed = f64::from(u8::from(index == 0));
        own.aggregator.add(2, &token, &[(CHECKS, passed)]);
        let values = [
            (HTTP_REQS, 1.0),
            (HTTP_REQ_FAILED, 0.0),
            (HTTP_REQ_DURATION, ms),
            (HTTP_REQ_BLOCKED, 0.5),
        ];
        own.aggregator.add(3, &request, &values);
        let values = [
            (ITERATIONS, 1.0),
            (ITERATION_DURATION, ms + 12.0),
            (my_wait, [120.0, 141.0, 684.0][index]),
            (VUS, 1.0),
        ];
        own.aggregator.add(3, &Tags::default(), &values);
    }
    let values = [(DATA_RECEIVED, 519_300.0), (DATA_SENT, 4_927.0)];
    own.aggregator.add(3, &Tags::default(), &values);
    let inner = tags(&[("group", "::login::inner")]);
    own.aggregator
        .add(4, &inner, &[(GROUP_DURATION, 5.0), (HTTP_REQS, 0.0)]);
    let (registry, aggregator) = (&own.registry, &own.aggregator);
    own.thresholds
        .evaluate(registry, aggregator, 6_858_600_000, true);
    own
}

const COMPACT: &str = "

  █ THRESHOLDS·

    http_req_duration
    ✓ 'p(95)<1500' p(95)=153.26ms

      {name:login}
      ✗ 'p(99)<100' p(99)=154.35ms

    http_req_failed
    ✓ 'rate<0.01' rate=0.00%


  █ TOTAL RESULTS·

    checks_total.......: 6      0.874814/s
    checks_succeeded...: 66.66% 4 out of 6
    checks_failed......: 33.33% 2 out of 6

    ✓ status is 200
    ✗ has token
      ↳  33% — ✓ 1 / ✗ 2

    CUSTOM
    my_wait........................: avg=315      min=120      med=141      max=684      p(90)=575.4    p(95)=629.7

    HTTP
    http_req_duration..............: avg=138.22ms min=119.08ms med=140.96ms max=154.63ms p(90)=151.89ms p(95)=153.26ms
      { expected_response:true }...: avg=138.22ms min=119.08ms med=140.96ms max=154.63ms p(90)=151.89ms p(95)=153.26ms
      { name:login }...............: avg=138.22ms min=119.08ms med=140.96ms max=154.63ms p(90)=151.89ms p(95)=153.26ms
    http_req_failed................: 0.00%  0 out of 3
    http_reqs......................: 3      0.437407/s

    EXECUTION
    iteration_duration.............: avg=150.22ms min=131.07ms med=152.96ms max=166.63ms p(90)=163.89ms p(95)=165.26ms
    iterations.....................: 3      0.437407/s
    vus............................: 1      min=1      max=1

    NETWORK
    data_received..................: 519 kB 76 kB/s
    data_sent......................: 4.9 kB 718 B/s



";

#[test]
fn compact_text_has_k6s_layout() {
    let text = example(false).text(SummaryMode::Compact);
    let expected = COMPACT.strip_prefix('\n').unwrap().replace('·', " ");
    assert_eq!(text, expected);
}

#[test]
fn full_text_has_groups_and_scenarios() {
    let mut own = example(true);
    let scenario = tags(&[
        ("scenario", "buyers"),
        ("group", "::pay"),
        ("check", "paid"),
    ]);
    own.aggregator.add(9, &scenario, &[(CHECKS, 1.0)]);
    let text = own.text(SummaryMode::Full);
    assert!(text.contains("    http_req_blocked"));
    let expected = "
  █ GROUP: login·

    checks_total.......: 3      0.437407/s
    checks_succeeded...: 33.33% 1 out of 3
    checks_failed......: 66.66% 2 out of 3

    ✗ has token
      ↳  33% — ✓ 1 / ✗ 2

    ↳ GROUP: inner·

      HTTP
      http_reqs...: 0 0/s



  █ SCENARIO: buyers·

    checks_total.......: 1       0.145802/s
    checks_succeeded...: 100.00% 1 out of 1
    checks_failed......: 0.00%   0 out of 1

    ✓ paid

    ↳ GROUP: pay·
";
    let expected = expected.replace('·', " ");
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn legacy_text_has_marks_before_metrics() {
    let text = example(false).text(SummaryMode::Legacy);
    let expected = "
     ✓ status is 200

     █ login

       ✗ has token
        ↳  33% — ✓ 1 / ✗ 2

       █ inner

     checks.........................: 66.66% 4 out of 6
     data_received..................: 519 kB 76 kB/s
     data_sent......................: 4.9 kB 718 B/s
     group_duration.................: avg=5ms      min=5ms      med=5ms      max=5ms      p(90)=5ms      p(95)=5ms
     http_req_blocked...............: avg=500µs    min=500µs    med=500µs    max=500µs    p(90)=500µs    p(95)=500µs
   ✓ http_req_duration..............: avg=138.22ms min=119.08ms med=140.96ms max=154.63ms p(90)=151.89ms p(95)=153.26ms
       { expected_response:true }...: avg=138.22ms min=119.08ms med=140.96ms max=154.63ms p(90)=151.89ms p(95)=153.26ms
     ✗ { name:login }...............: avg=138.22ms min=119.08ms med=140.96ms max=154.63ms p(90)=151.89ms p(95)=153.26ms
   ✓ http_req_failed................: 0.00%  0 out of 3
     http_reqs......................: 3      0.437407/s
";
    assert!(text.starts_with(expected), "{text}");
    let vus = "     vus............................: 1      min=1      max=1\n\n";
    assert!(text.ends_with(vus), "{text}");
}

#[test]
fn nothing_is_printed_without_summary() {
    assert_eq!(
        example(false).summary().text(SummaryMode::Disabled, true),
        None
    );
}

#[test]
fn colours_do_not_change_the_layout() {
    let own = example(false);
    let coloured = own.summary().text(SummaryMode::Compact, true).unwrap();
    assert!(coloured.contains("\x1b[2;37m") && coloured.contains("\x1b[36m"));
    let mut plain = String::new();
    for (index, part) in coloured.split('\x1b').enumerate() {
        let part = if index == 0 {
            part
        } else {
            part.split_once('m').unwrap().1
        };
        plain.push_str(part);
    }
    assert_eq!(plain, own.text(SummaryMode::Compact));
}

#[test]
fn data_of_handle_summary_has_k6s_shape() {
    let own = example(false);
    let state = SummaryState {
        is_stdout_tty: true,
        ..SummaryState::default()
    };
    let data = own.summary().data(&state, json!({"token": 1}));
    assert_eq!(data["root_group"]["id"], "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(data["root_group"]["groups"][0]["path"], "::login");
    let check = &data["root_group"]["groups"][0]["checks"][0];
    assert_eq!(check["path"], "::login::has token");
    assert_eq!((&check["passes"], &check["fails"]), (&json!(1), &json!(2)));
    assert_eq!(data["state"]["testRunDurationMs"], json!(6858.6));
    assert_eq!(data["state"]["isStdOutTTY"], true);
    assert_eq!(data["setup_data"]["token"], 1);
    let login = &data["metrics"]["http_req_duration{name:login}"];
    assert_eq!(login["thresholds"]["p(99)<100"]["ok"], false);
    assert_eq!(login["contains"], "time");
    assert_eq!(data["metrics"]["http_reqs"]["values"]["count"], json!(3));
    let rate = &data["metrics"]["http_req_failed"]["values"];
    assert_eq!(rate, &json!({"rate": 0, "passes": 0, "fails": 3}));
    assert!(data["metrics"].get("dropped_iterations").is_none());
}

#[test]
fn export_names_failed_thresholds() {
    let own = example(false);
    let text = own.summary().export(&Value::Null);
    assert!(text.starts_with("{\n    \"root_group\": {\n        \"name\": \"\","));
    let export: Value = serde_json::from_str(&text).unwrap();
    let login = &export["metrics"]["http_req_duration{name:login}"];
    assert_eq!(login["thresholds"]["p(99)<100"], true);
    assert_eq!(login["min"], json!(119.08));
    assert_eq!(export["metrics"]["checks"]["passes"], 4);
    assert!(export["metrics"]["checks"]["value"].is_number());
    assert_eq!(
        export["root_group"]["groups"]["login"]["checks"]["has token"]["fails"],
        2
    );
}

#[test]
fn machine_readable_summary_lists_metrics() {
    let info = MachineInfo {
        generated_at: "2026-01-02T03:04:05Z".to_owned(),
        script: "a.js".to_owned(),
    };
    let data = example(false).summary().machine_readable(&info);
    assert_eq!(data["version"], "1.0.0");
    assert_eq!(
        data["results"]["checks"]["metrics"][0]["values"]["count"],
        6
    );
    assert_eq!(data["results"]["thresholds"][1]["ok"], false);
    assert_eq!(data["results"]["metrics"][0]["name"], "checks");
}

#[test]
fn data_of_a_script_does_not_break_the_legacy_text() {
    let mut deep = json!({"name": "x"});
    for _ in 0..110 {
        deep = json!({"name": "x", "groups": [deep]});
    }
    for data in [
        json!(null),
        json!({"metrics": {"a": null, "b{": 1, "c": {"type": "gauge", "values": {"min": "x"}}}}),
        json!({"root_group": deep, "options": {"summaryTrendStats": [1]}}),
    ] {
        let _ = super::legacy::text_summary(&data, "", true);
    }
}

#[test]
fn deep_groups_do_not_exhaust_the_stack() {
    let mut own = Fixture::new(json!({}), true);
    let deep = tags(&[("group", &"::g".repeat(200_000))]);
    own.aggregator.add(1, &deep, &[(HTTP_REQS, 1.0)]);
    assert!(own.text(SummaryMode::Full).contains("GROUP: g"));
    let data = own.summary().data(&SummaryState::default(), Value::Null);
    assert_eq!(data["root_group"]["groups"][0]["name"], "g");
}
