//! Business volumes as arrivals per second, load levels (multiples of all volumes), and the
//! resulting weights. All are exact fractions.

use serde::Serialize;

use crate::{
    Rate, Scenario,
    units::{GrammarError, HOUR, Quantity, parse_quantity, parse_rate},
};

const MILLION: u64 = 1_000_000;

/// The number of starts of a scenario per period, at 1x.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Volume {
    /// The volume as written in the plan. Some reports quote it.
    pub text: String,
    /// Arrivals per second at 1x.
    #[serde(rename = "per_second")]
    pub rate: Rate,
    /// The present volume, which reports compare with the tested volume. It does not affect the
    /// load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub today: Option<Box<Volume>>,
}

/// Parameters that convert a business volume to a peak rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakRate {
    /// Number of hours over which the volume is spread. `None` if the volume's unit states the period.
    pub hours: Option<f64>,
    /// Peak rate divided by mean rate.
    pub clustering: f64,
    /// Expected growth as a share: 0.2 is 20 %.
    pub growth: f64,
}

impl Default for PeakRate {
    fn default() -> Self {
        PeakRate {
            hours: None,
            clustering: 1.0,
            growth: 0.0,
        }
    }
}

impl Volume {
    /// Parses `35260/h`, or `500000` with the hours in which it occurs.
    ///
    /// Fails if the text is invalid, or if the unit and the hours contradict each other.
    pub fn read(text: &str, peak: PeakRate) -> Result<Volume, GrammarError> {
        let refused = |message: String| Err(GrammarError { offset: 0, message });
        let trimmed = text.trim();
        let unit = trimmed.split_once('/').map(|(_, unit)| unit.trim());
        let rate = match (unit, peak.hours) {
            (None, None) => {
                parse_quantity(trimmed)?;
                return refused(format!(
                    "`{trimmed}` has no unit of time: use, for example, {trimmed}/h, or {{ volume: {trimmed}, hours: 12 }}"
                ));
            }
            (Some("s" | "m" | "min" | "h"), Some(_)) => {
                return refused(format!(
                    "`{trimmed}` already has a unit of time: use `hours` only with a volume per day ({trimmed_number}/d) or a number without unit",
                    trimmed_number = trimmed.split('/').next().unwrap_or(trimmed)
                ));
            }
            // A volume per day and a volume without a unit both occur within these hours.
            (None, Some(hours)) => within(trimmed, hours)?,
            (Some("d"), Some(hours)) => {
                within(trimmed.split('/').next().unwrap_or(trimmed), hours)?
            }
            (Some(_), _) => parse_rate(trimmed)?,
        };
        let scaled = Some(rate)
            .and_then(|rate| rate.times(millionths(peak.clustering)?, MILLION))
            .and_then(|rate| rate.times(millionths(1.0 + peak.growth)?, MILLION));
        match scaled {
            Some(rate) if !rate.is_zero() => Ok(Volume {
                text: render(trimmed, peak),
                rate,
                today: None,
            }),
            Some(_) => refused(format!(
                "a volume of `{trimmed}` has no arrivals: remove the scenario"
            )),
            None => refused(format!("`{trimmed}` is above the maximum rate")),
        }
    }
}

fn within(number: &str, hours: f64) -> Result<Rate, GrammarError> {
    let too_many = || GrammarError {
        offset: 0,
        message: format!("`{number}` in {hours} hours is not a valid rate"),
    };
    let Quantity::Number(n) = parse_quantity(number)? else {
        return Err(GrammarError {
            offset: 0,
            message: format!(
                "`{number}` is not a valid number of events: use, for example, 500000"
            ),
        });
    };
    let count = u128::from(millionths(n).ok_or_else(too_many)?);
    let hours = u128::from(millionths(hours).ok_or_else(too_many)?);
    Rate::ratio(count, hours * u128::from(HOUR)).ok_or_else(too_many)
}

/// Returns a decimal number in millionths. `None` if it is out of range.
fn millionths(number: f64) -> Option<u64> {
    let scaled = (number * MILLION as f64).round();
    (0.0..=1e15).contains(&scaled).then_some(scaled as u64)
}

fn render(number: &str, peak: PeakRate) -> String {
    let mut text = number.to_owned();
    if let Some(hours) = peak.hours {
        text.push_str(&format!(" in {hours} h"));
    }
    if peak.clustering != 1.0 {
        text.push_str(&format!(" × {}", peak.clustering));
    }
    if peak.growth != 0.0 {
        text.push_str(&format!(" + {} %", round(peak.growth * 100.0)));
    }
    text
}

fn round(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// A load level: a multiple of all volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLevel {
    millionths: u64,
}

impl LoadLevel {
    const MOST: f64 = 1000.0;

    /// Parses `0.5x` or `50%`. Fails on any other form, or if the level is out of range.
    pub fn read(text: &str) -> Result<LoadLevel, GrammarError> {
        let refused = |message: String| Err(GrammarError { offset: 0, message });
        let trimmed = text.trim();
        let number = match (trimmed.strip_suffix('x'), trimmed.strip_suffix('%')) {
            (Some(number), _) => number.trim().parse::<f64>().ok(),
            (None, Some(share)) => share.trim().parse::<f64>().ok().map(|n| n / 100.0),
            (None, None) => {
                let help = if trimmed.contains('/') {
                    format!("use `rate: {trimmed}`, or a multiple of the volumes such as 0.5x")
                } else {
                    format!("use a multiple of the volumes such as {trimmed}x")
                };
                return refused(format!("`{trimmed}` is not a level: {help}"));
            }
        };
        match number {
            Some(n) if (0.0..=Self::MOST).contains(&n) => Ok(LoadLevel {
                millionths: (n * MILLION as f64).round() as u64,
            }),
            _ => refused(format!(
                "`{trimmed}` is not a level: use a multiple of the volumes from 0 to 1000, such as 0.5x"
            )),
        }
    }

    /// Returns whether a text has the form of a level instead of a rate.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.trim_end().ends_with(['x', '%'])
    }

    /// Returns the rate at this level, given the rate at 1x.
    #[must_use]
    pub fn scale(self, full: Rate) -> Option<Rate> {
        full.times(self.millionths, MILLION)
    }

    /// Returns the level as a factor.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.millionths as f64 / MILLION as f64
    }
}

impl std::fmt::Display for LoadLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x", self.as_f64())
    }
}

/// Returns the total arrivals per second at 1x. `None` if there are no scenarios, or if one has no
/// volume.
#[must_use]
pub fn full(scenarios: &[Scenario]) -> Option<Rate> {
    let mut volumes = scenarios.iter().map(|scenario| scenario.volume.as_ref());
    let first = volumes.next()??.rate;
    volumes.try_fold(first, |sum, volume| sum.plus(volume?.rate))
}

/// Returns the smallest exact weights in proportion to the rates, or the nearest weights that fit
/// into 32 bits.
#[must_use]
pub fn weights(rates: &[Rate]) -> Vec<u32> {
    exact_weights(rates).unwrap_or_else(|| {
        let most = rates.iter().map(|rate| rate.as_f64()).fold(0.0, f64::max);
        let scaled = |rate: &Rate| (rate.as_f64() / most * 1e9).round() as u32;
        rates.iter().map(|rate| scaled(rate).max(1)).collect()
    })
}

fn exact_weights(rates: &[Rate]) -> Option<Vec<u32>> {
    let gcd = |mut a: u128, mut b: u128| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let per: Vec<u128> = rates.iter().map(|rate| u128::from(rate.per_ns)).collect();
    let common = per
        .iter()
        .try_fold(1u128, |all, per| (all / gcd(all, *per)).checked_mul(*per))?;
    let counts: Option<Vec<u128>> = rates
        .iter()
        .map(|rate| u128::from(rate.count).checked_mul(common / u128::from(rate.per_ns)))
        .collect();
    let counts = counts?;
    let divisor = counts.iter().copied().fold(0, gcd).max(1);
    counts
        .into_iter()
        .map(|count| u32::try_from(count / divisor).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::{DAY, SECOND};

    fn volume(text: &str, peak: PeakRate) -> f64 {
        Volume::read(text, peak).expect("a volume").rate.as_f64()
    }

    fn two_digits(rate: f64) -> String {
        format!("{rate:.2}")
    }

    #[test]
    fn vets_api_check_in_volumes_are_parsed() {
        let rates = ["35260/h", "145000/h"].map(|text| volume(text, PeakRate::default()));
        assert_eq!(rates.map(two_digits), ["9.79", "40.28"]);
        let rates = ["35260/h", "145000/h"].map(|text| parse_rate(text).expect("a rate"));
        assert_eq!(weights(&rates), [1763, 7250]);
    }

    #[test]
    fn url_shortener_volumes_are_parsed() {
        let peak = PeakRate {
            hours: Some(12.0),
            clustering: 1.5,
            growth: 0.0,
        };
        let check_ins = Volume::read("500000", peak).expect("a volume");
        assert_eq!(two_digits(check_ins.rate.as_f64()), "17.36");
        assert_eq!(check_ins.text, "500000 in 12 h × 1.5");
        // The volume is exactly 750,000 in 12 hours.
        assert_eq!(check_ins.rate.events_in(12 * HOUR), 750_000);
        let reminders = Volume::read("500/s", PeakRate::default()).expect("a volume");
        assert_eq!(
            reminders.rate,
            Rate::per_second(500).times(1, 1).expect("a rate")
        );
        let weights = weights(&[check_ins.rate, reminders.rate]);
        assert_eq!(weights, [5, 144]);
    }

    #[test]
    fn daily_volume_occurs_in_its_hours_and_grows() {
        let peak = |hours| PeakRate {
            hours,
            growth: 0.2,
            ..PeakRate::default()
        };
        assert_eq!(two_digits(volume("28800/d", peak(Some(8.0)))), "1.20");
        assert_eq!(two_digits(volume("86400/d", peak(None))), "1.20");
    }

    #[test]
    fn invalid_volumes_are_rejected_with_advice() {
        let refused = |text: &str, hours| {
            let peak = PeakRate {
                hours,
                ..PeakRate::default()
            };
            Volume::read(text, peak).expect_err("a refusal").message
        };
        assert!(
            refused("500000", None).contains("has no unit of time: use, for example, 500000/h")
        );
        assert!(
            refused("10/h", Some(8.0)).contains("use `hours` only with a volume per day (10/d)")
        );
        assert!(refused("0/h", None).contains("remove the scenario"));
        assert!(refused("ten", None).contains("not a quantity"));
        assert!(refused("10/x", None).contains("/s /m /h /d"));
        assert!(refused("5 s", Some(1.0)).contains("not a valid number of events"));
    }

    #[test]
    fn levels_are_parsed() {
        let full = Rate::per_second(50);
        let of =
            |text: &str| LoadLevel::read(text).map(|level| level.scale(full).map(Rate::as_f64));
        assert_eq!(of("0.5x"), Ok(Some(25.0)));
        assert_eq!(of("150%"), Ok(Some(75.0)));
        assert_eq!(
            LoadLevel::read("1.50x").map(|l| l.to_string()),
            Ok("1.5x".into())
        );
        for (text, says) in [
            ("10/s", "use `rate: 10/s`"),
            ("2", "such as 2x"),
            ("-1x", "from 0 to 1000"),
            ("1e9x", "from 0 to 1000"),
        ] {
            assert!(
                LoadLevel::read(text).is_err_and(|e| e.message.contains(says)),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn sums_weights_and_levels_are_in_proportion(
            counts in prop::collection::vec((1u64..10_000_000, 0usize..4), 1..6),
            level in 1u64..5000,
        ) {
            let units = [SECOND, 60 * SECOND, HOUR, DAY];
            let rates: Vec<Rate> = counts
                .iter()
                .map(|(count, unit)| Rate::ratio(u128::from(*count), u128::from(units[*unit])).expect("a rate"))
                .collect();
            let sum: f64 = rates.iter().map(|rate| rate.as_f64()).sum();
            let scenarios: Vec<Scenario> = rates
                .iter()
                .map(|rate| Scenario {
                    name: None,
                    weight: 1,
                    volume: Some(Volume { text: String::new(), rate: *rate, today: None }),
                    on_error: Vec::new(),
                    steps: Vec::new(),
                })
                .collect();
            let all = full(&scenarios).expect("a sum");
            prop_assert!((all.as_f64() / sum - 1.0).abs() < 1e-9);
            let weights = weights(&rates);
            let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            for (weight, rate) in weights.iter().zip(&rates) {
                prop_assert!((f64::from(*weight) / total - rate.as_f64() / sum).abs() < 1e-8);
                prop_assert!(*weight > 0);
            }
            let level = LoadLevel { millionths: level * 1000 };
            let rate = level.scale(all).expect("a rate");
            prop_assert!((rate.as_f64() / (sum * level.as_f64()) - 1.0).abs() < 1e-9);
        }
    }
}
