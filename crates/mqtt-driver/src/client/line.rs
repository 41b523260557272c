//! A connection's bytes on their way out, and which messages they are: what the socket has taken is sent, and nothing else is.

use std::{
    cell::Cell,
    collections::VecDeque,
    io,
    rc::Rc,
    task::{Context, Poll, ready},
};

use engine::net::stream::Stream;

use super::Sent;

pub(super) struct Line {
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
    /// Where messages end, in all that was ever written.
    ends: VecDeque<(u64, u16, Sent)>,
    open: Rc<Cell<u64>>,
}

impl Line {
    pub fn new(stream: Stream, open: &Rc<Cell<u64>>) -> Line {
        open.set(open.get() + 1);
        Line {
            stream,
            partial: Vec::new(),
            blocked_since: None,
            out: Vec::new(),
            taken: 0,
            before: 0,
            ends: VecDeque::new(),
            open: Rc::clone(open),
        }
    }

    /// Where packets are written to.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// What was written last is a message.
    pub fn mark(&mut self, id: u16, sent: Sent) {
        let end = self.before + self.out.len() as u64;
        self.ends.push_back((end, id, sent));
    }

    /// How many bytes wait for the socket.
    pub fn waiting(&self) -> usize {
        self.out.len() - self.taken
    }

    pub fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    /// How many messages wait for it.
    pub fn unwritten(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Hands everything to the socket.
    pub fn write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
        if self.out.capacity() > 1024 && self.ends.len() < 4 {
            self.out = Vec::new();
        }
        self.stream.poll_flush(cx)
    }

    /// The next message of which the socket has taken every byte.
    pub fn next_written(&mut self) -> Option<(u16, Sent)> {
        let taken = self.before + self.taken as u64;
        let (end, _, _) = self.ends.front()?;
        if *end > taken {
            return None;
        }
        self.ends.pop_front().map(|(_, id, sent)| (id, sent))
    }

    /// The messages that wait for the socket and will for ever.
    pub fn rest(&mut self) -> impl Iterator<Item = (u16, Sent)> + use<> {
        std::mem::take(&mut self.ends)
            .into_iter()
            .map(|(_, id, sent)| (id, sent))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.open.set(self.open.get().saturating_sub(1));
    }
}
