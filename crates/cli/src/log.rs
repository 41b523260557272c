//! Loadline's own lines on standard error. Standard output belongs to reports and to the tools whose doors we stand in.

use std::{
    fmt::Display,
    io::{ErrorKind, IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use report::printable;
use rustix::event::{PollFd, PollFlags, Timespec};
use session::{SharedVoice, Voice};

use crate::frame;

/// Prints a line to standard error. A closed terminal is no reason to stop a test.
pub fn say(line: impl Display) {
    frame::clear();
    let line = line.to_string();
    let _ = writeln!(std::io::stderr().lock(), "{}", printable::lines(&line));
}

/// Prints a problem.
pub fn error(line: impl Display) {
    say(format_args!("loadline: {line}"));
}

/// Prints a remark that does not stop anything.
pub fn warning(line: impl Display) {
    say(format_args!("loadline: warning: {line}"));
}

/// Prints a line to standard error if that can be done without waiting for anybody: what is said before an end at once.
pub fn last_words(line: impl Display) {
    let stderr = std::io::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    let now = Timespec::default();
    if rustix::event::poll(&mut ready, Some(&now)).is_ok_and(|ready| ready > 0) {
        let line = line.to_string();
        let line = printable::lines(&line);
        let line = format!("\r\x1b[Jloadline: {line}\n");
        let text = line
            .strip_prefix("\r\x1b[J")
            .filter(|_| !stderr.is_terminal());
        // Past the standard library's lock, which somebody may hold for ever.
        let _ = rustix::io::write(&stderr, text.unwrap_or(&line).as_bytes());
    }
}

/// Whether something that should have been printed to standard output was lost.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints text to standard output as it is, but for what a terminal would obey.
pub fn out(text: &str) {
    frame::clear();
    let text = printable::lines(text);
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

/// What the libraries say of a run, on the terminal.
pub fn voice() -> SharedVoice {
    Arc::new(Terminal)
}

struct Terminal;

impl Voice for Terminal {
    fn say(&self, line: &dyn Display) {
        say(line);
    }

    fn warning(&self, line: &dyn Display) {
        warning(line);
    }

    fn error(&self, line: &dyn Display) {
        error(line);
    }

    fn out(&self, text: &str) {
        out(text);
    }

    fn last_words(&self, line: &dyn Display) {
        last_words(line);
    }
}
