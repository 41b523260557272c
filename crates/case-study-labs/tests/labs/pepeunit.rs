use serde_json::{Value, json};

use crate::client::Client;
use crate::start;

const PATH: &str = "/pepeunit/graphql";

fn ask(client: &mut Client, body: &Value) -> Value {
    let answer = client.request("POST", PATH, &body.to_string());
    assert_eq!(answer.code, 200, "{body}");
    answer.json()
}

#[test]
fn the_counts_are_the_same_everywhere() {
    let lab = start("pepeunit");
    let mut client = Client::connect(lab.address());
    let page = client.get("/pepeunit");
    assert_eq!(page.code, 200);
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    let rest = client.get("/pepeunit/api/v1/metrics/").json();
    let query = "query { getBaseMetrics { userCount repoCount unitCount unitNodeCount unitNodeEdgeCount } }";
    let reported = ask(&mut client, &json!({ "query": query }));
    let metrics = reported["data"]["getBaseMetrics"].as_object().unwrap();
    let in_rest = |name: &str| {
        let words = name.chars().fold(String::new(), |mut all, c| {
            if c.is_ascii_uppercase() {
                all.push('_');
            }
            all.push(c.to_ascii_lowercase());
            all
        });
        rest[words].clone()
    };
    assert_eq!(metrics.len(), 5);
    for (name, count) in metrics {
        assert_eq!(*count, in_rest(name), "{name}");
        assert!(count.as_u64().unwrap() > 0);
    }
    assert_eq!(client.get("/pepeunit/nowhere").code, 404);
    assert_eq!(client.get(PATH).code, 405);
}

#[test]
fn selections_aliases_fragments_and_variables_count() {
    let lab = start("pepeunit");
    let mut client = Client::connect(lab.address());
    let query = "query A { other: getBaseMetrics { n: userCount } }
        query B($with: Boolean!, $deep: Boolean = true) {
          __typename
          getBaseMetrics { ...Some unitCount @include(if: $with) }
          getBaseMetrics { ... on BaseMetrics @skip(if: $deep) { unitNodeCount } repoCount @skip(if: false) }
        }
        fragment Some on BaseMetrics { userCount __typename }";
    let reported = ask(
        &mut client,
        &json!({ "query": query, "operationName": "A" }),
    );
    assert_eq!(reported, json!({ "data": { "other": { "n": 12 } } }));
    let reported = ask(
        &mut client,
        &json!({ "query": query, "operationName": "B", "variables": { "with": false } }),
    );
    let metrics = json!({ "userCount": 12, "__typename": "BaseMetrics", "repoCount": 31 });
    assert_eq!(
        reported,
        json!({ "data": { "__typename": "Query", "getBaseMetrics": metrics } })
    );
    let given = json!({ "with": true, "deep": false });
    let reported = ask(
        &mut client,
        &json!({ "query": query, "operationName": "B", "variables": given }),
    );
    assert_eq!(reported["data"]["getBaseMetrics"]["unitCount"], 204);
    assert_eq!(reported["data"]["getBaseMetrics"]["unitNodeCount"], 1632);
}

#[test]
fn unanswerable_query_is_a_graphql_error() {
    let lab = start("pepeunit");
    let mut client = Client::connect(lab.address());
    for (query, says) in [
        ("{ nothing }", "'nothing'"),
        ("{ getBaseMetrics { nothing } }", "'nothing'"),
        ("{ getBaseMetrics }", "selection of subfields"),
        ("{ getBaseMetrics { userCount { x } } }", "no subfields"),
        ("{ getBaseMetrics(x: 1) { userCount } }", "argument 'x'"),
        ("{ getBaseMetrics { userCount @odd } }", "'@odd'"),
        ("{ getBaseMetrics { userCount @skip } }", "'if'"),
        ("{ getBaseMetrics { ...None } }", "'None'"),
        (
            "{ getBaseMetrics { ...A } } fragment A on BaseMetrics { ...B } fragment B on BaseMetrics { ...A }",
            "within itself",
        ),
        ("{ ... on BaseMetrics { userCount } }", "'BaseMetrics'"),
        (
            "{ __typename } fragment A on Query { __typename }",
            "never used",
        ),
        (
            "{ getBaseMetrics { a: userCount a: repoCount } }",
            "conflict",
        ),
        ("query ($a: Boolean!) { __typename }", "never used"),
        ("query { __typename @skip(if: $a) }", "'$a'"),
        (
            "query ($a: String!) { __typename @skip(if: $a) }",
            "'String!'",
        ),
        (
            "query ($a: Boolean!) { __typename @skip(if: $a) }",
            "not provided",
        ),
        (
            "query A { __typename } query B { __typename }",
            "operation name",
        ),
        ("mutation { getBaseMetrics { userCount } }", "mutation"),
        ("{ getBaseMetrics { userCount }", "Syntax Error"),
        ("", "Syntax Error"),
    ] {
        let reported = ask(&mut client, &json!({ "query": query }));
        assert!(reported.get("data").is_none(), "{query}: {reported}");
        let message = reported["errors"][0]["message"].as_str().unwrap();
        assert!(
            message.contains(says) && !message.contains('\n'),
            "{query}: {message}"
        );
    }
    let placed = ask(&mut client, &json!({ "query": "{\n  nothing\n}" }));
    assert_eq!(
        placed["errors"][0]["locations"],
        json!([{ "line": 2, "column": 3 }])
    );
    let deep = format!("{}{}", "{ a ".repeat(5000), "}".repeat(5000));
    assert!(ask(&mut client, &json!({ "query": deep }))["errors"].is_array());
    for bad in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"query": 5}"#,
        r#"{"query": "{ x }", "variables": 5}"#,
    ] {
        let answer = client.request("POST", PATH, bad);
        assert_eq!(answer.code, 400, "{bad}");
        assert!(answer.json()["errors"].is_array());
    }
}
