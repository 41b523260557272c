//! What every run leaves beside its record: files that are computed from it and can be computed again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{html, markdown, page::Page, summary::Summary};

/// The page's file.
pub const PAGE: &str = "report.html";

/// A file that could not be written.
#[derive(Debug)]
pub struct NotWritten {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl std::fmt::Display for NotWritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for NotWritten {}

/// Writes `summary.json`, `series.json`, `report.html`, `report.md` and its charts into a folder.
///
/// # Errors
/// The first file that cannot be written.
pub fn write(dir: &Path, page: &Page) -> Result<(), NotWritten> {
    write_json(&dir.join("summary.json"), &page.summary)?;
    let series = serde_json::to_string(&page.series).map_err(not_json)? + "\n";
    file(&dir.join("series.json"), series.as_bytes())?;
    let html = html::of(page).map_err(not_json)?;
    file(&dir.join(PAGE), html.as_bytes())?;
    let document = markdown::of(page);
    let charts = dir.join(markdown::CHARTS);
    if !document.charts.is_empty() {
        folder(&charts)?;
    }
    for chart in &document.charts {
        file(&charts.join(chart.name), chart.text.as_bytes())?;
    }
    file(&dir.join("report.md"), document.text.as_bytes())
}

/// Makes a folder for a report, if it is not there.
///
/// # Errors
/// When it cannot be made.
pub fn folder(path: &Path) -> Result<(), NotWritten> {
    fs::create_dir_all(path).map_err(|source| NotWritten {
        path: path.to_owned(),
        source,
    })
}

/// Writes the summary's JSON, to be read by people too.
///
/// # Errors
/// When it cannot be written.
pub fn write_json(path: &Path, summary: &Summary) -> Result<(), NotWritten> {
    let text = serde_json::to_string_pretty(summary).map_err(not_json)? + "\n";
    file(path, text.as_bytes())
}

fn not_json(error: serde_json::Error) -> NotWritten {
    NotWritten {
        path: PathBuf::new(),
        source: error.into(),
    }
}

fn file(path: &Path, bytes: &[u8]) -> Result<(), NotWritten> {
    fs::write(path, bytes).map_err(|source| NotWritten {
        path: path.to_owned(),
        source,
    })
}
