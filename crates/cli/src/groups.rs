//! Finds the runs of a comparison by tag, name, run, folder, or file of another tool.

use std::path::{Path, PathBuf};

use analysis::summarise;
use decisions::compare::{self, CompareConfig, ComparedRun, Side};
use record::{Manifest, Run};
use session::exit;

use crate::{error::CommandError, import, log};

pub fn side(text: &str, runs: &Path) -> Result<Side, CommandError> {
    let mut entrants: Vec<ComparedRun> = Vec::new();
    for part in parts(text) {
        if part.is_empty() {
            return Err(CommandError::bad_input(format!(
                "`{text}` has an empty run name: remove the comma, or add the name of a run"
            )));
        }
        for entrant in named(part, runs)? {
            let is_known = entrants.iter().any(|known| is_same(known, &entrant));
            if !is_known {
                entrants.push(entrant);
            }
        }
    }
    let name = match (text.split_once(','), entrants.first()) {
        (Some(_), Some(first)) if entrants.len() > 1 => {
            format!("{} and {} more", first.name, entrants.len() - 1)
        }
        _ => text.to_owned(),
    };
    Ok(Side {
        name,
        runs: entrants,
    })
}

fn parts(text: &str) -> Vec<&str> {
    if text.starts_with("name:") || Path::new(text).exists() {
        return vec![text];
    }
    text.split(',').map(str::trim).collect()
}

fn named(text: &str, runs: &Path) -> Result<Vec<ComparedRun>, CommandError> {
    if let Some(tag) = text.strip_prefix("tag:") {
        let tags = |manifest: &Manifest| {
            let about = manifest.about.as_ref();
            about.map_or_else(Vec::new, |about| about.tags.clone())
        };
        return among(runs, "tag", tag, tags);
    }
    if let Some(name) = text.strip_prefix("name:") {
        return among(runs, "name", name, |manifest| vec![manifest.name.clone()]);
    }
    let path = Path::new(text);
    if path.is_file() {
        return imported_run(path).map(|entrant| vec![entrant]);
    }
    let inside = record::all(path);
    if path.is_dir() && !path.join("manifest.json").exists() && !inside.is_empty() {
        return inside.iter().map(|dir| recorded(dir)).collect();
    }
    let dir = record::find(runs, text).map_err(CommandError::bad_input)?;
    recorded(&dir).map(|entrant| vec![entrant])
}

fn among(
    runs: &Path,
    what: &str,
    wanted: &str,
    words: impl Fn(&Manifest) -> Vec<String>,
) -> Result<Vec<ComparedRun>, CommandError> {
    let mut known: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for dir in record::all(runs) {
        let Ok(manifest) = record::read_manifest(&dir) else {
            continue;
        };
        let words = words(&manifest);
        if words.iter().any(|word| word == wanted) {
            found.push(recorded(&dir)?);
        }
        known.extend(words);
    }
    if !found.is_empty() {
        return Ok(found);
    }
    known.sort();
    known.dedup();
    let known = if known.is_empty() {
        format!("no run there has one; set one with `loadline run --{what} {wanted} …`")
    } else {
        format!("there are {}", known.join(", "))
    };
    Err(CommandError::bad_input(format!(
        "no run in {} has the {what} `{wanted}`: {known}",
        runs.display()
    )))
}

pub fn recorded(dir: &Path) -> Result<ComparedRun, CommandError> {
    let run = Run::open(dir).map_err(CommandError::could_not_run)?;
    if let Some(cut) = run.cut {
        log::warning(analysis::summary::cut_text(cut));
    }
    let plan = std::fs::read(dir.join("plan.json"));
    let plan = plan
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    Ok(ComparedRun {
        name: name.to_string_lossy().into_owned(),
        summary: summarise(&run),
        run: Some(run),
        plan: plan.unwrap_or_default(),
    })
}

fn imported_run(path: &Path) -> Result<ComparedRun, CommandError> {
    let page = import::read_run(path).map_err(|failed| CommandError {
        lines: vec![failed.line],
        code: failed.code,
    })?;
    Ok(ComparedRun {
        name: path.display().to_string(),
        summary: page.summary,
        run: None,
        plan: serde_json::Value::Null,
    })
}

fn is_same(a: &ComparedRun, b: &ComparedRun) -> bool {
    let place = |entrant: &ComparedRun| {
        let dir = entrant.run.as_ref().and_then(|run| run.dir.clone());
        dir.unwrap_or_else(|| PathBuf::from(&entrant.name))
            .canonicalize()
            .ok()
    };
    place(a).is_some_and(|a| place(b) == Some(a))
}

pub fn no_run_on_both(baseline: &Side, candidate: &Side) -> Result<(), CommandError> {
    let mut shared = baseline.runs.iter().filter(|run| {
        let mut others = candidate.runs.iter();
        others.any(|other| is_same(run, other))
    });
    match shared.next() {
        Some(run) => Err(CommandError::bad_input(format!(
            "{} is on both sides: a run cannot be compared with itself",
            run.name
        ))),
        None => Ok(()),
    }
}

pub fn rows_are_there(
    baseline: &Side,
    candidate: &Side,
    config: &CompareConfig,
) -> Result<(), CommandError> {
    let mut lines = config.subjects.iter().filter_map(|subject| {
        let reason = compare::without_row(subject, baseline, candidate)?;
        Some(format!("--metric {}: {reason}", subject.text))
    });
    lines
        .next()
        .map_or(Ok(()), |line| Err(CommandError::bad_input(line)))
}

pub fn hinder(
    baseline: &Side,
    candidate: &Side,
    anyway: bool,
    config: &mut CompareConfig,
) -> Result<(), CommandError> {
    let found = compare::incompatibilities(baseline, candidate);
    if anyway {
        config.anyway = found.into_iter().map(|one| one.text).collect();
        return Ok(());
    }
    if found.is_empty() {
        return Ok(());
    }
    let is_invalid = found.iter().any(|one| one.is_invalid);
    let lines = found.iter().map(|one| {
        let how = if one.is_of_one {
            "remove that run, or use compare --anyway"
        } else {
            "to compare them regardless, use compare --anyway"
        };
        format!("{}: {how}", one.text)
    });
    Err(CommandError {
        lines: lines.collect(),
        code: if is_invalid {
            exit::INVALID
        } else {
            exit::BAD_INPUT
        },
    })
}
