//! A plain TCP connection that is registered only for readability, because watching for writability
//! causes needless wake-ups.

use std::{
    io,
    net::TcpStream,
    task::{Context, Poll, ready},
};

use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags},
};
use tokio::io::{Interest, unix::AsyncFd};

use crate::sys;

/// A TCP connection that is registered only for readability.
#[derive(Debug)]
pub struct ReadInterest {
    /// `None` only during re-registration.
    fd: Option<AsyncFd<TcpStream>>,
    for_both: bool,
}

impl ReadInterest {
    /// Registers a connection. Fails if the kernel cannot watch it.
    pub fn new(tcp: tokio::net::TcpStream) -> io::Result<ReadInterest> {
        let fd = sys::watch_for(tcp.into_std()?, Interest::READABLE)?;
        Ok(ReadInterest {
            fd: Some(fd),
            for_both: false,
        })
    }

    fn fd(&self) -> io::Result<&AsyncFd<TcpStream>> {
        self.fd
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Reads or discards bytes, depending on the flags. A short read means that no more data is
    /// available.
    pub(super) fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        flags: RecvFlags,
    ) -> Poll<io::Result<usize>> {
        let fd = self.fd()?;
        loop {
            let mut guard = ready!(fd.poll_read_ready(cx))?;
            match rustix::net::recv(fd.get_ref(), &mut *buffer, flags) {
                Ok((_, n)) => {
                    if 0 < n && n < buffer.len() {
                        guard.clear_ready_matching(tokio::io::Ready::READABLE);
                    }
                    return Poll::Ready(Ok(n));
                }
                Err(Errno::AGAIN) => guard.clear_ready_matching(tokio::io::Ready::READABLE),
                Err(Errno::INTR) => {}
                Err(e) => return Poll::Ready(Err(e.into())),
            }
        }
    }

    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let fd = self.fd()?;
            match rustix::net::send(fd.get_ref(), bytes, SendFlags::NOSIGNAL) {
                Ok(n) => return Poll::Ready(Ok(n)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.for_both => {
                    let mut guard = ready!(fd.poll_write_ready(cx))?;
                    guard.clear_ready_matching(tokio::io::Ready::WRITABLE);
                }
                Err(Errno::AGAIN) => self.watch_both()?,
                Err(e) => return Poll::Ready(Err(e.into())),
            }
        }
    }

    #[cold]
    fn watch_both(&mut self) -> io::Result<()> {
        if let Some(fd) = self.fd.take() {
            let both = Interest::READABLE | Interest::WRITABLE;
            self.fd = Some(sys::watch_for(fd.into_inner(), both)?);
            self.for_both = true;
        }
        Ok(())
    }

    pub(super) fn drained(&self) {
        if let Ok(fd) = self.fd() {
            let nothing = |_: &TcpStream| Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let _ = fd.try_io(Interest::READABLE, nothing);
        }
    }
}
