//! Adds metrics from an external CSV file to runs. `table` parses the file, and `offset` aligns the
//! clocks.

mod layout;
mod offset;
mod quantity;
mod table;

use measure::TimeSpan;
use table::{ExternalSample, MetricTable};

use plan::units::SECOND;
use record::{
    Run, Samples,
    server::{Descriptor, MetricSample},
    units,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// An offset given by the user, in nanoseconds. Negative if the other clock is behind.
    Given(i64),
    Found,
}

/// Metrics from a file, which are added to one run or to several runs of a campaign.
#[derive(Debug)]
pub struct ExternalMetrics {
    source: String,
    file: String,
    table: MetricTable,
    offset_ns: i64,
    offset_from: String,
    /// Number of samples within the runs.
    added: usize,
}

/// Maximum time between the starts of runs. Without this limit, an incorrect clock would exhaust
/// the memory.
const LONGEST_S: usize = 31 * 86_400;

/// The load of runs over time, used to determine a clock offset.
#[derive(Debug, Default)]
pub struct OfferedLoad {
    start_wall_ns: i128,
    per_second: Vec<f64>,
}

impl OfferedLoad {
    /// Adds a run that began at the same time as the first one, or at most a month later.
    pub fn add(&mut self, run: &Run) {
        let start = i128::from(run.manifest.start.wall_ns);
        if self.per_second.is_empty() {
            self.start_wall_ns = start;
        }
        let after = (start - self.start_wall_ns) / i128::from(SECOND);
        let Some(after) = usize::try_from(after).ok().filter(|s| *s <= LONGEST_S) else {
            return;
        };
        for (second, count) in load(run).into_iter().enumerate() {
            let at = after + second;
            self.per_second
                .resize(self.per_second.len().max(at + 1), 0.0);
            self.per_second[at] += count;
        }
    }
}

impl ExternalMetrics {
    pub fn read(source: &str, file: &str, text: &str) -> Result<ExternalMetrics, String> {
        Ok(ExternalMetrics {
            source: source.to_owned(),
            file: file.to_owned(),
            table: table::read(text).map_err(|reason| format!("{file}{reason}"))?,
            offset_ns: 0,
            offset_from: "given".to_owned(),
            added: 0,
        })
    }

    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Fails if the run already has metrics with this name.
    pub fn check_name(&self, run: &Run) -> Result<(), String> {
        let mut series = run.server.series.iter();
        if series.any(|series| series.source == self.source) {
            return Err(is_taken(&self.source));
        }
        Ok(())
    }

    pub fn set_offset(&mut self, offset: Offset, load: &OfferedLoad) -> Result<(), String> {
        match offset {
            Offset::Given(ns) => self.offset_ns = ns,
            Offset::Found => {
                let found = offset::find(&self.table, &load.per_second, load.start_wall_ns)
                    .map_err(|reason| format!("{}: {reason}", self.file))?;
                self.offset_ns = found.ns;
                self.offset_from =
                    format!("computed from \"{}\", which follows the load", found.by);
            }
        }
        Ok(())
    }

    pub fn add_to(&mut self, run: &mut Run) {
        let end_ns = run.totals.rows.end_ns;
        let zero_ns = i128::from(run.manifest.start.wall_ns) + i128::from(self.offset_ns);
        for column in &self.table.columns {
            let samples = column.samples.iter();
            let samples: Samples = samples
                .filter_map(|sample| within(*sample, zero_ns, end_ns))
                .collect();
            self.added += samples.len();
            let of = Descriptor::gauge(&column.name, &column.unit);
            let of = match &column.instance {
                Some(instance) => of.with_instance(instance),
                None => of,
            };
            run.server.add_measured(&self.source, of, samples);
        }
    }

    /// Returns the note for the report. Fails if no time in the file is within a run.
    pub fn note(&self, first_utc: &str) -> Result<String, String> {
        let file = &self.file;
        if self.added == 0 {
            return Err(format!(
                "{file}: none of its times is within the run, which began at {first_utc}. If its clock is wrong, set how far it is ahead: --clock-offset 1h (or -1h)"
            ));
        }
        let sign = if self.offset_ns < 0 { "-" } else { "" };
        let offset = units::duration(self.offset_ns.unsigned_abs());
        Ok(format!(
            "server.{} is from {file}, offset {sign}{offset}, {}: measured by another tool, and not part of the record",
            self.source, self.offset_from
        ))
    }
}

/// Returns the message for a name that is used by two sources of metrics.
#[must_use]
pub fn is_taken(name: &str) -> String {
    format!("the name `{name}` is already in use: choose another name")
}

fn within(sample: ExternalSample, zero_ns: i128, end_ns: u64) -> Option<MetricSample> {
    let from_ns = u64::try_from((sample.from_wall_ns - zero_ns).max(0)).ok()?;
    let at_ns = u64::try_from(sample.at_wall_ns - zero_ns).ok()?.min(end_ns);
    (from_ns < at_ns).then_some(MetricSample {
        from_ns,
        at_ns,
        value: sample.value,
    })
}

fn load(run: &Run) -> Vec<f64> {
    let rows = run.totals.rows.iter();
    by_second(rows.map(|row| (row.span, row.all.issued)))
}

/// Adds up counts per second. A count that spans several seconds is divided among them.
fn by_second(counted: impl Iterator<Item = (TimeSpan, u64)>) -> Vec<f64> {
    let mut load = Vec::new();
    for (TimeSpan { from_ns, to_ns }, count) in counted {
        let last = to_ns.saturating_sub(1).max(from_ns) / SECOND;
        for second in from_ns / SECOND..=last {
            let Ok(index) = usize::try_from(second) else {
                break;
            };
            // A damaged record may contain any length.
            if index >= 1 << 22 {
                break;
            }
            let end_ns = to_ns.min((second + 1) * SECOND);
            let within_ns = end_ns.saturating_sub(from_ns.max(second * SECOND));
            let share = within_ns as f64 / to_ns.saturating_sub(from_ns).max(1) as f64;
            load.resize(load.len().max(index + 1), 0.0);
            load[index] += count as f64 * share;
        }
    }
    load
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_its_part_of_the_stretches_that_it_cuts() {
        let tenth = SECOND / 10;
        // The load is 10/s until 1.5 s and 60/s afterwards, measured by a clock that is 0.1 s
        // ahead.
        let ends = [0, 9, 15, 19, 29].map(|tenths| tenths * tenth);
        let counts = [9, 6, 24, 60];
        let stretches = ends
            .windows(2)
            .map(|ends| TimeSpan::new(ends[0], ends[1]))
            .zip(counts);
        let load = by_second(stretches);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            near(load[0], 10.0) && near(load[1], 35.0) && near(load[2], 54.0),
            "{load:?}"
        );
        assert_eq!(load.len(), 3);
        assert_eq!(
            by_second([(TimeSpan::new(u64::MAX - 1, u64::MAX), 1)].into_iter()),
            Vec::<f64>::new()
        );
    }
}
