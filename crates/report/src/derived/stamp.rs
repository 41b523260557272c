//! Stamp of derived files: the state of the record, and the version of Loadline that wrote them.

use std::{
    fs, io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use analysis::summary;
use serde::{Deserialize, Serialize};

/// Name of the stamp file.
pub(super) const FILE: &str = "derived.json";
/// Files that `write` creates, in addition to the stamp.
const DERIVED: [&str; 6] = [
    FILE,
    super::SUMMARY,
    super::SERIES,
    super::PAGE,
    super::MARKDOWN,
    crate::markdown::CHARTS,
];

/// The files of a record, and the version that derived the report from them.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    version: String,
    schema: u32,
    files: Vec<StampedFile>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct StampedFile {
    path: String,
    bytes: u64,
    /// Time of the last modification, in nanoseconds since 1970.
    modified_ns: u64,
}

impl Stamp {
    /// Reads the current sizes and times of the record's files.
    pub(super) fn of(dir: &Path) -> io::Result<Stamp> {
        let mut files = Vec::new();
        collect(dir, "", &mut files)?;
        files.sort();
        Ok(Stamp {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema: summary::SCHEMA,
            files,
        })
    }

    /// Returns whether the folder's derived files come from this version and from the current
    /// record.
    pub(super) fn is_current(dir: &Path) -> bool {
        let stored = fs::read(dir.join(FILE)).ok();
        let stored = stored.and_then(|bytes| serde_json::from_slice::<Stamp>(&bytes).ok());
        stored.is_some() && stored == Stamp::of(dir).ok()
    }
}

fn collect(dir: &Path, prefix: &str, files: &mut Vec<StampedFile>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if prefix.is_empty() && DERIVED.contains(&name.as_str()) {
            continue;
        }
        let path = format!("{prefix}{name}");
        let facts = entry.metadata()?;
        if facts.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
            continue;
        }
        files.push(StampedFile {
            path,
            bytes: facts.len(),
            modified_ns: since_1970(facts.modified()?),
        });
    }
    Ok(())
}

fn since_1970(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
