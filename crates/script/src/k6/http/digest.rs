//! Digest authentication (RFC 7616).

use crate::js::hashes;

/// The challenge in a `WWW-Authenticate` header.
#[derive(Debug, Default, PartialEq)]
struct Challenge {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    algorithm: Option<String>,
    has_qop: bool,
}

/// Returns the `Authorization` header for a `WWW-Authenticate` header. `None` if the server
/// requests another kind of authentication.
pub fn authorization(
    header: &str,
    (name, password): (&str, &str),
    (method, uri): (&str, &str),
    nonce: &str,
) -> Option<String> {
    let challenge = parse(header)?;
    let algorithm = challenge.algorithm.as_deref().unwrap_or("MD5");
    let (plain, is_session) = match algorithm.to_ascii_lowercase().strip_suffix("-sess") {
        Some(plain) => (plain.to_owned(), true),
        None => (algorithm.to_ascii_lowercase(), false),
    };
    let hash_name = match plain.as_str() {
        "md5" => "md5",
        "sha-256" => "sha256",
        _ => return None,
    };
    let hash = |text: &str| -> Option<String> {
        let digest = hashes::digest(hash_name, text.as_bytes())?;
        Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    };
    let Challenge { realm, .. } = &challenge;
    let mut secret = hash(&format!("{name}:{realm}:{password}"))?;
    if is_session {
        secret = hash(&format!("{secret}:{}:{nonce}", challenge.nonce))?;
    }
    let request = hash(&format!("{method}:{uri}"))?;
    let response = match challenge.has_qop {
        true => hash(&format!(
            "{secret}:{}:00000001:{nonce}:auth:{request}",
            challenge.nonce
        ))?,
        false => hash(&format!("{secret}:{}:{request}", challenge.nonce))?,
    };
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut answer = format!(
        "Digest username=\"{}\", realm=\"{}\", nonce=\"{}\", uri=\"{uri}\", \
         response=\"{response}\"",
        quoted(name),
        quoted(realm),
        quoted(&challenge.nonce)
    );
    if let Some(algorithm) = &challenge.algorithm {
        answer.push_str(&format!(", algorithm={algorithm}"));
    }
    if let Some(opaque) = &challenge.opaque {
        answer.push_str(&format!(", opaque=\"{}\"", quoted(opaque)));
    }
    if challenge.has_qop {
        answer.push_str(&format!(", qop=auth, nc=00000001, cnonce=\"{nonce}\""));
    }
    Some(answer)
}

fn parse(header: &str) -> Option<Challenge> {
    let (scheme, mut rest) = header.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("digest") {
        return None;
    }
    let mut challenge = Challenge::default();
    loop {
        rest = rest.trim_start_matches([' ', ',', '\t']);
        let Some((key, after)) = rest.split_once('=') else {
            break;
        };
        let value = match after.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let (value, after) = unquoted(quoted);
                rest = after;
                value
            }
            None => {
                let end = after.find(',').unwrap_or(after.len());
                rest = &after[end..];
                after[..end].trim().to_owned()
            }
        };
        match key.trim().to_ascii_lowercase().as_str() {
            "realm" => challenge.realm = value,
            "nonce" => challenge.nonce = value,
            "opaque" => challenge.opaque = Some(value),
            "algorithm" => challenge.algorithm = Some(value),
            "qop" => {
                challenge.has_qop = value.split(',').any(|qop| qop.trim() == "auth");
                if !challenge.has_qop {
                    return None;
                }
            }
            _ => {}
        }
    }
    (!challenge.nonce.is_empty()).then_some(challenge)
}

/// Reads a text up to its closing quotation mark. Returns the text and the rest.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn answers_are_those_of_the_standards() {
        let header = "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", \
                      nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", \
                      opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"";
        let answer = authorization(
            header,
            ("Mufasa", "Circle Of Life"),
            ("GET", "/dir/index.html"),
            "0a4f113b",
        );
        // The example in RFC 2617.
        assert!(
            answer
                .unwrap()
                .contains("response=\"6629fae49393a05397450978507c4ef1\"")
        );
        let header = "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", \
                      algorithm=SHA-256, nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
                      opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";
        let answer = authorization(
            header,
            ("Mufasa", "Circle of Life"),
            ("GET", "/dir/index.html"),
            "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
        );
        // The example in RFC 7616.
        assert!(answer.unwrap().contains(
            "response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\""
        ));
        let ask = |header| authorization(header, ("a", "b"), ("GET", "/"), "c");
        assert_eq!(ask("Basic realm=\"x\""), None);
        assert_eq!(ask("Digest nonce=\"n\", qop=\"auth-int\""), None);
        assert_eq!(ask("Digest nonce=\"n\", algorithm=SHA-9"), None);
    }

    proptest! {
        #[test]
        fn any_header_is_answered_or_not(header in "(Digest )?[a-z=\", \\\\]{0,40}|\\PC{0,20}") {
            let _ = authorization(&header, ("a", "b"), ("GET", "/"), "c");
        }
    }
}
