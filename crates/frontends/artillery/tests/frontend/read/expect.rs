use formats::Inputs;
use frontend_artillery::{
    expect::{self, Expect, Expectation, JmesWord, OnFailure, Print},
    load,
};

use super::{errors, notes, plan, plugins};
use crate::support::{Folder, lines, render, requests};

fn script(options: &str, expect: &str) -> String {
    format!(
        "config: {{ target: 'http://x', plugins: {{ expect: {options} }} }}\nscenarios:\n  - flow:\n      - get: {{ url: /, expect: {expect} }}\n      - get: {{ url: / }}\n"
    )
}

fn expectations(expect: &str) -> Vec<Expectation> {
    expect::expectations(requests(&plan(&script("{}", expect)))[0]).to_vec()
}

fn options(options: &str) -> Expect {
    match plugins(&plan(&script(options, "[]"))).expect {
        Some(expect) => expect,
        None => panic!("no plugin"),
    }
}

#[test]
fn every_option() {
    let default = Expect {
        print: Some(Print::Pretty),
        on_failure: OnFailure::Counted,
        names_only: false,
    };
    assert_eq!(options("{}"), default);
    for (format, print) in [
        ("pretty", Print::Pretty),
        ("prettyError", Print::PrettyError),
        ("json", Print::Json),
        ("silent", Print::Silent),
    ] {
        let wanted = Expect {
            print: Some(print),
            ..default
        };
        assert_eq!(options(&format!("{{ outputFormat: {format} }}")), wanted);
        assert_eq!(
            options(&format!("{{ formatter: {format}, outputFormat: odd }}")),
            wanted
        );
    }
    let strict = options("{ reportFailuresAsErrors: true, useOnlyRequestNames: 'true' }");
    assert!(strict.on_failure == OnFailure::FailsUser && strict.names_only);
    assert!(!options("{ useOnlyRequestNames: 'yes' }").names_only);
    let default_200 = plan(&script("{ expectDefault200: true }", "{ cdnHit: true }"));
    let [first, second] = requests(&default_200)[..] else {
        panic!()
    };
    assert!(matches!(
        expect::expectations(first)[..],
        [Expectation::CdnHit(true)]
    ));
    assert!(
        matches!(expect::expectations(second), [Expectation::StatusCode(code)] if render(code) == "200")
    );
    let folder = Folder::new("expect-native");
    let native = load(Inputs {
        native: true,
        ..folder.inputs("s.yml", &script("{ reportFailuresAsErrors: true }", "[]"))
    });
    let wanted = Expect {
        print: None,
        on_failure: OnFailure::FailsRequest,
        names_only: false,
    };
    assert_eq!(plugins(&native.unwrap()).expect, Some(wanted));
    assert_eq!(
        lines(&errors(&script("{ outputFormat: jsno }", "[]")))[0],
        "test.yml:1:66: `jsno` is not an output format: use pretty, prettyError, json or silent (did you mean `json`?)"
    );
    assert_eq!(
        notes(&plan(&script("{ expectdefault200: true }", "[]")))[0],
        "1:52: `expectdefault200` has no effect: the plugin expect has no such option (did you mean `expectDefault200`?)"
    );
}

#[test]
fn maps_and_lists() {
    let both = [
        "{ statusCode: 200, hasProperty: '{{ a }}' }",
        "[ { statusCode: 200 }, { hasProperty: '{{ a }}' } ]",
    ];
    for form in both {
        let found = expectations(form);
        assert!(
            matches!(&found[..], [Expectation::StatusCode(code), Expectation::HasProperty(path)] if render(code) == "200" && render(path) == "{{a}}")
        );
    }
    let described = "[ { jpath: a.b, description: why } ]";
    assert!(
        matches!(&expectations(described)[..], [Expectation::JmesPath { word: JmesWord::Jpath, path, description: Some(reason) }] if path.text() == "a.b" && reason == "why")
    );
    assert!(expectations("").is_empty());
}

#[test]
fn expectation_that_never_holds_is_noted() {
    for (expect, note) in [
        (
            "{ statusCode: 2xx }",
            "4:46: `2xx` is not a status, so no answer matches it: use a number like 200, or a list",
        ),
        (
            "{ hasHeader: X-Id }",
            "4:45: `X-Id` never matches, because Artillery has header names in lower case: use `x-id`",
        ),
        (
            "[ { statusCode: 200, hasProperty: a } ]",
            "4:53: `hasProperty` has no effect together with `statusCode`: write only one check in each list item",
        ),
        (
            "{ statuscode: 200 }",
            "4:34: Expect Plugin: Expectation 'statuscode' is not supported (did you mean `statusCode`?)",
        ),
    ] {
        assert_eq!(notes(&plan(&script("{}", expect))), [note]);
    }
}

#[test]
fn invalid_expectation_is_refused() {
    for (expect, problem) in [
        ("{ jmespath: 'a[' }", "4:47: `a[` is not a JMESPath: "),
        (
            "{ jmespath: 5 }",
            "4:44: a JMESPath must be text like items[0].name, not a number",
        ),
        (
            "{ jpath: { expression: a } }",
            "4:41: a JMESPath must be text like items[0].name, not a mapping",
        ),
        (
            "{ headerEquals: [a] }",
            "4:48: `headerEquals` must be a list of a header name and its value",
        ),
        (
            "{ equals: a }",
            "4:42: `equals` must be a list of values that should be equal",
        ),
        (
            "{ matchesRegexp: '(' }",
            "4:49: `(` is not a valid regular expression: ",
        ),
        (
            "[ 200 ]",
            "4:34: a check must be a mapping like { statusCode: 200 }, not a number",
        ),
        (
            "200",
            "4:32: `expect` must be a list of checks like [ { statusCode: 200 } ], not a number",
        ),
        (
            "{ statusCode: '{{ $nope() }}' }",
            "4:47: unknown function $nope",
        ),
    ] {
        let found = lines(&errors(&script("{}", expect)));
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("test.yml:{problem}")),
            "{found:?}"
        );
    }
}
