//! Finds a Python interpreter that has Loadline's package: from an environment variable, next to
//! the binary, or in the search path.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Environment variable with the path of the interpreter.
pub const NAMED: &str = "LOADLINE_PYTHON";
const QUESTION: &str = "import importlib.util as u, sys; \
     sys.exit(0 if u.find_spec('loadline') and u.find_spec('loadline._native') else 7)";
const NO_PACKAGE: i32 = 7;

/// Returns a Python interpreter that has the package. `how` is advice on how to install the
/// package.
///
/// # Errors
///
/// Fails with a one-line error if there is none.
pub fn with_package(how: &str) -> Result<PathBuf, String> {
    let python = interpreter(how)?;
    let asked = Command::new(&python)
        // Has the effect of `-P`, which Python before 3.11 rejects. A folder named `loadline` must
        // not be mistaken for the package.
        .env("PYTHONSAFEPATH", "1")
        .args(["-c", QUESTION])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match asked {
        Ok(status) if status.success() => Ok(python),
        Ok(status) if status.code() == Some(NO_PACKAGE) => Err(format!(
            "{} does not have the package `loadline`: {how}; set {NAMED} to use another Python",
            python.display()
        )),
        Ok(status) => Err(format!("{} does not work: {status}", python.display())),
        Err(error) => Err(format!("{}: {error}", python.display())),
    }
}

/// Returns the interpreter from `LOADLINE_PYTHON`, otherwise the one next to the binary, otherwise
/// the one in the search path.
fn interpreter(how: &str) -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(NAMED).filter(|name| !name.is_empty()) {
        return Ok(PathBuf::from(named));
    }
    let names = ["python3", "python"];
    let own = std::env::current_exe().ok();
    let own_folder = own.as_deref().and_then(Path::parent);
    // The binary may be called through a link in a virtual environment.
    let called = std::env::args_os().next().map(PathBuf::from);
    let linked = called.as_deref().and_then(Path::parent);
    let search = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&search).collect();
    let folders = linked
        .filter(|folder| !folder.as_os_str().is_empty())
        .into_iter()
        .chain(own_folder)
        .chain(on_path.iter().map(PathBuf::as_path));
    for folder in folders {
        for name in names {
            let python = folder.join(name);
            if python.is_file() {
                return Ok(python);
            }
        }
    }
    Err(format!("no Python found: set {NAMED}; {how}"))
}
