//! How readers get at files: through a function, so that a text can stand for one in tests and fuzzing.

use std::path::Path;

/// A file's bytes, or why there are none.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&Path) -> Result<Vec<u8>, String>;

/// From the disk.
pub(crate) fn from_disk(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| error.to_string())
}

/// A file's text: bytes that are no UTF-8 become replacement characters, as in Node.js.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// One text under its name, and nothing else.
pub(crate) fn from_text<'a>(
    name: &'a str,
    text: &'a str,
) -> impl Fn(&Path) -> Result<Vec<u8>, String> + 'a {
    move |path| {
        if path == Path::new(name) {
            Ok(text.as_bytes().to_owned())
        } else {
            Err("no such file".to_owned())
        }
    }
}
