//! Rules by which the HTTP client of another tool differs: how it encodes and reads headers, and
//! how it names errors. A front end chooses the dialect of its plans.

use std::io::ErrorKind;

use serde::Serialize;
use serde_json::{Map, Value};

/// The rules of an HTTP client. The default is Loadline's own behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Dialect {
    /// Whether header values are sent as Latin-1, and other characters are rejected. Otherwise
    /// header values are sent as UTF-8.
    pub latin1: bool,
    /// Response headers of which only the first value is used, in lower case. Repeated values of
    /// other headers are joined.
    #[serde(skip)]
    pub single_headers: &'static [&'static str],
    /// Names under which errors are counted. Errors without a name here are counted under a
    /// description.
    #[serde(skip)]
    pub error_names: &'static [(UnsendableReason, &'static str)],
}

/// Why a request cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsendableReason {
    /// The URL is invalid.
    Url,
    /// The URL has an unknown scheme.
    Scheme,
    /// A header value contains an invalid character.
    Header,
    /// A file for the body cannot be read. `Other` stands for all error kinds without a name in the
    /// dialect.
    File(ErrorKind),
}

impl Dialect {
    /// Returns the name under which an error is counted.
    #[must_use]
    pub fn error_name(&self, reason: UnsendableReason) -> String {
        let named = |reason| self.error_names.iter().find(|(known, _)| *known == reason);
        let found = named(reason).or_else(|| match reason {
            UnsendableReason::File(_) => named(UnsendableReason::File(ErrorKind::Other)),
            _ => None,
        });
        match (found, reason) {
            (Some((_, name)), _) => (*name).to_owned(),
            (None, UnsendableReason::Url) => "invalid URL".to_owned(),
            (None, UnsendableReason::Scheme) => "unknown URL scheme".to_owned(),
            (None, UnsendableReason::Header) => "invalid character in a header".to_owned(),
            (None, UnsendableReason::File(kind)) => format!("cannot read a file: {kind}"),
        }
    }

    /// Returns the value of a response header: the joined values, or only the first one, depending
    /// on the header. `None` if the response does not have the header.
    #[must_use]
    pub fn header_text(&self, headers: &[(String, String)], name: &str) -> Option<String> {
        let mut values = values(headers, name);
        let first = values.next()?.to_owned();
        if self.is_single(name) {
            return Some(first);
        }
        Some(values.fold(first, |all, value| format!("{all}, {value}")))
    }

    /// Returns the value of a response header. For `set-cookie`, whose values cannot be joined,
    /// returns a list.
    #[must_use]
    pub fn header_value(&self, headers: &[(String, String)], name: &str) -> Option<Value> {
        if name.eq_ignore_ascii_case("set-cookie") {
            let all: Vec<Value> = values(headers, name).map(Value::from).collect();
            return (!all.is_empty()).then_some(Value::Array(all));
        }
        self.header_text(headers, name).map(Value::String)
    }

    /// Returns all response headers, with the values of [`Dialect::header_value`].
    #[must_use]
    pub fn all_headers(&self, headers: &[(String, String)]) -> Map<String, Value> {
        let mut all = Map::new();
        for (name, _) in headers {
            if !all.contains_key(name)
                && let Some(value) = self.header_value(headers, name)
            {
                all.insert(name.clone(), value);
            }
        }
        all
    }

    /// Returns whether only the first value of this header is used.
    #[must_use]
    pub fn is_single(&self, header: &str) -> bool {
        let mut single = self.single_headers.iter();
        single.any(|known| known.eq_ignore_ascii_case(header))
    }
}

/// How many bodies a client accepts for a request. A request with more bodies fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyRule {
    /// Any number.
    Any,
    /// One body, or none with HEAD.
    NoneWithHead,
    /// One body, or none with GET and HEAD.
    NoneWithGet,
}

impl BodyRule {
    /// Returns whether a request with this number of bodies fails.
    #[must_use]
    pub fn refuses(self, method: &str, bodies: usize) -> bool {
        match (self, method) {
            (BodyRule::Any, _) => false,
            (_, "HEAD") | (BodyRule::NoneWithGet, "GET") => bodies > 0,
            _ => bodies > 1,
        }
    }
}

/// An error with which a request step always fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DeclaredError {
    /// Name under which the error is counted.
    pub name: String,
    /// Whether the HTTP client reports the error, so that the error belongs to the step.
    #[serde(skip)]
    pub is_of_client: bool,
}

fn values<'a>(headers: &'a [(String, String)], name: &str) -> impl Iterator<Item = &'a str> {
    let named = move |(known, _): &&'a (String, String)| known.eq_ignore_ascii_case(name);
    headers
        .iter()
        .filter(named)
        .map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: Dialect = Dialect {
        latin1: false,
        single_headers: &["server"],
        error_names: &[
            (UnsendableReason::Url, "EURL"),
            (UnsendableReason::File(ErrorKind::NotFound), "ENOENT"),
            (UnsendableReason::File(ErrorKind::Other), "EIO"),
        ],
    };

    #[test]
    fn dialect_names_errors_that_it_lists() {
        let name = |reason| OTHER.error_name(reason);
        assert_eq!(name(UnsendableReason::Url), "EURL");
        assert_eq!(name(UnsendableReason::Scheme), "unknown URL scheme");
        assert_eq!(name(UnsendableReason::File(ErrorKind::NotFound)), "ENOENT");
        assert_eq!(name(UnsendableReason::File(ErrorKind::TimedOut)), "EIO");
        assert_eq!(
            Dialect::default().error_name(UnsendableReason::File(ErrorKind::PermissionDenied)),
            "cannot read a file: permission denied"
        );
    }

    #[test]
    fn repeated_headers_are_joined_unless_one_value_counts() {
        let headers =
            ["Server", "via", "Via", "server"].map(|name| (name.to_owned(), name.to_owned()));
        let text = |dialect: Dialect, name| dialect.header_text(&headers, name).unwrap();
        assert_eq!(text(OTHER, "server"), "Server");
        assert_eq!(text(Dialect::default(), "server"), "Server, server");
        assert_eq!(text(OTHER, "VIA"), "via, Via");
    }
}
