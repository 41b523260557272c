//! Parser for cookie dates, with the algorithm of RFC 6265 §5.1.1, which is lenient about order and
//! separators.

use crate::calendar::days;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Parses a cookie's `Expires` value to seconds since 1970. Returns `None` if the text is not a
/// date.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let is_delimiter = |c: char| matches!(c, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~');
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none() && token.contains(':') {
            time = Some(time_of(token)?);
        } else if let (None, Some(n)) = (day, number(token, 1..=2)) {
            day = Some(n);
        } else if let (None, Some(n)) = (month, month_of(token)) {
            month = Some(n);
        } else if let (None, Some(n)) = (year, number(token, 2..=4)) {
            year = Some(match n {
                70..=99 => n + 1900,
                0..=69 => n + 2000,
                n => n,
            });
        }
    }
    let (day, month, year) = (day?, month?, year?);
    if !(1..=31).contains(&day) || year < 1601 {
        return None;
    }
    Some(days(year, month, day) * 86_400 + time?)
}

/// Parses the digits at the start of a token, if their number is in the range. Ignores the rest of
/// the token.
fn number(token: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let end = token
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(token.len());
    digits.contains(&end).then(|| token[..end].parse().ok())?
}

fn time_of(token: &str) -> Option<i64> {
    let mut fields = token.splitn(3, ':').map(|field| number(field, 1..=2));
    let (hour, minute, second) = (fields.next()??, fields.next()??, fields.next()??);
    (hour <= 23 && minute <= 59 && second <= 59).then_some(hour * 3600 + minute * 60 + second)
}

fn month_of(token: &str) -> Option<i64> {
    let name = token.get(..3)?.to_ascii_lowercase();
    let index = MONTHS.iter().position(|month| *month == name)?;
    Some(index as i64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_dates_are_parsed() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 21 Oct 2015 07:28:00 GMT", 1_445_412_480),
            ("Wed, 21-Oct-2015 07:28:00 GMT", 1_445_412_480),
            ("Wednesday, 21-Oct-15 07:28:00 GMT", 1_445_412_480),
            ("Wed Oct 21 07:28:00 2015", 1_445_412_480),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
            ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn invalid_dates_are_rejected() {
        for text in [
            "",
            "0",
            "-1",
            "Session",
            "Wed, 21 Oct 2015",
            "Wed, 21 Foo 2015 07:28:00 GMT",
            "Wed, 32 Oct 2015 07:28:00 GMT",
            "Wed, 21 Oct 2015 25:28:00 GMT",
            "Wed, 21 Oct 1600 07:28:00 GMT",
            "é:é:é 1 é",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_handled(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
