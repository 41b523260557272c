//! Resources: files of records, pages of the documentation, and the schema of plans.
//!
//! If a measurement is INVALID, the summary and the report of its record are withheld. In all other
//! records, excerpts of responses are removed.

use std::path::Path;

use analysis::page::Page;
use record::Run;
use rmcp::model::{Resource, ResourceTemplate};

use crate::explanation::PAGES;

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";
const SCHEMA: &str = "loadline://schema/plan";
const DOCS: &str = "loadline://docs/";
const RUNS: &str = "loadline://runs/";
const WITHHELD: &str = "INVALID MEASUREMENT. No latency or capacity conclusion can be drawn, and the figures are withheld: use run_result for the reason, and repeat the run";

/// Contents of a resource.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResourceText {
    pub text: String,
    pub mime: &'static str,
}

/// Returns the resources that do not depend on a run.
pub(crate) fn fixed() -> Vec<Resource> {
    let schema = Resource::new(SCHEMA, "JSON Schema of plans").with_mime_type(JSON);
    let pages = PAGES.iter().map(|page| {
        let title = page.text.lines().next().unwrap_or_default();
        Resource::new(
            format!("{DOCS}{}", page.name),
            title.trim_start_matches("# "),
        )
        .with_mime_type(MARKDOWN)
    });
    [schema].into_iter().chain(pages).collect()
}

/// Returns the address templates for the files of records.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let file = |name: &str, about: &str, mime: &str| {
        ResourceTemplate::new(format!("{RUNS}{{run}}/{name}"), name)
            .with_description(about)
            .with_mime_type(mime)
    };
    vec![
        file(
            "summary.json",
            "All figures of a run that is not INVALID",
            JSON,
        ),
        file("report.md", "Report of a run that is not INVALID", MARKDOWN),
        file(
            "plan.json",
            "The plan that a run used, without secrets",
            JSON,
        ),
    ]
}

/// Reads a resource. `find` returns the record of a run by its name.
///
/// Fails with a one-line error if the resource does not exist or is withheld.
pub(crate) fn read(
    uri: &str,
    find: impl FnOnce(&str) -> Result<std::path::PathBuf, String>,
) -> Result<ResourceText, String> {
    let unknown = || format!("no resource `{uri}`");
    if uri == SCHEMA {
        let schema = formats::native::schema::schema();
        return Ok(ResourceText {
            text: format!("{schema:#}"),
            mime: JSON,
        });
    }
    if let Some(name) = uri.strip_prefix(DOCS) {
        let page = PAGES.iter().find(|page| page.name == name);
        return page.ok_or_else(unknown).map(|page| ResourceText {
            text: page.text.to_owned(),
            mime: MARKDOWN,
        });
    }
    let run = uri.strip_prefix(RUNS).and_then(|rest| rest.split_once('/'));
    let (name, file) = run.ok_or_else(unknown)?;
    let record = find(name)?;
    match file {
        "plan.json" => plan(&record),
        "summary.json" => page(&record).and_then(|page| {
            let text = serde_json::to_string_pretty(&page.summary);
            let text = text.map_err(|error| error.to_string())?;
            Ok(ResourceText { text, mime: JSON })
        }),
        "report.md" => page(&record).map(|page| ResourceText {
            text: report::markdown::render(&page).text,
            mime: MARKDOWN,
        }),
        _ => Err(unknown()),
    }
}

fn plan(record: &Path) -> Result<ResourceText, String> {
    let text = std::fs::read_to_string(record.join("plan.json"));
    let text = text.map_err(|error| format!("plan.json: {error}"))?;
    Ok(ResourceText { text, mime: JSON })
}

fn page(record: &Path) -> Result<Page, String> {
    if record::is_running(record) {
        return Err("the run is still running".to_owned());
    }
    let run = Run::open(record).map_err(|error| error.to_string())?;
    let page = audit::page(&run);
    if page.summary.is_invalid() {
        return Err(WITHHELD.to_owned());
    }
    Ok(without_excerpts(page))
}

fn without_excerpts(mut page: Page) -> Page {
    for error in &mut page.summary.errors {
        error.first = None;
        for under in &mut error.by_label {
            under.first = None;
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_resource_can_be_read() {
        for resource in fixed() {
            let read = read(&resource.uri, |_| Err("no run".to_owned())).unwrap();
            assert!(read.text.len() > 500, "{}", resource.uri);
        }
        assert_eq!(templates().len(), 3);
    }

    #[test]
    fn unknown_resources_are_refused() {
        for uri in [
            "file:///etc/passwd",
            "loadline://docs/x",
            "loadline://runs/a",
            "",
        ] {
            let error = read(uri, |_| Err("no run".to_owned())).unwrap_err();
            assert!(error.contains("no resource"), "{uri}: {error}");
        }
        let error = read("loadline://runs/x/summary.json", |_| {
            Err("no run".to_owned())
        });
        assert_eq!(error.unwrap_err(), "no run");
        let outside = read("loadline://runs/a/../b", |_| Ok("/nowhere".into()));
        assert!(outside.unwrap_err().contains("no resource"));
    }
}
