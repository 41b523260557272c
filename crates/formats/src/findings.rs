//! What a reader finds while it reads: problems that keep the plan from running, notes that go with it, values to keep secret.
//!
//! Readers collect here and go on, so that a file's problems are all told at once.

use std::collections::HashSet;

use plan::{At, Note, Plan, Problem};

use crate::{LoadErrors, Original, document::Mark};

/// The collection; one per load.
#[derive(Debug, Default)]
pub struct Findings {
    files: Vec<String>,
    problems: Vec<Problem>,
    /// What the user is told although the plan runs.
    pub notes: Vec<Note>,
    said: HashSet<&'static str>,
    original: Option<Original>,
}

impl Findings {
    /// Takes a file (or a command-line option) into the list that marks point to.
    pub fn file(&mut self, name: impl Into<String>) -> usize {
        self.files.push(name.into());
        self.files.len() - 1
    }

    /// A mark's place in words.
    #[must_use]
    pub fn at(&self, mark: Mark) -> At {
        let file = self.files.get(mark.file).cloned().unwrap_or_default();
        At {
            file,
            line: mark.line,
            column: mark.column,
        }
    }

    /// A problem at a place.
    pub fn problem(&mut self, mark: Mark, message: impl Into<String>) {
        self.problems.push(Problem {
            at: Some(self.at(mark)),
            message: message.into(),
        });
    }

    /// A problem that knows its own place.
    pub fn placed(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// A problem of no place in a file.
    pub fn problem_anywhere(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::anywhere(message));
    }

    /// A problem that the original tool has its own words and exit code for.
    pub fn fatal(&mut self, original: Original, mark: Option<Mark>, message: impl Into<String>) {
        self.problems.push(Problem {
            at: mark.map(|mark| self.at(mark)),
            message: message.into(),
        });
        self.original.get_or_insert(original);
    }

    /// A note at a place; told once, however often it is found.
    pub fn note(&mut self, mark: Mark, text: impl Into<String>) {
        let note = Note {
            at: Some(self.at(mark)),
            text: text.into(),
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A note that is given once, for the first place.
    pub fn note_once(&mut self, topic: &'static str, mark: Mark, text: impl Into<String>) {
        if self.said.insert(topic) {
            self.note(mark, text);
        }
    }

    /// A note of no place in a file.
    pub fn note_anywhere(&mut self, text: impl Into<String>) {
        self.notes.push(Note {
            at: None,
            text: text.into(),
        });
    }

    /// Whether anything keeps the plan from running.
    #[must_use]
    pub fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The notes, and what is wrong, each problem once: of what is read several times.
    #[must_use]
    pub fn told(self) -> (Vec<Note>, Option<LoadErrors>) {
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

    /// The plan with its notes, if nothing is wrong with it.
    ///
    /// # Errors
    /// Everything that was found, if anything is.
    pub fn finish(self, plan: Option<Plan>) -> Result<Plan, LoadErrors> {
        match plan {
            Some(mut plan) if self.problems.is_empty() => {
                plan.notes.extend(self.notes);
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
