//! Replaces this process by Python running Locust, so that signals, terminal and exit code are
//! Locust's.

use std::{convert::Infallible, os::unix::process::CommandExt, process::Command};

const HOW: &str = "pip install 'loadline[locust]' brings Locust and what it needs";

/// # Errors
///
/// There is no such Python.
pub fn become_locust(
    arguments: &[String],
    variables: &[(&str, String)],
) -> Result<Infallible, String> {
    let python = session::python::with_package(HOW)?;
    let error = Command::new(&python)
        // `-P`: as with `locust`, a file `locust.py` or `gevent.py` in the folder hides no package.
        .args(["-P", "-m", "loadline.locust"])
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (*name, value)))
        .exec();
    Err(format!("{}: {error}", python.display()))
}
