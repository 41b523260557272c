//! Bytes waiting to be written to a connection.

use std::{
    cell::Cell,
    io,
    rc::Rc,
    task::{Context, Poll, ready},
};

use worker::net::stream::Stream;

pub(super) struct Connection {
    pub stream: Stream,
    pub partial: Vec<u8>,
    pub blocked_since: Option<u64>,
    out: Vec<u8>,
    taken: usize,
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

    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    pub fn end(&self) -> u64 {
        self.before + self.out.len() as u64
    }

    pub fn taken(&self) -> u64 {
        self.before + self.taken as u64
    }

    pub fn waiting(&self) -> usize {
        self.out.len() - self.taken
    }

    pub fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

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
        // Free the memory, because there may be many idle connections.
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
