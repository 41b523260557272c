use formats::Inputs;
use frontend_artillery::{ArtilleryInputs, load, refusal};
use plan::{Shape, Variable};
use serde_json::json;

use super::{notes, plugins, rate};
use crate::support::{Folder, lines, phases, render, requests};

const BASE: &str = "config:
  target: http://base
  phases: [ { duration: 1, arrivalRate: 1, name: a }, { duration: 2, arrivalRate: 2 }, { duration: 3, arrivalRate: 3 } ]
  variables: { who: base }
  environments:
    staging:
      target: http://staging
      phases: [ { arrivalRate: 9 } ]
scenarios:
  - name: one
    flow: [ { get: { url: '/{{ who }}' } } ]
";

fn ok(given: impl Into<ArtilleryInputs>) -> plan::Plan {
    load(given).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn environments_merge_index_by_index() {
    let folder = Folder::new("environments");
    let inputs = Inputs {
        environment: Some("staging".into()),
        ..folder.inputs("s.yml", BASE)
    };
    let plan = ok(inputs.clone());
    assert_eq!(plan.target, "http://staging");
    assert_eq!(phases(&plan).len(), 3);
    assert_eq!(
        (phases(&plan)[0].shape, phases(&plan)[0].name.as_deref()),
        (Shape::Rate(rate(9.0)), Some("a"))
    );
    let plan = ok(Inputs {
        environment: Some("prod".into()),
        ..inputs.clone()
    });
    assert_eq!(plan.target, "http://base");
    assert_eq!(
        notes(&plan),
        ["WARNING: environment prod is set but is not defined in the script"]
    );
    assert_eq!(
        ok(Inputs {
            target: Some("http://flag".into()),
            ..inputs
        })
        .target,
        "http://flag"
    );
}

#[test]
fn overrides_replace_lists_and_variables_are_set() {
    let folder = Folder::new("overrides");
    let mut given = ArtilleryInputs::from(folder.inputs("s.yml", BASE));
    given.overrides = Some(r#"{"config": {"phases": [{"duration": 5, "arrivalRate": 5}], "variables": {"more": 1.0}}}"#.into());
    given.inputs.variables = Some(r#"{"who": "me", "n": 7}"#.into());
    let plan = ok(given);
    assert_eq!(phases(&plan).len(), 1);
    let expected = [("who", json!("me")), ("more", json!(1)), ("n", json!(7))];
    assert_eq!(
        plan.variables,
        expected.map(|(name, value)| (name.to_owned(), Variable::Constant(value)))
    );
    for (option, text) in [("overrides", "{"), ("overrides", "[]"), ("variables", "5")] {
        let mut given = ArtilleryInputs::from(folder.inputs("s.yml", BASE));
        if option == "overrides" {
            given.overrides = Some(text.into())
        } else {
            given.inputs.variables = Some(text.into())
        }
        let found = lines(&load(given).unwrap_err());
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("--{option}:1:")),
            "{found:?}"
        );
    }
}

#[test]
fn several_files_and_a_configuration() {
    let folder = Folder::new("files");
    std::fs::create_dir_all(folder.file("x", "").with_file_name("conf")).unwrap();
    let mut given = ArtilleryInputs::from(folder.inputs(
        "s.yml",
        "scenarios: [ { flow: [ { get: { url: '/{{ $dirname }}' } } ] } ]",
    ));
    given.inputs.files.push(folder.file(
        "t.yml",
        "config: { target: 'http://two', variables: { a: 1 } }",
    ));
    given.config = Some(folder.file(
        "conf/c.yml",
        "config: { target: 'http://conf', variables: { b: '{{ $dirname }}' } }",
    ));
    let plan = ok(given.clone());
    assert_eq!(
        (plan.target.expose().as_str(), plan.provenance.files.len()),
        ("http://conf", 3)
    );
    let dirname = |value: &Variable| matches!(value, Variable::Constant(text) if text.as_str().is_some_and(|text| text.ends_with("/conf")));
    assert!(
        plan.variables
            .iter()
            .filter(|(name, _)| name == "$dirname" || name == "b")
            .all(|(_, value)| dirname(value))
    );
    given.inputs.files[1] = "nowhere.yml".into();
    assert!(lines(&load(given.clone()).unwrap_err())[0].starts_with("nowhere.yml: No such file"));
}

#[test]
fn the_configuration_is_expanded_once() {
    let folder = Folder::new("expanded");
    let text = "config:
  target: '{{ $processEnvironment.HOST }}'
  phases: [ { duration: 1, arrivalRate: '{{ $env.RATE }}' } ]
  variables:
    id: '{{ $randomString(5) }}'
    env: 'on {{ $environment }} {{ given }}'
    late: '{{ captured }}'
    mixed: 'x{{ captured }}'
  http: { defaults: { headers: { a: '{{ $env.TOKEN }}', b: 'Bearer {{ captured }}' } } }
scenarios:
  - flow: [ { get: { url: '/{{ id }}/{{ $env.RATE }}/{{ $processEnvironment.NONE }}' } } ]
";
    let inputs = Inputs {
        environment: Some("e".into()),
        variables: Some(r#"{"given": 3}"#.into()),
        process_env: [
            ("HOST", "http://h"),
            ("RATE", "4"),
            ("TOKEN", "t-o-k-e-n"),
            ("OTHER", "x"),
        ]
        .map(|(a, b)| (a.into(), b.into()))
        .to_vec(),
        ..folder.inputs("s.yml", text)
    };
    let plan = ok(inputs.clone());
    assert_eq!(plan.target, "http://h");
    assert_eq!(phases(&plan)[0].shape, Shape::Rate(rate(4.0)));
    let value = |name: &str| {
        plan.variables
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
    };
    assert!(
        matches!(value("id"), Some(Variable::Constant(id)) if id.as_str().is_some_and(|id| id.len() == 5))
    );
    assert_eq!(value("env"), Some(Variable::Constant(json!("on e 3"))));
    assert_eq!(value("late"), None);
    assert_eq!(
        value("mixed"),
        Some(Variable::Constant(json!("xundefined")))
    );
    assert_eq!(
        value("$env"),
        Some(Variable::Constant(json!({"RATE": "4"})))
    );
    assert_eq!(
        value("$processEnvironment"),
        Some(Variable::Constant(json!({})))
    );
    let headers: Vec<String> = requests(&plan)[0]
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", render(value)))
        .collect();
    assert_eq!(headers[1..3], ["a: t-o-k-e-n", "b: Bearer {{captured}}"]);
    let reported = notes(&plan);
    assert!(
        reported.iter().any(|note| note
            .starts_with("7:11: {{ captured }} is not available when Artillery reads `config`")),
        "{reported:?}"
    );
    assert_eq!(ok(inputs.clone()).variables, plan.variables);
    assert_ne!(
        ok(Inputs {
            test_id: "other".into(),
            ..inputs
        })
        .variables,
        plan.variables
    );
}

#[test]
fn flags() {
    let folder = Folder::new("flags");
    let inputs = folder.inputs("s.yml", BASE);
    let plan = ok(Inputs {
        insecure: true,
        solo: true,
        native: true,
        ..inputs.clone()
    });
    assert!(!plan.http.verify_tls && plan.rules.status_fails && !plan.rules.failure_ends_iteration);
    assert_eq!(phases(&plan)[0].shape, Shape::Count(1));
    let scenarios = "config: { target: 'http://x' }\nscenarios:\n  - { name: one, weight: 5, flow: [ { function: f } ] }\n  - { name: two, flow: [ { get: { url: / } } ] }\n  - { flow: [ { get: { url: / } } ] }\n";
    let inputs = folder.inputs("n.yml", scenarios);
    let chosen = |name: &str| {
        load(Inputs {
            scenario_name: Some(name.into()),
            ..inputs.clone()
        })
    };
    assert_eq!(
        chosen("two")
            .unwrap()
            .scenarios()
            .iter()
            .map(|s| s.weight)
            .collect::<Vec<_>>(),
        [0, 1, 0]
    );
    assert_eq!(
        chosen("^tw")
            .unwrap()
            .scenarios()
            .iter()
            .map(|s| s.weight)
            .collect::<Vec<_>>(),
        [0, 1, 0]
    );
    let message = "Scenario three not found in script. Make sure your chosen scenario matches the one in your script exactly.";
    assert_eq!(
        chosen("three").unwrap_err().original,
        Some(refusal::worker(&format!("Error: {message}")))
    );
    assert!(
        chosen("o")
            .unwrap_err()
            .original
            .unwrap()
            .out
            .starts_with("worker error, id: 1 Error: Multiple scenarios for o")
    );
}

#[test]
fn the_payload_flag() {
    let folder = Folder::new("payload");
    let csv = folder.file("p.csv", "1\n2\n");
    folder.file("other.csv", "3\n");
    let script = |payload: &str| {
        format!(
            "config: {{ target: 'http://x', payload: {payload} }}\nscenarios: [ {{ flow: [ {{ get: {{ url: '/{{{{ a }}}}' }} }} ] }} ]"
        )
    };
    let mut given = ArtilleryInputs::from(folder.inputs("s.yml", &script("{ fields: [a] }")));
    given.payload = Some(csv);
    let plan = ok(given.clone());
    assert_eq!((plan.payloads[0].rows.len(), notes(&plan).len()), (2, 0));
    given.inputs.files = vec![folder.file("t.yml", &script("{ fields: [a], path: other.csv }"))];
    let plan = ok(given);
    assert_eq!(plan.payloads[0].rows.len(), 2);
    assert_eq!(
        notes(&plan),
        ["WARNING - both -p and config.payload.path are set, config.payload.path will be ignored."]
    );
}

#[test]
fn proxies_of_the_environment() {
    let folder = Folder::new("proxies");
    let proxies = |variables: &[(&str, &str)]| {
        let env = variables.iter();
        let inputs = Inputs {
            process_env: env.map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            ..folder.inputs("s.yml", BASE)
        };
        ok(inputs.clone()).http.proxies
    };
    let both = proxies(&[("HTTP_PROXY", "http://u:p%40ss@p:3128")]);
    let proxy = both.plain.clone().unwrap();
    assert_eq!((proxy.host.as_str(), proxy.port), ("p", 3128));
    assert_eq!(proxy.credentials, Some(("u".into(), "p@ss".into())));
    assert_eq!(both.plain, both.tls);
    let one = proxies(&[("HTTPS_PROXY", "http://p"), ("http_proxy", "http://q")]);
    assert_eq!((one.plain, one.tls.map(|p| p.port)), (None, Some(80)));
}

#[test]
fn insecure() {
    let folder = Folder::new("insecure");
    let with = |tls: &str| {
        let text = BASE.replace("  variables:", &format!("  {tls}\n  variables:"));
        ok(Inputs {
            insecure: true,
            ..folder.inputs("s.yml", &text)
        })
    };
    let plain = with("x-nothing: 1");
    assert!(!plain.http.verify_tls);
    let contradicted = with("tls: { rejectUnauthorized: true }");
    assert!(!contradicted.http.verify_tls);
    assert_eq!(
        notes(&contradicted),
        [
            "WARNING: TLS certificate validation enabled in the test script, but explicitly disabled with -k/--insecure."
        ]
    );
}

#[test]
fn a_processor_is_found_and_its_functions_are_named() {
    let folder = Folder::new("processor");
    let with = |what: &str| {
        BASE.replace(
            "  variables:",
            &format!("  processor: {what}\n  variables:"),
        )
    };
    let path = folder.file("hooks.js", "");
    for there in ["./hooks.js", "hooks"] {
        let plan = ok(folder.inputs("s.yml", &with(there)));
        assert_eq!(plan.script.unwrap().path, path);
    }
    let missing = load(folder.inputs("s.yml", &with("./none.js"))).unwrap_err();
    let output = missing.original.unwrap().out;
    assert!(
        output.starts_with("worker error, id: 1 Error: Cannot find module '/")
            && output.ends_with("/none.js'\n"),
        "{output}"
    );
    let hook = with("./hooks.js").replace("    flow:", "    beforeScenario: hook\n    flow:");
    assert_ne!(hook, with("./hooks.js"));
    let plan = ok(folder.inputs("s.yml", &hook));
    let plan::Step::Call(call) = &plan.scenarios()[0].steps[0] else {
        panic!("the first step calls no function");
    };
    assert_eq!(call.function, "hook");
    let without = BASE.replace("    flow:", "    beforeScenario: hook\n    flow:");
    let found = notes(&ok(folder.inputs("s.yml", &without)));
    let wanted = "`hook` is undefined: set `config.processor` to the file that exports it";
    assert!(found.iter().any(|note| note.contains(wanted)), "{found:?}");
}

#[test]
fn the_order_of_the_steps() {
    let folder = Folder::new("order");
    let mut given = ArtilleryInputs::from(Inputs {
        environment: Some("staging".into()),
        target: Some("http://flag".into()),
        ..folder.inputs("s.yml", BASE)
    });
    given.overrides =
        Some(r#"{"config": {"target": "http://overridden", "variables": {"who": "over"}}}"#.into());
    let plan = ok(given.clone());
    assert_eq!(plan.target, "http://overridden");
    assert_eq!(plan.variables[0].1, Variable::Constant(json!("over")));
    given.inputs.variables = Some(r#"{"who": "variables"}"#.into());
    let plan = ok(given);
    assert_eq!(plan.variables[0].1, Variable::Constant(json!("variables")));
}

#[test]
fn without_phases_there_is_one_arrival() {
    let folder = Folder::new("phases");
    let text = "config: { target: 'http://x' }\nscenarios: [ { flow: [ { get: { url: / } } ] } ]";
    let plan = ok(folder.inputs("s.yml", text));
    assert_eq!(phases(&plan)[0].shape, Shape::Count(1));
    let alone = ok(Inputs {
        solo: true,
        ..folder.inputs("s.yml", BASE)
    });
    assert_eq!(
        (phases(&alone).len(), phases(&alone)[0].shape),
        (1, Shape::Count(1))
    );
}

#[test]
fn the_folder_is_named_as_the_user_named_it() {
    let text = "config: { target: 'http://x' }\nscenarios: [ { flow: [ { get: { url: '/{{ $dirname }}' } } ] } ]";
    let dirname = |name: &str| {
        let plan = frontend_artillery::translate_text(name, text).unwrap();
        plan.variables[0].1.clone()
    };
    assert_eq!(dirname("s.yml"), Variable::Constant(json!(".")));
    assert_eq!(dirname("a/b/s.yml"), Variable::Constant(json!("a/b")));
}

#[test]
fn plugins_of_the_environment() {
    let folder = Folder::new("plugins");
    let with = |text: &str| Inputs {
        process_env: vec![("ARTILLERY_PLUGINS".into(), text.into())],
        ..folder.inputs("s.yml", BASE)
    };
    let plan = ok(with(r#"{"expect": {"formatter": "json"}, "apdex": {}}"#));
    assert!(plugins(&plan).expect.is_some() && plugins(&plan).apdex_ms.is_some());
    assert_eq!(
        lines(&load(with("[]")).unwrap_err()),
        ["ARTILLERY_PLUGINS:1:1: `[]` is not a JSON object"]
    );
}
