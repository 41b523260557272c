//! Merges parts from several machines into one folder, as if one conductor had divided the run.
//! [`crate::Run`] adds up the parts when it reads the folder.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Manifest, RecordError, Run, RunEnd, RunLocation, RunState, files, manifest, parts::belongs,
};

#[derive(Debug)]
pub struct Merged {
    pub run: Run,
    pub missing: Vec<u64>,
}

struct MergeInput {
    path: PathBuf,
    manifest: Manifest,
}

#[derive(Default)]
struct All {
    full_run: Option<MergeInput>,
    parts: BTreeMap<u64, MergeInput>,
    /// Duplicates that are not used. They must belong to the same run.
    copies: Vec<(u64, MergeInput)>,
}

/// Copies parts into the folder of a new run. The inputs may be single parts, a run without its
/// conductor, or folders of nodes. Among duplicate parts, the more complete one is used.
pub fn merge(brought: &[PathBuf], place: &RunLocation) -> Result<Merged, Vec<String>> {
    let mut all = All::default();
    let mut wrong = Vec::new();
    for path in brought {
        if let Err(line) = all.take(path) {
            wrong.push(line);
        }
    }
    if wrong.is_empty() {
        wrong.extend(all.strangers());
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let one = |error: RecordError| vec![error.to_string()];
    let full_run = all
        .manifest()
        .ok_or_else(|| vec!["there are no parts to merge".to_owned()])?;
    let dir = place.make(full_run.start.wall_ns).map_err(one)?;
    all.copy(&dir, &full_run).map_err(|source| {
        one(RecordError::NotWritable {
            path: dir.clone(),
            source,
        })
    })?;
    place.settle(&dir);
    let run = Run::open(&dir).map_err(one)?;
    Ok(Merged {
        missing: run.missing.clone(),
        run,
    })
}

impl All {
    fn take(&mut self, path: &Path) -> Result<(), String> {
        let inside = parts_in(path);
        let manifest = match manifest::read(path) {
            Ok(manifest) => Some(manifest),
            Err(error) if inside.is_empty() => return Err(error.to_string()),
            Err(_) => None,
        };
        let brought = manifest.map(|manifest| MergeInput {
            path: path.to_owned(),
            manifest,
        });
        match brought {
            Some(part) if part.manifest.share.is_some() => self.part(part),
            Some(full_run) if full_run.manifest.processes.is_some() => match &self.full_run {
                Some(known) if known.manifest.run_id != full_run.manifest.run_id => {
                    return Err(format!(
                        "INCOMPATIBLE: {} and {} are different runs",
                        full_run.path.display(),
                        known.path.display()
                    ));
                }
                Some(_) => {}
                None => self.full_run = Some(full_run),
            },
            Some(other) => {
                return Err(format!(
                    "{} is a complete run, not a part of a run",
                    other.path.display()
                ));
            }
            None => {}
        }
        for path in inside {
            let manifest = manifest::read(&path).map_err(|error| error.to_string())?;
            self.part(MergeInput { path, manifest });
        }
        Ok(())
    }

    fn part(&mut self, part: MergeInput) {
        let number = part.manifest.share.unwrap_or_default().index;
        let is_shorter = match self.parts.get(&number) {
            Some(known) => extent(&part) <= extent(known),
            None => false,
        };
        if is_shorter {
            self.copies.push((number, part));
        } else if let Some(known) = self.parts.insert(number, part) {
            self.copies.push((number, known));
        }
    }

    fn strangers(&self) -> Vec<String> {
        let Some(full_run) = self.manifest() else {
            return Vec::new();
        };
        let copies = self.copies.iter().map(|(number, part)| (number, part));
        let parts = self.parts.iter().chain(copies);
        let wrong = parts.filter_map(|(number, part)| {
            let mut failure = belongs(&full_run, &part.manifest, *number).err();
            if part.manifest.histograms != full_run.histograms {
                failure.get_or_insert("its histograms have a different layout".to_owned());
            }
            let path = part.path.display();
            failure.map(|failure| {
                format!("INCOMPATIBLE: {path} does not belong to this run: {failure}")
            })
        });
        wrong.collect()
    }

    fn manifest(&self) -> Option<Manifest> {
        let mut full_run = match &self.full_run {
            Some(full_run) => full_run.manifest.clone(),
            None => {
                let first = &self.parts.values().next()?.manifest;
                let of_run = first.full_run.clone()?;
                Manifest {
                    share: None,
                    processes: first.share.map(|share| share.of),
                    full_run: None,
                    load: of_run.load,
                    phases: of_run.phases,
                    criteria: of_run.criteria,
                    notes: Vec::new(),
                    end: None,
                    state: RunState::Running,
                    ..first.clone()
                }
            }
        };
        if full_run.state == RunState::Running {
            self.end(&mut full_run);
        }
        Some(full_run)
    }

    fn end(&self, full_run: &mut Manifest) {
        let ends = || {
            self.parts
                .values()
                .filter_map(|part| part.manifest.end.as_ref())
        };
        let early = ends().find(|end| end.reason.is_some());
        let of = full_run.processes.unwrap_or(0);
        let all = self.parts.len() as u64 == of && ends().count() as u64 == of;
        full_run.state = if all && early.is_none() {
            RunState::Complete
        } else {
            RunState::Interrupted
        };
        full_run.end = Some(RunEnd {
            ns: ends().map(|end| end.ns).max().unwrap_or(0),
            reason: match early {
                Some(end) => end.reason.clone(),
                None => (!all).then(|| "parts that are missing or did not finish".to_owned()),
            },
            cause: early.and_then(|end| end.cause.clone()),
            record_ends_ns: None,
            recorded_to_ns: Some(0),
            lines: None,
        });
    }

    fn copy(&self, dir: &Path, full_run: &Manifest) -> io::Result<()> {
        match &self.full_run {
            Some(brought) => copy_files(&brought.path, dir)?,
            None => {
                let first = self.parts.values().next();
                let plan = first.map(|part| part.path.join("plan.json"));
                if let Some(plan) = plan.filter(|plan| plan.is_file()) {
                    fs::copy(plan, dir.join("plan.json"))?;
                }
            }
        }
        files::replace(&dir.join("manifest.json"), full_run)?;
        for (number, part) in &self.parts {
            let to = dir.join("parts").join(number.to_string());
            fs::create_dir_all(&to)?;
            copy_files(&part.path, &to)?;
        }
        Ok(())
    }
}

fn parts_in(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path.join("parts"))
        .into_iter()
        .flatten()
        .flatten();
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    parts.retain(|path| path.join("manifest.json").is_file());
    parts.sort();
    parts
}

fn extent(part: &MergeInput) -> (bool, u64) {
    let counts = fs::metadata(part.path.join("counters.jsonl"));
    (
        part.manifest.state != RunState::Running,
        counts.map_or(0, |counts| counts.len()),
    )
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        let is_record = text.ends_with(".jsonl")
            || text.ends_with(".hlog")
            || text == "plan.json"
            || text == "manifest.json"
            || text == "found.json";
        if is_record && entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}
