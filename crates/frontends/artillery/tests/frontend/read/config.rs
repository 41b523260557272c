use frontend_artillery::refusal;
use plan::{
    ArrivalProcess, FirstArrival, Load, PoolPolicy, Rate, RowOrder, Shape, Variable,
    units::{MILLISECOND, SECOND},
};
use serde_json::json;

use super::{config, errors, notes, plan, plugins};
use crate::support::{Folder, lines, phases};

fn phase(keys: &str) -> plan::Phase {
    let plan = plan(&config(&format!("phases: [ {{ {keys} }} ]")));
    assert!(matches!(
        plan.load,
        Load::Open {
            first: FirstArrival::AfterOneGap,
            ..
        }
    ));
    phases(&plan)[0].clone()
}

#[test]
fn every_kind_of_phase() {
    let rate = |n| Rate::from_f64(n).unwrap();
    assert_eq!(
        phase("duration: 10, arrivalRate: 5").shape,
        Shape::Rate(rate(5.0))
    );
    assert_eq!(
        phase("duration: 10, arrivalRate: 0.5").shape,
        Shape::Rate(rate(0.5))
    );
    assert_eq!(
        phase("duration: 10, arrivalRate: '7'").shape,
        Shape::Rate(rate(7.0))
    );
    assert_eq!(phase("duration: 10, arrivalRate: 0").shape, Shape::Pause);
    assert_eq!(
        phase("duration: 10, arrivalRate: 0, rampTo: 5").shape,
        Shape::Staircase {
            from: rate(0.0),
            to: rate(5.0)
        }
    );
    let from_nothing = Shape::Staircase {
        from: Rate::per_second(0),
        to: rate(5.0),
    };
    assert_eq!(phase("duration: 10, rampTo: 5").shape, from_nothing);
    assert_eq!(
        phase("duration: 10, arrivalRate: 5, rampTo: 0").shape,
        Shape::Staircase {
            from: rate(5.0),
            to: rate(0.0)
        }
    );
    assert_eq!(
        phase("duration: 10, arrivalCount: 7").shape,
        Shape::Count(7)
    );
    assert_eq!(
        phase("duration: 10, arrivalCount: 7, arrivalRate: 3").shape,
        Shape::Count(7)
    );
    assert_eq!(
        phase("pause: 3, arrivalRate: 9, duration: 10").shape,
        Shape::Pause
    );
    assert_eq!(phase("pause: 3").duration_ns, 3 * SECOND);
    assert_eq!(
        phase("duration: 10, arrivalRate: 5, mode: poisson").arrivals,
        ArrivalProcess::Poisson
    );
    assert_eq!(
        phase("duration: 10, arrivalRate: 5, maxVusers: '3'").max_users,
        Some(3)
    );
    assert_eq!(
        phase("duration: 10, arrivalRate: 5, name: 7")
            .name
            .as_deref(),
        Some("7")
    );
    let plan = plan(&config(
        "mode: poisson\nphases: [ { duration: 1, arrivalRate: 1 }, { duration: 1, arrivalRate: 1, mode: uniform } ]",
    ));
    assert_eq!(
        phases(&plan).iter().map(|p| p.arrivals).collect::<Vec<_>>(),
        [ArrivalProcess::Poisson, ArrivalProcess::Even]
    );
}

#[test]
fn durations() {
    for (text, ns, rendered) in [
        ("60", 60 * SECOND, "60s"),
        ("'60'", 60 * SECOND, "60s"),
        ("5m", 300 * SECOND, "300s"),
        ("0.5 min", 30 * SECOND, "30s"),
        ("500ms", 500 * MILLISECOND, "0.5"),
        ("9 seconds", 9 * SECOND, "9s"),
        ("1.5h", 5400 * SECOND, "5400s"),
        ("1:30", 90 * SECOND, "90s"),
        ("'0.5'", 500_000, "0.0005"),
    ] {
        let phase = phase(&format!("duration: {text}, arrivalRate: 1"));
        assert_eq!(
            (phase.duration_ns, phase.duration_text.as_str()),
            (ns, rendered),
            "{text}"
        );
    }
    for text in ["1h30m", "0", "0.5", "soon", "-5", "null", "''"] {
        let errors = errors(&config(&format!(
            "phases: [ {{ duration: {text}, arrivalRate: 1 }} ]"
        )));
        let rendered = text.trim_matches('\'');
        assert_eq!(
            errors.original,
            Some(refusal::worker(&format!(
                "Error: Invalid duration for phase: {rendered}"
            )))
        );
        assert!(
            lines(&errors)[0].starts_with(&format!(
                "test.yml:3:25: Invalid duration for phase: {rendered} ("
            )),
            "{errors}"
        );
    }
    assert_eq!(
        errors(&config("phases: [ { pause: x } ]")).original,
        Some(refusal::worker("Error: Invalid pause for phase: x"))
    );
}

#[test]
fn phases_that_are_skipped_or_wrong() {
    let skipped = plan(&config(
        "phases: [ { duration: 5 }, { duration: 5, arrivalRate: 1 } ]",
    ));
    assert_eq!(phases(&skipped).len(), 1);
    assert!(notes(&skipped)[0].starts_with("3:13: Artillery skips this phase"));
    for (keys, expected) in [
        (
            "arrivalRate: 5",
            "3:13: this phase has no `duration`: add its length in seconds",
        ),
        (
            "duration: 5, arrivalRate: -1",
            "3:41: `arrivalRate: -1` is not a rate: use arrivals per second, 0 or more",
        ),
        (
            "duration: 5, arrivalCount: x",
            "3:42: `arrivalCount: x` is not a count: use a whole number, 0 or more",
        ),
        (
            "duration: 5, arrivalRate: 1, maxVusers: x",
            "3:55: `maxVusers: x` is not a count: use a whole number, 0 or more",
        ),
        (
            "duration: 5, arrivalRate: 1, mode: poison",
            "3:50: `mode: poison` is unknown: use uniform or poisson (did you mean `poisson`?)",
        ),
    ] {
        assert_eq!(
            lines(&errors(&config(&format!("phases: [ {{ {keys} }} ]")))),
            [format!("test.yml:{expected}")]
        );
    }
    assert_eq!(
        lines(&errors(&config("phases: [ 5 ]"))),
        [
            "test.yml:3:13: a phase must be a mapping like { duration: 60, arrivalRate: 5 }, not a number"
        ]
    );
    assert_eq!(
        lines(&errors(&config("phases: []"))),
        [
            "test.yml:2:3: no phase has arrivals: add `arrivalRate` or `arrivalCount` to at least one phase"
        ]
    );
    let plan = plan(&config(
        "phases: [ { duration: 5, arrivalRate: 1, maxVuser: 3 } ]",
    ));
    assert_eq!(
        notes(&plan),
        [
            "3:44: `maxVuser` has no effect: Artillery has no such key here (did you mean `maxVusers`?)"
        ]
    );
}

#[test]
fn without_phases_one_user() {
    let plan = plan(&config(""));
    assert_eq!(
        (phases(&plan)[0].duration_ns, phases(&plan)[0].shape),
        (SECOND, Shape::Count(1))
    );
}

#[test]
fn timeouts_pools_and_certificates() {
    let http = |lines: &str| plan(&config(lines)).http;
    let default = http("");
    assert_eq!(
        (
            default.timeouts.total_ns,
            default.timeouts.headers_ns,
            default.timeouts.idle_ns
        ),
        (None, Some(10 * SECOND), Some(10 * SECOND))
    );
    assert_eq!(
        (default.pool, default.idle_close_ns, default.verify_tls),
        (PoolPolicy::PerUser, Some(4 * SECOND), true)
    );
    let three = http("http: { timeout: 3, pool: 5 }\ntls: { rejectUnauthorized: false }");
    assert_eq!(
        (three.timeouts.headers_ns, three.timeouts.idle_ns),
        (Some(3 * SECOND), Some(8 * SECOND))
    );
    assert_eq!(
        (three.pool, three.verify_tls),
        (PoolPolicy::Shared(5), false)
    );
    assert_eq!(
        http("http: { timeout: '20', pool: '7' }").timeouts.idle_ns,
        Some(20 * SECOND)
    );
    assert_eq!(
        http("timeout: 2\nhttp: { timeout: 3 }").timeouts.headers_ns,
        Some(2 * SECOND)
    );
    let odd = plan(&config("http: { timeout: 7000, maxSockets: 3 }"));
    assert_eq!(
        notes(&odd),
        [
            "3:26: `maxSockets` has no effect: Artillery ignores it: use `pool`",
            "3:20: `timeout` is in seconds: 7000 is 1.9 hours",
        ]
    );
    assert_eq!(
        lines(&errors(&config("http: { pool: 0 }"))),
        ["test.yml:3:17: `pool: 0` is not a number of connections: use 1 or more"]
    );
}

#[test]
fn variables() {
    let plan = plan(&config(
        "variables: { a: 1, b: [x, y], c: [], d: { e: 1.0 }, token: s3cret-value }",
    ));
    assert_eq!(
        plan.variables,
        [
            ("a".into(), Variable::Constant(json!(1))),
            ("b".into(), Variable::OneOf(vec![json!("x"), json!("y")])),
            ("d".into(), Variable::Constant(json!({"e": 1}))),
            ("token".into(), Variable::Constant(json!("s3cret-value"))),
        ]
    );
    assert_eq!(plan.secrets, ["s3cret-value"]);
    assert_eq!(
        notes(&plan),
        ["3:33: `c` is an empty list, so the variable is undefined"]
    );
}

#[test]
fn tables() {
    let folder = Folder::new("tables");
    folder.file("users.csv", "id,name\n007,\"Ada, L\"\n8,é\n\n");
    let load = |payload: &str| {
        let inputs = folder.inputs("t.yml", &config(payload));
        frontend_artillery::load(inputs.clone()).unwrap_or_else(|errors| panic!("{errors}"))
    };
    let plan = load("payload: { path: users.csv, fields: [id, name], skipHeader: true }");
    let table = &plan.payloads[0];
    assert_eq!(
        *table.rows,
        [[json!(7), json!("Ada, L")], [json!(8), json!("é")]]
    );
    assert_eq!((table.order, table.fields.len()), (RowOrder::Random, 2));
    let plan = load(
        "payload:\n  - { path: ./users.csv, fields: [id], order: sequence, cast: false }\n  - { path: users.csv, loadAll: true, name: all }",
    );
    assert_eq!(plan.payloads[0].order, RowOrder::Sequence);
    assert_eq!(plan.payloads[0].rows[1][0], json!("007"));
    assert_eq!(plan.payloads[1].all_as.as_deref(), Some("all"));
    assert_eq!(plan.payloads[1].rows[0], [json!("id"), json!("name")]);
}

#[test]
fn tables_that_cannot_be_read() {
    let folder = Folder::new("bad-tables");
    folder.file("ragged.csv", "a,b\nc\n");
    let refused = |payload: &str| {
        let inputs = folder.inputs("t.yml", &config(payload));
        let errors = frontend_artillery::load(inputs.clone()).unwrap_err();
        lines(&errors)
            .into_iter()
            .map(|line| line.rsplit('/').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        refused("payload: { path: ragged.csv, fields: [a] }"),
        ["ragged.csv: line 2 has 1 cells, but the rows before it have 2"]
    );
    assert!(
        refused("payload: { path: none.csv, fields: [a] }")[0]
            .starts_with("none.csv: No such file")
    );
    assert_eq!(
        refused("payload: { fields: [a] }"),
        ["t.yml:3:12: this payload has no `path`: add the path of its CSV file"]
    );
    assert_eq!(
        refused("payload: { path: ragged.csv, fields: a }"),
        ["t.yml:3:40: `fields` must be a list of variable names, not text"]
    );
    assert_eq!(
        refused("payload: { path: ragged.csv, fields: [a], delimiter: ab }"),
        ["t.yml:3:56: `ab` must be one ASCII character"]
    );
    assert_eq!(
        refused("payload: 5"),
        ["t.yml:3:12: `payload` must be a mapping or a list of mappings, not a number"]
    );
}

#[test]
fn plugins_that_may_be_there() {
    let plan = plan(&config(
        "plugins: { metrics-by-endpoint: {}, publish-metrics: [ { type: datadog } ], nobody-knows: {} }\nensure: { p95: 5 }",
    ));
    let notes = notes(&plan);
    assert_eq!(notes.len(), 5, "{notes:?}");
    assert!(notes.iter().any(|note| {
        note.ends_with(
            "the plugin `publish-metrics` has no effect: results are not sent to other services",
        )
    }));
    assert!(
        notes
            .iter()
            .any(|note| note == "WARNING: Could not load plugin: nobody-knows warn")
    );
    assert!(
        notes
            .iter()
            .any(|note| note.contains("4:3: `ensure` has no effect without an entry")),
        "{notes:?}"
    );
}

#[test]
fn ensure_and_apdex_become_criteria() {
    let plan = plan(&config(
        "plugins: { ensure: {}, apdex: {}, metrics-by-endpoint: {} }\napdex: { threshold: 100 }\nensure: { maxErrorRate: 1, p95: '200', \
         thresholds: [ { http.response_time.p99: 5 } ], conditions: [ { expression: 'a > 1', strict: false } ] }",
    ));
    let ensure = plugins(&plan).ensure.expect("checks");
    assert_eq!(ensure.max_error_rate, Some(1.0));
    assert_eq!(ensure.response_time, [("p95".to_owned(), 200.0)]);
    assert_eq!(
        ensure.thresholds,
        [("http.response_time.p99".to_owned(), 5.0)]
    );
    assert_eq!(ensure.conditions.len(), 1);
    assert!(!ensure.conditions[0].strict);
    assert_eq!(plugins(&plan).apdex_ms, Some(100.0));
    assert!(plugins(&plan).hidden.is_empty());
}

#[test]
fn figures_by_endpoint() {
    use frontend_artillery::plugins::Endpoints;
    let of = |text: &str| plugins(&plan(&config(&format!("plugins: {{ {text} }}"))));
    let unnamed = of("ensure: {}");
    assert_eq!(unnamed.endpoints, Some(Endpoints::default()));
    assert_eq!(unnamed.hidden, ["plugins.metrics-by-endpoint"]);
    let rendered = of("metrics-by-endpoint: {}");
    assert!(rendered.hidden.is_empty());
    assert!(!rendered.endpoints.unwrap_or_default().strip_query);
    let all = of(
        "metrics-by-endpoint: { useOnlyRequestNames: true, stripQueryString: true, ignoreUnnamedRequests: true, metricsNamespace: n, \
         groupDynamicURLs: false, suppressOutput: true }, expect: { suppressOutput: true }",
    );
    let wanted = Endpoints {
        namespace: "n".into(),
        names_only: true,
        strip_query: true,
        skip_unnamed: true,
        group_dynamic: false,
    };
    assert_eq!(all.endpoints, Some(wanted));
    assert_eq!(
        all.hidden,
        ["plugins.metrics-by-endpoint", "plugins.expect"]
    );
    let noted = plan(&config(
        "plugins: { metrics-by-endpoint: { stripQuery: true } }",
    ));
    assert_eq!(
        notes(&noted),
        ["3:37: `stripQuery` has no effect: the plugin metrics-by-endpoint has no such option"]
    );
}

#[test]
fn made_up_data() {
    let script = |plugins: &str, url: &str| {
        format!(
            "config: {{ target: 'http://x', plugins: {{ {plugins} }} }}\nscenarios: [ {{ flow: [ {{ get: {{ url: '{url}' }} }} ] }} ]\n"
        )
    };
    let with = plan(&script(
        "fake-data: {}",
        "/{{ $internetEmail() }}/{{ $randFullName() }}",
    ));
    assert_eq!(notes(&with), [""; 0]);
    for (plugins, url, problem) in [
        (
            "ensure: {}",
            "/{{ $internetEmail() }}",
            "2:38: $internetEmail needs the plugin fake-data: add `fake-data: {}` to `config.plugins`",
        ),
        (
            "fake-data: {}",
            "/a/{{ $personFistName() }}",
            "2:42: unknown function $personFistName, not in fake-data either (did you mean `$personFirstName`?)",
        ),
        (
            "fake-data: {}",
            "/{{ $randomInt(1, 2) }}",
            "2:40: unknown function $randomInt, not in fake-data either",
        ),
        (
            "fake-data: { numberInt: { max: 5 } }",
            "/",
            "1:55: options for functions of fake-data are not supported yet: remove `numberInt`",
        ),
    ] {
        assert_eq!(
            lines(&errors(&script(plugins, url))),
            [format!("test.yml:{problem}")]
        );
    }
    let in_config = errors(&config(
        "plugins: { fake-data: {} }\nvariables: { a: '{{ $internetEmail() }}' }",
    ));
    assert_eq!(
        lines(&in_config),
        [
            "test.yml:4:19: $internetEmail() is not available when Artillery reads `config`: use it in `scenarios`"
        ]
    );
    let idle = plan(&config("fake-data: {}"));
    assert_eq!(
        notes(&idle),
        ["3:3: `fake-data` has no effect without an entry in `config.plugins`"]
    );
}
