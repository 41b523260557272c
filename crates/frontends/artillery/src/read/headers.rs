//! Headers as in Artillery's client: default names and JavaScript's key order.

use plan::Template;

/// Default user agent.
pub const USER_AGENT: &str = "Artillery (https://artillery.io)";
/// User agent when the script has default headers.
pub const CLIENT_USER_AGENT: &str = "got (https://github.com/sindresorhus/got)";

/// Replaces in place or appends, as in JavaScript objects.
pub fn set_header(headers: &mut Vec<(String, Template)>, name: String, value: Template) {
    match headers.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value,
        None => headers.push((name, value)),
    }
}
