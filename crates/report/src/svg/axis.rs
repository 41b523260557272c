//! Axes of charts: positions as shares of the axis, and ticks.

use record::units;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    Linear,
    Log,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisUnit {
    Time,
    Number,
    Nines,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisKind {
    pub scale: Scale,
    pub unit: AxisUnit,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    scale: Scale,
    unit: AxisUnit,
    low: f64,
    high: f64,
}

impl Axis {
    #[must_use]
    pub fn over(values: impl Iterator<Item = f64>, scale: Scale, unit: AxisUnit) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in
            values.filter(|value| value.is_finite() && (scale == Scale::Linear || *value > 0.0))
        {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        match scale {
            Scale::Linear => {
                low = low.min(0.0);
                high = if high <= low { low + 1.0 } else { high };
                let step = step(high - low, unit);
                high = (high / step).ceil() * step;
            }
            Scale::Log => {
                low = 10f64.powf(low.log10().floor());
                high = 10f64.powf(high.log10().ceil()).max(low * 10.0);
            }
        }
        Axis {
            scale,
            unit,
            low,
            high,
        }
    }

    #[must_use]
    pub fn exactly(low: f64, high: f64, unit: AxisUnit) -> Axis {
        let high = if high <= low { low + 1.0 } else { high };
        Axis {
            scale: Scale::Linear,
            unit,
            low,
            high,
        }
    }

    /// Returns the position of a value as a share of the axis, from 0 to 1.
    #[must_use]
    pub fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => {
                let value = value.max(self.low);
                (value / self.low).log10() / (self.high / self.low).log10()
            }
        };
        share.clamp(0.0, 1.0)
    }

    #[must_use]
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let values: Vec<f64> = match self.scale {
            Scale::Linear => {
                let step = step(self.high - self.low, self.unit);
                let first = (self.low / step).ceil() as i64;
                let last = (self.high / step + 1e-9).floor() as i64;
                (first..=last).map(|i| i as f64 * step).collect()
            }
            Scale::Log => {
                let decades = (self.high / self.low).log10().round() as i32;
                (0..=decades).map(|i| self.low * 10f64.powi(i)).collect()
            }
        };
        values
            .into_iter()
            .map(|value| (value, self.text(value)))
            .collect()
    }

    fn text(&self, value: f64) -> String {
        match self.unit {
            AxisUnit::Time => units::duration(value.round() as u64),
            // Shorten large numbers, because longer labels would be cut off.
            AxisUnit::Number if value >= 1e6 => large(value),
            AxisUnit::Number if value >= 1000.0 => units::count(value.round() as u64),
            AxisUnit::Number => units::decimal(value),
            AxisUnit::Nines if value <= 1.0 => "0 %".into(),
            AxisUnit::Nines => format!("{} %", units::decimal(100.0 * (1.0 - 1.0 / value))),
        }
    }
}

/// Formats a large number in at most nine characters: `200 M`, `1.5 G`.
fn large(value: f64) -> String {
    const PREFIXES: [(f64, &str); 5] = [
        (1e18, "E"),
        (1e15, "P"),
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
    ];
    let prefix = PREFIXES.iter().find(|(unit, _)| value >= *unit);
    let (unit, letter) = prefix.copied().unwrap_or((1e6, "M"));
    let scaled = value / unit;
    if scaled >= 1e6 {
        return format!("{value:.0e}");
    }
    format!("{} {letter}", units::decimal(scaled))
}

/// Returns the step that gives four to eight ticks: 1, 2 or 5 times a power of ten, or a common
/// unit of time.
fn step(range: f64, unit: AxisUnit) -> f64 {
    const SECOND: f64 = 1e9;
    let rough = range / 7.0;
    if unit == AxisUnit::Time && rough > 10.0 * SECOND {
        let people = [
            15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0,
        ];
        if let Some(step) = people.iter().find(|step| **step * SECOND >= rough) {
            return step * SECOND;
        }
    }
    let power = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|n| n * power >= rough);
    round.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        let rate = Axis::over([3.0, 1_180.0].into_iter(), Scale::Linear, AxisUnit::Number);
        assert_eq!(
            texts(&rate),
            ["0", "200", "400", "600", "800", "1,000", "1,200"]
        );
        let time = Axis::over([80_000.0, 2.1e9].into_iter(), Scale::Log, AxisUnit::Time);
        assert_eq!(
            texts(&time),
            ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]
        );
        let run = Axis::exactly(0.0, 315e9, AxisUnit::Time);
        assert_eq!(
            texts(&run),
            ["0 s", "1 min", "2 min", "3 min", "4 min", "5 min"]
        );
        let short = Axis::exactly(0.0, 2e9, AxisUnit::Time);
        assert_eq!(texts(&short), ["0 s", "500 ms", "1 s", "1.5 s", "2 s"]);
        let nines = Axis::over([1.0, 1_000.0].into_iter(), Scale::Log, AxisUnit::Nines);
        assert_eq!(texts(&nines), ["0 %", "90 %", "99 %", "99.9 %"]);
    }

    #[test]
    fn a_label_fits_the_margin() {
        let bytes = Axis::over([2e8].into_iter(), Scale::Linear, AxisUnit::Number);
        assert_eq!(texts(&bytes), ["0", "50 M", "100 M", "150 M", "200 M"]);
        for power in 0..30 {
            for scale in [Scale::Linear, Scale::Log] {
                let most = 10f64.powi(power) * 1.7;
                let axis = Axis::over([1.0, most].into_iter(), scale, AxisUnit::Number);
                for text in texts(&axis) {
                    assert!(text.chars().count() <= 9, "{text}");
                }
            }
        }
    }

    #[test]
    fn values_find_their_place_whatever_they_are() {
        let axis = Axis::over([1e6, 1e8].into_iter(), Scale::Log, AxisUnit::Time);
        assert_eq!(
            [1e6, 1e7, 1e8, 0.0, 1e12].map(|v| (axis.share(v) * 100.0).round()),
            [0.0, 50.0, 100.0, 0.0, 100.0]
        );
        for scale in [Scale::Linear, Scale::Log] {
            let empty = Axis::over(std::iter::empty(), scale, AxisUnit::Number);
            assert!(empty.share(5.0).is_finite() && !empty.ticks().is_empty());
            let one = Axis::over([0.0].into_iter(), scale, AxisUnit::Number);
            assert!(one.share(0.0).is_finite() && one.ticks().len() < 20);
        }
    }
}
