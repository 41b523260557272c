//! A connection's bytes on their way out: what waits for the socket, and how much it has taken. Which messages they are is the outbox's.

use std::{
    cell::Cell,
    io,
    rc::Rc,
    task::{Context, Poll, ready},
};

use engine::net::stream::Stream;

pub(super) struct Connection {
    pub stream: Stream,
    /// What has come and is no whole packet yet.
    pub partial: Vec<u8>,
    /// Since when the socket takes nothing.
    pub blocked_since: Option<u64>,
    out: Vec<u8>,
    /// How much of `out` the socket has taken.
    taken: usize,
    /// How much it had taken before `out` began.
    before: u64,
    open: Rc<Cell<u64>>,
}

impl Connection {
    pub fn new(stream: Stream, open: &Rc<Cell<u64>>) -> Connection {
        open.set(open.get() + 1);
        Connection {
            stream,
            partial: Vec::new(),
            blocked_since: None,
            out: Vec::new(),
            taken: 0,
            before: 0,
            open: Rc::clone(open),
        }
    }

    /// Where packets are written to.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Where what was put in last ends, among all bytes of the connection.
    pub fn end(&self) -> u64 {
        self.before + self.out.len() as u64
    }

    /// How many of them the socket has taken.
    pub fn taken(&self) -> u64 {
        self.before + self.taken as u64
    }

    /// How many bytes wait for the socket.
    pub fn waiting(&self) -> usize {
        self.out.len() - self.taken
    }

    pub fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    /// Hands everything to the socket; a busy connection keeps its buffer.
    pub fn write(&mut self, cx: &mut Context<'_>, is_busy: bool) -> Poll<io::Result<()>> {
        while self.taken < self.out.len() {
            let n = ready!(self.stream.poll_write(cx, &self.out[self.taken..]))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.taken += n;
        }
        self.before += self.out.len() as u64;
        self.taken = 0;
        self.out.clear();
        // An idle connection holds no buffer: there may be many of them.
        if self.out.capacity() > 1024 && !is_busy {
            self.out = Vec::new();
        }
        self.stream.poll_flush(cx)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.open.set(self.open.get().saturating_sub(1));
    }
}
