use formats::LoadErrors;
use init::{Draft, SourceText};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{golden, no_file, read, refusal, text};

const COLLECTION: &str = include_str!("sources/shop.postman_collection.json");
const ENVIRONMENT: &str = include_str!("sources/shop.postman_environment.json");

fn drafted(collection: &str, environment: Option<&str>) -> Result<Draft, LoadErrors> {
    let source = SourceText {
        name: "shop.postman_collection.json",
        text: collection,
    };
    let environment = environment.map(|text| SourceText {
        name: "staging.json",
        text,
    });
    init::from_source(source, environment, &no_file)
}

#[test]
fn collection_with_login_and_orders_becomes_a_plan() {
    let draft = drafted(COLLECTION, Some(ENVIRONMENT)).unwrap();
    let (text, _) = read(draft);
    assert!(
        !text.contains("hunter2") && !text.contains("s3cret"),
        "{text}"
    );
    golden("postman.yml", &text);
}
