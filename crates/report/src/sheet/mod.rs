//! Reports that are read from top to bottom. They consist of blocks that can be rendered as a page
//! or as Markdown.

mod page;
mod paper;
mod written;

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
    /// Facts below the title: target, time and size.
    Facts(String),
    Heading(&'static str),
    /// Heading of a section that the team wrote.
    OwnHeading(String),
    Subheading(String),
    Verdict(Option<VerdictBadge>, String),
    Brief(Brief),
    Text(String),
    /// Text of the team in Markdown, below a heading of this level.
    Written {
        text: String,
        level: usize,
    },
    List(Vec<String>),
    Table(SheetTable),
    Chart(&'a svg::File),
    /// Small charts next to each other.
    Charts(&'a [svg::File]),
}

/// What a reader needs first: the question, the answer, its cause, the next steps, and how certain
/// the answer is.
pub(crate) struct Brief {
    pub verdict: Option<VerdictBadge>,
    pub question: String,
    pub sentence: String,
    /// What limited the service first, if known.
    pub cause: Option<String>,
    pub advice: Vec<String>,
    pub certainty: String,
}

/// A verdict as a word, with a colour and a sign.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VerdictBadge {
    pub word: &'static str,
    pub tone: VerdictTone,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum VerdictTone {
    Good,
    Bad,
    Unsure,
}

impl From<Judgement> for VerdictBadge {
    fn from(verdict: Judgement) -> VerdictBadge {
        VerdictBadge {
            word: judgement(verdict),
            tone: match verdict {
                Judgement::Pass => VerdictTone::Good,
                Judgement::Fail => VerdictTone::Bad,
                Judgement::Inconclusive => VerdictTone::Unsure,
            },
        }
    }
}

/// A table. All columns contain numbers, except the first column and those whose head starts with
/// `<`.
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

pub(crate) fn judgement(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Pass => "PASS",
        Judgement::Fail => "FAIL",
        Judgement::Inconclusive => "INCONCLUSIVE",
    }
}

fn is_verdict(cell: &str) -> Option<&'static str> {
    // The measured value may follow the verdict in a cell.
    let cell = cell.split(':').next().unwrap_or(cell);
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
