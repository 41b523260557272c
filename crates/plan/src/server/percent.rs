//! Percent-decoding for the URLs of sources.

/// Decodes a string. Returns `None` if it contains an invalid escape or is not valid UTF-8.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn invalid_escapes_yield_none() {
        assert_eq!(decoded("a%20%C3%A9+").as_deref(), Some("a é+"));
        for text in ["%", "%2", "%zz", "%ff", "%+1"] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }
}
