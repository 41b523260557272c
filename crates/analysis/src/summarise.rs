//! Builds the complete summary of a run.

use record::Run;

use crate::{
    conclusions,
    summary::{self, Summary},
    verdict::timeline::{self, Timeline},
};

#[must_use]
pub fn summarise(run: &Run) -> Summary {
    with(run, &timeline::build(run))
}

pub(crate) fn with(run: &Run, timeline: &Timeline) -> Summary {
    let mut summary = summary::summary(run, timeline);
    conclude(&mut summary);
    let about = run.manifest.about.as_ref();
    brief(
        &mut summary,
        about.and_then(|about| about.objective.as_deref()),
    );
    summary
}

/// Adds the question and the certainty of the answer, which are based on the conclusions.
pub fn brief(summary: &mut Summary, objective: Option<&str>) {
    summary.verdict.question = conclusions::question(summary, objective);
    summary.verdict.certainty = conclusions::certainty(summary);
    summary.verdict.advice = conclusions::advice(summary);
}

fn conclude(summary: &mut Summary) {
    summary.verdict = conclusions::headline(summary);
    summary.conclusions = conclusions::draw(summary);
    summary.verdict.key_conclusions = conclusions::key_conclusions(summary);
    summary.assumptions = conclusions::assumptions(summary);
}
