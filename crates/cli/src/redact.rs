//! Texts as they may be shown where no run is at hand whose record knows the secrets: every line of the terminal, and
//! what a search, a gate or a plan's profile names.

use std::sync::OnceLock;

use record::redact::Redactor;
use session::salt;

/// A text without what looks like a secret: `user:password@` in URLs, tokens in queries, and what has one of these names.
pub fn without_secrets(text: &str, names: &[String]) -> String {
    salt::redactor(names).text(text)
}

/// A line of the terminal without what looks like a secret. The marks of one process are the same in all of its lines.
pub fn line(text: &str) -> String {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    REDACTOR.get_or_init(|| salt::redactor(&[])).text(text)
}
