//! A figure beside the bound that a criterion gives it. Where the figure comes from is others' business.

use plan::{Criterion, units::Quantity};

use crate::exclusions::LeftOut;

/// A figure with the bound that it is compared with, both in the metric's own unit.
pub(super) struct Measured {
    /// None: larger than everything.
    pub value: Option<f64>,
    pub bound: f64,
    pub text: String,
    /// Whether there is enough to judge by.
    pub certain: bool,
    pub reason: Option<String>,
}

/// A figure, or why there is none, with a word of what was left out of it.
pub(super) fn without(
    left_out: &LeftOut,
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

/// The bound, in the metric's own unit.
pub fn bound(criterion: &Criterion) -> f64 {
    match criterion.value {
        Quantity::Number(n) | Quantity::Share(n) | Quantity::PerSecond(n) => n,
        Quantity::Duration(ns) => ns as f64,
    }
}
