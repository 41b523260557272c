//! Names as they are searched for.

/// Names compare without case, in every script: SQLite's own NOCASE knows only ASCII.
pub(super) fn fold(name: &str) -> String {
    name.to_lowercase()
}
