//! Terminal output of a search.

use decisions::find::{Ending, SearchResult};

use super::text::{Columns, wrap};

const INDENT: usize = 16;

#[must_use]
pub fn found_in(found: &SearchResult, columns: Columns) -> String {
    let line =
        |name: &str, text: &str| wrap(&format!("{name:<INDENT$}{text}"), INDENT, columns) + "\n";
    let mut out = String::from("\n");
    let name = match found.ending {
        Ending::Swept => "scaling",
        _ => "the load line",
    };
    out += &line(name, &found.sentence);
    if let Some(above) = &found.overload {
        out += &line("above it", above);
    }
    for note in &found.notes {
        out += &line("note", note);
    }
    out
}
