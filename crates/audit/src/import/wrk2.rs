//! Reads output that only wrk2 prints: calibration, spectra, uncorrected latency.

use super::{
    lines::{NumberedLine, Word},
    model::{Blur, Cover, LatencyStats, PrintedReport, PrintedRow, SumRelation, Tool, Total},
    number::{Rounding, plain, time, word as figure},
};

const BLUR: Blur = Blur {
    share: 0.002,
    amount_s: 0.000_002,
    ranks_gaps: false,
    two_digits: false,
};

#[derive(Default)]
pub struct SectionReader {
    table: Option<SpectrumTable>,
}

struct SpectrumTable {
    is_corrected: bool,
    latency: LatencyStats,
    spectrum: LatencyStats,
    in_spectrum: bool,
}

impl SectionReader {
    pub fn line(
        &mut self,
        run: &mut PrintedReport,
        line: &NumberedLine,
        words: &[Word<'_>],
    ) -> bool {
        let text = &line.text;
        if text.contains("Thread calibration:") {
            run.tool = Tool::Wrk2;
            return true;
        }
        if text.contains("HdrHistogram - ") {
            self.end(run);
            run.tool = Tool::Wrk2;
            self.table = Some(SpectrumTable::new(!text.contains("Uncorrected")));
            return true;
        }
        let Some(table) = &mut self.table else {
            return false;
        };
        if text.contains("Detailed Percentile spectrum") {
            table.in_spectrum = true;
        } else if text.contains("#[") {
            table.footer(line);
        } else if text.contains("----------") || text.contains("requests in") {
            self.end(run);
            return false;
        } else {
            table.row(words);
        }
        true
    }

    pub fn end(&mut self, run: &mut PrintedReport) {
        if let Some(table) = self.table.take() {
            table.put(run);
        }
    }
}

impl SpectrumTable {
    fn new(is_corrected: bool) -> SpectrumTable {
        let name = |what: &str| LatencyStats {
            name: what.to_owned(),
            blur: BLUR,
            ..LatencyStats::default()
        };
        SpectrumTable {
            is_corrected,
            latency: name(if is_corrected {
                "Latency"
            } else {
                "Uncorrected"
            }),
            spectrum: name("spectrum"),
            in_spectrum: false,
        }
    }

    fn row(&mut self, words: &[Word<'_>]) {
        match words {
            [share, value] if share.text.ends_with('%') => {
                let percent = share.text.trim_end_matches('%').parse::<f64>();
                let Ok(percent @ 0.0..=100.0) = percent else {
                    return;
                };
                let name = format!("{} {}", self.latency.name, share.text);
                if let Some(figure) = figure(name, *value, Rounding::Nearest, time) {
                    self.latency.percentiles.push((percent / 100.0, figure));
                }
            }
            [value, share, count, _] if self.in_spectrum => {
                let Ok(share @ 0.0..=1.0) = share.text.parse::<f64>() else {
                    return;
                };
                let name = |what: &str| format!("{what} at {share}");
                if let Some(mut figure) = figure(name("Value"), *value, Rounding::Nearest, ms) {
                    figure.unit = "ms";
                    self.spectrum.percentiles.push((share, figure));
                }
                if let Some(figure) = figure(name("TotalCount"), *count, Rounding::Exact, plain) {
                    self.spectrum.cumulative.push((share, figure));
                }
            }
            _ => {}
        }
    }

    /// Parses a line such as `#[Mean    =        0.783, StdDeviation   =        0.381]`.
    fn footer(&mut self, line: &NumberedLine) {
        let words = line.words();
        for (i, word) in words.iter().enumerate() {
            let name = word.text.trim_start_matches("#[");
            let value = words[i..]
                .iter()
                .find(|w| w.text.starts_with(|c: char| c.is_ascii_digit()));
            let Some(value) = value.map(|w| Word {
                text: w.text.trim_end_matches([',', ']']),
                ..*w
            }) else {
                continue;
            };
            let label = format!("{} {name}", self.latency.name);
            let milliseconds = || {
                let mut figure = figure(label.clone(), value, Rounding::Nearest, ms)?;
                figure.unit = "ms";
                Some(figure)
            };
            match name {
                "Mean" => self.latency.mean = milliseconds(),
                "StdDeviation" => self.latency.stdev = milliseconds(),
                "Max" => self.latency.max = milliseconds(),
                "Total" => {
                    self.latency.count =
                        figure(format!("{label} count"), value, Rounding::Exact, plain)
                }
                _ => {}
            }
        }
    }

    fn put(mut self, run: &mut PrintedReport) {
        for (share, figure) in &self.latency.percentiles {
            let same = self
                .spectrum
                .percentiles
                .iter()
                .find(|(p, _)| (p - share).abs() < 1e-9);
            if let Some((_, other)) = same {
                run.again.push((figure.clone(), other.clone()));
            }
        }
        if let (Some((_, last)), Some(count)) =
            (self.spectrum.cumulative.last(), &self.latency.count)
        {
            run.again.push((last.clone(), count.clone()));
        }
        self.spectrum.count = self.latency.count.take();
        if self.is_corrected {
            let old = run.all.latency.take().unwrap_or_default();
            for (a, b) in [
                (&old.mean, &self.latency.mean),
                (&old.stdev, &self.latency.stdev),
                (&old.max, &self.latency.max),
            ] {
                if let (Some(a), Some(b)) = (a, b) {
                    run.again.push((a.clone(), b.clone()));
                }
            }
            self.latency.mean = old.mean.or(self.latency.mean);
            self.latency.stdev = old.stdev.or(self.latency.stdev);
            self.latency.max = old.max.or(self.latency.max);
            self.latency.within = old.within;
            run.all.latency = Some(self.latency);
            run.all.percentiles = Some(self.spectrum);
        } else {
            let mut row = PrintedRow::new("uncorrected", run.place);
            row.latency = Some(self.latency);
            row.percentiles = Some(self.spectrum);
            run.rows.push(row);
        }
    }
}

pub fn finish(run: &mut PrintedReport) {
    run.cover = Cover::Some;
    if let Some(bound) = &mut run.bound {
        bound.contradicts_above = f64::INFINITY;
        bound.because = "wrk2 measures latency from the moment at which a request was due, so it includes waiting for a connection";
    }
    let uncorrected = run
        .rows
        .iter()
        .find_map(|row| row.latency.as_ref()?.mean.clone());
    if let (Some(bound), Some(mean)) = (&mut run.bound, uncorrected) {
        bound.mean = Some(mean);
        bound.contradicts_above = 1.0;
        bound.because = "";
    }
    if let Some(latency) = &mut run.all.latency {
        latency.blur = BLUR;
    }
    let counted = [&run.all]
        .into_iter()
        .chain(&run.rows)
        .filter_map(|row| row.percentiles.as_ref()?.count.clone());
    for some in counted.collect::<Vec<_>>() {
        if let Some(all) = &run.all.requests {
            run.ledgers.push(SumRelation {
                total: all.clone(),
                parts: vec![some],
                is: Total::AtLeast,
            });
        }
    }
}

fn ms(unit: &str) -> Option<f64> {
    unit.is_empty().then_some(1e-3)
}
