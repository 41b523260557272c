//! The summary of a run, whole: its figures, and what is said of them. It computes nothing itself.

use record::Run;

use crate::{
    conclusions,
    summary::{self, Summary},
    verdict::timeline::{self, Timeline},
};

/// The summary of a run.
#[must_use]
pub fn summarise(run: &Run) -> Summary {
    with(run, &timeline::build(run))
}

/// The same, of a run whose points are there already: unpacking them takes most of the time.
pub(crate) fn with(run: &Run, timeline: &Timeline<'_>) -> Summary {
    let mut summary = summary::summary(run, timeline);
    conclude(&mut summary);
    summary
}

/// Says what follows from the figures of a summary.
fn conclude(summary: &mut Summary) {
    summary.verdict = conclusions::headline(summary);
    summary.conclusions = conclusions::draw(summary);
    summary.verdict.telling = conclusions::telling(summary);
    summary.assumptions = conclusions::assumptions(summary);
}
