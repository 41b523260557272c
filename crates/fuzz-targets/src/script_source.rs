//! Reads arbitrary text as TypeScript and loads it as a script. Removing the types must yield
//! JavaScript with the same lines, and loading must yield functions or exactly one error.

use script::js::{JavaScript, Settings, strip_types};

pub fn check(text: &str) {
    if let Ok(stripped) = strip_types(text) {
        let lines = |text: &str| text.matches('\n').count();
        assert_eq!(lines(&stripped), lines(text), "{stripped}");
        let again = strip_types(&stripped);
        assert!(again.is_ok(), "{again:?} in\n{stripped}");
    }
    let name = format!("loadline-fuzz-{}.ts", std::process::id());
    let file = std::env::temp_dir().join(name);
    if std::fs::write(&file, text).is_ok() {
        let settings = Settings {
            file: file.clone(),
            ..Settings::default()
        };
        if let Err(error) = JavaScript::load(settings) {
            assert!(!error.is_empty());
        }
        let _ = std::fs::remove_file(&file);
    }
}
