//! Replaces this process with Python running Locust, so that Locust handles signals, the terminal
//! and the exit code.

use std::{convert::Infallible, os::unix::process::CommandExt, process::Command};

const HOW: &str = "install Locust and its dependencies with: pip install 'loadline[locust]'";

pub fn become_locust(
    arguments: &[String],
    variables: &[(&str, String)],
) -> Result<Infallible, String> {
    let python = session::python::with_package(HOW)?;
    let error = Command::new(&python)
        // With `-P`, as with `locust`, a file `locust.py` or `gevent.py` in the folder cannot hide
        // a package.
        .args(["-P", "-m", "loadline.locust"])
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (*name, value)))
        .exec();
    Err(format!("{}: {error}", python.display()))
}
