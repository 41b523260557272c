//! Formats findings as one line and as JSON.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::import::PrintedFigure;

const LISTED: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A figure that is impossible, or off by more than rounding and 2 %.
    Contradiction,
    Remark,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedFigure {
    pub name: String,
    pub text: String,
    pub line: usize,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: Severity,
    /// Name of the relation: `rate`, `sum`, `order` …
    pub relation: &'static str,
    pub line: usize,
    pub column: usize,
    pub text: String,
    pub figures: Vec<NamedFigure>,
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
