//! A figure beside the bound that a criterion gives it. Where the figure comes from is others' business.

use plan::{Criterion, units::Quantity};

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

/// The bound, in the metric's own unit.
pub(crate) fn bound(criterion: &Criterion) -> f64 {
    match criterion.value {
        Quantity::Number(n) | Quantity::Share(n) | Quantity::PerSecond(n) => n,
        Quantity::Duration(ns) => ns as f64,
    }
}
