//! Headers as Artillery's client sends them, with default names and in JavaScript's key order.

use plan::Template;

pub const USER_AGENT: &str = "Artillery (https://artillery.io)";
pub const CLIENT_USER_AGENT: &str = "got (https://github.com/sindresorhus/got)";

pub fn set_header(headers: &mut Vec<(String, Template)>, name: String, value: Template) {
    match headers.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value,
        None => headers.push((name, value)),
    }
}
