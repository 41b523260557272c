//! Messages on standard error. Standard output is reserved for reports and the output of original
//! tools.

use std::{
    fmt::Display,
    io::{ErrorKind, IsTerminal, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use report::{console::Columns, printable};
use rustix::event::{PollFd, PollFlags, Timespec};
use session::{MessageSink, SharedMessageSink};

use crate::{colour, redact, status_line};

pub fn say(line: impl Display) {
    status_line::clear();
    // All printed lines are redacted here.
    let line = redact::line(&line.to_string());
    let _ = writeln!(std::io::stderr().lock(), "{}", printable::lines(&line));
}

pub fn error(line: impl Display) {
    say(format_args!("loadline: {line}"));
}

pub fn warning(line: impl Display) {
    say(format_args!("loadline: warning: {line}"));
}

/// Prints a message without blocking. Called just before the process exits.
pub fn last_words(line: impl Display) {
    let stderr = std::io::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    let now = Timespec::default();
    if rustix::event::poll(&mut ready, Some(&now)).is_ok_and(|ready| ready > 0) {
        let line = redact::line(&line.to_string());
        let line = printable::lines(&line);
        let line = format!("\r\x1b[Jloadline: {line}\n");
        let text = line
            .strip_prefix("\r\x1b[J")
            .filter(|_| !stderr.is_terminal());
        // Bypass the lock of the standard library, because another thread may hold it.
        let _ = rustix::io::write(&stderr, text.unwrap_or(&line).as_bytes());
    }
}

static LOST: AtomicBool = AtomicBool::new(false);

static ALONE: AtomicBool = AtomicBool::new(false);
const STDOUT: &str = "-";

/// Keeps other text off standard output if the path is `-`.
pub fn makes_way(path: Option<&Path>) {
    if path.is_some_and(is_stdout) {
        ALONE.store(true, Ordering::Relaxed);
    }
}

pub fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

pub fn out(text: &str) {
    status_line::clear();
    let text = printable::lines(text);
    if ALONE.load(Ordering::Relaxed) {
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        return;
    }
    stdout(text.as_bytes());
}

pub fn columns() -> Columns {
    terminal().unwrap_or(Columns::MOST)
}

pub fn terminal() -> Option<Columns> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() || ALONE.load(Ordering::Relaxed) {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    let columns = usize::from(size.ws_col);
    (columns > 0).then(|| Columns::new(columns))
}

/// Prints a summary. On terminals it is coloured, unless it is in another tool's format.
pub fn summary(text: &str) {
    let text = &redact::line(text);
    if ALONE.load(Ordering::Relaxed) || !colour::shows() {
        return out(text);
    }
    status_line::clear();
    stdout(colour::verdicts(&printable::lines(text)).as_bytes());
}

pub fn document(text: &str) {
    status_line::clear();
    stdout(text.as_bytes());
}

fn stdout(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(reason) if LOST.swap(true, Ordering::Relaxed) => drop(reason),
        Err(reason) => error(format_args!("cannot write to standard output: {reason}")),
    }
}

pub fn lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

pub fn sink() -> SharedMessageSink {
    Arc::new(Terminal)
}

struct Terminal;

impl MessageSink for Terminal {
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

    fn document(&self, text: &str) {
        document(text);
    }

    fn last_words(&self, line: &dyn Display) {
        last_words(line);
    }
}
