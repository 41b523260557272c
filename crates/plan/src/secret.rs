//! Detection of secrets: names whose values are secret, and the parts of a value to hide. The
//! caller hides them.

use serde_json::Value;

use query::value;

const WORDS: [&str; 8] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "key",
    "credential",
];

/// Words that make a name secret if they are one of its words. Longer words such as `author`,
/// `passenger` or `design` do not count.
const PARTS: [&str; 10] = [
    "pwd",
    "pass",
    "passphrase",
    "passcode",
    "auth",
    "jwt",
    "session",
    "sessionid",
    "sig",
    "signature",
];

/// Words that make a name the name of a count: `max_tokens`, `token_count`, `prompt_tokens`.
const COUNTING: [&str; 17] = [
    "max",
    "min",
    "count",
    "num",
    "number",
    "limit",
    "total",
    "budget",
    "usage",
    "new",
    "prompt",
    "completion",
    "input",
    "output",
    "reasoning",
    "cached",
    "thinking",
];
/// Words that make a name secret, unless the name is the name of a count.
const COUNTED: [&str; 7] = [
    "token", "tokens", "session", "sessions", "key", "keys", "cookies",
];

/// Returns whether a name is the name of a count. All its words must be known, so
/// `new_session_secret` is not a count.
fn is_count(name: &str) -> bool {
    let is_one_of = |part: &str, known: &[&str]| known.iter().any(|k| part.eq_ignore_ascii_case(k));
    let parts: Vec<&str> = parts(name).filter(|part| !part.is_empty()).collect();
    let counts = parts.iter().any(|part| is_one_of(part, &COUNTING));
    // A singular such as `new_token` names a secret.
    let is_plural = parts.iter().any(|part| part.to_lowercase().ends_with('s'));
    let says_number = parts.iter().any(|part| is_one_of(part, &COUNTING[..9]));
    counts
        && (is_plural || says_number)
        && parts
            .iter()
            .all(|part| is_one_of(part, &COUNTING) || is_one_of(part, &COUNTED))
}

/// Minimum length of a string to hide wherever it occurs. Hiding shorter strings would make reports
/// unreadable.
pub const MIN_LENGTH: usize = 4;

/// Returns whether a header, variable, query parameter or JSON key with this name has a secret
/// value.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    if is_count(name) {
        return false;
    }
    let lower = name.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
        || parts(name).any(|part| PARTS.iter().any(|known| part.eq_ignore_ascii_case(known)))
}

/// Splits a name such as `userPass`, `user-pass`, `USER_PASS` or `JWTPass2` into words, at
/// non-letters and changes of case.
pub fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphabetic()).flat_map(humps)
}

fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let mut letters = rest.char_indices().peekable();
        let (_, mut before) = letters.next()?;
        let mut end = rest.len();
        while let Some((at, letter)) = letters.next() {
            let begins_word = letters.peek().is_some_and(|(_, next)| next.is_lowercase());
            if letter.is_uppercase() && (before.is_lowercase() || begins_word) {
                end = at;
                break;
            }
            before = letter;
        }
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

/// Returns the strings and numbers in a value that are long enough to hide.
#[must_use]
pub fn leaves(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.values()),
            Value::String(_) | Value::Number(_) => {
                let text = value::text(Some(value));
                if text.len() >= MIN_LENGTH {
                    found.push(text);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_are_detected_and_similar_ones_are_not() {
        for name in [
            "Authorization",
            "X-Api-Key",
            "access_token",
            "$.access_token",
            "userPassword",
            "pwd",
            "DB_PASS",
            "userPass",
            "pass2",
            "auth",
            "x-auth",
            "authHeader",
            "JWT",
            "JWTValue",
            "myJWT",
            "session",
            "session_id",
            "sessionId",
            "X-Session",
            "sig",
            "?sig",
            "Signature",
            "x-hub-signature-256",
            "new_token",
            "session_token",
            "cached_key",
            "max_token_secret",
            "new_session_secret",
            "input_token",
            "user_tokens",
            "tokens",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "max_tokens",
            "maxTokens",
            "max_completion_tokens",
            "prompt_tokens",
            "token_count",
            "total-tokens",
            "session_count",
            "keyCount",
            "author",
            "authors",
            "passenger",
            "passengers_id",
            "design",
            "designer",
            "bypass",
            "Passage",
            "compassId",
            "signal",
            "sigma",
            "assign",
            "obsession",
            "name",
            "",
            "épée",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn leaves_of_a_value_are_collected() {
        let value = serde_json::json!({"a": ["long enough", "no", 12345, true], "b": null});
        let mut found = leaves(&value);
        found.sort();
        assert_eq!(found, ["12345", "long enough"]);
    }
}
