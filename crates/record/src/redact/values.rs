//! Finds known secrets in all forms: plain, percent-encoded, JSON-escaped, and base64 at any
//! offset. Searches for all forms in one pass, and prefers longer forms.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{Engine as _, engine::general_purpose};

use plan::secret::MIN_LENGTH;

use super::Salt;

/// Minimum number of base64 characters that depend only on the secret. A secret of four bytes has
/// this many.
const MIN_BASE64: usize = 4;

/// Maximum number of recently learned forms, which are searched for one by one. If a quarter of all
/// forms is more, that is the maximum.
const MOST_RECENT: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Values {
    forms: BTreeMap<String, String>,
    matcher: Option<AhoCorasick>,
    marks: Vec<String>,
    recent: Vec<(String, String)>,
}

impl Values {
    pub(super) fn new(secrets: &[String], salt: Salt) -> Values {
        let mut values = Values::default();
        for secret in secrets {
            values.add(secret, salt);
        }
        values.settle();
        values
    }

    pub(super) fn learn(&mut self, secret: &str, salt: Salt) {
        self.add(secret, salt);
        if self.recent.len() > MOST_RECENT.max(self.forms.len() / 4) {
            self.settle();
        }
    }

    fn add(&mut self, secret: &str, salt: Salt) {
        let secret = secret.trim();
        let is_known =
            self.forms.contains_key(secret) || self.recent.iter().any(|(form, _)| form == secret);
        if secret.len() < MIN_LENGTH || is_known {
            return;
        }
        let mark = salt.hidden(secret);
        let forms = forms_of(secret).into_iter();
        self.recent.extend(forms.map(|form| (form, mark.clone())));
    }

    fn settle(&mut self) {
        for (form, mark) in self.recent.drain(..) {
            self.forms.entry(form).or_insert(mark);
        }
        let matcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(self.forms.keys())
            .ok();
        self.marks = self.forms.values().cloned().collect();
        self.matcher = matcher.filter(|_| !self.forms.is_empty());
    }

    pub(super) fn hide(&self, text: &str) -> String {
        let mut text = match &self.matcher {
            Some(matcher) => matcher.replace_all(text, &self.marks),
            None => text.to_owned(),
        };
        for (form, mark) in &self.recent {
            if text.contains(form.as_str()) {
                text = text.replace(form.as_str(), mark);
            }
        }
        text
    }
}

fn forms_of(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    // Encoders leave different characters unescaped: only letters and digits, the unreserved
    // characters of RFC 3986, or the characters that JavaScript's two functions do not escape.
    for unreserved in ["", "-_.~", "-_.~!*'()", "-_.~!*'();/?:@&=+$,#"] {
        let keep = |byte: u8| byte.is_ascii_alphanumeric() || unreserved.as_bytes().contains(&byte);
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
    forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    forms.dedup();
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

/// Returns the base64 characters that depend only on the secret, for a secret at this offset.
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
