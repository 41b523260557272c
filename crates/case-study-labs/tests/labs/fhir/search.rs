use serde_json::json;

use super::{FHIR_JSON, PATIENTS, assert_outcome, connect, create};
use crate::client::Client;
use crate::start;

pub fn search(client: &mut Client, query: &str) -> (u64, Vec<String>) {
    let answer = client.get(&format!("{PATIENTS}{query}"));
    assert_eq!(
        (answer.code, answer.header("content-type")),
        (200, Some(FHIR_JSON)),
        "{query}"
    );
    let bundle = answer.json();
    assert_eq!(
        (&bundle["resourceType"], &bundle["type"]),
        (&json!("Bundle"), &json!("searchset"))
    );
    let page = bundle["entry"].as_array().unwrap().iter().map(|entry| {
        let id = entry["resource"]["id"].as_str().unwrap();
        assert_eq!(entry["fullUrl"], format!("http://lab.test{PATIENTS}/{id}"));
        entry["resource"]["name"][0]["family"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    (bundle["total"].as_u64().unwrap(), page.collect())
}

#[test]
fn searches_by_the_start_of_any_name() {
    let lab = start("fhir");
    let mut client = connect(&lab);
    create(&mut client, "Miller", &["Anna", "Maria"]);
    create(&mut client, "Milner", &["Mildred"]);
    create(&mut client, "Élan", &["O'Neil 100%"]);
    for n in 0..30 {
        create(&mut client, &format!("Many{n:02}"), &["Same"]);
    }
    let found = |families: &[&str]| {
        (
            families.len() as u64,
            families.iter().map(ToString::to_string).collect::<Vec<_>>(),
        )
    };
    assert_eq!(
        search(&mut client, "?name=MIL"),
        found(&["Milner", "Miller"]),
        "by name, each patient once"
    );
    assert_eq!(search(&mut client, "?name=maria"), found(&["Miller"]));
    assert_eq!(search(&mut client, "?name=iller"), found(&[]));
    assert_eq!(search(&mut client, "?name=%C3%89L"), found(&["Élan"]));
    assert_eq!(
        search(&mut client, "?name=o%27neil+100%25"),
        found(&["Élan"])
    );
    assert_eq!(search(&mut client, "?name=%25"), found(&[]), "no wildcards");

    let (total, page) = search(&mut client, "?name=same");
    assert_eq!((total, page.len()), (30, 20));
    let (total, page) = search(&mut client, "?name=many&_count=3");
    assert_eq!(
        (total, page),
        (
            30,
            vec![
                "Many00".to_owned(),
                "Many01".to_owned(),
                "Many02".to_owned()
            ]
        )
    );
    assert_eq!(search(&mut client, "?_count=0"), (33, vec![]));
    let (total, page) = search(&mut client, "?name=");
    assert_eq!((total, page.len(), page[0].as_str()), (33, 20, "Miller"));
    for bad in ["?_count=x", "?_count=-1", "?nmae=x", "?name=a&name=b"] {
        assert_outcome(&client.get(&format!("{PATIENTS}{bad}")), 400);
    }
}
