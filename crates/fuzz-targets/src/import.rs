//! Any text as another tool's output: figures or a refusal, never a panic or a hang; and what was read can be audited.

/// Checks one input. Panics if a property does not hold.
pub fn check(text: &str) {
    if let Ok(import) = audit::import::read(text) {
        let audit = audit::check::audit(&import);
        assert!(audit.figures > 0);
        let _ = audit.text();
        let _ = audit::as_run::page(&[("any".to_owned(), import)]);
    }
}
