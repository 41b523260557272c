//! Printed statistics of a time, and the precision of percentiles.

use super::figure::PrintedFigure;

#[derive(Debug, Clone, Default)]
pub struct LatencyStats {
    pub name: String,
    pub count: Option<PrintedFigure>,
    pub min: Option<PrintedFigure>,
    pub mean: Option<PrintedFigure>,
    pub stdev: Option<PrintedFigure>,
    pub max: Option<PrintedFigure>,
    pub within: Option<PrintedFigure>,
    pub percentiles: Vec<(f64, PrintedFigure)>,
    pub cumulative: Vec<(f64, PrintedFigure)>,
    pub blur: Blur,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Blur {
    pub share: f64,
    pub amount_s: f64,
    pub ranks_gaps: bool,
    pub two_digits: bool,
}
