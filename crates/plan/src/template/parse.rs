//! Parser for the template dialect.
//!
//! `{{ x }}` and `{{{ x }}}` are variables if the braces contain only word characters, white space
//! and `$ . [ ] ' " -`. `{{ $f(1, a) }}` is a call. Other braces are plain text.

use super::{
    Fakery, Piece, Template,
    function::{FUNCTIONS, FunctionCall, Functions},
};
use query::{path::Path, value::is_js_space};

/// An error in a function call of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// Offset of the braces, in bytes from the start of the text.
    pub offset: usize,
    /// Name of the function, with `$`.
    pub function: String,
    /// What is wrong and what would be valid, on one line.
    pub message: String,
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TemplateError {}

pub(super) fn text(text: &str, functions: Functions) -> Result<Template, TemplateError> {
    if !text.contains("{{") {
        return Ok(Template::from(text));
    }
    let mut pieces = split(text, Some(functions))?;
    match pieces.as_mut_slice() {
        [Piece::Variable(path)] => Ok(Template::Variable(path.clone())),
        [Piece::Text(literal)] => Ok(Template::from(literal.as_str())),
        _ => Ok(Template::Text(pieces)),
    }
}

pub(super) fn variables_only(text: &str) -> Vec<Piece> {
    // Splitting fails only on calls, which are not parsed here.
    split(text, None).unwrap_or_default()
}

/// Returns the content of the first double braces that are neither a variable nor a call, so that
/// the reader can warn about them.
#[must_use]
pub fn unread_braces(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = &rest[rest.find("{{")?..];
        match brace(rest) {
            Some((_, len)) => rest = &rest[len..],
            None => return Some(rest.find("}}").map_or(rest, |end| &rest[..end + 2])),
        }
    }
}

enum Brace<'a> {
    Variable(&'a str),
    Call { name: &'a str, arguments: &'a str },
}

/// Splits a text into pieces. Calls stay text if `functions` is `None`.
fn split(text: &str, functions: Option<Functions>) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match (brace(&text[at..]), functions) {
            (Some((Brace::Variable(name), len)), _) => {
                flush(&mut plain, &mut pieces);
                pieces.push(Piece::Variable(Path::parse(name)));
                at += len;
            }
            (Some((Brace::Call { name, arguments }, len)), Some(functions)) => {
                flush(&mut plain, &mut pieces);
                pieces.push(call(name, arguments, at, functions)?);
                at += len;
            }
            _ => {
                plain.push(c);
                at += c.len_utf8();
            }
        }
    }
    flush(&mut plain, &mut pieces);
    Ok(pieces)
}

fn flush(plain: &mut String, pieces: &mut Vec<Piece>) {
    if !plain.is_empty() {
        pieces.push(Piece::Text(std::mem::take(plain)));
    }
}

fn brace(text: &str) -> Option<(Brace<'_>, usize)> {
    let inside = text.strip_prefix("{{")?;
    variable(text, inside).or_else(|| {
        let (brace, rest) = call_syntax(inside)?;
        Some((brace, text.len() - rest.len()))
    })
}

fn variable<'a>(text: &'a str, inside: &'a str) -> Option<(Brace<'a>, usize)> {
    let inside = inside.strip_prefix('{').unwrap_or(inside);
    let allowed = |c: char| c.is_ascii_alphanumeric() || is_js_space(c) || "_$.[]'\"-".contains(c);
    let name = &inside[..inside.find(|c| !allowed(c)).unwrap_or(inside.len())];
    let rest = inside[name.len()..].strip_prefix("}}")?;
    let rest = rest.strip_prefix('}').unwrap_or(rest);
    (!name.is_empty()).then(|| {
        (
            Brace::Variable(name.trim_matches(is_js_space)),
            text.len() - rest.len(),
        )
    })
}

fn call_syntax(inside: &str) -> Option<(Brace<'_>, &str)> {
    let space = |text: &'static str| move |c: char| is_js_space(c) || text.contains(c);
    let inside = inside.trim_start_matches(is_js_space);
    let name_len = 1 + inside
        .strip_prefix('$')?
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = inside.split_at(name_len);
    if name.len() < 2 {
        return None;
    }
    let rest = rest.trim_start_matches(is_js_space).strip_prefix('(')?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !space("_,")(c))?;
    let (arguments, rest) = rest.split_at(end);
    let rest = rest
        .strip_prefix(')')?
        .trim_start_matches(is_js_space)
        .strip_prefix("}}")?;
    Some((Brace::Call { name, arguments }, rest))
}

const MEANT: [(&str, &str); 6] = [
    ("$guid", "{{ $uuid }}, one for each virtual user"),
    ("$randomInt", "$randomNumber(min, max)"),
    ("$randomUUID", "{{ $uuid }}, one for each virtual user"),
    ("$randomUuid", "{{ $uuid }}, one for each virtual user"),
    ("$uuid", "{{ $uuid }}, without parentheses"),
    ("$uuidv4", "{{ $uuid }}, one for each virtual user"),
];

fn call(
    name: &str,
    arguments: &str,
    offset: usize,
    functions: Functions,
) -> Result<Piece, TemplateError> {
    let refused = |message: String| TemplateError {
        offset,
        function: name.to_owned(),
        message,
    };
    if let Some(fakery) = Fakery::named(&name[1..]) {
        return Ok(Piece::Call(FunctionCall::Fake(fakery)));
    }
    let known = FUNCTIONS.iter().find(|(known, ..)| *known == name);
    if known.is_none() && functions == Functions::Script {
        let arguments = arguments.trim_matches(is_js_space);
        let numbers = arguments.split(',').filter(|_| !arguments.is_empty());
        let numbers = numbers.map(|text| text.trim_matches(is_js_space).parse().ok());
        let call = FunctionCall::Script(name.to_owned(), numbers.collect());
        return Ok(Piece::Call(call));
    }
    let Some((_, _, read)) = known else {
        let known: Vec<&str> = FUNCTIONS.iter().map(|(_, call, _)| *call).collect();
        let suggestion = MEANT.iter().find(|(wrong, _)| *wrong == name);
        let suggestion =
            suggestion.map_or_else(String::new, |(_, right)| format!(" (write {right})"));
        return Err(refused(format!(
            "unknown function {name}{suggestion}: available functions are {}",
            known.join(" and ")
        )));
    };
    // Each function handles missing arguments itself. A number that is not an integer is ambiguous,
    // so reject it.
    let argument = |text: &str| match text.trim_matches(is_js_space) {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            refused(format!(
                "{name} needs whole numbers within its range, not `{text}`"
            ))
        }),
    };
    let arguments: Vec<Option<i64>> = match arguments.trim_matches(is_js_space) {
        "" => Vec::new(),
        some => some.split(',').map(argument).collect::<Result<_, _>>()?,
    };
    read(&arguments)
        .map(Piece::Call)
        .map_err(|reason| refused(format!("{name} {reason}")))
}
