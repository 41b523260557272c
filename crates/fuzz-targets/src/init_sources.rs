//! Any text as a source of `loadline init` - pasted command lines of curl, a HAR file, an OpenAPI description -: a plan or one line, never a panic
//! or a hang. Behind `curl`, `{"log": …` and `openapi:` each reader is tried with the rest of the text by itself. A plan that comes out is one
//! that the reader of plans takes once everything is exported; what is not is told as it would be by the command.

use std::path::Path;

fn no_file(_: &Path) -> Result<Vec<u8>, String> {
    Err("no such file".to_owned())
}

/// Checks one input. Panics if a property does not hold.
pub fn check(text: &str) {
    let sources = [
        text.to_owned(),
        format!("curl {text}"),
        format!("{{\"log\": {{\"entries\": [{text}]}}}}"),
        format!("openapi: 3.0.0\nservers: [ {{ url: http://a }} ]\npaths:\n{text}"),
    ];
    for source in sources {
        let Ok(draft) = init::from_text("fuzz", &source, &no_file) else {
            continue;
        };
        // Where something must be exported, the reader of plans says so, and nothing else.
        let exported: Vec<String> = draft
            .unknowns()
            .iter()
            .map(|unknown| unknown.env.clone())
            .collect();
        let plan = draft.text("fuzz.yml");
        if let Err(errors) = formats::native::translate_text("fuzz.yml", &plan) {
            // Certificates and keys that a command line names are there, or the reader of plans says that they are not.
            let is_asked = |problem: &plan::Problem| {
                exported.iter().any(|name| {
                    problem.message == format!("the environment variable {name} is not set")
                }) || ["`cert: ", "`key: ", "`ca: "]
                    .iter()
                    .any(|file| problem.message.starts_with(file))
            };
            assert!(errors.problems.iter().all(is_asked), "{errors}\n{plan}");
        }
    }
}
