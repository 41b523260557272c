//! Header templates for HTTP/2 requests, learned from the requests that a client sends.
//!
//! A request arrives in its HTTP/1.1 encoding. Its header lines select a template. Values that were
//! equal in all requests so far are constants, which HPACK compresses to one or two bytes. Values
//! that have changed are holes.

use std::ops::Range;

use codec::h2::{FieldNumbers, HeadError, HeadSource, HeadTemplate, TemplateField, ValueSource};

use crate::client::request::Built;

/// Maximum number of templates per client.
const KNOWN: usize = 64;
/// Number of compiled templates after which new templates have only holes. Otherwise, a client
/// whose requests all differ would fill its memory with constants.
const MAX_LEARNED: usize = 1024;
/// Number of the hole for the path.
const PATH: u32 = 0;

/// A request, split into the parts that all HTTP versions have.
#[derive(Debug, Clone, Copy)]
pub struct RequestParts<'a> {
    /// HTTP method.
    pub method: &'a [u8],
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Path and query.
    pub path: &'a [u8],
    /// Header lines including `host`, each with its line end.
    pub lines: &'a [u8],
    /// Body. `None` if the request has none.
    pub body: Option<&'a [u8]>,
}

impl<'a> RequestParts<'a> {
    /// Splits a request that is encoded for HTTP/1.1. `bytes` is the request with the header lines
    /// that were added to it.
    #[must_use]
    pub fn from_encoded(built: &'a Built, bytes: &'a [u8]) -> RequestParts<'a> {
        let after_lines = built.bytes.len() - built.cookie_at;
        let lines_end = bytes.len() - after_lines;
        let head = &bytes[..lines_end];
        let first = head.iter().position(|byte| *byte == b'\n');
        let lines = &head[first.map_or(head.len(), |at| at + 1)..];
        let method = head.split(|byte| *byte == b' ').next().unwrap_or_default();
        let says_length = fields(lines).any(|field| is_length(&lines[field.name]));
        let target = &built.target;
        RequestParts {
            method,
            scheme: if target.origin.tls { "https" } else { "http" },
            path: target.path.as_bytes(),
            lines,
            body: says_length.then(|| bytes.get(lines_end + 2..).unwrap_or_default()),
        }
    }
}

/// Positions of a field in the header lines.
#[derive(Debug, Clone)]
struct FieldRange {
    name: Range<usize>,
    value: Range<usize>,
}

/// Returns the positions of all fields in header lines.
fn fields(lines: &[u8]) -> impl Iterator<Item = FieldRange> {
    let mut at = 0;
    lines
        .split_inclusive(|byte| *byte == b'\n')
        .map(move |line| {
            let start = at;
            at += line.len();
            let colon = line.iter().position(|byte| *byte == b':');
            let name = start..start + colon.unwrap_or(line.len());
            let end = start + line.trim_ascii_end().len();
            let value_start = (name.end + 1).min(end);
            let spaces = lines[value_start..end]
                .iter()
                .take_while(|byte| **byte == b' ');
            let value = value_start + spaces.count()..end;
            FieldRange { name, value }
        })
}

fn is_length(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"content-length")
}

/// The header templates of one client.
#[derive(Debug, Default)]
pub struct RequestHeads {
    numbers: FieldNumbers,
    known: Vec<KnownHead>,
    next: usize,
    compiled: usize,
    /// Fields of the current request, except `content-length`.
    fields: Vec<FieldRange>,
    /// Positions of the current request's hole values, except the path.
    values: Vec<Range<usize>>,
}

#[derive(Debug)]
struct KnownHead {
    method: Vec<u8>,
    scheme: &'static str,
    /// Header lines of the request from which the template was compiled.
    lines: Vec<u8>,
    fields: Vec<KnownField>,
    template: HeadTemplate,
}

#[derive(Debug)]
struct KnownField {
    name: Vec<u8>,
    /// The constant value. `None` if the values differ between requests.
    value: Option<Vec<u8>>,
}

/// A template that matches a request, and the values of its holes.
#[derive(Debug)]
pub struct FilledHead<'h> {
    template: &'h HeadTemplate,
    parts: RequestParts<'h>,
    values: &'h [Range<usize>],
}

impl FilledHead<'_> {
    /// Returns the template.
    #[must_use]
    pub fn template(&self) -> &HeadTemplate {
        self.template
    }

    /// Returns the value of a hole.
    #[must_use]
    pub fn value(&self, hole: u32) -> &[u8] {
        if hole == PATH {
            return self.parts.path;
        }
        let range = self.values.get(hole as usize - 1);
        range.map_or(&[], |range| &self.parts.lines[range.clone()])
    }
}

impl RequestHeads {
    /// Returns the template for a request, with the request's values. Fails if HTTP/2 cannot send
    /// the request.
    pub fn fill<'h>(&'h mut self, parts: RequestParts<'h>) -> Result<FilledHead<'h>, HeadError> {
        self.values.clear();
        let same_lines = |known: &KnownHead| known.fits(parts) && known.lines == parts.lines;
        let known = match self.known.iter().position(same_lines) {
            Some(known) => known,
            None => self.find_or_compile(parts)?,
        };
        let known = &self.known[known];
        if self.values.is_empty() && known.has_holes() {
            self.fields.clear();
            self.fields.extend(regular_fields(parts.lines));
            known.collect_values(&self.fields, &mut self.values);
        }
        Ok(FilledHead {
            template: &known.template,
            parts,
            values: &self.values,
        })
    }

    /// Returns the index of the template for a request with new header lines.
    fn find_or_compile(&mut self, parts: RequestParts<'_>) -> Result<usize, HeadError> {
        self.fields.clear();
        self.fields.extend(regular_fields(parts.lines));
        let fields = &self.fields;
        let has_names = |known: &KnownHead| known.fits(parts) && known.has_names(parts, fields);
        if let Some(index) = self.known.iter().position(has_names) {
            let known = &mut self.known[index];
            if known.widen(parts, fields) {
                known.template = known.compile(&mut self.numbers)?;
                self.compiled += 1;
            }
            return Ok(index);
        }
        let learns = self.compiled < MAX_LEARNED;
        let known = KnownHead::new(&mut self.numbers, parts, fields, learns)?;
        self.compiled += 1;
        if self.known.len() < KNOWN {
            self.known.push(known);
            return Ok(self.known.len() - 1);
        }
        let index = self.next;
        self.next = (index + 1) % KNOWN;
        self.known[index] = known;
        Ok(index)
    }
}

/// Returns the fields that templates contain. The length is added when a request is sent.
fn regular_fields(lines: &[u8]) -> impl Iterator<Item = FieldRange> {
    fields(lines).filter(|field| !is_length(&lines[field.name.clone()]))
}

impl KnownHead {
    fn new(
        numbers: &mut FieldNumbers,
        parts: RequestParts<'_>,
        fields: &[FieldRange],
        learns: bool,
    ) -> Result<KnownHead, HeadError> {
        let known = |field: &FieldRange| KnownField {
            name: parts.lines[field.name.clone()].to_vec(),
            value: learns.then(|| parts.lines[field.value.clone()].to_vec()),
        };
        let fields: Vec<KnownField> = fields.iter().map(known).collect();
        Ok(KnownHead {
            method: parts.method.to_vec(),
            scheme: parts.scheme,
            lines: parts.lines.to_vec(),
            template: compile(numbers, parts.method, parts.scheme, &fields)?,
            fields,
        })
    }

    fn fits(&self, parts: RequestParts<'_>) -> bool {
        self.method == parts.method && self.scheme == parts.scheme
    }

    fn has_names(&self, parts: RequestParts<'_>, fields: &[FieldRange]) -> bool {
        let mut both = self.fields.iter().zip(fields);
        self.fields.len() == fields.len()
            && both.all(|(known, field)| known.name == parts.lines[field.name.clone()])
    }

    /// Turns constants into holes if this request has another value for them. Returns whether it
    /// did.
    fn widen(&mut self, parts: RequestParts<'_>, fields: &[FieldRange]) -> bool {
        let mut has_changed = false;
        for (known, field) in self.fields.iter_mut().zip(fields) {
            let value = &parts.lines[field.value.clone()];
            if known.value.as_ref().is_some_and(|known| known != value) {
                known.value = None;
                has_changed = true;
            }
        }
        has_changed
    }

    fn has_holes(&self) -> bool {
        self.fields.iter().any(|field| field.value.is_none())
    }

    fn collect_values(&self, fields: &[FieldRange], values: &mut Vec<Range<usize>>) {
        let both = self.fields.iter().zip(fields);
        let holes = both.filter(|(known, _)| known.value.is_none());
        values.extend(holes.map(|(_, field)| field.value.clone()));
    }

    fn compile(&self, numbers: &mut FieldNumbers) -> Result<HeadTemplate, HeadError> {
        compile(numbers, &self.method, self.scheme, &self.fields)
    }
}

fn compile(
    numbers: &mut FieldNumbers,
    method: &[u8],
    scheme: &str,
    fields: &[KnownField],
) -> Result<HeadTemplate, HeadError> {
    let mut holes = PATH;
    let mut sources = Vec::with_capacity(fields.len());
    for field in fields {
        let name = std::str::from_utf8(&field.name)
            .map_err(|_| HeadError::Name(String::from_utf8_lossy(&field.name).into_owned()))?;
        let value = match &field.value {
            Some(value) => ValueSource::Constant(value),
            None => {
                holes += 1;
                ValueSource::Hole(holes)
            }
        };
        sources.push(TemplateField { name, value });
    }
    HeadTemplate::new(
        numbers,
        &HeadSource {
            method: ValueSource::Constant(method),
            scheme,
            authority: ValueSource::Constant(b""),
            path: ValueSource::Hole(PATH),
            fields: &sources,
        },
    )
}

#[cfg(test)]
mod tests {
    use codec::h2::{Body, Config, Connection, Request};

    use super::*;

    fn parts<'a>(path: &'a str, lines: &'a str) -> RequestParts<'a> {
        RequestParts {
            method: b"GET",
            scheme: "http",
            path: path.as_bytes(),
            lines: lines.as_bytes(),
            body: None,
        }
    }

    /// Returns the size of the request's header block on a connection.
    fn send(heads: &mut RequestHeads, connection: &mut Connection, lines: &str) -> u64 {
        let before = connection.counters().block_bytes_sent;
        let filled = heads.fill(parts("/", lines)).expect("a head");
        let request = Request {
            head: filled.template(),
            values: &|hole| filled.value(hole),
            extra: &[],
            body: Body::None,
        };
        let stream = connection.send(&request).expect("a free stream");
        connection.cancel(stream);
        connection.counters().block_bytes_sent - before
    }

    #[test]
    fn equal_requests_need_one_byte_per_field() {
        let mut heads = RequestHeads::default();
        let mut connection = Connection::new(&Config::default());
        let lines = "Host: a.test\r\nuser-agent: some client\r\nx-a: some value\r\n";
        let first = send(&mut heads, &mut connection, lines);
        let second = send(&mut heads, &mut connection, lines);
        // The three pseudo-headers and the name of the path take one byte each. The path is a
        // literal.
        assert!(first > 30 && second <= 9, "{first}, {second}");
        assert_eq!(heads.known.len(), 1);
    }

    #[test]
    fn value_that_changes_becomes_a_hole() {
        let mut heads = RequestHeads::default();
        let lines = |id: u32| format!("Host: a.test\r\nx-id: {id}\r\ncontent-length: {id}\r\n");
        for id in [1, 2, 30] {
            let lines = lines(id);
            let filled = heads.fill(parts("/x", &lines)).expect("a head");
            assert_eq!(filled.value(PATH), b"/x");
            let expected = if id == 1 {
                String::new()
            } else {
                id.to_string()
            };
            assert_eq!(filled.value(1), expected.as_bytes());
        }
        assert_eq!((heads.known.len(), heads.compiled), (1, 2));
        // The header lines from which the template was compiled also need the value.
        let first = lines(1);
        let filled = heads.fill(parts("/", &first)).expect("a head");
        assert_eq!(filled.value(1), b"1");
    }

    #[test]
    fn other_names_need_another_template() {
        let mut heads = RequestHeads::default();
        for number in 0..KNOWN + 3 {
            let lines = format!("Host: a.test\r\nx-{number}: 1\r\n");
            assert!(heads.fill(parts("/", &lines)).is_ok());
        }
        assert_eq!(heads.known.len(), KNOWN);
        assert!(heads.fill(parts("/", "a b: 1\r\n")).is_err());
    }

    #[test]
    fn encoded_request_is_split() {
        let built = |head: &str, body: &str| Built {
            target: codec::url::parse("http://a.test/x?y").expect("a URL"),
            bytes: format!("{head}\r\n{body}").into_bytes(),
            cookie_at: head.len(),
        };
        let post = built(
            "POST /x?y HTTP/1.1\r\nHost: a.test\r\ncontent-length: 2\r\n",
            "hi",
        );
        let parts = RequestParts::from_encoded(&post, &post.bytes);
        assert_eq!(parts.method, b"POST");
        assert_eq!(parts.path, b"/x?y");
        assert_eq!(parts.lines, b"Host: a.test\r\ncontent-length: 2\r\n");
        assert_eq!(parts.body, Some(&b"hi"[..]));
        let get = built("GET / HTTP/1.1\r\nHost: a.test\r\n", "");
        let parts = RequestParts::from_encoded(&get, &get.bytes);
        assert_eq!((parts.method, parts.body), (&b"GET"[..], None));
    }
}
