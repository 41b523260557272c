//! A report that is read from top to bottom: what it says, block by block, before anybody decides how a block looks; then as a page that
//! needs nothing else, and as Markdown that GitHub shows. What is said is decided by whoever makes the blocks.

mod page;
mod paper;

use analysis::verdict::Judgement;
use decisions::campaign::StageVerdict;

use crate::svg;

/// The folder of the charts, beside `report.md`.
pub const CHARTS: &str = "charts";

/// A report in all its forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// `report.html`, with its charts in it.
    pub page: String,
    /// `report.md`.
    pub markdown: String,
    /// The charts that it shows, for [`CHARTS`].
    pub charts: Vec<svg::File>,
}

impl Sheet {
    /// The report of these blocks; `title` is the page's in the browser.
    pub(crate) fn new(title: &str, blocks: &[Block<'_>], charts: Vec<svg::File>) -> Sheet {
        Sheet {
            page: page::render(title, blocks),
            markdown: paper::render(blocks),
            charts,
        }
    }
}

/// A part of a report.
pub(crate) enum Block<'a> {
    Title(String),
    Heading(&'static str),
    /// The verdict, which is to be seen first.
    Verdict(Option<Judgement>, String),
    Text(String),
    List(Vec<String>),
    Table(SheetTable),
    Chart(&'a svg::File),
}

/// A table. The first column is text, the others are figures unless their heads begin with `<`.
pub(crate) struct SheetTable {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Where the first cell of a row leads to.
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

/// How a verdict is written where it stands alone.
fn word(verdict: Option<Judgement>) -> Option<&'static str> {
    Some(match verdict? {
        Judgement::Pass => "PASS",
        Judgement::Fail => "FAIL",
        Judgement::Inconclusive => "INCONCLUSIVE",
    })
}

/// Whether a cell is a verdict, and which.
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
