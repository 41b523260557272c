//! Which record, and which version of Loadline, the derived files of a folder are from.

use std::{
    fs, io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use analysis::summary;
use serde::{Deserialize, Serialize};

/// Name of the file with the stamp.
pub(super) const FILE: &str = "derived.json";
/// What `write` creates, besides the stamp.
const DERIVED: [&str; 6] = [
    FILE,
    super::SUMMARY,
    super::SERIES,
    super::PAGE,
    super::MARKDOWN,
    crate::markdown::CHARTS,
];

/// Files of a record and the version that derived the report from them.
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
    /// Time of the last change, in nanoseconds since 1970.
    modified_ns: u64,
}

impl Stamp {
    /// Reads sizes and times of the record's files as they are now.
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

    /// Whether the folder's derived files are from this version and from the record as it is now.
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
