//! WHAT CAME BEFORE: the index of runs beside their records, one file of SQLite. Of each run it has what `decisions::past` keeps, also of
//! those whose records are gone; of all others it can be made again from the records.
//!
//! [`keep`] adds a run that has finished, [`known`] answers every run there is. Many processes may do either at a time. What is damaged is
//! set aside and made anew. Nothing here computes a figure, and whatever fails here fails no run.

#![forbid(unsafe_code)]

mod file;
mod tables;
mod text;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use analysis::{summarise, summary::Summary};
use decisions::run_index::IndexedRun;
use record::{RecordError, Run};

pub use file::FILE;

/// Why the index could not be read or written.
#[derive(Debug)]
pub struct IndexError {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

impl std::fmt::Display for IndexError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the index of runs {}: {}; the records themselves are whole, and `loadline list` adds what is missing",
            self.path.display(),
            self.why
        )
    }
}

impl std::error::Error for IndexError {}

/// Every run there is.
#[derive(Debug, Default)]
pub struct RunIndex {
    /// Oldest first.
    pub runs: Vec<IndexedRun>,
    /// What the user should be told, line by line.
    pub remarks: Vec<String>,
}

/// Keeps the figures of a run that has finished; answers where an index was put that could not be read.
///
/// # Errors
/// When that cannot be done.
pub fn keep(run: &Run, summary: &Summary) -> Result<Option<PathBuf>, IndexError> {
    let Some((dir, runs)) = run
        .dir
        .as_deref()
        .and_then(|dir| Some((dir, dir.parent()?)))
    else {
        return Ok(None);
    };
    // One process of several is no run.
    if run.manifest.share.is_some() {
        return Ok(None);
    }
    let past = decisions::run_index::index(run, summary, &plan(dir));
    file::with(runs, |index| index.add(&past))
        .map(|(_, aside)| aside)
        .and_then(|aside| {
            if aside.is_some() {
                // What else was in it comes from the records.
                sync(runs, false)?;
            }
            Ok(aside)
        })
}

/// Every run in a folder, the figures of those without a record from the index. With `anew` those with one are read again.
#[must_use]
pub fn known(runs: &Path, again: bool) -> RunIndex {
    let mut known = match sync(runs, again) {
        Ok(known) => known,
        Err(error) => {
            let mut known = RunIndex::default();
            known.remarks.push(format!("warning: {error}"));
            let dirs = record::all(runs);
            read_records(dirs.iter(), &mut known);
            known
        }
    };
    let under_way = record::all(runs);
    let under_way = under_way.iter().filter(|dir| record::is_under_way(dir));
    for past in under_way.filter_map(|dir| of_record(dir).ok()) {
        known.runs.retain(|other| other.run != past.run);
        known.runs.push(past);
    }
    for past in &mut known.runs {
        past.recorded = runs.join(&past.run).join("manifest.json").is_file();
    }
    let order = |past: &IndexedRun| (past.began_ns, past.run.clone());
    known.runs.sort_by_key(order);
    known
}

/// Adds what the index lacks of the records in its folder, and answers everything that it then has.
fn sync(runs: &Path, again: bool) -> Result<RunIndex, IndexError> {
    let mut known = RunIndex::default();
    let dirs = record::all(runs);
    let dirs = dirs.iter().filter(|dir| !record::is_under_way(dir));
    let dirs: Vec<&PathBuf> = dirs.collect();
    if dirs.is_empty() && !runs.join(FILE).exists() {
        // Asking about nothing leaves nothing behind.
        return Ok(known);
    }
    let (names, aside) = file::with(runs, |index| index.names())?;
    known.remarks.extend(aside.as_deref().map(set_aside));
    let is_missing = |dir: &&&PathBuf| again || !names.contains(&name(dir));
    read_records(dirs.iter().filter(is_missing).copied(), &mut known);
    let missing = std::mem::take(&mut known.runs);
    let (all, aside) = file::with(runs, |index| {
        for past in &missing {
            index.add(past)?;
        }
        index.runs()
    })?;
    known.remarks.extend(aside.as_deref().map(set_aside));
    known.runs = all;
    Ok(known)
}

/// What is said of an index that could not be read.
#[must_use]
pub fn set_aside(to: &Path) -> String {
    format!(
        "the index of runs was damaged: it is kept as {}, and a new one is made of the records that are there",
        to.display()
    )
}

fn read_records<'a>(dirs: impl Iterator<Item = &'a PathBuf>, known: &mut RunIndex) {
    for dir in dirs {
        match of_record(dir) {
            Ok(past) => known.runs.push(past),
            Err(error) => known.remarks.push(format!("warning: {error}")),
        }
    }
}

/// A run, from its record.
fn of_record(dir: &Path) -> Result<IndexedRun, RecordError> {
    let run = Run::open(dir)?;
    Ok(decisions::run_index::index(
        &run,
        &summarise(&run),
        &plan(dir),
    ))
}

/// What a run was to do; null where its record does not say.
fn plan(dir: &Path) -> serde_json::Value {
    let bytes = std::fs::read(dir.join("plan.json")).ok();
    let plan = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    plan.unwrap_or_default()
}

fn name(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The names of runs.
pub(crate) type RunNames = BTreeSet<String>;
