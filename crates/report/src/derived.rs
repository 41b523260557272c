//! Files that are derived from a record and can always be recreated.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

mod stamp;

use crate::{
    campaign, compare, find, gate, html, markdown,
    sheet::{self, Sheet},
    trend,
};

use analysis::{
    page::Page,
    summary::{self, Summary},
};
use decisions::{compare::Comparison, find::SearchResult, gate::Gate, run_index::MetricTrend};

use stamp::Stamp;

pub use crate::sheet::PAGE;

const SUMMARY: &str = "summary.json";
const SERIES: &str = "series.json";
const MARKDOWN: &str = "report.md";
pub const FOUND: &str = "find.json";

#[derive(Debug)]
pub struct NotWritten {
    pub path: PathBuf,
    pub source: io::Error,
}

impl std::fmt::Display for NotWritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for NotWritten {}

pub fn write(dir: &Path, page: &Page) -> Result<(), NotWritten> {
    replace(&dir.join(SUMMARY), json(&page.summary)?.as_bytes())?;
    let series = serde_json::to_string(&page.series).map_err(not_json)? + "\n";
    replace(&dir.join(SERIES), series.as_bytes())?;
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
    replace(&dir.join(MARKDOWN), document.text.as_bytes())?;
    if record::read_manifest(dir).is_ok_and(|manifest| manifest == page.manifest) {
        let stamp = Stamp::of(dir).map_err(|source| NotWritten {
            path: dir.to_owned(),
            source,
        })?;
        return replace(&dir.join(stamp::FILE), as_json(&stamp)?.as_bytes());
    }
    unstamp(dir)
}

/// Marks the derived files as based on more than the record, so that `read_page` does not use them.
pub fn unstamp(dir: &Path) -> Result<(), NotWritten> {
    let path = dir.join(stamp::FILE);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(NotWritten { path, source }),
        _ => Ok(()),
    }
}

/// Reads the page that `write` derived from a record, without reading the record's intervals.
/// `None` if the record has changed since then, or another version wrote the page.
#[must_use]
pub fn read_page(dir: &Path) -> Option<Page> {
    if !Stamp::is_current(dir) {
        return None;
    }
    Some(Page {
        summary: read_json(&dir.join(SUMMARY))?,
        series: read_json(&dir.join(SERIES))?,
        manifest: record::read_manifest(dir).ok()?,
    })
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

pub fn write_campaign(
    dir: &Path,
    campaign: &decisions::campaign::Campaign,
    runs: &[(campaign::RunSpan, &Page)],
) -> Result<(), NotWritten> {
    replace(&dir.join("campaign.json"), as_json(campaign)?.as_bytes())?;
    write_sheet(dir, &campaign::sheet(campaign, runs))
}

pub fn write_comparison(dir: &Path, comparison: &Comparison) -> Result<(), NotWritten> {
    folder(dir)?;
    replace(
        &dir.join("comparison.json"),
        as_json(comparison)?.as_bytes(),
    )?;
    write_sheet(dir, &compare::sheet(comparison))
}

/// Writes the report of a gate, and its comparison if there is one.
pub fn write_gate(dir: &Path, gate: &Gate) -> Result<(), NotWritten> {
    folder(dir)?;
    if let Some(comparison) = &gate.comparison {
        let text = as_json(comparison)?;
        replace(&dir.join("comparison.json"), text.as_bytes())?;
    }
    write_sheet(dir, &gate::sheet(gate))
}

pub fn write_found(dir: &Path, found: &SearchResult) -> Result<(), NotWritten> {
    folder(dir)?;
    write_found_so_far(dir, found)?;
    write_sheet(dir, &find::sheet(found))
}

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
    replace(&dir.join(MARKDOWN), sheet.markdown.as_bytes())
}

pub fn write_course(path: &Path, trend: &MetricTrend) -> Result<(), NotWritten> {
    replace(path, trend::sheet(trend).page.as_bytes())
}

pub fn write_as_json<T: serde::Serialize>(path: &Path, what: &T) -> Result<(), NotWritten> {
    file(path, as_json(what)?.as_bytes())
}

pub fn write_text(path: &Path, text: &str) -> Result<(), NotWritten> {
    file(path, text.as_bytes())
}

pub fn as_json<T: serde::Serialize>(what: &T) -> Result<String, NotWritten> {
    Ok(serde_json::to_string_pretty(what).map_err(not_json)? + "\n")
}

pub fn write_page(path: &Path, page: &Page) -> Result<(), NotWritten> {
    replace(path, html::render(page).map_err(not_json)?.as_bytes())
}

pub fn folder(path: &Path) -> Result<(), NotWritten> {
    fs::create_dir_all(path).map_err(|source| NotWritten {
        path: path.to_owned(),
        source,
    })
}

pub fn write_json(path: &Path, summary: &Summary) -> Result<(), NotWritten> {
    file(path, json(summary)?.as_bytes())
}

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

/// Replaces a file atomically, so that a full disk does not destroy the old content.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), NotWritten> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let written = fs::write(&new, bytes).and_then(|()| fs::rename(&new, path));
    written.map_err(|source| {
        let _ = fs::remove_file(&new);
        NotWritten {
            path: path.to_owned(),
            source,
        }
    })
}

/// Returns whether existing derived files cover more of the run than this summary. If so, the
/// record was damaged after they were written, and they must be kept.
#[must_use]
pub fn is_poorer(dir: &Path, summary: &Summary) -> bool {
    let known = fs::read(dir.join(SUMMARY)).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    let figure = |pointer: &str| known.as_ref()?.pointer(pointer)?.as_u64();
    summary.run.record_ends_ns.is_some()
        && (figure("/requests/issued").is_some_and(|known| known > summary.requests.issued)
            || figure("/run/elapsed_ns").is_some_and(|known| known > summary.run.elapsed_ns))
}
