//! The folder of runs: one folder per run, `last`, `.gitignore`, and deletion of old runs. Loadline
//! deletes only finished runs that it wrote.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Manifest, RecordError, RunState, begin};

const KEPT: usize = 50;
const DEFAULT: &str = ".loadline/runs";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLocation {
    pub runs: PathBuf,
    pub suffix: u16,
}

impl RunLocation {
    #[must_use]
    pub fn new(named: Option<PathBuf>, suffix: u16) -> RunLocation {
        RunLocation {
            runs: named.unwrap_or_else(|| DEFAULT.into()),
            suffix,
        }
    }

    pub(super) fn make(&self, wall_ns: u64) -> Result<PathBuf, RecordError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| match source.kind() {
                // Refuse to run on a full disk, because the record could not be written.
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    RecordError::NotBegun { path, source }
                }
                _ => RecordError::NotWritable { path, source },
            }
        };
        let is_new = !self.runs.exists();
        fs::create_dir_all(&self.runs).map_err(failed(&self.runs))?;
        if is_new || self.is_default() {
            self.ignore_in_git();
        }
        let time = begin::utc(wall_ns, "%Y%m%dT%H%M%SZ");
        let mut suffix = self.suffix;
        loop {
            let run = self.runs.join(format!("{time}-{suffix:04x}"));
            match fs::create_dir(&run) {
                Ok(()) => return Ok(run),
                // Another run with the same seed started in the same second.
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists
                        && suffix.wrapping_add(1) != self.suffix =>
                {
                    suffix = suffix.wrapping_add(1);
                }
                Err(source) => return Err(failed(&run)(source)),
            }
        }
    }

    fn is_default(&self) -> bool {
        self.runs.ends_with(DEFAULT)
    }

    fn ignore_in_git(&self) {
        let folder = if self.is_default() {
            self.runs.parent()
        } else {
            Some(self.runs.as_path())
        };
        if let Some(file) = folder
            .map(|folder| folder.join(".gitignore"))
            .filter(|file| !file.exists())
        {
            let _ = fs::write(file, "*\n");
        }
    }

    pub(super) fn settle(&self, run: &Path) {
        let Some(name) = run.file_name() else { return };
        let link = self.runs.join(format!(".last-{}", name.to_string_lossy()));
        let last = self.runs.join("last");
        // Do not touch a `last` that Loadline did not create.
        let is_ours = fs::symlink_metadata(&last).map_or(true, |known| known.is_symlink());
        if is_ours
            && std::os::unix::fs::symlink(name, &link).is_ok()
            && fs::rename(&link, &last).is_err()
        {
            let _ = fs::remove_file(&link);
        }
        let mut runs = list(&self.runs);
        runs.retain(|known| known.as_os_str() != name);
        let excess = (runs.len() + 1).saturating_sub(KEPT);
        for old in runs.iter().take(excess).map(|old| self.runs.join(old)) {
            if !is_running(&old) {
                let _ = fs::remove_dir_all(&old);
            }
        }
    }
}

#[must_use]
pub fn all(runs: &Path) -> Vec<PathBuf> {
    list(runs).into_iter().map(|name| runs.join(name)).collect()
}

fn list(runs: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder
            && is_run_name(&entry.file_name().to_string_lossy())
            && entry.path().join("manifest.json").is_file()
    });
    let mut names: Vec<PathBuf> = ours.map(|entry| entry.file_name().into()).collect();
    names.sort();
    names
}

fn is_run_name(name: &str) -> bool {
    let pattern = "ddddddddTddddddZ-hhhh";
    name.len() == pattern.len()
        && name.chars().zip(pattern.chars()).all(|(c, p)| match p {
            'd' => c.is_ascii_digit(),
            'h' => c.is_ascii_hexdigit(),
            _ => c == p,
        })
}

#[must_use]
pub fn is_running(run: &Path) -> bool {
    let manifest = fs::read(run.join("manifest.json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok());
    manifest.is_some_and(|manifest| {
        manifest.state == RunState::Running
            && Path::new(&format!("/proc/{}", manifest.pid)).exists()
    })
}

/// Finds a run by `last`, by its name or the beginning of its name, or by its path.
pub fn find(runs: &Path, wanted: &str) -> Result<PathBuf, RecordError> {
    let is_run = |folder: &Path| folder.join("manifest.json").is_file();
    let named = runs.join(wanted);
    if !wanted.is_empty() && is_run(&named) {
        return Ok(fs::read_link(&named).map_or(named, |to| runs.join(to)));
    }
    if is_run(Path::new(wanted)) {
        return Ok(PathBuf::from(wanted));
    }
    let known = list(runs);
    // `last` may be missing on a file system without links.
    if wanted == "last"
        && let Some(newest) = known.last()
    {
        return Ok(runs.join(newest));
    }
    let begin: Vec<String> = known
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with(wanted))
        .collect();
    match begin.as_slice() {
        [one] if !wanted.is_empty() => Ok(runs.join(one)),
        [] => Err(RecordError::NotFound {
            wanted: wanted.into(),
            runs: runs.into(),
        }),
        _ => Err(RecordError::Ambiguous {
            wanted: wanted.into(),
            found: begin.into_iter().rev().take(5).collect(),
        }),
    }
}
