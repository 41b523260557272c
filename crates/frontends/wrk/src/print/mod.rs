//! Reproduces the output of wrk and wrk2 character by character. Corrected latencies exist only
//! here and in `done`.

mod extended;
mod goodput;
mod json;
mod spectrum;
mod statistics;
mod units;

use measure::accumulator::Tally;

pub use goodput::Goodput;
use record::Run;
pub use spectrum::Spectrum;
pub use statistics::Statistics;

#[derive(Debug, Clone)]
pub struct WrkReport {
    settings: PrintSettings,
    url: String,
    pub requests: u64,
    pub bytes: u64,
    pub runtime_us: u64,
    pub errors: Errors,
    pub late: u64,
    pub latency: PrintedLatency,
    pub rate: Statistics,
    calibrations: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Errors {
    pub connect: u64,
    pub read: u64,
    pub write: u64,
    pub status: u64,
    pub timeout: u64,
}

#[derive(Debug, Clone)]
pub enum PrintedLatency {
    Wrk {
        measured: Statistics,
        corrected: Statistics,
    },
    Wrk2 {
        corrected: Spectrum,
        uncorrected: Spectrum,
    },
}

#[derive(Debug, Clone, Copy)]
struct PrintSettings {
    paced: bool,
    threads: u64,
    connections: u64,
    duration_ns: u64,
    latency: bool,
    uncorrected: bool,
}

impl PrintSettings {
    fn from_tally(part: &Tally) -> PrintSettings {
        let value = |name: &str| {
            let known = part.firsts.get(&format!("settings.{name}"));
            known.copied().unwrap_or(0)
        };
        PrintSettings {
            paced: value("paced") > 0,
            threads: value("threads"),
            connections: value("connections"),
            duration_ns: value("duration_ns"),
            latency: value("latency") > 0,
            uncorrected: value("uncorrected") > 0,
        }
    }
}

#[must_use]
pub fn heading(url: &str, duration_ns: u64, threads: u64, connections: u64) -> String {
    format!(
        "Running {} test @ {url}\n  {threads} threads and {connections} connections\n",
        units::duration(duration_ns / 1_000_000_000)
    )
}

#[must_use]
pub fn calibrations(part: &Tally) -> String {
    let line = |(mean_us, interval_ms): &(u64, u64)| {
        format!(
            "  Thread calibration: mean lat.: {:.3}ms, rate sampling interval: {interval_ms}ms\n",
            *mean_us as f64 / 1000.0
        )
    };
    calibrations_of(part).iter().map(line).collect()
}

fn calibrations_of(part: &Tally) -> Vec<(u64, u64)> {
    let pair = |(name, mean_us): (&String, &u64)| {
        let thread = name
            .strip_prefix("calibration.")?
            .strip_suffix(".mean_us")?;
        let interval = part
            .firsts
            .get(&format!("calibration.{thread}.interval_ms"))?;
        Some((*mean_us, *interval))
    };
    part.firsts.iter().filter_map(pair).collect()
}

impl WrkReport {
    /// Creates the report of a run. `url` is the URL as typed.
    #[must_use]
    pub fn from_run(run: &Run, url: Option<&str>) -> WrkReport {
        let mut part = Tally::default();
        for (_, one) in run.frontend_parts() {
            part.merge(one);
        }
        let end_ns = run.manifest.end.as_ref().map(|end| end.ns);
        let runtime_ns = end_ns.unwrap_or(run.totals.rows.end_ns);
        WrkReport::from_part(part, runtime_ns, url.unwrap_or(&run.manifest.target))
    }

    #[must_use]
    pub fn from_part(mut part: Tally, runtime_ns: u64, url: &str) -> WrkReport {
        let settings = PrintSettings::from_tally(&part);
        let calibrations = calibrations_of(&part);
        let count = |name: &str| part.counters.get(name).copied().unwrap_or(0);
        let (requests, bytes) = (count("requests"), count("bytes"));
        let errors = Errors {
            connect: count("errors.connect"),
            read: count("errors.read"),
            write: count("errors.write"),
            status: count("errors.status"),
            timeout: count("errors.timeout"),
        };
        let late = count("late");
        let runtime_us = runtime_ns / 1000;
        let mut counts = |name: &str| part.counts.remove(name).unwrap_or_default();
        let latency = if settings.paced {
            PrintedLatency::Wrk2 {
                corrected: Spectrum::new(counts("latency")),
                uncorrected: Spectrum::new(counts("uncorrected")),
            }
        } else {
            let measured = Statistics::new(counts("latency"));
            let expected = statistics::expected_us(runtime_us, requests, settings.connections);
            PrintedLatency::Wrk {
                corrected: measured.corrected(expected.unwrap_or(0)),
                measured,
            }
        };
        WrkReport {
            settings,
            url: url.to_owned(),
            requests,
            bytes,
            runtime_us,
            errors,
            late,
            latency,
            rate: Statistics::new(counts("rate")),
            calibrations,
        }
    }

    #[must_use]
    pub fn replay(&self) -> String {
        let settings = &self.settings;
        let mut text = heading(
            &self.url,
            settings.duration_ns,
            settings.threads,
            settings.connections,
        );
        let mut part = Tally::default();
        for (i, (mean_us, interval_ms)) in self.calibrations.iter().enumerate() {
            part.firsts
                .insert(format!("calibration.{i:03}.mean_us"), *mean_us);
            part.firsts
                .insert(format!("calibration.{i:03}.interval_ms"), *interval_ms);
        }
        text.push_str(&calibrations(&part));
        text.push_str(&self.text());
        text
    }

    #[must_use]
    pub fn text(&self) -> String {
        let mut text = "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n".to_owned();
        let (figures, distribution) = match &self.latency {
            PrintedLatency::Wrk { corrected, .. } => (
                row(
                    corrected.mean(),
                    corrected.stdev(),
                    corrected.max(),
                    corrected.within_stdev(),
                    units::time_us,
                ),
                self.settings.latency.then(|| percentiles(corrected)),
            ),
            PrintedLatency::Wrk2 {
                corrected: c,
                uncorrected,
            } => (
                row(
                    c.mean(),
                    c.stdev(),
                    c.max(),
                    c.within_stdev(),
                    units::time_us,
                ),
                self.settings
                    .latency
                    .then(|| spectra(c, self.settings.uncorrected.then_some(uncorrected))),
            ),
        };
        text.push_str(&format!("    {:<10}{figures}\n", "Latency"));
        let rate = &self.rate;
        let figures = row(
            rate.mean(),
            rate.stdev(),
            rate.max(),
            rate.within_stdev(),
            units::metric,
        );
        text.push_str(&format!("    {:<10}{figures}\n", "Req/Sec"));
        text.push_str(&distribution.unwrap_or_default());
        self.totals(&mut text);
        text
    }

    fn totals(&self, text: &mut String) {
        text.push_str(&format!(
            "  {} requests in {}, {}B read\n",
            self.requests,
            units::time_us(self.runtime_us as f64),
            units::binary(self.bytes as f64)
        ));
        let errors = &self.errors;
        if errors.connect + errors.read + errors.write + errors.timeout > 0 {
            text.push_str(&format!(
                "  Socket errors: connect {}, read {}, write {}, timeout {}\n",
                errors.connect, errors.read, errors.write, errors.timeout
            ));
        }
        if errors.status > 0 {
            text.push_str(&format!("  Non-2xx or 3xx responses: {}\n", errors.status));
        }
        let seconds = self.runtime_us as f64 / 1_000_000.0;
        text.push_str(&format!(
            "Requests/sec: {:>9}\n",
            units::number(self.requests as f64 / seconds, 2)
        ));
        text.push_str(&format!(
            "Transfer/sec: {:>10}B\n",
            units::binary(self.bytes as f64 / seconds)
        ));
    }

    /// Returns the p99 before and after wrk's correction, in microseconds. `None` if they differ by
    /// less than a tenth.
    #[must_use]
    pub fn moved_p99(&self) -> Option<(u64, u64)> {
        let PrintedLatency::Wrk {
            measured,
            corrected,
        } = &self.latency
        else {
            return None;
        };
        let (a, b) = (measured.percentile(99.0), corrected.percentile(99.0));
        (a.abs_diff(b) as f64 > a as f64 * 0.1).then_some((a, b))
    }
}

fn row(mean: f64, stdev: f64, max: u64, within: f64, format: fn(f64) -> String) -> String {
    let column = |value, width| units::column(&format(value), width);
    let figures = [column(mean, 8), column(stdev, 10), column(max as f64, 9)].concat();
    format!("{figures}{:>8}%", units::number(within, 2))
}

fn percentiles(latency: &Statistics) -> String {
    let mut text = "  Latency Distribution\n".to_owned();
    for p in [50.0, 75.0, 90.0, 99.0] {
        let value = units::time_us(latency.percentile(p) as f64);
        text.push_str(&format!("{p:7.0}%{}\n", units::column(&value, 10)));
    }
    text
}

fn spectra(corrected: &Spectrum, uncorrected: Option<&Spectrum>) -> String {
    let mut text = corrected.text("Recorded Latency");
    if let Some(uncorrected) = uncorrected {
        text.push('\n');
        text.push_str(
            &uncorrected
                .text("Uncorrected Latency (measured without taking delayed starts into account)"),
        );
    }
    text
}
