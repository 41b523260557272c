//! Reads arbitrary text as another tool's output. The result must be figures that can be audited,
//! or an error.

pub fn check(text: &str) {
    if let Ok(import) = audit::import::read(text) {
        let audit = audit::check::audit(&import);
        assert!(audit.figures > 0);
        let _ = audit.text();
        let _ = audit::as_run::page(&[("any".to_owned(), import)]);
    }
}
