//! What every run leaves beside its record: files that are computed from it and can be computed again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    campaign, compare, find, html, markdown,
    sheet::{self, Sheet},
    trend,
};

use analysis::{
    page::Page,
    summary::{self, Summary},
};
use decisions::{compare::Comparison, find::SearchResult, run_index::MetricTrend};

/// The page's file.
pub const PAGE: &str = "report.html";

const SUMMARY: &str = "summary.json";
/// A search's answer, in its folder.
pub const FOUND: &str = "find.json";

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
    replace(&dir.join(SUMMARY), json(&page.summary)?.as_bytes())?;
    let series = serde_json::to_string(&page.series).map_err(not_json)? + "\n";
    replace(&dir.join("series.json"), series.as_bytes())?;
    let html = html::render(page).map_err(not_json)?;
    replace(&dir.join(PAGE), html.as_bytes())?;
    let document = markdown::render(page);
    let charts = dir.join(markdown::CHARTS);
    if !document.charts.is_empty() {
        folder(&charts)?;
    }
    for chart in &document.charts {
        replace(&charts.join(&chart.name), chart.text.as_bytes())?;
    }
    replace(&dir.join("report.md"), document.text.as_bytes())
}

/// Writes a campaign's `campaign.json`, `report.html`, `report.md` and its charts into a folder.
///
/// # Errors
/// The first file that cannot be written.
pub fn write_campaign(
    dir: &Path,
    campaign: &decisions::campaign::Campaign,
    runs: &[(campaign::RunSpan, &Page)],
) -> Result<(), NotWritten> {
    replace(&dir.join("campaign.json"), as_json(campaign)?.as_bytes())?;
    write_sheet(dir, &campaign::sheet(campaign, runs))
}

/// Writes a comparison's `comparison.json`, `report.html`, `report.md` and its charts into a folder.
///
/// # Errors
/// The first file that cannot be written.
pub fn write_comparison(dir: &Path, comparison: &Comparison) -> Result<(), NotWritten> {
    folder(dir)?;
    replace(
        &dir.join("comparison.json"),
        as_json(comparison)?.as_bytes(),
    )?;
    write_sheet(dir, &compare::sheet(comparison))
}

/// Writes a search's `find.json`, `report.html`, `report.md` and its charts into a folder.
///
/// # Errors
/// The first file that cannot be written.
pub fn write_found(dir: &Path, found: &SearchResult) -> Result<(), NotWritten> {
    folder(dir)?;
    write_found_so_far(dir, found)?;
    write_sheet(dir, &find::sheet(found))
}

/// Writes a search's `find.json` alone, while it goes on: whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn write_found_so_far(dir: &Path, found: &SearchResult) -> Result<(), NotWritten> {
    replace(&dir.join(FOUND), as_json(found)?.as_bytes())
}

fn write_sheet(dir: &Path, sheet: &Sheet) -> Result<(), NotWritten> {
    replace(&dir.join(PAGE), sheet.page.as_bytes())?;
    let charts = dir.join(sheet::CHARTS);
    if !sheet.charts.is_empty() {
        folder(&charts)?;
    }
    for chart in &sheet.charts {
        replace(&charts.join(&chart.name), chart.text.as_bytes())?;
    }
    replace(&dir.join("report.md"), sheet.markdown.as_bytes())
}

/// Writes the page of a figure over runs.
///
/// # Errors
/// When it cannot be written.
pub fn write_course(path: &Path, trend: &MetricTrend) -> Result<(), NotWritten> {
    replace(path, trend::sheet(trend).page.as_bytes())
}

/// Writes anything that serialises as JSON to be read by people too.
///
/// # Errors
/// When it cannot be written.
pub fn write_as_json<T: serde::Serialize>(path: &Path, what: &T) -> Result<(), NotWritten> {
    file(path, as_json(what)?.as_bytes())
}

/// Writes a text of an export.
///
/// # Errors
/// When it cannot be written.
pub fn write_text(path: &Path, text: &str) -> Result<(), NotWritten> {
    file(path, text.as_bytes())
}

/// Anything that serialises as JSON to be read by people too.
///
/// # Errors
/// Never in practice.
pub fn as_json<T: serde::Serialize>(what: &T) -> Result<String, NotWritten> {
    Ok(serde_json::to_string_pretty(what).map_err(not_json)? + "\n")
}

/// Writes the page alone.
///
/// # Errors
/// When it cannot be written.
pub fn write_page(path: &Path, page: &Page) -> Result<(), NotWritten> {
    replace(path, html::render(page).map_err(not_json)?.as_bytes())
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
    file(path, json(summary)?.as_bytes())
}

/// The summary as it is written.
///
/// # Errors
/// When it is no JSON, which it always is.
pub fn json(summary: &Summary) -> Result<String, NotWritten> {
    Ok(summary::json(summary)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .map_err(not_json)?
        + "\n")
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

/// Writes a file whole or not at all: on a full disk the one that is there is worth more than the beginning of another.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), NotWritten> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let written = fs::write(&new, bytes).and_then(|()| fs::rename(&new, path));
    written.map_err(|source| {
        // Nothing was there before; what is left of it is of no use.
        let _ = fs::remove_file(&new);
        NotWritten {
            path: path.to_owned(),
            source,
        }
    })
}

/// Whether what was derived from a record earlier tells of more of its run than this: then the record has been damaged since, or
/// could not be written, and there is nothing left to derive the better one from.
#[must_use]
pub fn is_poorer(dir: &Path, summary: &Summary) -> bool {
    let known = fs::read(dir.join(SUMMARY)).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    let figure = |pointer: &str| known.as_ref()?.pointer(pointer)?.as_u64();
    summary.run.record_ends_ns.is_some()
        && (figure("/requests/issued").is_some_and(|known| known > summary.requests.issued)
            || figure("/run/elapsed_ns").is_some_and(|known| known > summary.run.elapsed_ns))
}
