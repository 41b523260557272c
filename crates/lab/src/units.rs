//! Parses durations, shares, rates and counts exactly. Errors are a single line that states which
//! values are valid.

use std::ops::RangeInclusive;

pub const SECOND: u64 = 1_000_000_000;

const LONGEST: u64 = 86_400 * SECOND;

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
    ("d", 86_400 * SECOND),
];

type Read<T> = Result<T, String>;

pub fn duration(text: &str) -> Read<u64> {
    let advice = || "use a duration with its unit (ns us ms s m h d), for example 10ms".to_owned();
    let (number, unit) = Decimal::split(text).ok_or_else(advice)?;
    if number.digits == 0 && unit.is_empty() {
        return Ok(0);
    }
    let (_, factor) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(advice)?;
    match number.times(*factor) {
        Some(ns) if ns <= LONGEST => Ok(ns),
        Some(_) => Err("it must be at most 1d".to_owned()),
        None => Err("it must be a whole number of nanoseconds".to_owned()),
    }
}

pub fn duration_above_zero(text: &str) -> Read<u64> {
    match duration(text)? {
        0 => Err("it must be longer than 0".to_owned()),
        ns => Ok(ns),
    }
}

pub fn share(text: &str) -> Read<f64> {
    match Decimal::split(text) {
        Some((number, "%")) if number.value() <= 100.0 => Ok(number.value() / 100.0),
        Some((_, "%")) => Err("it must be at most 100%".to_owned()),
        _ => Err("use a share from 0% to 100%, for example 10%".to_owned()),
    }
}

pub fn gap_of_rate(text: &str) -> Read<u64> {
    let per = match Decimal::split(text) {
        Some((number, "/s")) => number.value() / 1e9,
        Some((number, "/m")) => number.value() / 60e9,
        Some((number, "/h")) => number.value() / 3600e9,
        _ => return Err("use a rate with its unit (/s /m /h), for example 2000/s".to_owned()),
    };
    let gap = (1.0 / per).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be between 1 ns and a day"
    )]
    if (1.0..=LONGEST as f64).contains(&gap) {
        Ok(gap as u64)
    } else {
        Err("it must be between 1 per day and 1000000000/s".to_owned())
    }
}

pub fn count(text: &str, range: RangeInclusive<u64>) -> Read<u64> {
    let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(n) if digits_only && range.contains(&n) => Ok(n),
        _ => Err(format!(
            "use a whole number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

pub fn weight(text: &str) -> Read<f64> {
    match Decimal::split(text) {
        Some((number, "")) => Ok(number.value()),
        _ => Err("use a plain number as the weight, for example 90 or 0.5".to_owned()),
    }
}

struct Decimal {
    digits: u64,
    scale: u32,
}

impl Decimal {
    fn split(text: &str) -> Option<(Self, &str)> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, part) = match number.split_once('.') {
            Some((whole, part)) if !part.is_empty() => (whole, part),
            Some(_) => return None,
            None => (number, ""),
        };
        let fits = !whole.is_empty() && whole.len() + part.len() <= 18;
        let digits = fits.then(|| format!("{whole}{part}").parse().ok())??;
        let scale = u32::try_from(part.len()).ok()?;
        Some((Self { digits, scale }, unit))
    }

    fn value(&self) -> f64 {
        self.digits as f64 / 10_f64.powi(self.scale.cast_signed())
    }

    fn times(&self, factor: u64) -> Option<u64> {
        let product = u128::from(self.digits) * u128::from(factor);
        let divisor = 10_u128.pow(self.scale);
        (product % divisor == 0).then(|| u64::try_from(product / divisor).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_parsed() {
        for (text, ns) in [
            ("0", 0),
            ("0.0", 0),
            ("7ns", 7),
            ("1.5us", 1_500),
            ("250ms", 250_000_000),
            ("1.000000001s", 1_000_000_001),
            ("2m", 120 * SECOND),
            ("24h", LONGEST),
            ("1d", LONGEST),
        ] {
            assert_eq!(duration(text), Ok(ns), "{text}");
        }
        assert_eq!(share("2.5%"), Ok(0.025));
        assert_eq!(gap_of_rate("2000/s"), Ok(500_000));
        assert_eq!(gap_of_rate("90/m"), Ok(666_666_667));
        assert_eq!(gap_of_rate("2/h"), Ok(1_800 * SECOND));
        assert_eq!(count("503", 400..=599), Ok(503));
        assert_eq!(weight("0.5"), Ok(0.5));
    }

    #[test]
    fn invalid_values_are_rejected() {
        for text in [
            "",
            "1",
            "ms",
            "-1ms",
            "+1ms",
            "1 ms",
            "1.ms",
            ".5ms",
            "1.2.3s",
            "1µs",
            "1e3s",
            "1Ms",
            "0.5ns",
            "25h",
            "99999999999999999999s",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(duration_above_zero("0s").is_err());
        for text in ["", "10", "0.1", "101%", "100.1%", "-1%", "%", "1%%"] {
            assert!(share(text).is_err(), "{text}");
        }
        for text in ["", "0/s", "10", "10/d", "-1/s", "3000000000/s", "0.01/h"] {
            assert!(gap_of_rate(text).is_err(), "{text}");
        }
        for text in ["", "-1", "+1", "0", "11", "1.0", "99999999999999999999"] {
            assert!(count(text, 1..=10).is_err(), "{text}");
        }
        for text in ["", "-1", "1%", "inf", "NaN"] {
            assert!(weight(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in ".{0,24}") {
            let _ = (duration(&text), share(&text), gap_of_rate(&text), count(&text, 0..=9), weight(&text));
        }

        #[test]
        fn durations_are_exact(whole in 0_u64..86_400, part in 0_u64..SECOND) {
            prop_assert_eq!(duration(&format!("{whole}.{part:09}s")), Ok(whole * SECOND + part));
            prop_assert_eq!(duration(&format!("{}ns", whole * SECOND + part)), Ok(whole * SECOND + part));
        }

        #[test]
        fn shares_are_between_zero_and_one(percent in 0_u32..=1000) {
            let read = share(&format!("{}.{}%", percent / 10, percent % 10)).unwrap();
            prop_assert!((read - f64::from(percent) / 1000.0).abs() < 1e-12);
        }
    }
}
