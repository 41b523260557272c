mod search;

use lab::{Lab, LabOptions};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::start;
use search::search;

const PATIENTS: &str = "/fhir/R4/Patient";
const FHIR_JSON: &str = "application/fhir+json; charset=utf-8";

fn connect(lab: &Lab) -> Client {
    Client::connect(lab.address()).with_header("Authorization", "Bearer demo")
}

fn patient(family: &str, given: &[&str]) -> String {
    json!({ "resourceType": "Patient", "name": [{ "family": family, "given": given }] }).to_string()
}

fn create(client: &mut Client, family: &str, given: &[&str]) -> Value {
    let answer = client.request("POST", PATIENTS, &patient(family, given));
    assert_eq!(answer.code, 201, "{}", answer.body);
    answer.json()
}

fn path_of(patient: &Value) -> String {
    format!("{PATIENTS}/{}", patient["id"].as_str().unwrap())
}

fn assert_outcome(answer: &Answer, code: u16) {
    assert_eq!(answer.code, code, "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some(FHIR_JSON));
    let outcome = answer.json();
    assert_eq!(outcome["resourceType"], "OperationOutcome");
    assert_eq!(outcome["issue"][0]["severity"], "error");
    assert!(
        !outcome["issue"][0]["diagnostics"]
            .as_str()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn healthcheck_needs_no_token() {
    let lab = start("fhir");
    let answer = Client::connect(lab.address()).get("/healthcheck");
    assert_eq!(
        (answer.code, answer.header("content-type")),
        (200, Some("application/json"))
    );
    assert_eq!(
        (&answer.json()["ok"], &answer.json()["store"]),
        (&json!(true), &json!(true))
    );
}

#[test]
fn everything_below_the_base_needs_the_token() {
    let lab = Lab::start_from(
        case_study_labs::LABS,
        "fhir",
        &LabOptions {
            token: "s3cret".to_owned(),
            ..LabOptions::default()
        },
    )
    .unwrap();
    for wrong in [
        "Bearer demo",
        "Bearer",
        "Basic s3cret",
        "s3cret",
        "Bearer s3cret2",
    ] {
        let mut client = Client::connect(lab.address()).with_header("authorization", wrong);
        assert_outcome(&client.get(PATIENTS), 401);
    }
    let mut client = Client::connect(lab.address());
    for path in [
        "/fhir/R4",
        "/fhir/R4/",
        "/fhir/R4/Patient/1",
        "/fhir/R4/Observation",
        "/fhir/R4/Patient?name=x",
    ] {
        let answer = client.get(path);
        assert_outcome(&answer, 401);
        assert!(
            answer
                .header("www-authenticate")
                .unwrap()
                .starts_with("Bearer")
        );
    }
    assert_outcome(&client.request("POST", PATIENTS, &patient("A", &[])), 401);
    let mut client = Client::connect(lab.address()).with_header("Authorization", "bearer s3cret");
    assert_eq!(search(&mut client, ""), (0, vec![]));
}

#[test]
fn creates_and_reads() {
    let lab = start("fhir");
    let mut client = connect(&lab);
    let sent = json!({
        "id": "mine", "active": true, "resourceType": "Patient",
        "meta": { "versionId": "99", "tag": [{ "code": "t" }] }, "name": [{ "family": "Ånström" }],
    });
    let answer = client.request("POST", PATIENTS, &sent.to_string());
    assert_eq!(
        (answer.code, answer.header("content-type")),
        (201, Some(FHIR_JSON))
    );
    assert_eq!(answer.header("etag"), Some("W/\"1\""));
    let created = answer.json();
    let id = created["id"].as_str().unwrap();
    assert_eq!((id.len(), &id[14..15]), (36, "4"), "a UUID of version 4");
    assert_eq!(
        answer.header("location"),
        Some(format!("http://lab.test{PATIENTS}/{id}").as_str())
    );
    let updated = created["meta"]["lastUpdated"].as_str().unwrap();
    assert_eq!(
        (updated.len(), &updated[23..]),
        ("2026-01-31T12:00:00.000Z".len(), "Z")
    );
    assert_eq!(created["meta"]["versionId"], "1");
    assert_eq!(created["meta"]["tag"], sent["meta"]["tag"]);
    assert_eq!(
        (&created["active"], &created["name"]),
        (&sent["active"], &sent["name"])
    );

    let read = client.get(&path_of(&created));
    assert_eq!((read.code, read.header("etag")), (200, Some("W/\"1\"")));
    assert_eq!(read.body, answer.body);
    assert_outcome(&client.get(&format!("{PATIENTS}/nobody")), 404);
}

#[test]
fn updates_and_deletes() {
    let lab = start("fhir");
    let mut client = connect(&lab);
    let mut resource = create(&mut client, "Before", &[]);
    let path = path_of(&resource);
    resource["name"] = json!([{ "family": "After" }]);
    let answer = client.request("PUT", &path, &resource.to_string());
    assert_eq!((answer.code, answer.header("etag")), (200, Some("W/\"2\"")));
    assert_eq!(answer.json()["meta"]["versionId"], "2");
    assert_eq!(search(&mut client, "?name=before"), (0, vec![]));
    assert_eq!(
        search(&mut client, "?name=after"),
        (1, vec!["After".to_owned()])
    );

    let answer = client.request("DELETE", &path, "");
    assert_eq!((answer.code, answer.body.as_str()), (204, ""));
    assert_outcome(&client.get(&path), 410);
    assert_eq!(client.request("DELETE", &path, "").code, 204);
    assert_eq!(search(&mut client, "?name=after"), (0, vec![]));
    assert_eq!(search(&mut client, ""), (0, vec![]));

    let answer = client.request("PUT", &path, &resource.to_string());
    assert_eq!((answer.code, answer.header("etag")), (201, Some("W/\"4\"")));
    assert_eq!(search(&mut client, ""), (1, vec!["After".to_owned()]));

    let new = r#"{"resourceType":"Patient","id":"chosen-1"}"#;
    let answer = client.request("PUT", &format!("{PATIENTS}/chosen-1"), new);
    assert_eq!((answer.code, answer.header("etag")), (201, Some("W/\"1\"")));
    assert!(
        answer
            .header("location")
            .unwrap()
            .ends_with("/Patient/chosen-1")
    );
    assert_outcome(
        &client.request("DELETE", &format!("{PATIENTS}/nobody"), ""),
        404,
    );
}

#[test]
fn refuses_with_an_outcome() {
    let lab = start("fhir");
    let mut client = connect(&lab);
    let good = patient("A", &[]);
    for (method, path, body, code) in [
        ("POST", "/Patient", "{", 400),
        ("POST", "/Patient", "", 400),
        ("POST", "/Patient", "[]", 400),
        ("POST", "/Patient", "{}", 400),
        ("POST", "/Patient", r#"{"resourceType":"Observation"}"#, 400),
        (
            "POST",
            "/Observation",
            r#"{"resourceType":"Observation"}"#,
            404,
        ),
        ("GET", "/Observation/1", "", 404),
        ("GET", "", "", 404),
        ("GET", "/Patient/1/_history", "", 404),
        ("GET", "/Patient/%FF", "", 400),
        ("PATCH", "/Patient/1", "[]", 405),
        ("DELETE", "/Patient", "", 405),
        ("PUT", "/Patient/1", &good, 400),
        (
            "PUT",
            "/Patient/1",
            r#"{"resourceType":"Patient","id":"2"}"#,
            400,
        ),
        (
            "PUT",
            "/Patient/a_b",
            r#"{"resourceType":"Patient","id":"a_b"}"#,
            400,
        ),
        ("PUT", "/Patient/1", "{", 400),
    ] {
        assert_outcome(
            &client.request(method, &format!("/fhir/R4{path}"), body),
            code,
        );
    }
    assert_outcome(&client.get("/nowhere"), 404);
    assert_eq!(
        client
            .request("PATCH", "/fhir/R4/Patient/1", "")
            .header("allow"),
        Some("GET,HEAD,PUT,DELETE")
    );
    let huge = " ".repeat((2 << 20) + 1);
    let mut other = connect(&lab);
    assert_outcome(&other.request("POST", PATIENTS, &huge), 413);
}

#[test]
fn a_seed_gives_the_same_ids_and_a_file_keeps_its_patients() {
    let file = std::env::temp_dir().join(format!("lab-store-{}.db", std::process::id()));
    let extra = vec![("store".to_owned(), file.to_str().unwrap().to_owned())];
    let stored = LabOptions {
        seed: 7,
        extra,
        ..LabOptions::default()
    };
    let first = Lab::start_from(case_study_labs::LABS, "fhir", &stored).unwrap();
    let a = create(&mut connect(&first), "A", &[]);
    first.stop().unwrap();
    let second = Lab::start_from(case_study_labs::LABS, "fhir", &stored).unwrap();
    let third = Lab::start_from(case_study_labs::LABS, "fhir", &stored)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        third.starts_with("cannot open store ") && third.ends_with("database is locked"),
        "{third}"
    );
    let b = create(&mut connect(&second), "B", &[]);
    assert_eq!(search(&mut connect(&second), "").0, 2);
    assert_eq!(connect(&second).get(&path_of(&a)).json(), a);
    second.stop().unwrap();
    std::fs::remove_file(&file).unwrap();

    let memory = Lab::start_from(
        case_study_labs::LABS,
        "fhir",
        &LabOptions {
            seed: 7,
            ..LabOptions::default()
        },
    )
    .unwrap();
    let mut client = connect(&memory);
    assert_eq!(create(&mut client, "A", &[])["id"], a["id"]);
    assert_eq!(create(&mut client, "B", &[])["id"], b["id"]);
    let other = Lab::start_from(
        case_study_labs::LABS,
        "fhir",
        &LabOptions {
            seed: 7,
            ..LabOptions::default()
        },
    )
    .unwrap();
    let mut client = connect(&other);
    let taken = json!({ "resourceType": "Patient", "id": a["id"] }).to_string();
    assert_eq!(client.request("PUT", &path_of(&a), &taken).code, 201);
    assert_eq!(create(&mut client, "B", &[])["id"], b["id"]);
}
