//! Adds metrics from an external CSV file to a run. `table` parses the file, and `offset` aligns
//! the clocks.

mod offset;
mod table;

use measure::TimeSpan;
use table::ExternalSample;

use plan::units::SECOND;
use record::{
    Run, Samples,
    server::{Descriptor, MetricSample},
    units,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// An offset from the user, in nanoseconds. Negative if the other clock is behind.
    Given(i64),
    Found,
}

pub fn add(
    run: &mut Run,
    source: &str,
    file: &str,
    text: &str,
    offset: Offset,
) -> Result<String, String> {
    let table = table::read(text).map_err(|why| format!("{file}{why}"))?;
    let end_ns = run.totals.rows.end_ns;
    let start_ns = i128::from(run.manifest.start.wall_ns);
    let (offset_ns, how) = match offset {
        Offset::Given(ns) => (ns, "given".to_owned()),
        Offset::Found => {
            let found = offset::find(&table, &load(run), start_ns)
                .map_err(|reason| format!("{file}: {reason}"))?;
            (
                found.ns,
                format!("computed from \"{}\", which follows the load", found.by),
            )
        }
    };
    let mut many = 0;
    for column in &table.columns {
        let samples: Samples = column
            .samples
            .iter()
            .filter_map(|sample| within(*sample, start_ns + i128::from(offset_ns), end_ns))
            .collect();
        many = many.max(samples.len());
        run.server
            .add_measured(source, Descriptor::gauge(&column.name, ""), samples);
    }
    if many == 0 {
        return Err(format!(
            "{file}: none of its times is within the run, which began at {}. If its clock is wrong, set how far it is ahead: --clock-offset 1h (or -1h)",
            run.manifest.start.utc
        ));
    }
    let sign = if offset_ns < 0 { "-" } else { "" };
    let offset = units::duration(offset_ns.unsigned_abs());
    Ok(format!(
        "server.{source} is from {file}, offset {sign}{offset}, {how}: measured by another tool, and not part of the record"
    ))
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

/// Adds up counts by second, dividing a count that spans several seconds.
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
