//! Loadline's own lines on standard error. Standard output belongs to reports and to the tools whose doors we stand in.

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
use session::{MessageSink, SharedVoice};

use crate::{colour, redact, status_line};

/// Prints a line to standard error. A closed terminal is no reason to stop a test.
pub fn say(line: impl Display) {
    status_line::clear();
    // Here and not where lines are made: whatever is printed passes this.
    let line = redact::line(&line.to_string());
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
        let line = redact::line(&line.to_string());
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

/// Whether standard output is for a document alone.
static ALONE: AtomicBool = AtomicBool::new(false);
/// The file that is standard output.
const STDOUT: &str = "-";

/// Where a document is to go: `-` is standard output, and what would else stand there goes to standard error.
pub fn makes_way(path: Option<&Path>) {
    if path.is_some_and(is_stdout) {
        ALONE.store(true, Ordering::Relaxed);
    }
}

/// Whether a file's name means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

/// Prints text to standard output as it is, but for what a terminal would obey.
pub fn out(text: &str) {
    status_line::clear();
    let text = printable::lines(text);
    if ALONE.load(Ordering::Relaxed) {
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        return;
    }
    stdout(text.as_bytes());
}

/// Columns for a summary on standard output: the terminal's, or where there is none as many as are written at most.
pub fn columns() -> Columns {
    terminal().unwrap_or(Columns::MOST)
}

/// Columns of the terminal that standard output is, if it is one.
pub fn terminal() -> Option<Columns> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() || ALONE.load(Ordering::Relaxed) {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    let columns = usize::from(size.ws_col);
    (columns > 0).then(|| Columns::new(columns))
}

/// Prints a summary of our own, with colour where there is some. What tools print whose doors we stand in is theirs to the character.
pub fn summary(text: &str) {
    let text = &redact::line(text);
    if ALONE.load(Ordering::Relaxed) || !colour::shows() {
        return out(text);
    }
    status_line::clear();
    stdout(colour::verdicts(&printable::lines(text)).as_bytes());
}

/// Prints a document to standard output as it is.
pub fn document(text: &str) {
    status_line::clear();
    stdout(text.as_bytes());
}

fn stdout(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
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
