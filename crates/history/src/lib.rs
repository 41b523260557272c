//! An SQLite index of runs, stored next to their records. It also lists runs whose record was
//! deleted. Everything else can be rebuilt from the records.
//!
//! [`keep`] adds a run, and [`known`] lists all runs. Several processes can use the index
//! concurrently. A failure of the index never fails a run.

#![forbid(unsafe_code)]

mod file;
mod file_error;
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

#[derive(Debug)]
pub struct IndexError {
    pub path: PathBuf,
    pub reason: String,
}

impl std::fmt::Display for IndexError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "cannot update the index of runs {}: {}; the records themselves are complete, and `loadline list` adds missing runs",
            self.path.display(),
            self.reason
        )
    }
}

impl std::error::Error for IndexError {}

#[derive(Debug, Default)]
pub struct RunIndex {
    pub runs: Vec<IndexedRun>,
    pub remarks: Vec<String>,
}

pub fn keep(run: &Run, summary: &Summary) -> Result<Option<PathBuf>, IndexError> {
    let Some((dir, runs)) = run
        .dir
        .as_deref()
        .and_then(|dir| Some((dir, dir.parent()?)))
    else {
        return Ok(None);
    };
    if run.manifest.share.is_some() {
        return Ok(None);
    }
    let past = decisions::run_index::index(run, summary, &plan(dir));
    file::with(runs, |index| index.add(&past))
        .map(|(_, aside)| aside)
        .and_then(|aside| {
            if aside.is_some() {
                sync(runs, false)?;
            }
            Ok(aside)
        })
}

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
    let running = record::all(runs);
    let running = running.iter().filter(|dir| record::is_running(dir));
    for past in running.filter_map(|dir| of_record(dir).ok()) {
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

fn sync(runs: &Path, again: bool) -> Result<RunIndex, IndexError> {
    let mut known = RunIndex::default();
    let dirs = record::all(runs);
    let dirs = dirs.iter().filter(|dir| !record::is_running(dir));
    let dirs: Vec<&PathBuf> = dirs.collect();
    if dirs.is_empty() && !runs.join(FILE).exists() {
        // Do not create an index in an empty folder.
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

#[must_use]
pub fn set_aside(to: &Path) -> String {
    format!(
        "the index of runs was damaged: it was saved as {}, and a new one was created from the existing records",
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

fn of_record(dir: &Path) -> Result<IndexedRun, RecordError> {
    let run = Run::open(dir)?;
    Ok(decisions::run_index::index(
        &run,
        &summarise(&run),
        &plan(dir),
    ))
}

fn plan(dir: &Path) -> serde_json::Value {
    let bytes = std::fs::read(dir.join("plan.json")).ok();
    let plan = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    plan.unwrap_or_default()
}

fn name(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    name.to_string_lossy().into_owned()
}

pub(crate) type RunNames = BTreeSet<String>;
