//! Values of `Sec-WebSocket-Extensions` (RFC 6455, section 9.1).

/// An extension with its parameters, as offered or accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extension<'a> {
    pub(super) name: &'a str,
    parameters: &'a str,
}

/// A parameter, without the quotes of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) value: Option<&'a str>,
}

/// Splits a value at its commas. No registered extension uses commas in quotes.
pub(super) fn parse(value: &str) -> impl Iterator<Item = Extension<'_>> {
    let elements = value.split(',').map(str::trim);
    elements
        .filter(|element| !element.is_empty())
        .map(|element| {
            let (name, parameters) = element.split_once(';').unwrap_or((element, ""));
            Extension {
                name: name.trim(),
                parameters,
            }
        })
}

impl<'a> Extension<'a> {
    pub(super) fn parameters(&self) -> impl Iterator<Item = Parameter<'a>> {
        let parts = self.parameters.split(';').map(str::trim);
        parts.filter(|part| !part.is_empty()).map(|part| {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), Some(unquote(value.trim()))),
                None => (part, None),
            };
            Parameter { name, value }
        })
    }
}

fn unquote(value: &str) -> &str {
    let inner = value.strip_prefix('"');
    inner
        .and_then(|inner| inner.strip_suffix('"'))
        .unwrap_or(value)
}
