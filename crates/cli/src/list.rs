//! Command line of `loadline list`.

use decisions::run_index::IndexedRun;
use report::{console, derived};
use session::exit;

use crate::{args, error::CommandError, log, rerender};

pub fn command(args: &args::List) -> u8 {
    match run(args) {
        Ok(()) => exit::PASS,
        Err(CommandError { lines, code }) => {
            lines.iter().for_each(log::error);
            code
        }
    }
}

fn run(args: &args::List) -> Result<(), CommandError> {
    log::makes_way(args.json.as_deref());
    let mut runs = which(&args.which, args.rebuild)?;
    runs.reverse();
    match args.json.as_deref() {
        Some(json) => write_json(json, &runs),
        None => {
            log::summary(&console::list_in(&runs, log::columns()));
            Ok(())
        }
    }
}

pub fn write_json<T: serde::Serialize>(
    path: &std::path::Path,
    what: &T,
) -> Result<(), CommandError> {
    let written = if log::is_stdout(path) {
        derived::as_json(what).map(|text| log::document(&text))
    } else {
        derived::write_as_json(path, what)
    };
    written.map_err(CommandError::could_not_run)
}

pub fn which(which: &args::Which, again: bool) -> Result<Vec<IndexedRun>, CommandError> {
    if which.last == Some(0) {
        return Err(CommandError::bad_input("--last 0: use at least 1"));
    }
    let folder = rerender::runs(which.runs.as_deref());
    if which.runs.is_some() && !folder.is_dir() {
        return Err(CommandError::bad_input(format!(
            "--runs {}: no such folder",
            folder.display()
        )));
    }
    let known = history::known(&folder, again);
    for remark in &known.remarks {
        log::say(format_args!("loadline: {remark}"));
    }
    let all = known.runs;
    if all.is_empty() {
        return Err(CommandError::bad_input(format!(
            "no runs in {}: create one with `loadline run`, or specify another folder with --runs",
            folder.display()
        )));
    }
    let is_meant = |run: &IndexedRun| {
        let is_called = which.name.as_ref().is_none_or(|name| run.name == *name);
        is_called && which.tag.iter().all(|tag| run.tags.contains(tag))
    };
    let mut runs: Vec<IndexedRun> = all.iter().filter(|run| is_meant(run)).cloned().collect();
    if runs.is_empty() {
        return Err(CommandError::bad_input(none(which, &all, &folder)));
    }
    let last = which.last.unwrap_or(runs.len()).min(runs.len());
    Ok(runs.split_off(runs.len() - last))
}

fn none(which: &args::Which, all: &[IndexedRun], folder: &std::path::Path) -> String {
    let wanted = which.tag.iter().map(|tag| format!("the tag `{tag}`"));
    let wanted = wanted.chain(which.name.iter().map(|name| format!("the name `{name}`")));
    let wanted: Vec<String> = wanted.collect();
    let list = |mut words: Vec<&str>| {
        words.sort_unstable();
        words.dedup();
        words.join(", ")
    };
    let tags = list(
        all.iter()
            .flat_map(|run| &run.tags)
            .map(String::as_str)
            .collect(),
    );
    let names = list(all.iter().map(|run| run.name.as_str()).collect());
    let tags = if tags.is_empty() { "none" } else { &tags };
    format!(
        "no run in {} has {} (existing tags: {tags}; existing names: {names})",
        folder.display(),
        wanted.join(" and ")
    )
}
