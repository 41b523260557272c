//! Loads the mocks in a plan file. Latencies may come from recorded runs.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use formats::{Inputs, LoadErrors, native::mocks};
use measure::{Histogram, Label, OutcomeClass, TimeKind, label, label::Role};
use plan::{
    criteria::fits,
    mocks::{Measured, MeasuredCell, Mock, MockLatency, Reference},
};
use record::{Run, units::count};

use crate::run;

/// Minimum number of responses for a distribution. With fewer responses, the 95th percentile may be
/// off by half.
const LEAST: u64 = 100;
/// Maximum number of labels to list if the requested label does not exist.
const MOST_NAMED: usize = 8;

/// Mocks to serve, with notes for the user.
#[derive(Debug)]
pub struct Served {
    /// The mocks.
    pub mocks: Vec<Mock>,
    /// Notes about what was excluded from recorded latencies.
    pub notes: Vec<String>,
}

/// Returns the names of the mocks in a plan file, without reading recorded runs.
///
/// # Errors
///
/// Fails with a line for each problem.
pub fn names(file: &Path) -> Result<Vec<String>, Vec<String>> {
    mocks::names(&read(file)).map_err(lines)
}

/// Loads the mocks in a plan file. Reads recorded latencies from `runs`, a folder of records.
///
/// # Errors
///
/// Fails with a line for each problem.
pub fn load(file: &Path, runs: Option<&Path>) -> Result<Served, Vec<String>> {
    let runs = run::folder(runs.map(Path::to_owned));
    let notes = RefCell::new(Vec::new());
    let recorded = |reference: &Reference| {
        let (measured, note) = measured(reference, &runs, file)?;
        notes.borrow_mut().extend(note);
        Ok(MockLatency::Measured(measured))
    };
    let mocks = mocks::load(&read(file), &recorded).map_err(lines)?;
    let mut notes = notes.into_inner();
    notes.dedup();
    Ok(Served { mocks, notes })
}

fn read(file: &Path) -> Inputs {
    Inputs {
        files: vec![file.to_owned()],
        ..Inputs::default()
    }
}

fn lines(errors: LoadErrors) -> Vec<String> {
    errors.problems.iter().map(ToString::to_string).collect()
}

fn measured(
    reference: &Reference,
    runs: &Path,
    file: &Path,
) -> Result<(Measured, Option<String>), String> {
    let Reference { run, label } = reference;
    let run = find(run, runs, file)?;
    let name = named(&run);
    let has_times = |one: &&Label| one.id != label::ALL && one.group.role() != Role::Iteration;
    let is_meant = |one: &&Label| fits(label, &one.text) || fits(label, &one.name);
    let found: Vec<&Label> = run.labels.iter().filter(has_times).collect();
    let matching: Vec<&Label> = found.iter().copied().filter(is_meant).collect();
    if matching.is_empty() {
        return Err(format!(
            "run {name} has no requests named \"{label}\": {}",
            there_is(&found)
        ));
    }
    let mut times = Histogram::<u64>::default();
    let mut unanswered = 0;
    for one in matching {
        let part = run.totals.label(one.id);
        for outcome in [OutcomeClass::Ok, OutcomeClass::Failed] {
            if let Some(more) = part.slot.histogram(TimeKind::Service, outcome) {
                times.add(more);
            }
        }
        unanswered += part.slot.counters.without_answer();
    }
    if times.count() < LEAST {
        return Err(format!(
            "run {name} has {} answers for \"{label}\", too few for a distribution: at least {LEAST} are needed",
            count(times.count())
        ));
    }
    let (min_ns, max_ns) = (times.min().unwrap_or(0), times.max().unwrap_or(0));
    let source = format!("run {name}, \"{label}\", {} answers", count(times.count()));
    let mean = times.mean().unwrap_or(0.0);
    let cells = times.cells().map(|cell| MeasuredCell {
        low_ns: cell.low,
        high_ns: cell.high,
        count: cell.count,
    });
    let measured = Measured::new(source, cells, min_ns, max_ns, mean);
    let measured = measured.ok_or_else(|| format!("run {name} has no times for \"{label}\""))?;
    let note = (unanswered > 0).then(|| {
        format!(
            "{} requests of run {name}, \"{label}\", had no answer: the mock's latencies exclude them",
            count(unanswered)
        )
    });
    Ok((measured, note))
}

/// Finds a run by `last`, by name or by folder. A relative folder is first looked up next to the
/// plan.
fn find(wanted: &str, runs: &Path, file: &Path) -> Result<Run, String> {
    let next_to_plan = file.parent().map(|folder| folder.join(wanted));
    let is_run = |folder: &PathBuf| wanted.contains('/') && folder.join("manifest.json").is_file();
    let found = match next_to_plan.filter(is_run) {
        Some(folder) => Run::open(&folder),
        None => Run::find(runs, wanted),
    };
    found.map_err(|reason| reason.to_string())
}

fn named(run: &Run) -> String {
    let name = run.dir.as_deref().and_then(Path::file_name);
    name.map_or_else(|| "?".into(), |name| name.to_string_lossy().into_owned())
}

fn there_is(labels: &[&Label]) -> String {
    if labels.is_empty() {
        return "it has no requests".to_owned();
    }
    let names = labels.iter().take(MOST_NAMED);
    let names: Vec<String> = names.map(|label| format!("\"{}\"", label.text)).collect();
    let more = match labels.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("it has {}{more}", names.join(", "))
}
