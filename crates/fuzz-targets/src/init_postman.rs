//! Reads arbitrary text as a Postman collection: as a whole, as items, and as a script. The result
//! must be a valid plan or a one-line error.

use crate::init_sources::check_source;

pub fn check(text: &str) {
    check_source(text);
    check_source(&format!(
        r#"{{"info": {{"schema": "getpostman.com/v2.1.0"}}, "item": [{text}]}}"#
    ));
    let script: Vec<&str> = text.lines().collect();
    let collection = serde_json::json!({
        "info": {"_postman_id": "1"},
        "item": [{
            "name": text,
            "request": {"method": "POST", "url": format!("http://a/{text}"), "body": {"mode": "raw", "raw": text}},
            "event": [{"listen": "test", "script": {"exec": script}}],
        }],
    });
    check_source(&collection.to_string());
}
