//! JSON Web Tokens with HS256.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

pub(crate) fn signed(secret: &str, issuer: &str) -> String {
    made(secret, json!({ "iss": issuer }))
}

pub(crate) fn made(secret: &str, claims: Value) -> String {
    let part = |value: Value| BASE64.encode(value.to_string());
    let head = part(json!({ "alg": "HS256", "typ": "JWT" }));
    let signed = format!("{head}.{}", part(claims));
    let signature = mac(secret, &signed).map(|mac| BASE64.encode(mac.finalize().into_bytes()));
    format!("{signed}.{}", signature.unwrap_or_default())
}

pub(crate) fn check(secret: &str, token: &str, now_s: f64) -> Result<(), &'static str> {
    claims(secret, token, now_s).map(drop)
}

pub(crate) fn claims(secret: &str, token: &str, now_s: f64) -> Result<Value, &'static str> {
    let malformed = "the token is not a JSON Web Token";
    let (signed, signature) = token.rsplit_once('.').ok_or(malformed)?;
    let (head, claims) = signed.split_once('.').ok_or(malformed)?;
    let read = |part: &str| -> Result<Value, &'static str> {
        let bytes = BASE64.decode(part).map_err(|_| malformed)?;
        serde_json::from_slice(&bytes).map_err(|_| malformed)
    };
    if read(head)?.get("alg").and_then(Value::as_str) != Some("HS256") {
        return Err("the token is not signed with HS256");
    }
    let signature = BASE64.decode(signature).map_err(|_| malformed)?;
    let mac = mac(secret, signed).ok_or(malformed)?;
    mac.verify_slice(&signature)
        .map_err(|_| "the token's signature is not valid")?;
    let claims = read(claims)?;
    let moment = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or(malformed),
    };
    if moment("exp")?.is_some_and(|end| now_s >= end) {
        return Err("the token has expired");
    }
    if moment("nbf")?.is_some_and(|begin| now_s < begin) {
        return Err("the token is not valid yet");
    }
    Ok(claims)
}

fn mac(secret: &str, signed: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(signed.as_bytes());
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token signed by another library with the secret `your-256-bit-secret`.
    const KNOWN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";

    #[test]
    fn others_tokens_are_understood() {
        assert_eq!(check("your-256-bit-secret", KNOWN, 0.0), Ok(()));
        assert!(check("another", KNOWN, 0.0).is_err());
    }

    #[test]
    fn ours_hold_and_others_do_not() {
        let ours = signed("demo", "lab");
        assert_eq!(check("demo", &ours, 0.0), Ok(()));
        assert!(check("other", &ours, 0.0).is_err());
        for broken in ["", "a.b", "a.b.c", &ours[..ours.len() - 1]] {
            assert!(check("demo", broken, 0.0).is_err(), "{broken}");
        }
        let with = |head: Value, claims: Value| {
            let part = |value: Value| BASE64.encode(value.to_string());
            let signed = format!("{}.{}", part(head), part(claims));
            let tag = mac("demo", &signed).unwrap().finalize().into_bytes();
            format!("{signed}.{}", BASE64.encode(tag))
        };
        let hs256 = json!({ "alg": "HS256" });
        let until = with(hs256.clone(), json!({ "exp": 100, "nbf": 50 }));
        assert_eq!(check("demo", &until, 99.9), Ok(()));
        assert!(check("demo", &until, 100.0).is_err());
        assert!(check("demo", &until, 49.0).is_err());
        let odd = with(hs256, json!({ "exp": "never" }));
        assert!(check("demo", &odd, 0.0).is_err());
        let none = with(json!({ "alg": "none" }), json!({}));
        assert!(check("demo", &none, 0.0).is_err());
    }
}
