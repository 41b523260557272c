//! A connected stream, plain or TLS. The seam behind which another kind of socket could stand.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use rustix::net::RecvFlags;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::client::TlsStream;

use super::read_interest::ReadInterest;

/// A connected stream.
#[derive(Debug)]
pub enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// Plain TCP for many small exchanges.
    ReadInterest(ReadInterest),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
    /// A socket of this machine.
    Unix(UnixStream),
    /// TLS over a socket of this machine.
    TlsUnix(Box<TlsStream<UnixStream>>),
    /// A server that exists in simulated time only.
    #[cfg(test)]
    Simulated(crate::simulation::Connection),
}

impl Stream {
    /// Reads what is there.
    ///
    /// # Errors
    /// As the socket or TLS reports them.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(buf);
        let polled = match self {
            Stream::Tcp(tcp) => Pin::new(tcp).poll_read(cx, &mut buf),
            Stream::ReadInterest(tcp) => {
                let room = buf.initialize_unfilled();
                return tcp.poll_recv(cx, room, RecvFlags::empty());
            }
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_read(cx, &mut buf),
            Stream::Unix(unix) => Pin::new(unix).poll_read(cx, &mut buf),
            Stream::TlsUnix(tls) => Pin::new(tls.as_mut()).poll_read(cx, &mut buf),
            #[cfg(test)]
            Stream::Simulated(connection) => connection.poll_read(cx, &mut buf),
        };
        match polled {
            // Many servers end a TLS connection without saying so first: that is an end like TCP's, and whether it completes an
            // answer its head decides.
            Poll::Ready(Err(e)) if e.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(0)),
            polled => polled.map_ok(|()| buf.filled().len()),
        }
    }

    /// Writes what fits.
    ///
    /// # Errors
    /// As the socket or TLS reports them.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Tcp(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Stream::ReadInterest(tcp) => tcp.poll_write(cx, bytes),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_write(cx, bytes),
            Stream::Unix(unix) => Pin::new(unix).poll_write(cx, bytes),
            Stream::TlsUnix(tls) => Pin::new(tls.as_mut()).poll_write(cx, bytes),
            #[cfg(test)]
            Stream::Simulated(connection) => connection.poll_write(bytes),
        }
    }

    /// Hands everything written to the network. Without TLS there is nothing to flush.
    ///
    /// # Errors
    /// As TLS reports them.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Tcp(_) | Stream::ReadInterest(_) | Stream::Unix(_) => Poll::Ready(Ok(())),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
            Stream::TlsUnix(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
            #[cfg(test)]
            Stream::Simulated(_) => Poll::Ready(Ok(())),
        }
    }

    /// Has a plain connection watched for reading alone; others stay as they are.
    ///
    /// # Errors
    /// When the kernel cannot watch it.
    pub fn with_read_interest(self) -> io::Result<Stream> {
        match self {
            Stream::Tcp(tcp) => ReadInterest::new(tcp).map(Stream::ReadInterest),
            other => Ok(other),
        }
    }

    /// Whether bytes can be thrown away without looking at them.
    #[must_use]
    pub fn can_discard(&self) -> bool {
        matches!(self, Stream::ReadInterest(_))
    }

    /// Throws away up to so many bytes without looking at them. Only those watched for reading alone can: others answer none.
    ///
    /// # Errors
    /// As the socket reports them.
    pub fn poll_discard(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut [u8],
        bytes: usize,
    ) -> Option<Poll<io::Result<usize>>> {
        let Stream::ReadInterest(tcp) = self else {
            return None;
        };
        let wanted = bytes.min(scratch.len());
        // To TCP the flag means: not copied. The buffer only says how much.
        Some(tcp.poll_recv(cx, &mut scratch[..wanted], RecvFlags::TRUNC))
    }

    /// Everything that had come has been read: the next read waits for more without asking the kernel first.
    pub fn drained(&self) {
        if let Stream::ReadInterest(tcp) = self {
            tcp.drained();
        }
    }

    /// Whether the peer has closed (or broken) an idle connection, as far as is known without asking the kernel anew.
    pub fn is_stale(&mut self) -> bool {
        let mut byte = [0];
        let mut cx = Context::from_waker(std::task::Waker::noop());
        // An idle connection has nothing to say: data is as wrong as an end.
        self.poll_read(&mut cx, &mut byte).is_ready()
    }
}
