use serde_json::Value;

use super::*;
use formats::document::{self, Dialect};

#[test]
fn the_schema_speaks_as_the_original_does() {
    // Each vector consists of a script and the first message of Artillery 2.0.21's schema, or null.
    let vectors: Value = serde_json::from_str(include_str!("../../tests/golden/joi.json")).unwrap();
    for vector in vectors.as_array().unwrap() {
        let script = vector[0].as_str().unwrap();
        let root = document::parse(0, script, Dialect::JsYaml)
            .unwrap()
            .root
            .unwrap();
        let message = joi::validate(&root).err().map(|invalid| invalid.message);
        assert_eq!(message.as_deref(), vector[1].as_str(), "{script}");
    }
}
