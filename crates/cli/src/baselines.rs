//! Baselines, which are copies of records stored under a name.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use plan::about::is_tag;

use crate::error::CommandError;

pub fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let dir = folder.join(name);
    (is_name(name) && !record::all(&dir).is_empty()).then_some(dir)
}

pub fn check(name: &str) -> Result<(), CommandError> {
    if is_name(name) {
        return Ok(());
    }
    Err(CommandError::bad_input(format!(
        "--save-baseline `{name}`: use letters, digits, `.`, `_` and `-`, for example main"
    )))
}

fn is_name(name: &str) -> bool {
    let is_fine = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    is_tag(name) && name.chars().all(is_fine) && !name.starts_with('.')
}

pub fn save(folder: &Path, name: &str, records: &[PathBuf]) -> Result<PathBuf, CommandError> {
    let failed = |path: &Path, error: &io::Error| {
        CommandError::could_not_run(format!("cannot write {}: {error}", path.display()))
    };
    let dir = folder.join(name);
    let [new, old] = ["new", "old"].map(|what| folder.join(format!(".{name}.{what}")));
    for left in [&new, &old] {
        let _ = fs::remove_dir_all(left);
    }
    for record in records {
        let to = new.join(record.file_name().unwrap_or(record.as_os_str()));
        copy(record, &to).map_err(|error| failed(&to, &error))?;
    }
    if dir.exists() {
        fs::rename(&dir, &old).map_err(|error| failed(&dir, &error))?;
    }
    fs::rename(&new, &dir).map_err(|error| failed(&dir, &error))?;
    let _ = fs::remove_dir_all(&old);
    Ok(dir)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
