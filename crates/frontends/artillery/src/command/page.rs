//! `artillery report FILE`: a page from a report file of Artillery's. Standard output says where it is, as Artillery does; the
//! summary that the file holds goes to standard error.

use std::path::{Path, PathBuf};

use crate::print::{Zone, rerendered};
use audit::{as_run, import};
use report::derived;

use session::SharedVoice;

use super::terminal;

/// Writes the page of a report file; beside it, unless a place is named.
pub fn command(file: &Path, output: Option<PathBuf>, voice: &SharedVoice) -> u8 {
    match page(file, output, voice) {
        Ok(()) => 0,
        Err(line) => {
            voice.error(&line);
            1
        }
    }
}

fn page(file: &Path, output: Option<PathBuf>, voice: &SharedVoice) -> Result<(), String> {
    let name = file.display().to_string();
    let bytes = formats::files::read(file).map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8_lossy(&bytes);
    let reported = rerendered(&text, &Zone::of_machine(), terminal::columns())
        .map_err(|error| format!("{name}{error}"))?;
    // A file of Artillery 1 has other fields: what the terminal shows of it is what is understood of it.
    let import = import::read(&text)
        .or_else(|_| import::read(&reported))
        .map_err(|unknown| format!("{name}: {unknown}"))?;
    let page = as_run::page(&[(name, import)]).map_err(|error| error.to_string())?;
    let output = output.unwrap_or_else(|| {
        let mut path = file.as_os_str().to_owned();
        path.push(".html");
        path.into()
    });
    // The original writes over its own report; nobody who asked for a page wants to lose the figures.
    let place = |path: &Path| path.canonicalize().ok();
    if place(&output).is_some() && place(&output) == place(file) {
        return Err(format!(
            "{}: the page would take the place of the report that it is made of: name another file behind -o",
            output.display()
        ));
    }
    derived::write_page(&output, &page).map_err(|error| error.to_string())?;
    if let Some(lines) = reported.strip_suffix('\n') {
        voice.say(&lines);
    }
    voice.out(&format!("Report generated: {}\n", output.display()));
    Ok(())
}
