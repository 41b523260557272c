//! Strings that may contain credentials, in the form in which they are sent.

use serde::{Serialize, Serializer};

/// A URL, header or message that may contain credentials.
///
/// It cannot be formatted, so it cannot reach a terminal, a log or a file by mistake. To print it,
/// pass it through the redactor of the run (`record::redact::Redactor::raw`). To send it, call
/// [`Raw::expose`]. It serializes as its text, because a plan is redacted as a whole.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Raw<T = String>(T);

impl<T> Raw<T> {
    /// Wraps a value.
    pub fn new(value: impl Into<T>) -> Raw<T> {
        Raw(value.into())
    }

    /// Returns the value with its credentials. The result must not be printed.
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// Unwraps the value with its credentials. The result must not be printed.
    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl Raw {
    /// Returns whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> std::fmt::Debug for Raw<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Raw(…)")
    }
}

impl<T: Serialize> Serialize for Raw<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl PartialEq<&str> for Raw {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_not_in_its_debug_text() {
        let url: Raw = Raw::new("http://me:PW@127.0.0.1/?api_key=K");
        assert_eq!(format!("{url:?}"), "Raw(…)");
        assert_eq!(url.expose(), "http://me:PW@127.0.0.1/?api_key=K");
    }
}
