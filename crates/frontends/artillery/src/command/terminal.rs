//! The terminal's width, as far as Artillery's console knows widths.

/// The width of Artillery's console: its own, or that of a narrower terminal.
#[must_use]
pub fn columns() -> usize {
    const USUAL: usize = 79;
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .map_or(USUAL, |columns| columns.min(USUAL))
}
