//! The log of `--log FILE`: one JSON line per response, with times on CLOCK_MONOTONIC. The first
//! write error is reported at the end.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::json;

pub(crate) struct Log {
    writer: BufWriter<File>,
    failure: Option<io::Error>,
}

impl Log {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            writer: BufWriter::new(File::create(path)?),
            failure: None,
        })
    }

    pub(crate) fn write(&mut self, mock: &str, id: Option<&str>, at: [u64; 3], code: Option<u16>) {
        let [arrival_ns, due_ns, release_ns] = at;
        let line = json!({
            "id": id, "mock": mock, "arrival_ns": arrival_ns, "due_ns": due_ns,
            "release_ns": release_ns, "code": code.unwrap_or(0),
        });
        if self.failure.is_none() {
            self.failure = writeln!(self.writer, "{line}").err();
        }
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let flushed = self.writer.flush();
        self.failure.take().map_or(flushed, Err)
    }
}
