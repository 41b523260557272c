//! Formatting of texts and numbers as in Go and JavaScript.

use std::fmt::Write as _;

/// Returns a text in double quotes with Go's escapes, as `%q` prints it.
#[must_use]
pub fn go_quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            other if u32::from(other) < 0x80 && other.is_control() => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(other));
            }
            other if is_unprintable(other) && u32::from(other) < 0x1_0000 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(other));
            }
            other if is_unprintable(other) => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(other));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns whether Go escapes a character. Go prints only visible characters and the ordinary
/// space.
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}')
        || matches!(character, '\u{2060}'..='\u{2064}' | '\u{ad}' | '\u{e000}'..='\u{f8ff}')
}

/// Formats a number like JavaScript's `toFixed`, with `decimals` decimals.
#[must_use]
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() || value.abs() >= 1e21 {
        return number(value);
    }
    let text = format!("{value:.decimals$}");
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    match text.strip_prefix('-') {
        Some(positive) if is_zero => positive.to_owned(),
        _ => text,
    }
}

/// Formats a number with at most `decimals` decimals and without trailing zeros.
#[must_use]
pub fn trimmed(value: f64, decimals: usize) -> String {
    cut_zeros(fixed(value, decimals))
}

/// Formats a number with at most `decimals` decimals, without rounding and without trailing zeros.
#[must_use]
pub fn truncated(value: f64, decimals: u8) -> String {
    let scale = 10_f64.powi(i32::from(decimals));
    let scaled = value * scale;
    let cut = if scaled.is_finite() {
        scaled.trunc() / scale
    } else {
        value
    };
    cut_zeros(fixed(cut, usize::from(decimals)))
}

fn cut_zeros(mut text: String) -> String {
    if text.contains('.') && !text.contains('e') {
        let length = text.trim_end_matches('0').trim_end_matches('.').len();
        text.truncate(length);
    }
    text
}

/// Formats a number like JavaScript's `String(value)`.
#[must_use]
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        let infinity = if value > 0.0 { "Infinity" } else { "-Infinity" };
        return infinity.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs();
    if (1e-6..1e21).contains(&magnitude) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

/// Returns the number of terminal columns that a text needs, without its colour codes. Wide
/// characters count as one column.
#[must_use]
pub fn width(text: &str) -> usize {
    let mut columns = 0;
    let mut is_code = false;
    for character in text.chars() {
        match (is_code, character) {
            (false, '\x1b') => is_code = true,
            (false, _) => columns += 1,
            (true, 'm') => is_code = false,
            (true, _) => {}
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_have_go_escapes() {
        assert_eq!(go_quote("a \"b\"\n\\"), r#""a \"b\"\n\\""#);
        assert_eq!(go_quote("é\u{1}\u{200b}"), "\"é\\x01\\u200b\"");
    }

    #[test]
    fn numbers_are_printed_as_in_javascript() {
        assert_eq!(number(1e21), "1e+21");
        assert_eq!(number(1e300), "1e+300");
        assert_eq!(number(1.5e-7), "1.5e-7");
        assert_eq!(number(-0.5), "-0.5");
        assert_eq!(trimmed(13.122_179_4, 6), "13.122179");
        assert_eq!(trimmed(120.0, 6), "120");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(truncated(148.219, 2), "148.21");
        assert_eq!(truncated(100.0, 0), "100");
        assert_eq!(truncated(1e308, 2), "1e+308");
    }

    #[test]
    fn width_ignores_colour_codes() {
        assert_eq!(width("\x1b[32m✓\x1b[0m ok"), 4);
    }
}
