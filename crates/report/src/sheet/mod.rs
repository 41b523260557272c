//! Reports that are read from top to bottom, as blocks that can be rendered as a page or as
//! Markdown.

mod page;
mod paper;

use analysis::verdict::Judgement;
use decisions::campaign::StageVerdict;

use crate::svg;

pub const PAGE: &str = "report.html";
pub const CHARTS: &str = "charts";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    pub page: String,
    pub markdown: String,
    pub charts: Vec<svg::File>,
}

impl Sheet {
    pub(crate) fn new(title: &str, blocks: &[Block<'_>], charts: Vec<svg::File>) -> Sheet {
        Sheet {
            page: page::render(title, blocks),
            markdown: paper::render(blocks),
            charts,
        }
    }
}

pub(crate) enum Block<'a> {
    Title(String),
    Heading(&'static str),
    Verdict(Option<Judgement>, String),
    Text(String),
    List(Vec<String>),
    Table(SheetTable),
    Chart(&'a svg::File),
}

/// A table. Columns contain numbers, except the first column and those whose head starts with `<`.
pub(crate) struct SheetTable {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub links: Vec<Option<String>>,
}

impl SheetTable {
    pub fn new(heads: &[&str]) -> SheetTable {
        SheetTable {
            heads: heads.iter().map(|head| (*head).to_owned()).collect(),
            rows: Vec::new(),
            links: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>, link: Option<String>) {
        self.rows.push(cells.into_iter().collect());
        self.links.push(link);
    }
}

fn word(verdict: Option<Judgement>) -> Option<&'static str> {
    Some(match verdict? {
        Judgement::Pass => "PASS",
        Judgement::Fail => "FAIL",
        Judgement::Inconclusive => "INCONCLUSIVE",
    })
}

fn is_verdict(cell: &str) -> Option<&'static str> {
    let is = |verdict: StageVerdict| verdict.word() == cell;
    if is(StageVerdict::Pass) {
        return Some("good");
    }
    [
        StageVerdict::Fail,
        StageVerdict::Invalid,
        StageVerdict::CouldNotRun,
        StageVerdict::Inconclusive,
    ]
    .into_iter()
    .any(is)
    .then_some("bad")
}
