use frontend_artillery::{
    read::{differences, keys},
    refusal, translate_text,
};
use proptest::prelude::*;

use super::{config, errors, flow, notes, plan};
use crate::support::lines;

#[test]
fn every_refusal_has_its_place_and_a_way_out() {
    for (text, expected) in [
        (flow("- gett: { url: / }"), "4:9: `gett` is not a step: did you mean `get`?"),
        (
            flow("- request: { url: / }"),
            "4:9: `request` is not a step: a step is one of loop, think, log, function, or an HTTP method like get or post",
        ),
        (
            flow("- parallel: [ { get: { url: / } } ]\n  limit: 0.5"),
            "5:16: `limit: 0.5` is not a number of steps: use 1 or more",
        ),
        (flow("- get: { url: /, probability: 101 }"), "4:37: `probability: 101` is not a percentage: use 0 to 100"),
        (flow("- get: { url: /, maxRedirects: few }"), "4:38: `maxRedirects: few` is not valid"),
        (
            flow("- post: { url: /, formData: { a: { b: 1 } } }"),
            "4:40: the part `a` must be text, { value: … } or { fromFile: … }",
        ),
        (
            flow("- get: { url: /, capture: { json: $.a, as: x } }\n- post: { url: /, formData: { a: { fromFile: '{{ x }}' } } }"),
            "5:52: `x` is captured from a response, which must not choose a file on this machine",
        ),
        (
            flow("- loop: [ { get: { url: / }, think: 1 } ]\n  count: 1"),
            "4:19: a step can have only one action, but this one has `think` and `get`: write two steps",
        ),
        (flow("- loop: [ { get: {} } ]\n  count: 1"), "4:24: an URL must be specified: add `url`"),
        (flow("- loop: [ 5 ]\n  count: 1"), "4:17: a step must be a mapping like { get: { url: / } }, not a number"),
        (flow("- head: /"), "4:15: `head` must be a mapping like { url: / }, not text"),
        (flow("- get: { url: /, headers: { 'a b': 1 } }"), "4:35: `a b` is not a header name"),
        (flow("- get: { url: /, headers: { a: null } }"), "4:38: the header `a` must be text, not nothing"),
        (config("processor: ./x.js"), "3:14: `processor: ./x.js` does not exist"),
        (
            config("plugins: { hls: {} }"),
            "3:14: the plugin `hls` is not supported: video streams are not supported",
        ),
        (config("tls: { ca: x }"), "3:14: `tls.ca` is neither PEM text nor a PEM file: x: no such file"),
        (config("tls: { pfx: x }"), "3:10: `pfx` is not supported: unpack the file"),
        (config("tls: { cert: '-----BEGIN' }"), "3:16: `tls.cert` without `tls.key`"),
        (
            config("http: { cookieJarOptions: { prefixSecurity: lax } }"),
            "3:47: `prefixSecurity: lax` is unknown: use silent, strict or unsafe-disabled",
        ),
        (config("engine: kafka"), "3:11: the engine `kafka` is not supported yet"),
        (config("variables: 5"), "3:14: `variables` must be a mapping, not a number"),
        (
            "config: { target: 'localhost:80' }\nscenarios: [ { flow: [ { get: { url: / } } ] } ]".into(),
            "1:19: `target: localhost:80` cannot be used as a URL",
        ),
        (
            "config: { target: 'http://x' }\nbefore: { flow: [ { emit: f } ] }\nscenarios: [ { flow: [ { get: { url: / } } ] } ]".into(),
            "2:21: `emit` is not supported",
        ),
        (
            "config: { target: 'http://x' }\nscenarios: [ { engine: kafka, flow: [ { emit: [ x ] } ] } ]".into(),
            "2:24: the engine `kafka` is not supported yet, only http, ws and socketio: move its scenarios to a separate script",
        ),
        (
            "config: { target: 'http://x' }\nscenarios:\n- { engine: kafka, flow: [] }\n- { name: a, flow: [] }\n- { name: ab c, flow: [] }".into(),
            "3:13: the engine `kafka` is not supported yet, only http, ws and socketio: move its scenarios to a separate script, or run only another scenario with `--scenario-name 'ab c'`",
        ),
        ("config: { target: 'http://x' }\nscenarios: []".into(), "2:12: the script has no scenarios"),
        ("- 1".into(), "1:1: a script must be a mapping with `config` and `scenarios`, not a list"),
        ("config: {\n  target: [\n".into(), "this is not valid YAML"),
        ("config: { target: x, target: y }".into(), "1:22: `target` is defined twice (first on line 1): remove one"),
    ] {
        let found = lines(&errors(&text));
        assert!(found[0].contains(expected) && found[0].starts_with("test.yml:"), "{text}\n{found:?}\n{expected}");
        assert_eq!(found.len(), 1, "{text}\n{found:#?}");
    }
}

#[test]
fn all_problems_are_reported_together() {
    let errors = errors(&flow(
        "- gett: { url: / }\n- get: { url: /, encoding: x, https: {} }\n- emit: f",
    ));
    assert_eq!(
        errors
            .problems
            .iter()
            .filter_map(|p| p.at.as_ref())
            .map(|at| (at.line, at.column))
            .collect::<Vec<_>>(),
        [(4, 9), (5, 24), (5, 37), (6, 9)]
    );
}

#[test]
fn the_schema_speaks_first_and_alone() {
    let errors = errors(include_str!("../../golden/invalid-two-keys.yml"));
    assert_eq!(
        errors.original,
        Some(refusal::validation(
            "\"scenarios[0].flow[0]\" must have 1 key"
        ))
    );
    assert_eq!(
        lines(&errors),
        [
            "test.yml:3:13: \"scenarios[0].flow[0]\" must have 1 key (a step can have only one action: write a separate step for each key)"
        ]
    );
}

#[test]
fn no_target() {
    let errors = errors(include_str!("../../golden/no-target.yml"));
    assert_eq!(errors.original, Some(refusal::no_target()));
    assert_eq!(lines(&errors).len(), 1);
    let errors =
        super::errors("config: { target: '{{ $env.NOWHERE }}' }\nscenarios: [ { flow: [] } ]");
    assert_eq!(
        errors.original,
        Some(refusal::validation("\"config.target\" is required"))
    );
}

#[test]
fn unknown_keys_are_noted_because_artillery_ignores_them() {
    let plan = plan(&flow(
        "- get: { url: /, hedaers: { a: 1 }, timeout: 5, expect: { statusCode: 200 } }",
    ));
    assert_eq!(
        notes(&plan),
        [
            "4:24: `hedaers` has no effect: Artillery has no such key here (did you mean `headers`?)",
            "4:43: `timeout` has no effect: Artillery ignores it here: use `config.http.timeout`",
            "4:55: `expect` has no effect without an entry in `config.plugins`",
        ]
    );
}

#[test]
fn file_types() {
    for (name, part) in [
        ("x.txt", "no target"),
        ("x.js", "not supported yet"),
        ("x", "no target"),
    ] {
        assert!(lines(&translate_text(name, "").unwrap_err())[0].contains(part));
    }
    assert!(
        translate_text(
            "X.JSON",
            "{\"config\": {\"target\": \"http://x\"},\n\t\"scenarios\": [{\"flow\": [{\"get\": {\"url\": \"/\"}}]}]}"
        )
        .is_ok()
    );
    assert_eq!(errors("").original, Some(refusal::no_target()));
}

#[test]
fn the_page_is_made_from_the_list() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../docs/reference/artillery.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let mut wanted = page.clone();
    for (name, table) in [
        ("keys", keys::table()),
        ("differences", differences::table()),
    ] {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
        let (before, rest) = wanted.split_once(&begin).unwrap();
        let (_, after) = rest.split_once(&end).unwrap();
        wanted = format!("{before}{begin}{table}{end}{after}");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, wanted).unwrap();
    } else {
        assert_eq!(
            page, wanted,
            "docs/reference/artillery.md is not what the allow-list says"
        );
    }
}

fn nearly_a_script() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("1".to_owned()),
        Just("-1".to_owned()),
        Just("1e99".to_owned()),
        Just("''".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("/a".to_owned()),
        Just("'{{ a }}'".to_owned()),
        Just("'{{ $randomString(9) }}'".to_owned()),
        Just("5m".to_owned()),
        Just("$.a[0]".to_owned()),
        Just("http://h".to_owned()),
        "[ -~]{0,6}".prop_map(|s| format!("'{}'", s.replace('\'', ""))),
    ];
    let names: Vec<&'static str> = keys::KEYS
        .iter()
        .map(|key| key.name)
        .chain(["get", "post", "zzz", "'0'"])
        .collect();
    let value = scalar.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[ {} ]", items.join(", "))),
            prop::collection::btree_map(prop::sample::select(names.clone()), inner, 0..4).prop_map(
                |map| {
                    let pairs: Vec<String> = map
                        .into_iter()
                        .map(|(key, value)| format!("{key}: {value}"))
                        .collect();
                    format!("{{ {} }}", pairs.join(", "))
                }
            ),
        ]
    });
    (value.clone(), value.clone(), value).prop_map(|(config, phase, step)| {
        format!("config: {{ target: 'http://x', phases: [ {phase} ], http: {config}, variables: {config}, payload: {phase} }}\nscenarios: [ {{ flow: [ {{ get: {{ url: /, json: {step}, capture: {step} }} }}, {{ loop: [ {step} ] }} ] }} ]\n")
    })
}

proptest! {
    #[test]
    fn any_text_is_a_plan_or_a_list_of_problems(text in r#"[a-c{}\[\]:,&*'"$ \n-]{0,80}"#) {
        if let Err(errors) = translate_text("x.yml", &text) {
            prop_assert!(!errors.problems.is_empty());
        }
    }

    #[test]
    fn near_scripts_are_plans_or_problems_with_places(text in nearly_a_script()) {
        match translate_text("x.yml", &text) {
            Ok(plan) => prop_assert!(!plan.scenarios().is_empty()),
            Err(errors) => prop_assert!(errors.problems.iter().all(|problem| !problem.message.contains('\n'))),
        }
    }
}

#[test]
fn slips_of_public_scripts() {
    for (text, line) in [
        (
            flow("- get: { url: '/{{ $randomInt(1, 5) }}' }"),
            "unknown function $randomInt (write $randomNumber(min, max))",
        ),
        (
            flow("- get: { url: '/{{ $randomUUID() }}' }"),
            "unknown function $randomUUID (write {{ $uuid }}, one for each virtual user)",
        ),
        (
            "config: { target: 'http://x' }\nscenarios: [ { requests: [] } ]".into(),
            "test.yml:2:14: \"scenarios[0].flow\" is required (rename `requests` to `flow`)",
        ),
        (
            flow("- get: { url: / }\n  post: { url: / }"),
            "test.yml:4:9: \"scenarios[0].flow[0]\" must have 1 key (a step can have only one action: write a separate step for each key)",
        ),
        (
            flow("- get: { url: /, capture: { json: $.id } }"),
            "test.yml:4:33: \"scenarios[0].flow[0].get.capture.as\" is required (set the variable to capture into, like `as: id`)",
        ),
        (
            flow("- get: { uri: / }"),
            "test.yml:4:14: \"scenarios[0].flow[0].get.url\" is required (`uri` is supported only in loops and rarer methods: rename it to `url`)",
        ),
    ] {
        let found = lines(&errors(&text));
        assert!(found.len() == 1 && found[0].contains(line), "{found:?}");
    }
    for (text, line) in [
        (
            config("http: { timeout: 7000 }"),
            "`timeout` is in seconds: 7000 is 1.9 hours",
        ),
        (
            config("plugins: { expect: true }"),
            "`expect: true` has no effect: the options of a plugin must be a mapping",
        ),
        (
            config("plugins: { ensure: yes }"),
            "`ensure: yes` has no effect",
        ),
        (
            config(
                "plugins: { ensure: {} }\nensure: { thresholds: { http.response_time.p95: 5 } }",
            ),
            "`thresholds` must be a list of one-key maps in Artillery, which ignores this map; Loadline checks it",
        ),
        (
            flow("- get: { url: /, capture: { json: $.id, as: id, expect: { statusCode: 200 } } }"),
            "`expect` must be next to `capture`, not inside it",
        ),
    ] {
        let found = notes(&plan(&text));
        assert!(found.iter().any(|note| note.contains(line)), "{found:?}");
    }
}

#[test]
fn validation_has_places() {
    for (text, line) in [
        (
            "config: { target: '' }\nscenarios: []",
            "1:19: \"config.target\" is not allowed to be empty",
        ),
        (
            "config: { target: 5 }\nscenarios: []",
            "1:19: \"config.target\" must be a string",
        ),
        (
            "config: { target: x, phases: 5 }\nscenarios: []",
            "1:30: \"config.phases\" must be an array",
        ),
        (
            "config: { target: x, environments: [] }\nscenarios: []",
            "1:36: \"config.environments\" must be of type object",
        ),
        (
            "config: { target: x, http: { timeout: [] } }\nscenarios: []",
            "1:39: \"config.http.timeout\" must be one of [number, string]",
        ),
        (
            "config: { target: x, http: { maxSockets: a } }\nscenarios: []",
            "1:42: \"config.http.maxSockets\" must be a number",
        ),
        (
            "config: { target: x, http: { extendedMetrics: 5 } }\nscenarios: []",
            "1:47: \"config.http.extendedMetrics\" must be a boolean",
        ),
        ("config: { target: x }", "1:1: \"scenarios\" is required"),
        (
            "config: { target: x }\nscenarios: {}",
            "2:12: \"scenarios\" must be an array",
        ),
        (
            "config: { target: x }\nscenarios: [ {} ]",
            "2:14: \"scenarios[0].flow\" is required",
        ),
        (
            "config: { target: x }\nscenarios: [ { flow: [ 5 ] } ]",
            "2:24: \"scenarios[0].flow[0]\" must be of type object",
        ),
        (
            "config: { target: x }\nscenarios: [ { flow: [ {} ] } ]",
            "2:24: \"scenarios[0].flow[0]\" must have 1 key",
        ),
        (
            "config: { target: x }\nscenarios: [ { flow: [ { think: [] } ] } ]",
            "2:33: \"scenarios[0].flow[0].think\" must be one of [number, string]",
        ),
        (
            "config: { target: x }\nscenarios: [ { flow: [ { get: { url: 5 } } ] } ]",
            "2:38: \"scenarios[0].flow[0].get.url\" must be a string",
        ),
        (
            "config: { target: x }\nscenarios: [ { flow: [ { loop: 5 } ] } ]",
            "2:32: \"scenarios[0].flow[0].loop\" must be an array",
        ),
        (
            "config: { target: x }\nscenarios: [ { flow: [] } ]\nbefore: {}",
            "3:9: \"before.flow\" is required",
        ),
    ] {
        let found = errors(text);
        assert_eq!(lines(&found), [format!("test.yml:{line}")], "{text}");
        let output = found.original.unwrap().out;
        assert!(output.starts_with("Scenario validation error: "), "{text}");
    }
}
