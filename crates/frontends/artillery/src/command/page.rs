//! `artillery report FILE`: creates a page from Artillery's report file.

use std::path::{Path, PathBuf};

use crate::print::{Zone, rerendered};
use audit::{as_run, import};
use report::derived;

use session::SharedMessageSink;

use super::terminal;

pub fn command(file: &Path, output: Option<PathBuf>, sink: &SharedMessageSink) -> u8 {
    match page(file, output, sink) {
        Ok(()) => 0,
        Err(line) => {
            sink.error(&line);
            1
        }
    }
}

fn page(file: &Path, output: Option<PathBuf>, sink: &SharedMessageSink) -> Result<(), String> {
    let name = file.display().to_string();
    let bytes = formats::files::read(file).map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8_lossy(&bytes);
    let reported = rerendered(&text, &Zone::of_machine(), terminal::columns())
        .map_err(|error| format!("{name}{error}"))?;
    // Files of Artillery 1 have other fields. Only those that the terminal shows are read.
    let import = import::read(&text)
        .or_else(|_| import::read(&reported))
        .map_err(|unknown| format!("{name}: {unknown}"))?;
    let page = as_run::page(&[(name, import)]).map_err(|error| error.to_string())?;
    let output = output.unwrap_or_else(|| {
        let mut path = file.as_os_str().to_owned();
        path.push(".html");
        path.into()
    });
    let place = |path: &Path| path.canonicalize().ok();
    if place(&output).is_some() && place(&output) == place(file) {
        return Err(format!(
            "{}: the page would overwrite the report that it is created from: choose another file with -o",
            output.display()
        ));
    }
    derived::write_page(&output, &page).map_err(|error| error.to_string())?;
    if let Some(lines) = reported.strip_suffix('\n') {
        sink.say(&lines);
    }
    sink.out(&format!("Report generated: {}\n", output.display()));
    Ok(())
}
