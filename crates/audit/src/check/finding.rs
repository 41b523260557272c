//! A finding: what does not fit, in one line that names the figures, and the same for programs.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::import::PrintedFigure;

/// So many places are listed one by one.
const LISTED: usize = 6;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Impossible, or off by more than rounding and 2 %.
    Contradiction,
    /// Odd, and explained by what the tool means by its figure.
    Remark,
}

/// A figure that a finding names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedFigure {
    /// Its name.
    pub name: String,
    /// As printed.
    pub text: String,
    /// Its line.
    pub line: usize,
    /// Its column.
    pub column: usize,
}

impl From<&PrintedFigure> for NamedFigure {
    fn from(figure: &PrintedFigure) -> NamedFigure {
        NamedFigure {
            name: figure.name.clone(),
            text: figure.text.clone(),
            line: figure.place.line,
            column: figure.place.column,
        }
    }
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub kind: Severity,
    /// Which relation it breaks: `rate`, `sum`, `order` …
    pub relation: &'static str,
    /// The line of the first figure.
    pub line: usize,
    /// Its column.
    pub column: usize,
    /// What does not fit, and by how much.
    pub text: String,
    /// All figures in it.
    pub figures: Vec<NamedFigure>,
    /// Whether the line alone does not find the figure.
    #[serde(skip)]
    pub needs_column: bool,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Severity::Contradiction => "contradiction",
            Severity::Remark => "remark",
        };
        let place = self.place(self.line, self.column);
        write!(f, "{kind:<13}  line {place}: {}", self.text)?;
        match self.other_places().as_slice() {
            [] => Ok(()),
            [one] => write!(f, " [line {one}]"),
            places if places.len() <= LISTED => write!(f, " [lines {}]", places.join(", ")),
            [first, .., last] => write!(f, " [lines {first} to {last}]"),
        }
    }
}

impl Finding {
    /// Where the other figures stand, in order.
    fn other_places(&self) -> Vec<String> {
        let own = self.place(self.line, self.column);
        let places: BTreeSet<(usize, usize)> = self
            .figures
            .iter()
            .map(|figure| {
                (
                    figure.line,
                    if self.needs_column { figure.column } else { 0 },
                )
            })
            .collect();
        let places = places
            .into_iter()
            .map(|(line, column)| self.place(line, column));
        places.filter(|place| *place != own).collect()
    }

    fn place(&self, line: usize, column: usize) -> String {
        if self.needs_column {
            format!("{line}:{column}")
        } else {
            line.to_string()
        }
    }
}
