//! A block of lines on standard error that is updated in place. The block is removed before other
//! output is printed.

use std::{
    io::{IsTerminal, Write, stderr},
    sync::{Mutex, PoisonError},
};

use report::{
    console::{StyledLine, TextStyle},
    printable,
};

static DRAWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

pub fn possible() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    stderr().is_terminal() && !dumb
}

pub fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(stderr()).ok();
    let size = size.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
    size.filter(|(columns, rows)| *columns > 0 && *rows > 0)
        .unwrap_or((80, 24))
}

pub fn draw(lines: &[StyledLine]) {
    let (columns, rows) = size();
    // The terminal would scroll if the block were as high as the terminal.
    let lines = &lines[..lines.len().min(rows.saturating_sub(1))];
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    // The terminal truncates lines that are still too wide.
    let mut out = format!("{}\x1b[?7l", up(&drawn, columns));
    for line in lines {
        // Clear the line first, because after a full line the cursor remains on its last character.
        out.push_str("\x1b[2K");
        out.push_str(&coloured(line));
        out.push('\n');
    }
    out.push_str("\x1b[?7h\x1b[J");
    let width = |line: &StyledLine| line.iter().map(|(_, text)| text.chars().count()).sum();
    *drawn = lines.iter().map(width).collect();
    let _ = stderr().lock().write_all(out.as_bytes());
}

pub fn clear() {
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    if drawn.is_empty() {
        return;
    }
    let (columns, _) = size();
    let up = up(&drawn, columns);
    // Clear line by line. If the block is cleared as a whole, some terminals keep it in their
    // scrollback.
    let lines = "\x1b[2K\n".repeat(rows(&drawn, columns));
    let out = format!("{up}{lines}\x1b[J{up}");
    drawn.clear();
    let _ = stderr().lock().write_all(out.as_bytes());
}

fn rows(drawn: &[usize], columns: usize) -> usize {
    let rows = drawn.iter().map(|width| width.div_ceil(columns).max(1));
    rows.sum()
}

fn up(drawn: &[usize], columns: usize) -> String {
    match rows(drawn, columns) {
        0 => "\r".to_owned(),
        rows => format!("\r\x1b[{rows}A"),
    }
}

fn coloured(line: &StyledLine) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let piece = |(style, text): &(TextStyle, String)| {
        let code = match style {
            _ if plain => return printable::name(text).into_owned(),
            TextStyle::Plain => return printable::name(text).into_owned(),
            TextStyle::Title => "1",
            TextStyle::Key => "2",
            TextStyle::Good => "32",
            TextStyle::Unsure => "33",
            TextStyle::Bad => "31",
        };
        format!("\x1b[{code}m{}\x1b[0m", printable::name(text))
    };
    line.iter().map(piece).collect()
}
