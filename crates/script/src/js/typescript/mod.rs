//! Conversion of TypeScript to JavaScript. Types become spaces, so that lines and columns stay
//! correct.
//!
//! Constructs that need code (enumerations, parameter properties) are rewritten within their line.
//! Namespaces with code and decorators are refused.

mod classes;
mod edits;
mod enums;
mod strip;

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

/// Why a TypeScript file cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    pub message: String,
}

impl Refusal {
    fn at(source: &str, offset: usize, message: String) -> Refusal {
        let (line, column) = position(source, offset);
        Refusal {
            line,
            column,
            message,
        }
    }
}

/// Returns the line and the column of an offset, both counted from 1.
pub fn position(source: &str, offset: usize) -> (usize, usize) {
    let before = source.get(..offset).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// Returns whether a file is TypeScript, by its extension.
pub fn is_typescript(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("ts" | "mts" | "cts"))
}

/// Strips the types from TypeScript source and returns JavaScript.
///
/// # Errors
///
/// Fails at the first syntax error or unsupported construct.
pub fn strip_types(source: &str) -> Result<String, Refusal> {
    let allocator = Allocator::default();
    let kind = SourceType::ts().with_unambiguous(true);
    let parsed = Parser::new(&allocator, source, kind).parse();
    if let Some(error) = parsed.errors.first() {
        let label = error.labels.as_ref().and_then(|labels| labels.first());
        let offset = label.map_or(0, |label| label.offset());
        return Err(Refusal::at(source, offset, error.message.to_string()));
    }
    strip::strip(source, &parsed.program)
}

#[cfg(test)]
mod tests;
