//! Types of plain scalars, according to js-yaml 3 or the core schema of YAML 1.2. Dates remain
//! text.

use query::value;
use serde_json::Value;

use super::Dialect;

/// Determines the value of a plain scalar. Fails if it is a number that JSON cannot represent.
pub(super) fn resolve(text: &str, dialect: Dialect) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF"
        | ".nan" | ".NaN" | ".NAN" => {
            return Err(format!(
                "`{text}` is not a number that can be sent: quote it if it is text"
            ));
        }
        _ => {}
    }
    let number = match dialect {
        Dialect::JsYaml => js_integer(text).or_else(|| js_float(text)),
        Dialect::Core => core_number(text),
    };
    match number {
        None => Ok(Value::String(text.to_owned())),
        Some(Number::Whole(n)) => match i64::try_from(n) {
            Ok(n) => Ok(n.into()),
            Err(_) => Ok(u64::try_from(n).map_or_else(|_| float(n as f64), Value::from)),
        },
        Some(Number::Float(n)) if n.is_finite() => Ok(float(n)),
        Some(Number::Float(_)) => Err(format!(
            "`{text}` is larger than the largest number: quote it if it is text"
        )),
    }
}

pub(super) fn looks_like_a_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let day = (0..4).all(digit) && bytes.get(4) == Some(&b'-') && digit(5);
    day && match text.len() {
        10 => digit(6) && bytes[7] == b'-' && digit(8) && digit(9),
        _ => {
            text.len() >= 14
                && text[5..].contains('-')
                && text.matches(':').count() >= 2
                && text.contains(['T', 't', ' ', '\t'])
        }
    }
}

enum Number {
    Whole(i128),
    Float(f64),
}

fn float(n: f64) -> Value {
    value::number(n).map_or(Value::Null, Value::Number)
}

fn sign(text: &str) -> (i128, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    }
}

/// Parses digits in a radix. `_` is allowed between digits but not at the end.
fn digits(text: &str, radix: u32) -> Option<Number> {
    let plain = text.replace('_', "");
    if plain.is_empty() || text.ends_with('_') || !plain.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some(match i128::from_str_radix(&plain, radix) {
        Ok(n) => Number::Whole(n),
        Err(_) => Number::Float(plain.chars().fold(0.0, |n, c| {
            n * f64::from(radix) + f64::from(c.to_digit(radix).unwrap_or(0))
        })),
    })
}

fn signed(number: Number, sign: i128) -> Number {
    match number {
        Number::Whole(n) => Number::Whole(sign.saturating_mul(n)),
        Number::Float(n) => Number::Float(sign as f64 * n),
    }
}

fn js_integer(text: &str) -> Option<Number> {
    let (sign, rest) = sign(text);
    let number = if rest == "0" {
        Number::Whole(0)
    } else if let Some(rest) = rest.strip_prefix("0b") {
        digits(rest, 2)?
    } else if let Some(rest) = rest.strip_prefix("0x") {
        digits(rest, 16)?
    } else if let Some(rest) = rest.strip_prefix('0') {
        digits(rest, 8)?
    } else if rest.starts_with('_') {
        return None;
    } else if let Some((first, rest)) = rest.split_once(':') {
        Number::Whole(base_60(first, rest)?)
    } else {
        digits(rest, 10)?
    };
    Some(signed(number, sign))
}

fn base_60(first: &str, rest: &str) -> Option<i128> {
    let Number::Whole(first) = digits(first, 10)? else {
        return None;
    };
    rest.split(':').try_fold(first, |sum, part| {
        sum.checked_mul(60)?.checked_add(i128::from(sixty(part)?))
    })
}

fn sixty(part: &str) -> Option<u8> {
    let ok = matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    if ok { part.parse().ok() } else { None }
}

fn js_float(text: &str) -> Option<Number> {
    if text.ends_with('_') {
        return None;
    }
    let (sign, rest) = sign(text);
    if let Some((whole, fraction)) = rest.split_once('.')
        && let Some((first, parts)) = whole.split_once(':')
    {
        let clean = fraction.replace('_', "");
        let fraction: f64 = if clean.is_empty() {
            0.0
        } else {
            format!("0.{clean}")
                .parse()
                .ok()
                .filter(|_| all_digits(&clean))?
        };
        return Some(Number::Float(
            sign as f64 * (base_60(first, parts)? as f64 + fraction),
        ));
    }
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    if exponent.is_some_and(|e| !all_digits(e.strip_prefix(['+', '-']).unwrap_or(e))) {
        return None;
    }
    let (whole, fraction) = mantissa
        .split_once('.')
        .map_or((mantissa, None), |(w, f)| (w, Some(f)));
    let digits_and_lines = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let whole_ok = match whole {
        // An empty integer part requires a fraction and no sign.
        "" => sign == 1 && !text.starts_with('+') && fraction.is_some_and(|f| !f.is_empty()),
        "0" => true,
        _ => matches!(whole.as_bytes()[0], b'1'..=b'9') && digits_and_lines(whole),
    };
    if !whole_ok || !fraction.is_none_or(digits_and_lines) {
        return None;
    }
    // JavaScript parses `._` as NaN.
    let n = value::number_of(&rest.replace('_', ""));
    (!n.is_nan()).then_some(Number::Float(sign as f64 * n))
}

fn core_number(text: &str) -> Option<Number> {
    if let Some(rest) = text.strip_prefix("0o") {
        return digits(rest, 8).filter(|_| !rest.contains('_'));
    }
    if let Some(rest) = text.strip_prefix("0x") {
        return digits(rest, 16).filter(|_| !rest.contains('_'));
    }
    let (sign, rest) = sign(text);
    if all_digits(rest) {
        return digits(rest, 10).map(|n| signed(n, sign));
    }
    let plain = rest
        .bytes()
        .all(|b| b.is_ascii_digit() || b".eE+-".contains(&b))
        && rest.contains(|c: char| c.is_ascii_digit());
    let n = if plain {
        value::number_of(rest)
    } else {
        f64::NAN
    };
    (!n.is_nan() && !rest.starts_with(['+', '-'])).then_some(Number::Float(sign as f64 * n))
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
