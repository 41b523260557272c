//! The log of calls, `mcp.jsonl` in the folder of records. It has one line per call, so that a
//! person can see what an agent did.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::Mutex,
};

use serde_json::json;

use crate::answer::plain;

/// A call of a tool, as it is logged.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallEntry<'a> {
    pub tool: &'a str,
    pub client: Option<String>,
    pub digest: Option<String>,
    pub run: Option<String>,
    /// `answered`, `refused` or `asked`.
    pub decision: &'a str,
    /// First sentence of the answer.
    pub text: &'a str,
}

/// Appends entries to the log.
#[derive(Debug)]
pub(crate) struct CallLog {
    path: PathBuf,
    lock: Mutex<()>,
}

impl CallLog {
    /// Checks that the log can be written.
    ///
    /// Fails with a one-line error if it cannot.
    pub fn open(runs: &Path) -> Result<CallLog, String> {
        let path = runs.join("mcp.jsonl");
        let cannot = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        fs::create_dir_all(runs).map_err(cannot)?;
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(cannot)?;
        Ok(CallLog {
            path,
            lock: Mutex::new(()),
        })
    }

    /// Appends an entry for a call.
    ///
    /// Fails with a one-line error if the log cannot be written.
    pub fn add(&self, entry: &CallEntry<'_>) -> Result<(), String> {
        let _lock = self.lock.lock();
        let at = record::utc(session::inputs::now_wall_ns(), "%Y-%m-%dT%H:%M:%SZ");
        let line = json!({
            "at": at,
            "tool": plain(entry.tool, 40),
            "client": entry.client.as_deref().map(|client| plain(client, 80)),
            "digest": entry.digest.as_deref().map(|digest| plain(digest, 64)),
            "run": entry.run.as_deref().map(|run| plain(run, 80)),
            "decision": entry.decision,
            "text": plain(entry.text, 200),
        });
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path);
        let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        written.map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }
}
