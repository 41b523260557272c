//! The headers of a response, which are parsed when they are first needed.

use std::{cell::OnceCell, ops::Deref, rc::Rc};

use crate::{h2, head};

/// The headers of a response: names in lower case, with their values, in the order of the wire.
///
/// Derefs to a slice of names and values, which is made at the first use.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    source: HeaderSource,
    parsed: OnceCell<Vec<(String, String)>>,
}

/// What headers are parsed from.
#[derive(Debug, Clone, Default)]
enum HeaderSource {
    /// There are no headers, or they were not requested.
    #[default]
    Absent,
    /// The head of an HTTP/1.1 response, with the empty line after it.
    Lines(Vec<u8>),
    /// The head of an HTTP/2 response.
    Fields(Rc<h2::ResponseHead>),
}

impl Headers {
    /// Creates the headers of a head that an HTTP/1.1 server sent.
    #[must_use]
    pub fn from_lines(head: Vec<u8>) -> Headers {
        Headers {
            source: HeaderSource::Lines(head),
            parsed: OnceCell::new(),
        }
    }

    /// Creates the headers of a head that an HTTP/2 server sent.
    #[must_use]
    pub fn from_fields(head: Rc<h2::ResponseHead>) -> Headers {
        Headers {
            source: HeaderSource::Fields(head),
            parsed: OnceCell::new(),
        }
    }

    /// Returns the names and values.
    #[must_use]
    pub fn into_vec(self) -> Vec<(String, String)> {
        let Headers { source, parsed } = self;
        parsed.into_inner().unwrap_or_else(|| source.parse())
    }
}

impl HeaderSource {
    fn parse(&self) -> Vec<(String, String)> {
        match self {
            HeaderSource::Absent => Vec::new(),
            HeaderSource::Lines(head) => head::lines(head),
            HeaderSource::Fields(head) => head.headers(),
        }
    }
}

impl Deref for Headers {
    type Target = [(String, String)];

    fn deref(&self) -> &[(String, String)] {
        self.parsed.get_or_init(|| self.source.parse())
    }
}

impl FromIterator<(String, String)> for Headers {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(headers: I) -> Headers {
        Headers {
            source: HeaderSource::Absent,
            parsed: OnceCell::from(headers.into_iter().collect::<Vec<_>>()),
        }
    }
}

impl<'h> IntoIterator for &'h Headers {
    type Item = &'h (String, String);
    type IntoIter = std::slice::Iter<'h, (String, String)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Headers {
    fn eq(&self, other: &Headers) -> bool {
        **self == **other
    }
}

impl<const N: usize> PartialEq<[(String, String); N]> for Headers {
    fn eq(&self, other: &[(String, String); N]) -> bool {
        **self == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_parsed_at_the_first_use() {
        let head = b"HTTP/1.1 200 OK\r\nX-A: b\r\nSet-Cookie: c=d\r\n\r\n";
        let headers = Headers::from_lines(head.to_vec());
        assert!(headers.parsed.get().is_none());
        let expected = [("x-a", "b"), ("set-cookie", "c=d")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers, expected);
        assert!(headers.parsed.get().is_some());
        assert_eq!(headers.into_vec(), expected);
        assert_eq!(Headers::from_lines(head.to_vec()).into_vec(), expected);
        assert!(Headers::default().is_empty());
    }
}
