//! Loadline's own lines on standard error. Standard output belongs to reports and to the tools whose doors we stand in.

use std::{
    io::{ErrorKind, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::frame;

/// Prints a line to standard error. A closed terminal is no reason to stop a test.
pub fn say(line: impl std::fmt::Display) {
    frame::clear();
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints lines to standard error that are whole already.
pub fn say_as_is(lines: &str) {
    let _ = std::io::stderr().lock().write_all(lines.as_bytes());
}

/// Prints a problem.
pub fn error(line: impl std::fmt::Display) {
    say(format_args!("loadline: {line}"));
}

/// Prints a remark that does not stop anything.
pub fn warning(line: impl std::fmt::Display) {
    say(format_args!("loadline: warning: {line}"));
}

/// Whether something that should have been printed to standard output was lost.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints text to standard output as it is.
pub fn out(text: &str) {
    frame::clear();
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Ok(()) => {}
        // Whoever reads no further has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(why) if LOST.swap(true, Ordering::Relaxed) => drop(why),
        Err(why) => error(format_args!("cannot write to standard output: {why}")),
    }
}

/// Whether something that should have been printed to standard output was lost.
pub fn lost() -> bool {
    LOST.load(Ordering::Relaxed)
}
