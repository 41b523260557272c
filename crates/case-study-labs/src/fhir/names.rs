/// Folds case in all scripts. SQLite's NOCASE covers only ASCII.
pub(super) fn fold(name: &str) -> String {
    name.to_lowercase()
}
