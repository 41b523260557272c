//! Files that a command refers to with `@`.

use std::path::Path;

use formats::{
    document::SyntaxError,
    files::{self, ReadFile},
};

use super::{command::refused, shell::Word};
use crate::placeholders;

pub fn file(path: &str, word: &Word, read: ReadFile<'_>) -> Result<String, SyntaxError> {
    if path == "-" {
        return Err(refused(
            word.mark,
            "@- reads standard input, which is not available here: name a file, or write the data",
        ));
    }
    let bytes =
        read(Path::new(path)).map_err(|reason| refused(word.mark, &format!("{path}: {reason}")))?;
    let text = files::text(bytes).map_err(|reason| {
        refused(
            word.mark,
            &format!(
                "{path}:{}:{}: a body in a plan must be text: {reason}",
                reason.line, reason.column
            ),
        )
    })?;
    if placeholders::is_foreign(&text) {
        return Err(refused(
            word.mark,
            &format!("{path} contains U+FDD0 or U+FDD1, which are not allowed in text"),
        ));
    }
    Ok(text)
}
