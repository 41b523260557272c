//! A connected stream, plain or TLS.

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

/// A bidirectional stream of bytes that is not a socket.
pub trait ByteStream: std::fmt::Debug {
    /// Reads available bytes.
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>>;

    /// Writes as many bytes as the stream accepts.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;
}

/// Opens streams of bytes in place of network connections.
pub trait Dialer: std::fmt::Debug {
    /// Opens a stream.
    fn dial(&self) -> Box<dyn ByteStream>;
}

/// A connected stream.
#[derive(Debug)]
pub enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// Plain TCP, optimized for many small exchanges.
    ReadInterest(ReadInterest),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
    /// A Unix domain socket.
    Unix(UnixStream),
    /// TLS over a Unix domain socket.
    TlsUnix(Box<TlsStream<UnixStream>>),
    /// Any other stream of bytes, for example to a simulated server.
    Other(Box<dyn ByteStream>),
}

impl Stream {
    /// Reads available bytes.
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
            Stream::Other(stream) => stream.poll_read(cx, &mut buf),
        };
        match polled {
            // Many servers end TLS without close_notify, which is treated like the end of TCP.
            Poll::Ready(Err(e)) if e.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(0)),
            polled => polled.map_ok(|()| buf.filled().len()),
        }
    }

    /// Writes as many bytes as the socket accepts.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Tcp(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Stream::ReadInterest(tcp) => tcp.poll_write(cx, bytes),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_write(cx, bytes),
            Stream::Unix(unix) => Pin::new(unix).poll_write(cx, bytes),
            Stream::TlsUnix(tls) => Pin::new(tls.as_mut()).poll_write(cx, bytes),
            Stream::Other(stream) => stream.poll_write(cx, bytes),
        }
    }

    /// Flushes TLS. Has no effect without TLS.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Tcp(_) | Stream::ReadInterest(_) | Stream::Unix(_) | Stream::Other(_) => {
                Poll::Ready(Ok(()))
            }
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
            Stream::TlsUnix(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
        }
    }

    /// Registers a plain connection only for readability. Returns other streams unchanged.
    pub fn with_read_interest(self) -> io::Result<Stream> {
        match self {
            Stream::Tcp(tcp) => ReadInterest::new(tcp).map(Stream::ReadInterest),
            other => Ok(other),
        }
    }

    /// Returns whether [`Stream::poll_discard`] is available.
    #[must_use]
    pub fn can_discard(&self) -> bool {
        matches!(self, Stream::ReadInterest(_))
    }

    /// Discards up to `most` bytes. Returns `None` unless the connection is registered only for
    /// readability.
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
        // For TCP, the flag means "do not copy". The length of the buffer is the maximum.
        Some(tcp.poll_recv(cx, &mut scratch[..wanted], RecvFlags::TRUNC))
    }

    /// Records that all available data was read, so that the next read waits without a system call.
    pub fn drained(&self) {
        if let Stream::ReadInterest(tcp) = self {
            tcp.drained();
        }
    }

    /// Returns whether the peer has closed an idle connection, as far as can be determined without
    /// a system call.
    pub fn is_stale(&mut self) -> bool {
        let mut byte = [0];
        let mut cx = Context::from_waker(std::task::Waker::noop());
        // An idle connection with data is as unusable as a closed one.
        self.poll_read(&mut cx, &mut byte).is_ready()
    }
}
