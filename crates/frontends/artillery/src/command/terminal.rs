/// Artillery's width, or that of a narrower terminal.
#[must_use]
pub fn columns() -> usize {
    const USUAL: usize = 79;
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .map_or(USUAL, |columns| columns.min(USUAL))
}
