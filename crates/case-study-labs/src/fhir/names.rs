/// Case-insensitive in all scripts; SQLite's NOCASE covers ASCII only.
pub(super) fn fold(name: &str) -> String {
    name.to_lowercase()
}
