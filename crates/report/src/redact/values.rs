//! Values known to be secret, found wherever they occur: plain, percent-encoded, JSON-escaped, or in base64 at any offset
//! (as `user:password` travels in Basic authentication). Longest first, in one pass over the text.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{Engine as _, engine::general_purpose};

use super::hidden;

/// Shorter texts are not looked for: hiding every `a` of a report would hide the report.
const MIN_LENGTH: usize = 4;
/// Of a secret of four bytes, so many characters of base64 depend on nothing else.
const MIN_BASE64: usize = 4;

/// The forms of all secret values.
#[derive(Debug, Default)]
pub(super) struct Values {
    matcher: Option<AhoCorasick>,
    /// What each form is replaced by.
    shown: Vec<String>,
}

impl Values {
    pub(super) fn new(secrets: &[String]) -> Values {
        let mut forms = BTreeMap::new();
        for secret in secrets
            .iter()
            .map(|secret| secret.trim())
            .filter(|secret| secret.len() >= MIN_LENGTH)
        {
            for form in forms_of(secret) {
                forms.entry(form).or_insert_with(|| hidden(secret));
            }
        }
        let (forms, shown): (Vec<String>, Vec<String>) = forms.into_iter().unzip();
        let matcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms)
            .ok();
        Values {
            matcher: matcher.filter(|_| !forms.is_empty()),
            shown,
        }
    }

    pub(super) fn hide(&self, text: &str) -> String {
        match &self.matcher {
            Some(matcher) => matcher.replace_all(text, &self.shown),
            None => text.to_owned(),
        }
    }
}

fn forms_of(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    // Encoders disagree about what needs no encoding: nothing but letters, RFC 3986, and JavaScript's two.
    for kept in ["", "-_.~", "-_.~!*'()", "-_.~!*'();/?:@&=+$,#"] {
        let keep = |byte: u8| byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte);
        for hex in [
            |byte| format!("%{byte:02X}"),
            |byte: u8| format!("%{byte:02x}"),
        ] {
            let encoded = percent_encoded(secret, keep, hex);
            forms.push(encoded.replace("%20", "+"));
            forms.push(encoded);
        }
    }
    if let Ok(json) = serde_json::to_string(secret) {
        let inner = json.trim_matches('"').to_owned();
        forms.push(
            serde_json::to_string(&inner)
                .unwrap_or_default()
                .trim_matches('"')
                .to_owned(),
        );
        forms.push(inner);
    }
    for offset in 0..3 {
        forms.extend(base64_core(secret.as_bytes(), offset));
    }
    forms.retain(|form| form.len() >= MIN_LENGTH);
    forms
}

fn percent_encoded(text: &str, keep: impl Fn(u8) -> bool, hex: fn(u8) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if keep(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&hex(byte));
        }
    }
    out
}

/// The characters of a base64 text that depend on the secret alone when so many bytes stand before it.
fn base64_core(secret: &[u8], offset: usize) -> Vec<String> {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(secret);
    let first = (offset * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    let engines = [
        general_purpose::STANDARD_NO_PAD,
        general_purpose::URL_SAFE_NO_PAD,
    ];
    let cores = engines
        .iter()
        .filter_map(|engine| engine.encode(&bytes).get(first..last).map(str::to_owned));
    cores.filter(|core| core.len() >= MIN_BASE64).collect()
}
