//! Translates Postman's dynamic variables, such as `{{$guid}}`.

use crate::placeholders;

pub enum DynamicValue {
    Same(String),
    Similar { text: String, remark: String },
    Unknown,
}

const NAMES: [&str; 13] = [
    "randomFirstName",
    "randomLastName",
    "randomFullName",
    "randomUserName",
    "randomPassword",
    "randomWord",
    "randomLoremWord",
    "randomCity",
    "randomCompanyName",
    "randomProductName",
    "randomJobTitle",
    "randomNoun",
    "randomColor",
];

/// Translates the variable with this name, without `$`.
pub fn translate(name: &str) -> DynamicValue {
    let call = |call: &str| DynamicValue::Same(placeholders::variable(call));
    match name {
        "randomInt" => call("$randomNumber(0, 1000)"),
        "randomAlphaNumeric" => call("$randomString(1)"),
        "guid" | "randomUUID" => DynamicValue::Similar {
            text: placeholders::variable("$uuid"),
            remark: format!("`${name}` is one value per virtual user, in Postman one per use."),
        },
        "randomEmail" | "randomExampleEmail" => DynamicValue::Similar {
            text: format!(
                "{}@example.com",
                placeholders::variable("$randomString(10)")
            ),
            remark: format!("`${name}` is ten random characters at example.com."),
        },
        name if NAMES.contains(&name) => DynamicValue::Similar {
            text: placeholders::variable("$randomString(10)"),
            remark: format!("`${name}` is ten random characters."),
        },
        _ => DynamicValue::Unknown,
    }
}
