//! Numbers on wrk's command line, parsed like `sscanf` does.

const METRIC: Units = Units {
    step: 1000,
    names: &["", "k", "m", "g", "t", "p"],
};
const TIME: Units = Units {
    step: 60,
    names: &["s", "m", "h"],
};

struct Units {
    step: u64,
    names: &'static [&'static str],
}

pub(super) fn metric(text: &str) -> Option<u64> {
    scan(text, &METRIC)
}

pub(super) fn seconds(text: &str) -> Option<u64> {
    scan(text, &TIME)
}

fn scan(text: &str, units: &Units) -> Option<u64> {
    let (number, rest) = whole_number(text)?;
    let rest = rest.trim_start_matches(is_blank);
    // wrk reads at most two characters, up to the first blank.
    let unit: String = rest.chars().take(2).take_while(|c| !is_blank(*c)).collect();
    if unit.is_empty() {
        return Some(number);
    }
    let unit = unit.to_ascii_lowercase();
    let steps = units.names.iter().position(|name| *name == unit)?;
    let factor = units.step.pow(u32::try_from(steps).ok()?);
    Some(number.wrapping_mul(factor))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn whole_number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start_matches(is_blank);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return None;
    }
    let number = match digits.parse::<u64>() {
        Ok(number) if negative => number.wrapping_neg(),
        Ok(number) => number,
        Err(_) => u64::MAX,
    };
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        for (text, number) in [
            ("12", Some(12)),
            (" 12", Some(12)),
            ("+5", Some(5)),
            ("2k", Some(2_000)),
            ("2K", Some(2_000)),
            ("3M", Some(3_000_000)),
            ("1g", Some(1_000_000_000)),
            ("1T", Some(1_000_000_000_000)),
            ("1P", Some(1_000_000_000_000_000)),
            ("5 k", Some(5_000)),
            ("5k x", Some(5_000)),
            ("-1", Some(u64::MAX)),
            ("99999999999999999999", Some(u64::MAX)),
            ("1.5k", None),
            ("5kk", None),
            ("5s", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(metric(text), number, "{text:?}");
        }
    }

    #[test]
    fn times() {
        for (text, number) in [
            ("30", Some(30)),
            ("30s", Some(30)),
            ("30S", Some(30)),
            ("5m", Some(300)),
            ("2h", Some(7_200)),
            ("100ms", None),
            ("10sec", None),
            ("1d", None),
        ] {
            assert_eq!(seconds(text), number, "{text:?}");
        }
    }
}
