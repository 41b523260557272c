//! The records of a run's processes, in `parts/<n>/`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use plan::Share;

use super::{Manifest, RecordError, manifest};

const MOST_PARTS: u64 = 4096;

#[derive(Debug, Default)]
pub(super) struct RunParts {
    pub found: Vec<(PathBuf, Manifest)>,
    pub missing: Vec<u64>,
    pub damage: Vec<String>,
}

impl RunParts {
    pub fn find(dir: &Path, full_run: &Manifest) -> Result<RunParts, RecordError> {
        let mut parts = RunParts::default();
        for (number, path) in folders(dir) {
            match manifest::read(&path) {
                Ok(own) => {
                    belongs(full_run, &own, number).map_err(|reason| RecordError::Foreign {
                        path: path.clone(),
                        reason,
                    })?;
                    parts.found.push((path, own));
                }
                Err(error) => parts.damage.push(format!("the record is damaged: {error}")),
            }
        }
        let is_there = |number: &u64| {
            let mut all = parts.found.iter();
            all.any(|(_, own)| own.share.is_some_and(|share| share.index == *number))
        };
        let expected = full_run.processes.unwrap_or(0);
        parts.missing = (0..expected.min(MOST_PARTS))
            .filter(|number| !is_there(number))
            .collect();
        Ok(parts)
    }
}

/// Checks that a record belongs to this run. On failure, returns an error with the reason.
pub(super) fn belongs(full_run: &Manifest, own: &Manifest, number: u64) -> Result<(), String> {
    let mut expected = full_run.processes.map(|of| Share { index: number, of });
    let is_late = expected.is_some_and(|share| share.index >= share.of);
    if is_late && full_run.load.by.is_some() {
        expected = Some(Share {
            index: number,
            of: number + 1,
        });
    }
    let apart_ns = full_run.start.wall_ns.abs_diff(own.start.wall_ns);
    let doubt_ns = full_run
        .start
        .uncertainty_ns
        .saturating_add(own.start.uncertainty_ns);
    if full_run.run_id.is_empty() || full_run.run_id != own.run_id {
        return Err("it belongs to another run".into());
    }
    if full_run.plan_sha256 != own.plan_sha256 {
        return Err("it belongs to another plan".into());
    }
    if full_run.seed != own.seed {
        return Err(format!(
            "its seed is {}, but the run's seed is {}",
            own.seed, full_run.seed
        ));
    }
    if own.share.is_none() || own.share != expected {
        let text = |share: Option<Share>| {
            share.map_or_else(
                || "none".to_owned(),
                |share| format!("{} of {}", share.number(), share.of),
            )
        };
        return Err(format!(
            "its share of the run is {}, expected {}",
            text(own.share),
            text(expected)
        ));
    }
    if apart_ns > doubt_ns {
        return Err(format!(
            "its start differs by {} from the start of the run, more than the clock accuracy of {}",
            crate::units::time(apart_ns),
            crate::units::time(doubt_ns)
        ));
    }
    Ok(())
}

fn folders(dir: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(dir.join("parts"))
        .into_iter()
        .flatten()
        .flatten();
    let mut numbered: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let number: u64 = name.to_str()?.parse().ok()?;
            (name.to_str() == Some(number.to_string().as_str())).then(|| (number, entry.path()))
        })
        .collect();
    numbered.sort();
    numbered
}

pub(super) fn dirs(dir: &Path) -> Vec<PathBuf> {
    let all = folders(dir).into_iter().map(|(_, path)| path);
    all.filter(|path| manifest::read(path).is_ok()).collect()
}
