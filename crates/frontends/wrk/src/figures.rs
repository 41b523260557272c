//! Passes figures to a script's `done` function.

use script::lua::DistributionFigures;

use crate::print::{PrintedLatency, Spectrum, Statistics, WrkReport};

pub fn from_report(report: &WrkReport) -> (DistributionFigures, DistributionFigures) {
    let latency = match &report.latency {
        PrintedLatency::Wrk { corrected, .. } => of_statistics(corrected),
        PrintedLatency::Wrk2 { corrected, .. } => of_spectrum(corrected),
    };
    (latency, of_statistics(&report.rate))
}

fn of_statistics(statistics: &Statistics) -> DistributionFigures {
    let (a, b) = (statistics.clone(), statistics.clone());
    DistributionFigures {
        min: a.min() as f64,
        max: a.max() as f64,
        mean: a.mean(),
        stdev: a.stdev(),
        length: a.distinct() as f64,
        percentile: Box::new(move |p| a.percentile(p) as f64),
        nth: Box::new(move |n| b.nth(n)),
    }
}

fn of_spectrum(spectrum: &Spectrum) -> DistributionFigures {
    let (a, b) = (spectrum.clone(), spectrum.clone());
    DistributionFigures {
        min: a.min() as f64,
        max: a.max() as f64,
        mean: a.mean(),
        stdev: a.stdev(),
        length: a.count() as f64,
        percentile: Box::new(move |p| a.percentile(p) as f64),
        nth: Box::new(move |n| b.nth(n)),
    }
}
