//! Redacts texts without a run: terminal lines, and names in searches, gates and profiles.

use std::sync::OnceLock;

use record::redact::Redactor;
use session::salt;

/// Hides URL passwords, tokens in queries, and values of these names.
pub fn without_secrets(text: &str, names: &[String]) -> String {
    salt::redactor(names).text(text)
}

/// Marks are equal within a process.
pub fn line(text: &str) -> String {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    REDACTOR.get_or_init(|| salt::redactor(&[])).text(text)
}
