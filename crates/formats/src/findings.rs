//! Collects problems, notes and secrets. Readers continue after a problem, so that all problems are
//! reported together.

use std::collections::HashSet;

use plan::{At, Note, Plan, Problem};

use crate::{LoadErrors, Original, document::Mark};

#[derive(Debug, Default)]
pub struct Findings {
    files: Vec<String>,
    problems: Vec<Problem>,
    pub notes: Vec<Note>,
    noted_topics: HashSet<&'static str>,
    original: Option<Original>,
}

impl Findings {
    pub fn file(&mut self, name: impl Into<String>) -> usize {
        self.files.push(name.into());
        self.files.len() - 1
    }

    #[must_use]
    pub fn at(&self, mark: Mark) -> At {
        let file = self.files.get(mark.file).cloned().unwrap_or_default();
        At {
            file,
            line: mark.line,
            column: mark.column,
        }
    }

    pub fn problem(&mut self, mark: Mark, message: impl Into<String>) {
        self.problems.push(Problem {
            at: Some(self.at(mark)),
            message: message.into(),
        });
    }

    pub fn placed(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    pub fn problem_anywhere(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::anywhere(message));
    }

    pub fn fatal(&mut self, original: Original, mark: Option<Mark>, message: impl Into<String>) {
        self.problems.push(Problem {
            at: mark.map(|mark| self.at(mark)),
            message: message.into(),
        });
        self.original.get_or_insert(original);
    }

    pub fn note(&mut self, mark: Mark, text: impl Into<String>) {
        let note = Note {
            at: Some(self.at(mark)),
            text: text.into(),
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub fn note_once(&mut self, topic: &'static str, mark: Mark, text: impl Into<String>) {
        if self.noted_topics.insert(topic) {
            self.note(mark, text);
        }
    }

    pub fn note_anywhere(&mut self, text: impl Into<String>) {
        self.notes.push(Note {
            at: None,
            text: text.into(),
        });
    }

    #[must_use]
    pub fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    #[must_use]
    pub fn into_notes(self) -> (Vec<Note>, Option<LoadErrors>) {
        let mut problems: Vec<Problem> = Vec::new();
        for problem in self.problems {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        let errors = (!problems.is_empty()).then(|| LoadErrors {
            original: self.original,
            problems,
            notes: self.notes.clone(),
        });
        (self.notes, errors)
    }

    /// Returns the plan with its notes. Fails if any problems were reported.
    pub fn finish(self, plan: Option<Plan>) -> Result<Plan, LoadErrors> {
        match plan {
            Some(mut plan) if self.problems.is_empty() => {
                plan.provenance.notes.extend(self.notes);
                Ok(plan)
            }
            _ => Err(LoadErrors {
                original: self.original,
                problems: self.problems,
                notes: self.notes,
            }),
        }
    }
}
