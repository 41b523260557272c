//! Handing a command line over to Locust: the process becomes a Python, so that signals, terminal and exit code are its own. Which Python
//! that is, `session` finds out.

use std::{convert::Infallible, os::unix::process::CommandExt, process::Command};

const HOW: &str = "pip install 'loadline[locust]' brings Locust and what it needs";

/// Becomes Python running Locust with these arguments, and these environment variables beside those that are set.
///
/// # Errors
/// One line of why there is no such Python.
pub fn become_locust(
    arguments: &[String],
    variables: &[(&str, String)],
) -> Result<Infallible, String> {
    let python = session::python::with_package(HOW)?;
    let error = Command::new(&python)
        .args(["-m", "loadline.locust"])
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (*name, value)))
        .exec();
    Err(format!("{}: {error}", python.display()))
}
