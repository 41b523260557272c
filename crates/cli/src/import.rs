//! The command `loadline report FILE`, which renders results of other tools. A file that cannot be
//! read completely is not rendered.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use audit::{
    as_run,
    import::{self, Import},
};

use analysis::page::Page;
use report::{console, derived, markdown};

use session::exit;

use crate::{args, log, shell};

const LOCUST: [&str; 4] = [
    "_stats.csv",
    "_stats_history.csv",
    "_failures.csv",
    "_exceptions.csv",
];

const OF: &str = "of";

pub struct ImportError {
    pub line: String,
    pub code: u8,
}

pub fn command(path: &Path, args: &args::Report) -> u8 {
    match render(path, args) {
        Ok(()) => exit::PASS,
        Err(failed) => {
            log::error(failed.line);
            failed.code
        }
    }
}

pub fn read_run(path: &Path) -> Result<Page, ImportError> {
    let files = set(path);
    let mut imports = Vec::new();
    for file in &files {
        // A file may contain only its header.
        match read(file) {
            Ok(import) => imports.push((file.display().to_string(), import)),
            Err(failed) if file == path || failed.code != exit::BAD_INPUT => return Err(failed),
            Err(_) => {}
        }
    }
    as_run::page(&imports).map_err(|error| ImportError {
        line: error.to_string(),
        code: exit::BAD_INPUT,
    })
}

fn render(path: &Path, args: &args::Report) -> Result<(), ImportError> {
    let imported = read_run(path)?;
    if let Some(table) = args.table {
        log::out(&markdown::published(&imported.summary, table.which()));
        return Ok(());
    }
    let could_not = |error: derived::NotWritten| ImportError {
        line: error.to_string(),
        code: exit::COULD_NOT_RUN,
    };
    log::makes_way(args.json.as_deref());
    log::summary(&console::summary_in(
        &imported.summary,
        log::columns(),
        console::Detail::of(args.verbose),
    ));
    let dir = match &args.out {
        Some(dir) => {
            derived::folder(dir).map_err(could_not)?;
            dir.clone()
        }
        None => own_folder(path)?,
    };
    derived::write(&dir, &imported).map_err(could_not)?;
    match args.json.as_deref() {
        Some(json) if log::is_stdout(json) => {
            log::document(&derived::json(&imported.summary).map_err(could_not)?);
        }
        Some(json) => derived::write_json(json, &imported.summary).map_err(could_not)?,
        None => {}
    }
    log::out(&format!(
        "\nReport: {}\n",
        dir.join(derived::PAGE).display()
    ));
    if args.open {
        shell::open(&dir.join(derived::PAGE));
    }
    Ok(())
}

fn set(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str());
    let prefix = name.and_then(|name| LOCUST.iter().find_map(|end| name.strip_suffix(end)));
    let Some(prefix) = prefix else {
        return vec![path.to_owned()];
    };
    let siblings = LOCUST.map(|end| path.with_file_name(format!("{prefix}{end}")));
    siblings.into_iter().filter(|file| file.is_file()).collect()
}

/// Returns the folder of a report, such as `run.json-report` for `run.json`. The file [`OF`] in the
/// folder names the source.
fn own_folder(path: &Path) -> Result<PathBuf, ImportError> {
    let could_not = |what: &Path, error: &io::Error| ImportError {
        line: format!("cannot write {}: {error}", what.display()),
        code: exit::COULD_NOT_RUN,
    };
    let whole = path.canonicalize().map_err(|e| could_not(path, &e))?;
    let whole = whole.as_os_str().as_encoded_bytes();
    let name = path.file_name().unwrap_or(path.as_os_str());
    let mut number = 1u64;
    let dir = loop {
        let mut dir = name.to_owned();
        dir.push("-report");
        if number > 1 {
            dir.push(format!("-{number}"));
        }
        let dir = PathBuf::from(dir);
        match formats::files::read(dir.join(OF)) {
            Ok(known) if known == whole => return Ok(dir),
            Ok(_) => {}
            // If there is no older report, nothing can be overwritten.
            Err(_) if dir.join(derived::PAGE).exists() => {}
            Err(_) => break dir,
        }
        number += 1;
    };
    let of = dir.join(OF);
    fs::create_dir_all(&dir).map_err(|e| could_not(&dir, &e))?;
    fs::write(&of, whole).map_err(|e| could_not(&of, &e))?;
    Ok(dir)
}

fn read(path: &Path) -> Result<Import, ImportError> {
    let bytes = formats::files::read(path).map_err(|error| ImportError {
        line: format!("{}: {error}", path.display()),
        code: exit::COULD_NOT_RUN,
    })?;
    import::read(&String::from_utf8_lossy(&bytes)).map_err(|unknown| ImportError {
        line: format!("{}: {unknown}", path.display()),
        code: exit::BAD_INPUT,
    })
}
