//! Redacts text outside of a run: lines on the terminal, and names in searches, gates and profiles.

use std::sync::OnceLock;

use record::redact::Redactor;
use session::salt;

pub fn without_secrets(text: &str, names: &[String]) -> String {
    salt::redactor(names).text(text)
}

pub fn line(text: &str) -> String {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    REDACTOR.get_or_init(|| salt::redactor(&[])).text(text)
}
