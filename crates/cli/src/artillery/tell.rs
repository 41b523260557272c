//! `artillery report FILE`: a report file of Artillery's on the terminal.

use std::path::Path;

use report::artillery::{Zone, retold};

use crate::{log, terminal};

/// Prints the summary of a report file.
pub fn command(file: &Path) -> u8 {
    let text = match std::fs::read(file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            log::error(format_args!("{}: {error}", file.display()));
            return 1;
        }
    };
    match retold(&text, &Zone::of_machine(), terminal::columns()) {
        Ok(text) => {
            log::out(&text);
            0
        }
        Err(error) => {
            log::error(format_args!("{}{error}", file.display()));
            1
        }
    }
}
