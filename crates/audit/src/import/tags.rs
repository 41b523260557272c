//! Reads XML tags in order, with attributes, escapes, comments and CDATA. Truncated files are also
//! accepted.

use super::figure::Position;

#[derive(Debug, Clone, Copy)]
pub struct Tag<'a> {
    pub name: &'a str,
    pub closes: bool,
    pub is_empty: bool,
    pub place: Position,
    attributes: &'a str,
}

impl Tag<'_> {
    #[must_use]
    pub fn attribute(&self, wanted: &str) -> String {
        let mut rest = self.attributes;
        while let Some((name, after)) = rest.split_once('=') {
            let after = after.trim_start();
            let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                return String::new();
            };
            let Some((value, more)) = after[1..].split_once(quote) else {
                return String::new();
            };
            if name.trim() == wanted {
                return unescaped(value);
            }
            rest = more;
        }
        String::new()
    }
}

pub fn each(text: &str, mut emit: impl FnMut(&Tag<'_>)) {
    let mut rest = text;
    let mut at = Position { line: 1, column: 1 };
    loop {
        let Some(begin) = rest.find('<') else { return };
        let (gone, after) = rest.split_at(begin);
        at = past(at, gone);
        let skipped = [
            ("<!--", "-->"),
            ("<![CDATA[", "]]>"),
            ("<?", "?>"),
            ("<!", ">"),
        ];
        let end = match skipped.iter().find(|(open, _)| after.starts_with(open)) {
            Some((_, close)) => after.find(close).map(|end| end + close.len()),
            None => end_of_tag(after),
        };
        let Some(end) = end else { return };
        let (tag, more) = after.split_at(end);
        if !tag.starts_with("<!") && !tag.starts_with("<?") {
            emit(&read(tag, at));
        }
        at = past(at, tag);
        rest = more;
    }
}

/// Finds the end of a tag, ignoring `>` within quotes.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(i + 1),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    None
}

fn read(tag: &str, place: Position) -> Tag<'_> {
    let inside = tag.trim_start_matches('<').trim_end_matches('>');
    let closes = inside.starts_with('/');
    let inside = inside.trim_start_matches('/');
    let is_empty = inside.ends_with('/');
    let inside = inside.trim_end_matches('/');
    let name = inside.split_whitespace().next().unwrap_or_default();
    let attributes = inside.trim_start().get(name.len()..).unwrap_or_default();
    Tag {
        name,
        closes,
        is_empty,
        place,
        attributes,
    }
}

fn past(at: Position, text: &str) -> Position {
    let lines = text.matches('\n').count();
    let last = text.rsplit('\n').next().unwrap_or_default().chars().count();
    Position {
        line: at.line + lines,
        column: if lines > 0 {
            last + 1
        } else {
            at.column + last
        },
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let escape = after.split_once(';').filter(|(name, _)| name.len() <= 10);
        let Some((c, more)) = escape.and_then(|(name, more)| Some((letter(name)?, more))) else {
            out.push('&');
            rest = after;
            continue;
        };
        out.push(c);
        rest = more;
    }
    out + rest
}

fn letter(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_between_whatever_else_there_is() {
        let text = "<?xml version=\"1.0\"?>\n<!-- <a/> -->\n<r v='1'>\n <s lb=\"a &gt; &#38;b&quot;\" t=\"5>\"/><![CDATA[<s/>]]>\n</r>\n<torn lb=\"";
        let mut seen = Vec::new();
        each(text, |tag| {
            seen.push((
                tag.name.to_owned(),
                tag.closes,
                tag.is_empty,
                tag.attribute("lb"),
                (tag.place.line, tag.place.column),
            ));
        });
        let tag = |name: &str, closes, is_empty, label: &str, place| {
            (name.to_owned(), closes, is_empty, label.to_owned(), place)
        };
        assert_eq!(
            seen,
            [
                tag("r", false, false, "", (3, 1)),
                tag("s", false, true, "a > &b\"", (4, 2)),
                tag("r", true, false, "", (5, 1)),
            ]
        );
    }
}
