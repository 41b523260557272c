//! Finds secrets by the name before them: queries, flags, headers, JSON, URLs, `Bearer …`. Leaves
//! templates unchanged.

use super::{MARK, Salt, SecretNames};

type Span = (usize, usize);

pub(super) fn hide(text: &str, names: &SecretNames, salt: Salt) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (from, to) in spans(text, names) {
        out.push_str(&text[done..from]);
        out.push_str(&salt.hidden(&text[from..to]));
        done = to;
    }
    out.push_str(&text[done..]);
    out
}

pub(super) fn collect(text: &str, names: &SecretNames, found: &mut Vec<String>) {
    found.extend(
        spans(text, names)
            .into_iter()
            .map(|(from, to)| text[from..to].to_owned()),
    );
}

fn spans(text: &str, names: &SecretNames) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(is_word).map(|found| at + found) {
        let end = text[start..]
            .find(|c| !is_word(c))
            .map_or(text.len(), |found| start + found);
        let word = &text[start..end];
        let span = if word.eq_ignore_ascii_case("bearer") && text[end..].starts_with(' ') {
            Some(bare_value(text, end + 1))
        } else if text[end..].starts_with("://") {
            password_in_url(text, end + 3)
        } else if is_signed_token(word) {
            Some((start, end))
        } else if names.is_secret(word) || is_code_of_redirect(text, start, word) {
            value_after(text, (start, end), names)
        } else {
            None
        };
        at = end;
        if let Some((from, to)) = span.filter(|(from, to)| is_secret_value(&text[*from..*to])) {
            spans.push((from, to));
            at = to;
        }
    }
    spans
}

/// Returns whether a word is a JSON Web Token: three base64url parts, of which the first two are
/// JSON.
fn is_signed_token(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let is_part = |part: &&str| {
        let is_letter = |c: u8| c.is_ascii_alphanumeric() || b"-_".contains(&c);
        part.len() >= 8 && part.bytes().all(is_letter)
    };
    parts.len() == 3
        && parts.iter().all(is_part)
        && parts[..2].iter().all(|part| part.starts_with("eyJ"))
}

fn is_code_of_redirect(text: &str, start: usize, word: &str) -> bool {
    word == "code"
        && text[..start].ends_with(['?', '&'])
        && text[start + word.len()..].starts_with('=')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.[]%$".contains(c)
}

fn is_secret_value(value: &str) -> bool {
    // `…` is a placeholder in the advice to export a variable.
    !value.is_empty() && value != "…" && !value.starts_with(MARK) && !value.contains("{{")
}

fn password_in_url(text: &str, at: usize) -> Option<Span> {
    let end = text[at..]
        .find(|c: char| c.is_whitespace() || "/?#\"'".contains(c))
        .map_or(text.len(), |found| at + found);
    let userinfo = at + text[at..end].rfind('@')?;
    let colon = at + text[at..userinfo].find(':')?;
    Some((colon + 1, userinfo))
}

fn value_after(text: &str, word: Span, names: &SecretNames) -> Option<Span> {
    let (start, end) = word;
    let name = &text[start..end];
    let unquoted = text[end..].trim_start_matches(['"', '\'', '\\']);
    let was_quoted = unquoted.len() < text.len() - end;
    let rest = unquoted.trim_start_matches(' ');
    let separator = rest.chars().next()?;
    // `unknown key: foo` and `api-key.yml: foo` are plain text, while `x-api-key: foo` and `"key":
    // "foo"` are not.
    let last_part = name.rsplit('.').next().unwrap_or(name);
    let is_header = (name.contains(['-', '_']) && names.is_secret(last_part))
        || ["authorization", "cookie"]
            .iter()
            .any(|header| name.eq_ignore_ascii_case(header))
        || begins_trace_line(text, start);
    if separator != '=' && !(separator == ':' && (was_quoted || is_header)) {
        return None;
    }
    let from = text.len() - rest[1..].trim_start_matches(' ').len();
    if let Some(span) = quoted_value(text, from) {
        return Some(span);
    }
    if separator == ':' && is_header && !was_quoted {
        return Some(header_value(text, from));
    }
    Some(nested_value(text, from).unwrap_or_else(|| bare_value(text, from)))
}

/// Returns whether `start` directly follows the `> ` or `< ` of a trace line. Such lines contain
/// headers.
fn begins_trace_line(text: &str, start: usize) -> bool {
    let line = text[..start].rsplit('\n').next().unwrap_or_default();
    matches!(line, "> " | "< ")
}

fn nested_value(text: &str, from: usize) -> Option<Span> {
    let rest = &text[from..];
    if !rest.starts_with(['[', '{']) || rest.starts_with("{{") {
        return None;
    }
    let mut depth = 0_usize;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((from, from + at + 1));
        }
    }
    Some((from, text.len()))
}

/// Finds a value in quotes. Quotes may be escaped, as in nested JSON. The value ends at a quote
/// with the same escaping.
fn quoted_value(text: &str, from: usize) -> Option<Span> {
    let escapes = text[from..]
        .bytes()
        .take_while(|byte| *byte == b'\\')
        .count();
    let quote = text[from + escapes..]
        .chars()
        .next()
        .filter(|c| "\"'".contains(*c))?;
    let begin = from + escapes + 1;
    let before = |at: usize| {
        let bytes = text[begin..at].bytes().rev();
        bytes.take_while(|byte| *byte == b'\\').count()
    };
    let closes = |at: &usize| {
        let before = before(*at);
        before <= escapes || (escapes == 0 && before % 2 == 0)
    };
    let end = text[begin..]
        .match_indices(quote)
        .map(|(at, _)| begin + at)
        .find(closes);
    Some(end.map_or((begin, text.len()), |end| {
        (begin, end - escapes.min(before(end)))
    }))
}

fn header_value(text: &str, from: usize) -> Span {
    let to = text[from..]
        .find(['\n', '\r', '"'])
        .map_or(text.len(), |found| from + found);
    let line = &text[from..to];
    let scheme = ["Bearer ", "Basic ", "Digest ", "Token "]
        .iter()
        .find(|scheme| {
            line.get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
    (from + scheme.map_or(0, |scheme| scheme.len()), to)
}

fn bare_value(text: &str, from: usize) -> Span {
    if text[from..].starts_with("{{") {
        let to = text[from..]
            .find("}}")
            .map_or(text.len(), |found| from + found + 2);
        return (from, to);
    }
    let ends = |c: char| c.is_whitespace() || "&;,\"'<>#)}]|".contains(c);
    (
        from,
        text[from..]
            .find(ends)
            .map_or(text.len(), |found| from + found),
    )
}
