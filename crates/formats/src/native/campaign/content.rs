//! Reads the team's additions to the report of a campaign: `sections`, `differences`, `show`, and
//! the `notes` of stages. Texts are in the plan or in Markdown files next to it.

use std::path::Path;

use plan::report_content::{
    Dashboard, DashboardUrl, DashboardUrlError, Difference, PLACEHOLDERS, RateUnit, ReportContent,
    Section, SectionPlace, ShownMetric,
};

use super::{
    model,
    read::{self, entries, list},
    time_zone,
};
use crate::{
    document::{Entry, Node},
    files::ReadFile,
    findings::Findings,
};

const SERVER: &str = "server.";

/// Reads texts. File names are relative to the folder of the plan.
pub(super) struct ContentReader<'r> {
    pub plan: &'r Path,
    pub read: ReadFile<'r>,
    pub findings: &'r mut Findings,
}

impl ContentReader<'_> {
    pub fn content(&mut self, root: &Node) -> ReportContent {
        let shown = self.shown(root.get("show"));
        ReportContent {
            sections: self.sections(root.get("sections")),
            differences: self.differences(root.get("differences")),
            ..shown
        }
    }

    /// Reads the notes of a stage: one text or several, or `{ file: NAME.md }`. Returns them as one
    /// Markdown text. `None` if there are none.
    pub fn notes(&mut self, node: Option<&Node>) -> Option<String> {
        let node = node?;
        let items = node.as_list().unwrap_or(std::slice::from_ref(node)).iter();
        let texts = items.filter_map(|item| {
            if item.is_map() {
                entries(item, "notes", model::NOTE, self.findings);
                let file = item.entry("file");
                if file.is_none() {
                    let text = "write the text itself, or `{ file: NAME.md }`";
                    read::missing(item, model::NOTE, text, self.findings);
                }
                return self.file(file?);
            }
            read::text(item, "notes", self.findings)
        });
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    fn sections(&mut self, node: Option<&Node>) -> Vec<Section> {
        let Some(node) = node else { return Vec::new() };
        let items = list(node, "sections", self.findings).iter();
        items.filter_map(|item| self.section(item)).collect()
    }

    fn section(&mut self, node: &Node) -> Option<Section> {
        entries(node, "section", model::SECTION, self.findings);
        if !node.is_map() {
            return None;
        }
        let Some(title) = node.get("title") else {
            let text = "a section needs a `title`";
            read::missing(node, model::SECTION, text, self.findings);
            return None;
        };
        let title = read::scalar(title, "title", self.findings)?;
        let date = node.get("date");
        let date = date.and_then(|date| read::scalar(date, "date", self.findings));
        let text = match (node.get("text"), node.entry("file")) {
            (Some(text), None) => read::text(text, "text", self.findings),
            (None, Some(file)) => self.file(file),
            (Some(_), Some(file)) => {
                let text = "a section cannot have both `text` and `file`: remove one";
                self.findings.problem(file.key_mark, text);
                None
            }
            (None, None) => {
                let text = "a section needs a `text`, or a Markdown file in `file`";
                read::missing(node, model::SECTION, text, self.findings);
                None
            }
        };
        let place = match node.get("place").map(|node| (node, node.as_str())) {
            None | Some((_, Some("end"))) => SectionPlace::End,
            Some((_, Some("start"))) => SectionPlace::Start,
            Some((node, _)) => {
                let text = format!("`place: {}` is not known: use start or end", node.text());
                self.findings.problem(node.mark, text);
                SectionPlace::End
            }
        };
        Some(Section {
            title: date.map_or(title.clone(), |date| format!("{title} ({date})")),
            text: text?,
            place,
        })
    }

    fn file(&mut self, entry: &Entry) -> Option<String> {
        let name = read::text(&entry.value, "file", self.findings)?;
        let path = self.plan.parent().unwrap_or(Path::new("")).join(&name);
        let text = (self.read)(&path)
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".into()));
        match text {
            Ok(text) => Some(text),
            Err(reason) => {
                let text =
                    format!("cannot read `{name}`: {reason}; the path is relative to the plan");
                self.findings.problem(entry.value.mark, text);
                None
            }
        }
    }

    fn differences(&mut self, node: Option<&Node>) -> Vec<Difference> {
        let Some(node) = node else { return Vec::new() };
        let rows = read::map(node, "differences", self.findings).iter();
        rows.filter_map(|row| self.difference(row)).collect()
    }

    fn difference(&mut self, row: &Entry) -> Option<Difference> {
        let cells = row.value.as_list().unwrap_or_default();
        if !(2..=3).contains(&cells.len()) {
            let text = format!(
                "`{}` needs two or three values: [tested, target], or [tested, target, \
                consequence]",
                row.key
            );
            self.findings.problem(row.value.mark, text);
            return None;
        }
        let mut cells = cells
            .iter()
            .map(|cell| read::scalar(cell, &row.key, self.findings));
        Some(Difference {
            name: row.key.clone(),
            tested: cells.next()??,
            meant: cells.next()??,
            effect: cells.next().flatten(),
        })
    }

    /// Reads `show`. The other fields of the result are empty.
    fn shown(&mut self, node: Option<&Node>) -> ReportContent {
        let Some(node) = node else {
            return ReportContent::default();
        };
        entries(node, "show", model::SHOW, self.findings);
        let rates = match node.get("rates").map(|node| (node, node.as_str())) {
            None | Some((_, Some("per second"))) => RateUnit::Second,
            Some((_, Some("per minute"))) => RateUnit::Minute,
            Some((node, _)) => {
                let text = format!(
                    "`rates: {}` is not known: use per second or per minute",
                    node.text()
                );
                self.findings.problem(node.mark, text);
                RateUnit::Second
            }
        };
        ReportContent {
            metrics: self.metrics(node.get("metrics")),
            dashboards: self.dashboards(node.get("links")),
            rates,
            time_zone: node
                .get("time-zone")
                .and_then(|node| time_zone::read(node, self.findings)),
            ..ReportContent::default()
        }
    }

    fn dashboards(&mut self, node: Option<&Node>) -> Vec<Dashboard> {
        let Some(node) = node else { return Vec::new() };
        let mut dashboards = Vec::new();
        for entry in read::map(node, "links", self.findings) {
            let Some(text) = read::text(&entry.value, &entry.key, self.findings) else {
                continue;
            };
            let reason = match DashboardUrl::parse(&text) {
                Ok(url) => {
                    let name = entry.key.clone();
                    dashboards.push(Dashboard { name, url });
                    continue;
                }
                Err(DashboardUrlError::NoLink) => {
                    format!("`{text}` is not a link: start it with http:// or https://")
                }
                Err(DashboardUrlError::Unclosed) => {
                    format!("`{text}` has `{{{{` without `}}}}`: add it after the name")
                }
                Err(DashboardUrlError::Unknown(name)) => format!(
                    "`{{{{ {name} }}}}` is not known in a link: use {}",
                    PLACEHOLDERS.join(", ")
                ),
            };
            self.findings.problem(entry.value.mark, reason);
        }
        dashboards
    }

    /// Reads a list of names, or a mapping of names to titles.
    fn metrics(&mut self, node: Option<&Node>) -> Vec<ShownMetric> {
        let Some(node) = node else { return Vec::new() };
        let plain = |name: &str| name.strip_prefix(SERVER).unwrap_or(name).to_owned();
        if node.is_map() {
            let titled = node.entries().iter().filter_map(|entry| {
                let title = read::text(&entry.value, &entry.key, self.findings)?;
                Some(ShownMetric {
                    name: plain(&entry.key),
                    title: Some(title),
                })
            });
            return titled.collect();
        }
        let items = list(node, "metrics", self.findings).iter();
        let named = items.filter_map(|item| {
            let name = read::text(item, "metrics", self.findings)?;
            Some(ShownMetric {
                name: plain(&name),
                title: None,
            })
        });
        named.collect()
    }
}
