//! Formats numbers with units exactly as wrk does.

use super::extended::Extended;

/// The units of a number. Each is `step` times the previous one. A number is written in the next
/// unit from 0.85 of that unit. As in wrk, the last unit is never used.
struct UnitScale {
    step: u32,
    names: &'static [&'static str],
}

const MICROSECONDS: UnitScale = UnitScale {
    step: 1000,
    names: &["us", "ms", "s"],
};
const SECONDS: UnitScale = UnitScale {
    step: 60,
    names: &["s", "m", "h"],
};
const METRIC: UnitScale = UnitScale {
    step: 1000,
    names: &["", "k", "M", "G", "T", "P"],
};
const BINARY: UnitScale = UnitScale {
    step: 1024,
    names: &["", "K", "M", "G", "T", "P"],
};

impl UnitScale {
    fn format(&self, value: f64, decimals: usize) -> String {
        self.from(Extended::from_f64(value), value, decimals)
    }

    fn from(&self, mut exact: Extended, mut amount: f64, decimals: usize) -> String {
        let mut unit = 0;
        while unit + 2 < self.names.len() && amount >= f64::from(self.step) * 0.85 {
            amount /= f64::from(self.step);
            exact = exact.divided_by(self.step);
            unit += 1;
        }
        format!("{}{}", exact.print(decimals), self.names[unit])
    }
}

pub(super) fn number(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return "-nan".into();
    }
    format!("{value:.decimals$}")
}

pub(super) fn time_us(us: f64) -> String {
    if us >= 1_000_000.0 {
        let seconds = Extended::from_f64(us).divided_by(1_000_000);
        SECONDS.from(seconds, us / 1_000_000.0, 2)
    } else {
        MICROSECONDS.format(us, 2)
    }
}

pub(super) fn duration(seconds: u64) -> String {
    SECONDS.format(seconds as f64, 0)
}

pub(super) fn metric(value: f64) -> String {
    METRIC.format(value, 2)
}

pub(super) fn binary(bytes: f64) -> String {
    BINARY.format(bytes, 2)
}

pub(super) fn column(text: &str, width: usize) -> String {
    let letters = text
        .bytes()
        .rev()
        .take(2)
        .filter(u8::is_ascii_alphabetic)
        .count();
    let pad = 2 - letters;
    let width = width - pad;
    format!("{:>width$}{:pad$}", &text[..text.len().min(width)], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_at_085_and_the_last_is_never_reached() {
        for (us, text) in [
            (0.0, "0.00us"),
            (477.31, "477.31us"),
            (849.99, "849.99us"),
            (850.0, "0.85ms"),
            (118_920.0, "118.92ms"),
            (850_000.0, "850.00ms"),
            (999_999.0, "1000.00ms"),
            (1_000_000.0, "1.00s"),
            (50_990_000.0, "50.99s"),
            (51_000_000.0, "0.85m"),
            (60_100_000.0, "1.00m"),
            (3_600_000_000.0, "60.00m"),
        ] {
            assert_eq!(time_us(us), text, "{us}");
        }
        for (seconds, text) in [
            (1, "1s"),
            (50, "50s"),
            (51, "1m"),
            (60, "1m"),
            (89, "1m"),
            (90, "2m"),
            (300, "5m"),
            (3600, "60m"),
        ] {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
        for (value, text) in [
            (256.22, "256.22"),
            (849.0, "849.00"),
            (850.0, "0.85k"),
            (2_100.0, "2.10k"),
            (1e18, "1000000.00T"),
        ] {
            assert_eq!(metric(value), text, "{value}");
        }
        for (value, text) in [
            (870.0, "870.00"),
            (871.0, "0.85K"),
            (43_148_546.0, "41.15M"),
            (1_793_000_000.0, "1.67G"),
        ] {
            assert_eq!(binary(value), text, "{value}");
        }
    }

    #[test]
    fn columns_line_up_and_cut() {
        assert_eq!(column("477.31us", 8), "477.31us");
        assert_eq!(column("2.10k", 8), "  2.10k ");
        assert_eq!(column("256.22", 8), "256.22  ");
        assert_eq!(column("0.85ms", 10), "    0.85ms");
        assert_eq!(column("1000000.00T", 8), "1000000 ");
        assert_eq!(number(f64::NAN, 2), "-nan");
    }
}
