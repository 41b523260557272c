//! Numbers with 64 significant bits, like x86-64's `long double`. wrk divides such numbers, and the
//! last bit decides whether 2.065 prints as 2.07 or 2.06.

/// Mantissa × 2^exponent. The highest bit of the mantissa is set, unless the number is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extended {
    mantissa: u64,
    exponent: i32,
}

impl Extended {
    pub(super) fn from_f64(value: f64) -> Extended {
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match (bits >> 52) as i32 & 0x7ff {
            0 => (fraction, -1074),
            biased => (fraction | 1 << 52, biased - 1075),
        };
        if mantissa == 0 {
            return Extended {
                mantissa: 0,
                exponent: 0,
            };
        }
        let shift = mantissa.leading_zeros();
        Extended {
            mantissa: mantissa << shift,
            exponent: exponent - shift as i32,
        }
    }

    pub(super) fn divided_by(self, divisor: u32) -> Extended {
        if self.mantissa == 0 {
            return self;
        }
        let numerator = u128::from(self.mantissa) << 64;
        let quotient = numerator / u128::from(divisor);
        let remains = numerator % u128::from(divisor) > 0;
        let drop = 64 - quotient.leading_zeros();
        let kept_bits = (quotient >> drop) as u64;
        let dropped = quotient & ((1 << drop) - 1);
        let half = 1u128 << drop >> 1;
        let up = drop > 0 && (dropped > half || dropped == half && (remains || kept_bits & 1 == 1));
        let (mantissa, carried) = kept_bits.overflowing_add(u64::from(up));
        let exponent = self.exponent - 64 + drop as i32;
        if carried {
            Extended {
                mantissa: 1 << 63,
                exponent: exponent + 1,
            }
        } else {
            Extended { mantissa, exponent }
        }
    }

    pub(super) fn print(self, decimals: usize) -> String {
        let scale = if decimals == 0 { 1 } else { 100 };
        let scaled = u128::from(self.mantissa) * scale;
        let whole = match self.exponent {
            up @ 0.. => scaled << up.min(50),
            down if down < -120 => 0,
            down => {
                let drop = down.unsigned_abs();
                let (kept_bits, dropped) = (scaled >> drop, scaled & ((1 << drop) - 1));
                let half = 1u128 << drop >> 1;
                let up = dropped > half || dropped == half && kept_bits & 1 == 1;
                kept_bits + u128::from(up)
            }
        };
        if decimals == 0 {
            whole.to_string()
        } else {
            format!("{}.{:02}", whole / 100, whole % 100)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bit_decides_about_halves() {
        for (n, text) in [
            (2065.0, "2.07"),
            (1575.0, "1.58"),
            (1005.0, "1.00"),
            (125.0, "0.12"),
            (375.0, "0.38"),
            (0.0, "0.00"),
            (999.0, "1.00"),
            (895.0, "0.89"),
            (1115.0, "1.12"),
            (2675.0, "2.67"),
            (1285.0, "1.28"),
        ] {
            assert_eq!(Extended::from_f64(n).divided_by(1000).print(2), text, "{n}");
        }
        assert_eq!(Extended::from_f64(90.0).divided_by(60).print(0), "2");
        assert_eq!(Extended::from_f64(150.0).divided_by(60).print(0), "2");
        assert_eq!(Extended::from_f64(477.31).print(2), "477.31");
        assert_eq!(
            Extended::from_f64(1e15).divided_by(1).print(2),
            "1000000000000000.00"
        );
        assert_eq!(Extended::from_f64(1e-60).print(2), "0.00");
    }
}
