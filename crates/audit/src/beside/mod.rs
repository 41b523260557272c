//! What others measured beside the load and left as CSV - a cloud's console, a monitoring service -, put beside a run behind its end. Reading
//! the file is `table`'s, finding how far its clock is off `offset`'s. No file is opened here.

mod offset;
mod table;

use plan::units::SECOND;
use record::{
    Run,
    server::{Descriptor, Sample},
    units,
};

/// How far a file's clock is ahead of the run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// In nanoseconds; less than nought: it is behind.
    Given(i64),
    /// To be found, by what moves with the load.
    Found,
}

/// Puts the columns of a file beside a run, as metrics of a source; answers what there is to say of it.
///
/// # Errors
/// One line: what is wrong with the file, or why nothing of it can stand beside this run.
pub fn add(
    run: &mut Run,
    source: &str,
    (file, text): (&str, &str),
    offset: Offset,
) -> Result<String, String> {
    let table = table::read(text).map_err(|why| format!("{file}{why}"))?;
    let end_ns = run.totals.last_end_ns();
    let start_ns = i128::from(run.manifest.start.wall_ns);
    let (offset_ns, how) = match offset {
        Offset::Given(ns) => (ns, "given".to_owned()),
        Offset::Found => {
            let found = offset::find(&table, &load(run), start_ns)
                .map_err(|why| format!("{file}: {why}"))?;
            (
                found.ns,
                format!("found by \"{}\", which moves with the load", found.by),
            )
        }
    };
    let mut many = 0;
    for column in &table.columns {
        let samples: Vec<Sample> = column
            .samples
            .iter()
            .filter_map(|(from, to, value)| {
                within(
                    (*from, *to, *value),
                    start_ns + i128::from(offset_ns),
                    end_ns,
                )
            })
            .collect();
        many = many.max(samples.len());
        run.server
            .add_measured(source, Descriptor::gauge(&column.name, ""), samples);
    }
    if many == 0 {
        return Err(format!(
            "{file}: none of its times is within the run, which began at {}: write by how much its clock is ahead, --clock-offset 1h (or -1h)",
            run.manifest.start.utc
        ));
    }
    let sign = if offset_ns < 0 { "-" } else { "" };
    let offset = units::duration(offset_ns.unsigned_abs());
    Ok(format!(
        "server.{source} is from {file}, offset {sign}{offset}, {how}: measured by others, and not part of the record"
    ))
}

/// A sample on the clock of the run, cut to it; none of others.
fn within((from, to, value): (i128, i128, f64), zero_ns: i128, end_ns: u64) -> Option<Sample> {
    let from_ns = u64::try_from((from - zero_ns).max(0)).ok()?;
    let at_ns = u64::try_from(to - zero_ns).ok()?.min(end_ns);
    (from_ns < at_ns).then_some(Sample {
        from_ns,
        at_ns,
        value,
    })
}

/// Requests that were sent, second by second.
fn load(run: &Run) -> Vec<f64> {
    let mut load = Vec::new();
    for row in run.totals.rows.values() {
        let second = usize::try_from(row.span.0 / SECOND).unwrap_or(usize::MAX);
        // No run is as long: a damaged record may say anything.
        if second < 1 << 22 {
            load.resize(load.len().max(second + 1), 0.0);
            load[second] += row.all.issued as f64;
        }
    }
    load
}
