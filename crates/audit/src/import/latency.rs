//! Statistics of a time as a tool printed them, and how far its percentiles can be trusted.

use super::figure::PrintedFigure;

/// Statistics of a time in seconds, or of another quantity.
#[derive(Debug, Clone, Default)]
pub struct LatencyStats {
    /// What, in the tool's words.
    pub name: String,
    /// Samples.
    pub count: Option<PrintedFigure>,
    /// The least.
    pub min: Option<PrintedFigure>,
    /// Their mean.
    pub mean: Option<PrintedFigure>,
    /// Their standard deviation.
    pub stdev: Option<PrintedFigure>,
    /// The greatest.
    pub max: Option<PrintedFigure>,
    /// The share within a standard deviation of the mean.
    pub within: Option<PrintedFigure>,
    /// Percentiles: the share that is not larger, and the value.
    pub percentiles: Vec<(f64, PrintedFigure)>,
    /// Samples up to a percentile.
    pub cumulative: Vec<(f64, PrintedFigure)>,
    /// How far the tool's percentiles may be from the samples' own.
    pub blur: Blur,
}

/// How coarse the tool's percentiles are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Blur {
    /// As a share of the value.
    pub share: f64,
    /// In seconds.
    pub amount_s: f64,
    /// A percentile's rank is a share of the gaps between the samples, not of the samples.
    pub ranks_gaps: bool,
    /// Percentiles are whole milliseconds, of which two digits are kept.
    pub two_digits: bool,
}
