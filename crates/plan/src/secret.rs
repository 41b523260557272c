//! Which names say that what stands under them is secret, and what of a value is worth hiding. It hides nothing itself: that is
//! the record's and the console's business.

use serde_json::Value;

use query::value;

/// Names that contain one of these, in any case, hold secrets.
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

/// Names of which one of these is a whole part hold secrets: inside longer words they mean nothing (`author`, `passenger`,
/// `design`).
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

/// Parts of names that make a number of tokens, sessions or keys of what follows: `max_tokens`,
/// `token_count`, `prompt_tokens`.
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
/// Parts of names that are secret by themselves and none in a name that counts.
const COUNTED: [&str; 7] = [
    "token", "tokens", "session", "sessions", "key", "keys", "cookies",
];

/// Whether a name is that of a count. All its parts must be known, so that `new_session_secret` is
/// none.
fn is_count(name: &str) -> bool {
    let is_one_of = |part: &str, known: &[&str]| known.iter().any(|k| part.eq_ignore_ascii_case(k));
    let parts: Vec<&str> = parts(name).filter(|part| !part.is_empty()).collect();
    let counts = parts.iter().any(|part| is_one_of(part, &COUNTING));
    // One new, cached or given token is a token.
    let is_plural = parts.iter().any(|part| part.to_lowercase().ends_with('s'));
    let says_number = parts.iter().any(|part| is_one_of(part, &COUNTING[..9]));
    counts
        && (is_plural || says_number)
        && parts
            .iter()
            .all(|part| is_one_of(part, &COUNTING) || is_one_of(part, &COUNTED))
}

/// Shorter texts are not hidden by value: hiding every `a` of a report would hide the report.
pub const MIN_LENGTH: usize = 4;

/// Whether a header, variable, query or JSON name says that its value is secret: the house list, for readers and for the
/// record alike.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    if is_count(name) {
        return false;
    }
    let lower = name.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
        || parts(name).any(|part| PARTS.iter().any(|known| part.eq_ignore_ascii_case(known)))
}

/// `userPass`, `user-pass`, `USER_PASS` and `JWTPass2` have the part `pass`: whatever is no letter divides, and so does a
/// capital behind a small letter or before one.
fn parts(name: &str) -> impl Iterator<Item = &str> {
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
        let (part, behind) = rest.split_at(end);
        rest = behind;
        Some(part)
    })
}

/// The texts and numbers of a value that are long enough to be hidden wherever they occur.
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
    fn names_of_secrets_and_names_like_them() {
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
    fn leaves_of_a_value() {
        let value = serde_json::json!({"a": ["long enough", "no", 12345, true], "b": null});
        let mut found = leaves(&value);
        found.sort();
        assert_eq!(found, ["12345", "long enough"]);
    }
}
