//! The measured value of a criterion, and its bound.

use plan::{Criterion, units::Quantity};

use crate::exclusions::ExcludedSpans;

pub(super) struct Measured {
    /// Measured value. `None` means that it exceeds every bound.
    pub value: Option<f64>,
    pub bound: f64,
    pub text: String,
    pub certain: bool,
    pub reason: Option<String>,
}

pub(super) fn without(
    left_out: &ExcludedSpans,
    measured: Result<Measured, String>,
) -> Result<Measured, String> {
    let Some(reported) = left_out.text() else {
        return measured;
    };
    match measured {
        Ok(measured) => {
            let before = measured.reason.iter();
            let before = before
                .map(|reason| format!("{reason}; "))
                .collect::<String>();
            Ok(Measured {
                reason: Some(before + &reported),
                ..measured
            })
        }
        Err(reason) => Err(format!("{reason}; {reported}")),
    }
}

pub fn bound(criterion: &Criterion) -> f64 {
    match criterion.value {
        Quantity::Number(n) | Quantity::Share(n) | Quantity::PerSecond(n) => n,
        Quantity::Duration(ns) => ns as f64,
    }
}
