//! A server in simulated time, which responds according to a model.

use std::{
    cell::{OnceCell, RefCell},
    collections::VecDeque,
    io,
    rc::{Rc, Weak},
    task::{Context, Poll, Waker},
};

use tokio::io::ReadBuf;
use worker::{
    Worker,
    net::{ByteStream, Dialer},
};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Maps the arrival time of a request to the time of its response, in nanoseconds. `None` means
/// that the server never responds.
pub(super) type Model = Box<dyn FnMut(u64) -> Option<u64>>;

pub struct SimulatedServer {
    pub(super) worker: OnceCell<Weak<Worker>>,
    pub(super) model: RefCell<Model>,
}

impl std::fmt::Debug for SimulatedServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Server")
    }
}

#[derive(Debug)]
pub struct Connection {
    server: Rc<SimulatedServer>,
    releases: VecDeque<Option<u64>>,
    reader: Option<Waker>,
}

impl SimulatedServer {
    fn worker(&self) -> Rc<Worker> {
        self.worker
            .get()
            .and_then(Weak::upgrade)
            .expect("the worker lives as long as the simulation")
    }
}

#[derive(Debug)]
pub(super) struct SimulatedDialer(pub(super) Rc<SimulatedServer>);

impl Dialer for SimulatedDialer {
    fn dial(&self) -> Box<dyn ByteStream> {
        Box::new(Connection {
            server: Rc::clone(&self.0),
            releases: VecDeque::new(),
            reader: None,
        })
    }
}

impl ByteStream for Connection {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let now = self.server.worker().clock.now();
        self.releases
            .push_back((self.server.model.borrow_mut())(now));
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let worker = self.server.worker();
        match self.releases.front() {
            Some(Some(release)) if *release <= worker.clock.now() => {
                self.releases.pop_front();
                buf.put_slice(ANSWER);
                return Poll::Ready(Ok(()));
            }
            Some(Some(release)) => {
                worker
                    .deadlines
                    .borrow_mut()
                    .add(*release, cx.waker().clone());
            }
            _ => self.reader = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}
