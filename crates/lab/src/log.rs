//! The request log of `--log FILE`: one JSON line per response, with times on CLOCK_MONOTONIC. The
//! log is buffered, and the caller flushes it. The first write error is reported at the end.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use axum::http::HeaderValue;

use crate::LabError;

pub(crate) struct LogLine<'a> {
    pub(crate) id: Option<&'a HeaderValue>,
    pub(crate) arrival_ns: u64,
    pub(crate) release_ns: u64,
    pub(crate) code: u16,
}

pub(crate) struct RequestLog {
    path: PathBuf,
    writer: BufWriter<File>,
    line: Vec<u8>,
    failure: Option<io::Error>,
}

impl RequestLog {
    pub(crate) fn create(path: &Path) -> Result<Self, LabError> {
        let file = File::create(path).map_err(|source| LabError::CannotOpenLog {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            writer: BufWriter::with_capacity(64 * 1024, file),
            line: Vec::new(),
            failure: None,
        })
    }

    pub(crate) fn write(&mut self, line: &LogLine<'_>) {
        if self.failure.is_none() {
            let written =
                format(&mut self.line, line).and_then(|()| self.writer.write_all(&self.line));
            self.failure = written.err();
        }
    }

    pub(crate) fn append(&mut self, line: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.writer.write_all(line).err();
        }
    }

    pub(crate) fn flush(&mut self) {
        if self.failure.is_none() {
            self.failure = self.writer.flush().err();
        }
    }

    pub(crate) fn finish(&mut self) -> Result<(), LabError> {
        self.flush();
        match self.failure.take() {
            None => Ok(()),
            Some(source) => Err(LabError::CannotWriteLog {
                path: self.path.clone(),
                source,
            }),
        }
    }
}

fn format(line: &mut Vec<u8>, of: &LogLine<'_>) -> io::Result<()> {
    line.clear();
    let id = of.id.map(|id| String::from_utf8_lossy(id.as_bytes()));
    line.extend_from_slice(b"{\"id\":");
    serde_json::to_writer(&mut *line, &id)?;
    let LogLine {
        arrival_ns,
        release_ns,
        code,
        ..
    } = of;
    writeln!(
        line,
        r#","arrival_ns":{arrival_ns},"release_ns":{release_ns},"code":{code}}}"#
    )
}
