//! Quotes and indents YAML. All external values must pass through this module.

use std::fmt::Write as _;

pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let code = u32::from(c);
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            ' '..='~' => write!(out, "{c}"),
            _ if code <= 0xffff => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out.push('"');
    out
}

pub fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}

pub fn block(text: &str, indent: usize) -> String {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let is_as_it_stands =
        |c: char| matches!(c, ' '..='~' | '\n') || (c > '\u{a0}' && c.is_alphanumeric());
    let is_plain = body.contains('\n')
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && body.chars().all(is_as_it_stands)
        && body
            .split('\n')
            .all(|line| line.is_empty() || !line.trim().is_empty());
    if !is_plain {
        return quoted(text);
    }
    let header = if text.len() == body.len() { "|-" } else { "|" };
    format!(
        "{header}\n{}",
        indented(body, indent).trim_end_matches('\n')
    )
}

pub fn indented(text: &str, by: usize) -> String {
    let mut out = String::new();
    for line in text.split('\n') {
        if !line.is_empty() {
            let _ = write!(out, "{:by$}{line}", "");
        }
        out.push('\n');
    }
    out.truncate(out.len() - 1);
    out
}

pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_for_yaml_and_shell() {
        assert_eq!(quoted("a\"b\\c\nd\te"), r#""a\"b\\c\nd\te""#);
        assert_eq!(quoted("ö\u{1f600}\u{7f}"), r#""\u00f6\U0001f600\u007f""#);
        assert_eq!(word("p99 < 2s"), "'p99 < 2s'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word(""), "''");
        assert_eq!(word("--rate=10/s"), "--rate=10/s");
    }

    #[test]
    fn blocks_are_for_texts_that_yaml_leaves_alone() {
        assert_eq!(block("a: 1\n\n  b: 2\n", 2), "|\n  a: 1\n\n    b: 2");
        assert_eq!(block("a\nb", 4), "|-\n    a\n    b");
        for text in [
            "one line\n",
            " first\nsecond\n",
            "a\n\n",
            "a\r\nb\n",
            "a\n   \nb\n",
            "a\tb\nc\n",
            "",
        ] {
            assert!(block(text, 2).starts_with('"'), "{text:?}");
        }
    }
}
