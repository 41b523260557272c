//! Reads arbitrary text as a source of `loadline init`, alone and after each reader's prefix. The
//! result must be a valid plan once variables are exported, or a one-line error.

use std::path::Path;

fn no_file(_: &Path) -> Result<Vec<u8>, String> {
    Err("no such file".to_owned())
}

pub fn check(text: &str) {
    let sources = [
        text.to_owned(),
        format!("curl {text}"),
        format!("{{\"log\": {{\"entries\": [{text}]}}}}"),
        format!("openapi: 3.0.0\nservers: [ {{ url: http://a }} ]\npaths:\n{text}"),
    ];
    sources.iter().for_each(|source| check_source(source));
}

/// Checks one source without changes.
pub(crate) fn check_source(source: &str) {
    let Ok(draft) = init::from_text("fuzz", source, &no_file) else {
        return;
    };
    let exported: Vec<String> = draft
        .unknowns()
        .iter()
        .map(|unknown| unknown.env.clone())
        .collect();
    let plan = draft.text("fuzz.yml");
    if let Err(errors) = formats::native::translate_text("fuzz.yml", &plan) {
        // Ignore problems about files named by the exported variables or the source, because the
        // files do not exist here.
        let is_asked = |problem: &plan::Problem| {
            exported.iter().any(|name| {
                problem.message == format!("the environment variable {name} is not set")
            }) || ["`cert: ", "`key: ", "`ca: "]
                .iter()
                .any(|file| problem.message.starts_with(file))
        };
        // The columns of a missing table are unknown, too.
        let is_file = |problem: &plan::Problem| problem.message.ends_with("no such file");
        if errors.problems.iter().any(is_file) {
            return;
        }
        assert!(errors.problems.iter().all(is_asked), "{errors}\n{plan}");
    }
}
