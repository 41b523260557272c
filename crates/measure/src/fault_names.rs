//! Names of faults in the record. They are part of the record format and never change, unlike the
//! texts for users ([`Fault::text`]).

use crate::{
    Fault,
    outcome::{
        Http2Fault, KeptEnd, ProtocolFault, SocketIoFault, StreamFault, TlsFault, WebSocketFault,
    },
};

const ALL: [Fault; 38] = [
    Fault::ResponseTimeout,
    Fault::IdleTimeout,
    Fault::ConnectTimeout,
    Fault::Reset,
    Fault::BrokenPipe,
    Fault::ClosedEarly,
    Fault::Kept(KeptEnd::Reset),
    Fault::Kept(KeptEnd::BrokenPipe),
    Fault::Kept(KeptEnd::Closed),
    Fault::Refused,
    Fault::Unreachable,
    Fault::DnsNotFound,
    Fault::DnsAgain,
    Fault::Protocol(ProtocolFault::StatusLine),
    Fault::Protocol(ProtocolFault::Header),
    Fault::Protocol(ProtocolFault::HeadTooLarge),
    Fault::Protocol(ProtocolFault::ContentLength),
    Fault::Protocol(ProtocolFault::ChunkSize),
    Fault::Protocol(ProtocolFault::Version),
    Fault::Protocol(ProtocolFault::Status),
    Fault::Protocol(ProtocolFault::Lengths),
    Fault::Protocol(ProtocolFault::ChunkEnd),
    Fault::Protocol(ProtocolFault::Trailing),
    Fault::Protocol(ProtocolFault::Http2),
    Fault::Protocol(ProtocolFault::Tls),
    Fault::TooManyRedirects,
    Fault::BadEncoding,
    Fault::BodyTooLarge,
    Fault::Proxy,
    Fault::NoDescriptors,
    Fault::NoPorts,
    Fault::BadUrl,
    Fault::HostNotAllowed,
    Fault::OutOfMemory,
    Fault::Declared,
    Fault::Other,
    Fault::Unfinished,
    Fault::Cancelled,
];

impl Fault {
    /// Returns all faults.
    pub fn all() -> impl Iterator<Item = Fault> {
        ALL.into_iter()
            .chain(TlsFault::all().map(Fault::Tls))
            .chain(Http2Fault::all().map(Fault::Http2))
            .chain(StreamFault::ALL.into_iter().map(Fault::Stream))
            .chain(WebSocketFault::ALL.into_iter().map(Fault::WebSocket))
            .chain(SocketIoFault::ALL.into_iter().map(Fault::SocketIo))
    }

    /// Returns the fault's name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fault::ResponseTimeout => "response_timeout",
            Fault::IdleTimeout => "idle_timeout",
            Fault::ConnectTimeout => "connect_timeout",
            Fault::Reset => "reset",
            Fault::BrokenPipe => "broken_pipe",
            Fault::ClosedEarly => "closed_early",
            Fault::Kept(KeptEnd::Reset) => "kept_reset",
            Fault::Kept(KeptEnd::BrokenPipe) => "kept_broken_pipe",
            Fault::Kept(KeptEnd::Closed) => "kept_closed",
            Fault::Refused => "refused",
            Fault::Unreachable => "unreachable",
            Fault::DnsNotFound => "dns_not_found",
            Fault::DnsAgain => "dns_again",
            Fault::Tls(fault) => fault.name(),
            Fault::Protocol(ProtocolFault::StatusLine) => "http_status_line",
            Fault::Protocol(ProtocolFault::Header) => "http_header",
            Fault::Protocol(ProtocolFault::HeadTooLarge) => "http_head_too_large",
            Fault::Protocol(ProtocolFault::ContentLength) => "http_content_length",
            Fault::Protocol(ProtocolFault::ChunkSize) => "http_chunk_size",
            Fault::Protocol(ProtocolFault::Version) => "http_version",
            Fault::Protocol(ProtocolFault::Status) => "http_status",
            Fault::Protocol(ProtocolFault::Lengths) => "http_content_lengths",
            Fault::Protocol(ProtocolFault::ChunkEnd) => "http_chunk_end",
            Fault::Protocol(ProtocolFault::Trailing) => "http_trailing",
            Fault::Protocol(ProtocolFault::Http2) => "http_2_only",
            Fault::Protocol(ProtocolFault::Tls) => "http_tls",
            Fault::Http2(fault) => fault.name(),
            Fault::Stream(fault) => fault.name(),
            Fault::WebSocket(fault) => fault.name(),
            Fault::SocketIo(fault) => fault.name(),
            Fault::TooManyRedirects => "too_many_redirects",
            Fault::BadEncoding => "bad_encoding",
            Fault::BodyTooLarge => "body_too_large",
            Fault::Proxy => "proxy",
            Fault::NoDescriptors => "no_descriptors",
            Fault::NoPorts => "no_ports",
            Fault::BadUrl => "bad_url",
            Fault::HostNotAllowed => "host_not_allowed",
            Fault::OutOfMemory => "out_of_memory",
            Fault::Declared => "declared",
            Fault::Other => "other",
            Fault::Unfinished => "unfinished",
            Fault::Cancelled => "cancelled",
        }
    }

    /// Returns the fault with this name in the record.
    #[must_use]
    pub fn named(name: &str) -> Option<Fault> {
        Fault::all().find(|fault| fault.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_names_round_trip() {
        for fault in Fault::all() {
            assert_eq!(Fault::named(fault.name()), Some(fault));
        }
        assert_eq!(Fault::named("gremlins"), None);
    }
}
