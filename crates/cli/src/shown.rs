//! What was named on a command line as it may be shown: a search and a gate name what they ran where no plan is at hand that knows its secrets.

use plan::{Format, Load, Plan};
use record::redact::{Redactor, Salt};
use session::inputs;

/// A text without what looks like a secret: `user:password@` in URLs, tokens in queries, and what has one of these names.
pub fn without_secrets(text: &str, names: &[String]) -> String {
    let nothing = Plan::new(
        String::new(),
        Format::URL,
        String::new(),
        Load::Once,
        Vec::new(),
    );
    let mut salt = [0; 16];
    salt[..8].copy_from_slice(&inputs::random_seed().to_le_bytes());
    salt[8..].copy_from_slice(&inputs::random_seed().to_le_bytes());
    Redactor::new(&nothing, names, Salt::new(salt)).text(text)
}
