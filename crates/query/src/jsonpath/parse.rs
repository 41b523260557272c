//! Parser for the segments of a path, which are separated by dots and brackets.

use super::{JsonPathError, PathSegment, cursor::Cursor, expression};

pub(super) fn path(text: &str) -> Result<Vec<PathSegment>, JsonPathError> {
    let mut cursor = Cursor { text, at: 0 };
    let mut segments = Vec::new();
    if text.trim().is_empty() {
        return cursor.error("an empty path never matches: use, for example, $.id");
    }
    cursor.space();
    if !cursor.eat("$") && !matches!(cursor.peek(), Some('.' | '[' | '^' | '~')) {
        segments.push(name(&mut cursor)?);
    }
    while let Some(c) = cursor.peek() {
        match c {
            '.' if cursor.eat("..") => {
                segments.push(PathSegment::Descend);
                match cursor.peek() {
                    None => return cursor.error("`..` must be followed by a name, * or brackets"),
                    Some('.') => return cursor.error("three dots are not allowed"),
                    Some('[' | '^' | '~') => {}
                    Some(_) => segments.push(name(&mut cursor)?),
                }
            }
            '.' => {
                cursor.at += 1;
                match cursor.peek() {
                    Some('[') => {}
                    _ => segments.push(name(&mut cursor)?),
                }
            }
            '[' => {
                cursor.at += 1;
                segments.push(bracket(&mut cursor)?);
            }
            '^' => {
                cursor.at += 1;
                segments.push(PathSegment::Parent);
            }
            '~' => {
                cursor.at += 1;
                segments.push(PathSegment::Name);
            }
            c if c.is_whitespace() && cursor.rest().trim().is_empty() => break,
            c => {
                return cursor.error(format!(
                    "`{c}` is not expected here: add . or [ before a name"
                ));
            }
        }
    }
    Ok(segments)
}

fn name(cursor: &mut Cursor<'_>) -> Result<PathSegment, JsonPathError> {
    let escaped = cursor.eat("`");
    let start = cursor.at;
    let text = cursor.until(&['.', '[', '^', '~']).trim_end();
    if text.is_empty() {
        return cursor.error("a name is missing here");
    }
    if escaped {
        return Ok(PathSegment::Child(text.to_owned()));
    }
    if text.starts_with('@') && text.ends_with("()") {
        cursor.at = start;
        return cursor.error(format!("the type selector {text} is not supported"));
    }
    plain(text, cursor)
}

fn plain(text: &str, cursor: &Cursor<'_>) -> Result<PathSegment, JsonPathError> {
    if text == "*" {
        return Ok(PathSegment::All);
    }
    match slice(text) {
        Some(slice) => Ok(slice),
        None if text.contains(['(', ')', '?']) => cursor.error(format!(
            "`{text}`: put filters and computed names in brackets"
        )),
        None => Ok(PathSegment::Child(text.to_owned())),
    }
}

fn slice(text: &str) -> Option<PathSegment> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let number = |text: &str| {
        if text.is_empty() {
            Some(None)
        } else {
            text.parse::<i64>().ok().map(Some)
        }
    };
    let (start, end, step) = match parts.as_slice() {
        [start, end] => (number(start)?, number(end)?, None),
        [start, end, step] => (number(start)?, number(end)?, number(step)?),
        _ => return None,
    };
    let end = end.filter(|end| *end != 0);
    let step = step
        .and_then(|step| usize::try_from(step).ok())
        .filter(|step| *step > 0)
        .unwrap_or(1);
    Some(PathSegment::Slice {
        start: start.unwrap_or(0),
        end,
        step,
    })
}

fn bracket(cursor: &mut Cursor<'_>) -> Result<PathSegment, JsonPathError> {
    let mut members = Vec::new();
    loop {
        cursor.space();
        members.push(member(cursor)?);
        cursor.space();
        match cursor.peek() {
            Some(']') => break,
            Some(',') => cursor.at += 1,
            Some(c) => {
                return cursor.error(format!(
                    "`{c}` is not expected here: close the bracket with ]"
                ));
            }
            None => return cursor.error("a bracket is not closed"),
        }
    }
    cursor.at += 1;
    Ok(if members.len() == 1 {
        members.remove(0)
    } else {
        PathSegment::Union(members)
    })
}

fn member(cursor: &mut Cursor<'_>) -> Result<PathSegment, JsonPathError> {
    match cursor.peek() {
        Some(quote @ ('\'' | '"')) => {
            cursor.at += 1;
            cursor.quoted(quote).map(PathSegment::Child)
        }
        Some('?') => {
            cursor.at += 1;
            cursor.space();
            if cursor.peek() != Some('(') {
                return cursor.error("a filter needs parentheses: [?(@.name == 'x')]");
            }
            parenthesised(cursor).map(PathSegment::Filter)
        }
        Some('(') => parenthesised(cursor).map(PathSegment::Computed),
        _ => {
            let text = cursor.until(&[']', ',', '[', '(']).trim();
            if text.is_empty() {
                return cursor.error("an index, a name or * is missing here");
            }
            plain(text.strip_prefix('`').unwrap_or(text), cursor)
        }
    }
}

fn parenthesised(cursor: &mut Cursor<'_>) -> Result<expression::Expression, JsonPathError> {
    cursor.at += 1;
    let expression = expression::parse(cursor, 0)?;
    cursor.space();
    if cursor.eat(")") {
        Ok(expression)
    } else {
        cursor.error("a parenthesis is not closed, or contains too much")
    }
}
