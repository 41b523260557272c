//! Request heads, compiled once per plan step.

use super::{
    fields::Field,
    hpack::{
        FieldNumbers,
        encoder::{CompiledField, Encoder},
    },
};

/// The value of a field: a constant or a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSource<'a> {
    /// The same value in every request.
    Constant(&'a [u8]),
    /// A value that [`Request::values`](super::Request) supplies under this number.
    Hole(u32),
}

/// A field of a request head.
#[derive(Debug, Clone, Copy)]
pub struct TemplateField<'a> {
    /// The name, in any case.
    pub name: &'a str,
    /// The value.
    pub value: ValueSource<'a>,
}

/// A request head that is independent of the protocol version.
#[derive(Debug, Clone, Copy)]
pub struct HeadSource<'a> {
    /// The method.
    pub method: ValueSource<'a>,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Host and port. A `host` field takes precedence.
    pub authority: ValueSource<'a>,
    /// Path and query.
    pub path: ValueSource<'a>,
    /// Other fields, in the order of sending.
    pub fields: &'a [TemplateField<'a>],
}

/// Why a request head cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadError {
    /// The method is CONNECT, which would open a tunnel instead of sending a request.
    Connect,
    /// The name of a field contains an invalid character.
    Name(String),
    /// The value of this field contains an invalid character.
    Value(String),
}

/// A compiled request head with holes for variable values.
#[derive(Debug)]
pub struct HeadTemplate {
    fields: Vec<CompiledField>,
    dropped: Vec<String>,
    /// Total length of all names and constant values in bytes.
    fixed_bytes: usize,
    method: MethodKind,
    has_length: bool,
}

#[derive(Debug, Clone, Copy)]
enum MethodKind {
    Head,
    Other,
    Hole(u32),
}

impl HeadTemplate {
    /// Compiles a head. Converts names to lower case, and trims values.
    ///
    /// Omits fields that HTTP/2 forbids, see [`HeadTemplate::dropped`].
    pub fn new(
        numbers: &mut FieldNumbers,
        source: &HeadSource<'_>,
    ) -> Result<HeadTemplate, HeadError> {
        let mut template = HeadTemplate {
            fields: Vec::new(),
            dropped: Vec::new(),
            fixed_bytes: 0,
            method: match source.method {
                ValueSource::Constant(b"HEAD") => MethodKind::Head,
                ValueSource::Constant(b"CONNECT") => return Err(HeadError::Connect),
                ValueSource::Constant(_) => MethodKind::Other,
                ValueSource::Hole(hole) => MethodKind::Hole(hole),
            },
            has_length: false,
        };
        let is_host = |field: &&TemplateField<'_>| field.name.eq_ignore_ascii_case("host");
        let host = source.fields.iter().find(is_host);
        let authority = host.map_or(source.authority, |field| field.value);
        template.add(numbers, ":method", source.method)?;
        template.add(
            numbers,
            ":scheme",
            ValueSource::Constant(source.scheme.as_bytes()),
        )?;
        template.add(numbers, ":authority", authority)?;
        template.add(numbers, ":path", source.path)?;
        for field in source.fields {
            let name = field.name.to_ascii_lowercase();
            if !is_valid_name(name.as_bytes()) {
                return Err(HeadError::Name(field.name.to_owned()));
            }
            if name == "host" {
                continue;
            }
            if is_forbidden(name.as_bytes(), field.value) {
                template.dropped.push(name);
                continue;
            }
            template.has_length |= name == "content-length";
            template.add(numbers, &name, field.value)?;
        }
        Ok(template)
    }

    /// Returns the names of the fields that were omitted because HTTP/2 forbids them.
    #[must_use]
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    fn add(
        &mut self,
        numbers: &mut FieldNumbers,
        name: &str,
        value: ValueSource<'_>,
    ) -> Result<(), HeadError> {
        let field = match value {
            ValueSource::Constant(value) => {
                let value = checked(value).ok_or_else(|| HeadError::Value(name.to_owned()))?;
                self.fixed_bytes += value.len();
                CompiledField::constant(numbers, name.as_bytes(), value)
            }
            ValueSource::Hole(hole) => CompiledField::hole(numbers, name.as_bytes(), hole),
        };
        self.fixed_bytes += name.len();
        self.fields.push(field);
        Ok(())
    }

    /// Returns whether the method is HEAD, so that the response has no body.
    pub(super) fn is_head<'a>(&self, values: &dyn Fn(u32) -> &'a [u8]) -> bool {
        match self.method {
            MethodKind::Head => true,
            MethodKind::Other => false,
            MethodKind::Hole(hole) => values(hole) == b"HEAD",
        }
    }

    /// Returns whether all values are valid. Must be checked before [`HeadTemplate::encode`],
    /// because an encoder cannot undo insertions.
    pub(super) fn accepts<'a>(
        &self,
        values: &dyn Fn(u32) -> &'a [u8],
        extra: &[Field<'_>],
    ) -> bool {
        let mut holes = self.fields.iter().filter_map(CompiledField::hole_number);
        holes.all(|hole| checked(values(hole)).is_some()) && extra.iter().all(is_sendable)
    }

    /// Appends the header block. Returns the uncompressed length of names and values in bytes.
    pub(super) fn encode<'a>(
        &self,
        encoder: &mut Encoder,
        values: &dyn Fn(u32) -> &'a [u8],
        extra: &[Field<'_>],
        body_len: Option<usize>,
        out: &mut Vec<u8>,
    ) -> usize {
        let mut bytes = self.fixed_bytes;
        encoder.begin(out);
        for field in &self.fields {
            bytes += encoder.field(field, &|hole| trimmed(values(hole)), out);
        }
        let mut has_length = self.has_length;
        for field in extra {
            has_length |= field.name == b"content-length";
            bytes += field.name.len() + field.value.len();
            encoder.literal(field.name, field.value, out);
        }
        if let Some(length) = body_len
            && !has_length
        {
            let mut digits = [0; 20];
            let value = decimal(length, &mut digits);
            bytes += CONTENT_LENGTH.len() + value.len();
            encoder.literal(CONTENT_LENGTH, value, out);
        }
        bytes
    }
}

const CONTENT_LENGTH: &[u8] = b"content-length";

fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

/// Returns whether the field applies only to a single HTTP/1.1 connection.
pub(super) fn is_connection_specific(name: &[u8]) -> bool {
    matches!(
        name,
        b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade"
    )
}

fn is_forbidden(name: &[u8], value: ValueSource<'_>) -> bool {
    let is_trailers = matches!(value, ValueSource::Constant(value)
        if trimmed(value).eq_ignore_ascii_case(b"trailers"));
    is_connection_specific(name) || (name == b"te" && !is_trailers)
}

fn is_sendable(field: &Field<'_>) -> bool {
    is_valid_name(field.name)
        && field.name != b"host"
        && !is_forbidden(field.name, ValueSource::Constant(field.value))
        && is_valid_value(field.value)
}

/// Returns the value without surrounding spaces. `None` if it contains an invalid character.
fn checked(value: &[u8]) -> Option<&[u8]> {
    let value = trimmed(value);
    is_valid_value(value).then_some(value)
}

/// Removes surrounding spaces and tabs. Line ends stay, because they are never valid.
fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Returns whether this is the name of a regular field: a token in lower case.
pub(super) fn is_valid_name(name: &[u8]) -> bool {
    let is_token = |byte: &u8| {
        matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'!' | b'#' | b'$' | b'%' | b'&'
            | b'\'' | b'*' | b'+' | b'.' | b'^' | b'`' | b'|' | b'~')
    };
    !name.is_empty() && name.iter().all(is_token)
}

/// Returns whether this is a field value without control characters and surrounding spaces.
pub(super) fn is_valid_value(value: &[u8]) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !is_space(value.first())
        && !is_space(value.last())
        && !value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ValueSource::{Constant, Hole};

    fn compile(fields: &[TemplateField<'_>]) -> Result<HeadTemplate, HeadError> {
        let source = HeadSource {
            method: Constant(b"GET"),
            scheme: "http",
            authority: Constant(b"a.test"),
            path: Hole(0),
            fields,
        };
        HeadTemplate::new(&mut FieldNumbers::default(), &source)
    }

    fn field<'a>(name: &'a str, value: &'a str) -> TemplateField<'a> {
        TemplateField {
            name,
            value: Constant(value.as_bytes()),
        }
    }

    #[test]
    fn connection_specific_fields_are_dropped() {
        let template = compile(&[
            field("Connection", "close"),
            field("TE", "gzip"),
            field("te", " trailers"),
            field("Upgrade", "x"),
        ]);
        assert_eq!(template.unwrap().dropped(), ["connection", "te", "upgrade"]);
    }

    #[test]
    fn invalid_fields_are_refused() {
        let error = |fields: &[TemplateField<'_>]| compile(fields).unwrap_err();
        assert_eq!(error(&[field("a b", "1")]), HeadError::Name("a b".into()));
        assert_eq!(
            error(&[field("x", "1\r\ny: 2")]),
            HeadError::Value("x".into())
        );
        let template = compile(&[]).unwrap();
        assert!(template.accepts(&|_| b"/a", &[]));
        assert!(!template.accepts(&|_| b"/a\r\n", &[]));
        let extra = |name, value| Field { name, value };
        assert!(template.accepts(&|_| b"/a", &[extra(b"x-a", b"1")]));
        for bad in [
            extra(b"X-a", b"1"),
            extra(b"upgrade", b"1"),
            extra(b"x", b" 1"),
        ] {
            assert!(!template.accepts(&|_| b"/a", &[bad]), "{bad:?}");
        }
    }
}
