//! Headers as Artillery's client keeps them: its own names, and the order of a JavaScript object.

use plan::Template;

/// What requests say of their client where neither script nor step sets it.
pub const USER_AGENT: &str = "Artillery (https://artillery.io)";
/// What Artillery's client calls itself as soon as the script has default headers of its own.
pub const CLIENT_USER_AGENT: &str = "got (https://github.com/sindresorhus/got)";

/// Sets a name's value where it stands, or appends it: the order in which JavaScript keeps an object's keys.
pub fn set_header(headers: &mut Vec<(String, Template)>, name: String, value: Template) {
    match headers.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value,
        None => headers.push((name, value)),
    }
}
