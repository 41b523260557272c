//! Bodies, paths and passwords without secrets, in the most readable form that still sends the same
//! bytes.

use serde_json::Value;

use crate::{draft::DraftBody, placeholders, unknowns::Unknowns, yaml};

const JSON: &str = "application/json";

/// Drafts a body. Uses JSON if the plan then sends the same bytes, or if a value must be replaced.
/// Removes headers that this form implies.
pub fn draft(
    text: &str,
    headers: &mut Vec<(String, String)>,
    unknowns: &mut Unknowns,
    what: &str,
) -> DraftBody {
    if text.is_empty() {
        return DraftBody::None;
    }
    let kind = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kind.map_or_else(String::new, |(_, kind)| kind.to_ascii_lowercase());
    if let Some(value) = structured(text) {
        let without = unknowns.json("", &value, what);
        let is_json = kind.starts_with(JSON) || kind.contains("+json");
        if let Some(text) = unknowns.with_numbers(&without) {
            if kind.is_empty() {
                headers.push(("content-type".to_owned(), JSON.to_owned()));
            }
            return DraftBody::Text(text);
        }
        if without != value || is_json && query::value::json(&value) == text {
            if kind == JSON {
                headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            }
            return DraftBody::Json(without);
        }
        return DraftBody::Text(text.to_owned());
    }
    if kind.contains("json") {
        return DraftBody::Text(unknowns.json_text(text, what));
    }
    if kind.starts_with("application/x-www-form-urlencoded") {
        return DraftBody::Text(unknowns.pairs(text, what));
    }
    if kind.starts_with("multipart/form-data") {
        return DraftBody::Text(unknowns.multipart(text, what));
    }
    DraftBody::Text(text.to_owned())
}

pub fn structured(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let is_whole = query::value::json(&value).len() <= text.len() || text.contains("\\u");
    let is_whole = is_whole && yaml::holds(&value) && members(&value) == text_members(text);
    (is_whole && (placeholders::has_variables(text) || !placeholders::is_foreign_value(&value)))
        .then_some(value)
}

fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

fn text_members(text: &str) -> usize {
    let (mut count, mut inside, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b':' if !inside => count += 1,
            _ => {}
        }
    }
    count
}

pub fn path(path: &str, unknowns: &mut Unknowns) -> String {
    match path.split_once('?') {
        Some((path, query)) => format!("{path}?{}", unknowns.pairs(query, "the URL's query")),
        None => path.to_owned(),
    }
}

pub fn user(name: &str, password: Option<&str>, unknowns: &mut Unknowns) -> (String, String) {
    let what = format!(
        "the password of {}",
        if placeholders::has_variables(name) || name.is_empty() || is_key(name) {
            "the user"
        } else {
            name
        }
    );
    let password = match password {
        Some(text)
            if placeholders::has_variables(text) && placeholders::replaced(text, "").is_empty() =>
        {
            text.to_owned()
        }
        Some("") => String::new(),
        Some(text) => unknowns.secret("password", text, &what),
        None => unknowns.missing("password", &what),
    };
    let name = if is_key(name) {
        unknowns.secret("api_key", name, "the user, which looks like a key")
    } else {
        name.to_owned()
    };
    (name, password)
}

fn is_key(name: &str) -> bool {
    const PREFIXES: [&str; 13] = [
        "sk_",
        "pk_",
        "rk_",
        "sk-",
        "pk-",
        "ghp_",
        "gho_",
        "github_pat_",
        "glpat-",
        "xox",
        "AKIA",
        "key-",
        "SG.",
    ];
    let has_digit = name.bytes().any(|byte| byte.is_ascii_digit());
    let is_word = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    let has_prefix = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    !placeholders::has_variables(name)
        && is_word
        && (has_prefix && name.len() >= 12 || name.len() >= 20 && has_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(kind: &str, text: &str) -> (DraftBody, usize) {
        let mut headers = vec![("content-type".to_owned(), kind.to_owned())];
        let body = draft(text, &mut headers, &mut Unknowns::default(), "the body");
        (body, headers.len())
    }

    #[test]
    fn only_the_same_bytes_become_json() {
        assert!(matches!(body(JSON, r#"{"a":1}"#), (DraftBody::Json(_), 0)));
        for text in [
            r#"{"a": 1}"#,
            r#"{"a":1.0}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":"\u00e9"}"#,
            "{",
            "12",
        ] {
            assert_eq!(
                body(JSON, text),
                (DraftBody::Text(text.to_owned()), 1),
                "{text}"
            );
        }
    }

    #[test]
    fn number_under_secret_name_stays_a_number() {
        let (body, headers) = body(JSON, r#"{"api_key": 1234, "token": "1234"}"#);
        let DraftBody::Text(text) = body else {
            panic!("{body:?}")
        };
        assert_eq!(
            placeholders::replaced(&text, "X"),
            r#"{"api_key":X,"token":"X"}"#
        );
        assert_eq!(headers, 1);
    }

    #[test]
    fn fields_of_form_with_files_are_searched_for_secrets() {
        let form = "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cret\r\n--b\r\n\
                    Content-Disposition: form-data; name=\"title\"\r\n\r\nScan\r\n--b--\r\n";
        let (body, _) = body("multipart/form-data; boundary=b", form);
        let DraftBody::Text(text) = body else {
            panic!("{body:?}")
        };
        assert_eq!(
            placeholders::replaced(&text, "X"),
            form.replace("s3cret", "X")
        );
    }

    #[test]
    fn secrets_stay_out_of_every_form() {
        let (json, _) = body(
            JSON,
            r#"{"user": "me", "password": "s3cret", "in": [{"api_key": 1234}]}"#,
        );
        assert!(
            matches!(&json, DraftBody::Text(text) if !text.contains("s3cret") && !text.contains("1234"))
        );
        let (form, _) = body(
            "application/x-www-form-urlencoded",
            "user=me&password=s3cret",
        );
        assert!(
            matches!(&form, DraftBody::Text(text) if text.starts_with("user=me&password=") && !text.contains("s3cret"))
        );
    }
}
