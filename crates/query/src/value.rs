//! Text and JSON of values, written as in JavaScript: `1.0` is `1`, and 10^21 is `1e+21`.
//!
//! There is one difference: whole numbers keep all digits, while JavaScript rounds them beyond
//! 2^53.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Returns the text of a value in a template. `None` means `undefined`. Lists and mappings are
/// written as JSON.
#[must_use]
pub fn text(value: Option<&Value>) -> String {
    let mut out = String::new();
    write_text(value, &mut out);
    out
}

pub fn write_text(value: Option<&Value>, out: &mut String) {
    match value {
        None => out.push_str("undefined"),
        Some(Value::String(text)) => out.push_str(text),
        Some(other) => write_json(other, out),
    }
}

/// Converts a value like JavaScript's `String(value)`. The items of a list are joined with commas,
/// and a mapping is `[object Object]`.
#[must_use]
pub fn string_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::Array(items)) => {
            let item = |item: &Value| match item {
                Value::Null => String::new(),
                item => string_of(Some(item)),
            };
            items.iter().map(item).collect::<Vec<_>>().join(",")
        }
        Some(Value::Object(_)) => "[object Object]".to_owned(),
        other => text(other),
    }
}

#[must_use]
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(value, &mut out);
    out
}

pub fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_json_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, item)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json_string(key, out);
                out.push(':');
                write_json(item, out);
            }
            out.push('}');
        }
    }
}

pub fn write_json_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain_from = 0;
    for (i, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0x00..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[plain_from..i]);
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        plain_from = i + 1;
    }
    out.push_str(&text[plain_from..]);
    out.push('"');
}

pub fn write_json_text(out: &mut String, write: impl FnOnce(&mut String)) {
    out.push('"');
    let from = out.len();
    write(out);
    let is_special = |byte: u8| matches!(byte, b'"' | b'\\' | 0x00..=0x1f);
    let written = out.as_bytes()[from..].iter();
    if written.fold(false, |any, byte| any | is_special(*byte)) {
        let text = out.split_off(from);
        out.pop();
        write_json_string(&text, out);
    } else {
        out.push('"');
    }
}

pub fn write_number(number: &Number, out: &mut String) {
    if let Some(n) = number.as_i64() {
        let _ = write!(out, "{n}");
    } else if let Some(n) = number.as_u64() {
        let _ = write!(out, "{n}");
    } else {
        write_f64(number.as_f64().unwrap_or(f64::NAN), out);
    }
}

/// Appends a number as JavaScript prints it: the shortest digits, with an exponent only below 1e-6
/// and from 1e21.
pub fn write_f64(n: f64, out: &mut String) {
    if n == 0.0 {
        return out.push('0');
    }
    if !n.is_finite() {
        return out.push_str(if n.is_nan() {
            "NaN"
        } else {
            ["Infinity", "-Infinity"][usize::from(n < 0.0)]
        });
    }
    let scientific = format!("{:e}", n.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let len = digits.len() as i32;
    if n < 0.0 {
        out.push('-');
    }
    match point {
        p if len <= p && p <= 21 => {
            out.push_str(&digits);
            out.extend(std::iter::repeat_n('0', (p - len) as usize));
        }
        p if 0 < p && p <= 21 => {
            let (whole, fraction) = digits.split_at(p as usize);
            let _ = write!(out, "{whole}.{fraction}");
        }
        p if -6 < p && p <= 0 => {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', -p as usize));
            out.push_str(&digits);
        }
        p => {
            let (first, rest) = digits.split_at(1);
            out.push_str(first);
            if !rest.is_empty() {
                let _ = write!(out, ".{rest}");
            }
            let _ = write!(out, "e{}{}", if p > 0 { '+' } else { '-' }, (p - 1).abs());
        }
    }
}

/// Converts a float to a JSON number. Whole numbers within 2^53 become integers, as in JavaScript.
/// Returns `None` for NaN and infinities.
#[must_use]
pub fn number(n: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if n.fract() == 0.0 && n.abs() <= EXACT {
        Some(Number::from(n as i64))
    } else {
        Number::from_f64(n)
    }
}

pub fn normalise(value: &mut Value) {
    match value {
        Value::Number(n) if n.is_f64() => {
            if let Some(whole) = n.as_f64().and_then(number) {
                *n = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Object(map) => map.values_mut().for_each(normalise),
        _ => {}
    }
}

/// Converts a text like JavaScript's `Number(text)`: decimal, `0x`, `0o`, `0b`, `Infinity`. An
/// empty string is 0, and any other string is NaN.
#[must_use]
pub fn number_of(text: &str) -> f64 {
    let text = text.trim_matches(is_js_space);
    let radix = |digits: &str, radix: u32| {
        let fold = |sum: f64, c: char| Some(sum * f64::from(radix) + f64::from(c.to_digit(radix)?));
        if digits.is_empty() {
            None
        } else {
            digits.chars().try_fold(0.0, fold)
        }
    };
    let lower = text.get(..2).map(str::to_ascii_lowercase);
    match lower.as_deref() {
        Some("0x") => return radix(&text[2..], 16).unwrap_or(f64::NAN),
        Some("0o") => return radix(&text[2..], 8).unwrap_or(f64::NAN),
        Some("0b") => return radix(&text[2..], 2).unwrap_or(f64::NAN),
        _ => {}
    }
    if text.is_empty() {
        return 0.0;
    }
    if decimal_prefix(text) == text.len() {
        parse_decimal(text)
    } else {
        f64::NAN
    }
}

/// Converts a text like JavaScript's `parseFloat(text)`: reads the longest decimal number at the
/// start.
#[must_use]
pub fn float_prefix_of(text: &str) -> f64 {
    let text = text.trim_start_matches(is_js_space);
    match decimal_prefix(text) {
        0 => f64::NAN,
        len => parse_decimal(&text[..len]),
    }
}

#[must_use]
pub fn is_js_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

fn parse_decimal(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// Returns the length of the decimal literal (`-1.5e3`, `.5`, `5.`, `Infinity`) at the start of the
/// text.
fn decimal_prefix(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    if text[sign..].starts_with("Infinity") {
        return sign + "Infinity".len();
    }
    let whole = digits(sign);
    let mut end = sign + whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return 0;
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn float(n: f64) -> String {
        let mut out = String::new();
        write_f64(n, &mut out);
        out
    }

    #[test]
    fn printed_numbers_match_javascript() {
        for (n, expected) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (-0.0, "0"),
            (-1.25, "-1.25"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e20, "100000000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (1.5e21, "1.5e+21"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"),
            (1e-7, "1e-7"),
            (-1.25e-9, "-1.25e-9"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float(n), expected);
        }
    }

    #[test]
    fn whole_numbers_keep_all_digits() {
        assert_eq!(
            json(&json!(18_446_744_073_709_551_615_u64)),
            "18446744073709551615"
        );
        assert_eq!(
            json(&json!(-9_007_199_254_740_993_i64)),
            "-9007199254740993"
        );
    }

    #[test]
    fn texts_match_javascript() {
        assert_eq!(text(None), "undefined");
        assert_eq!(text(Some(&json!(null))), "null");
        assert_eq!(text(Some(&json!("a\"b"))), "a\"b");
        assert_eq!(
            text(Some(&json!({"a": [1, {"b": "x"}], "c": 1.0}))),
            r#"{"a":[1,{"b":"x"}],"c":1}"#
        );
        assert_eq!(
            json(&json!("\u{1}\n\u{7f}é\u{2028}\"\\/")),
            "\"\\u0001\\n\u{7f}é\u{2028}\\\"\\\\/\""
        );
    }

    #[test]
    fn strings_match_javascript() {
        for (value, wanted) in [
            (json!([1, [2, null], {"a": 1}]), "1,2,,[object Object]"),
            (json!({}), "[object Object]"),
            (json!(null), "null"),
            (json!("x"), "x"),
            (json!(1.0), "1"),
        ] {
            assert_eq!(string_of(Some(&value)), wanted);
        }
        assert_eq!(string_of(None), "undefined");
    }

    #[test]
    fn whole_floats_become_integers() {
        let mut value = json!({"a": 1.0, "b": [1e3, 1.5, -0.0], "c": 1e21});
        normalise(&mut value);
        assert_eq!(value, json!({"a": 1, "b": [1000, 1.5, 0], "c": 1e21}));
    }

    #[test]
    fn parsed_numbers_match_javascript() {
        for (text, whole, prefix) in [
            ("7", 7.0, 7.0),
            (" 7 ", 7.0, 7.0),
            ("", 0.0, f64::NAN),
            ("0x10", 16.0, 0.0),
            ("1e3", 1000.0, 1000.0),
            ("1e", f64::NAN, 1.0),
            (".5", 0.5, 0.5),
            ("5.", 5.0, 5.0),
            (".", f64::NAN, f64::NAN),
            ("12ab", f64::NAN, 12.0),
            ("-Infinity", f64::NEG_INFINITY, f64::NEG_INFINITY),
            ("inf", f64::NAN, f64::NAN),
            ("1_000", f64::NAN, 1.0),
            ("0b", f64::NAN, 0.0),
        ] {
            let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
            assert!(
                same(number_of(text), whole),
                "Number({text:?}) = {}",
                number_of(text)
            );
            assert!(
                same(float_prefix_of(text), prefix),
                "parseFloat({text:?}) = {}",
                float_prefix_of(text)
            );
        }
    }

    proptest! {
        #[test]
        fn numbers_round_trip(n in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            prop_assert_eq!(float(n).parse::<f64>(), Ok(n));
            prop_assert_eq!(number_of(&float(n)), n);
        }

        #[test]
        fn json_round_trips(text in ".*", i in any::<i64>()) {
            let value = json!({ text.clone(): [text, i, true, null] });
            prop_assert_eq!(serde_json::from_str::<Value>(&json(&value)).unwrap(), value);
        }

        #[test]
        fn any_text_is_handled(text in ".*") {
            let _ = (number_of(&text), float_prefix_of(&text));
        }
    }
}
