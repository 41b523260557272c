//! Environment variables of a script, from the process and from `--dotenv`.

use std::path::Path;

use formats::dotenv;

use session::inputs;

use session::SharedMessageSink;

/// Adds the variables in a file unless they are already set. Warns if the file cannot be read.
pub fn with(file: Option<&Path>, sink: &SharedMessageSink) -> Vec<(String, String)> {
    let mut environment = inputs::environment();
    let Some(file) = file else {
        return environment;
    };
    match formats::files::read(file) {
        Ok(bytes) => {
            for (name, value) in dotenv::parse(&String::from_utf8_lossy(&bytes)) {
                if !environment.iter().any(|(known, _)| *known == name) {
                    environment.push((name, value));
                }
            }
        }
        Err(_) => sink.out(&format!(
            "WARNING: could not read dotenv file: {}\n",
            file.display()
        )),
    }
    environment
}

pub fn get<'e>(environment: &'e [(String, String)], name: &str) -> Option<&'e str> {
    environment
        .iter()
        .find(|(known, value)| known == name && !value.is_empty())
        .map(|(_, value)| value.as_str())
}
