//! The names that faults have in the record. They are part of its format: a name, once given, stays.
//!
//! The words for people are elsewhere ([`Fault::text`]) and may change.

use crate::{
    Fault,
    outcome::{ProtocolFault, TlsFault},
};

const ALL: [Fault; 35] = [
    Fault::ResponseTimeout,
    Fault::IdleTimeout,
    Fault::ConnectTimeout,
    Fault::Reset,
    Fault::BrokenPipe,
    Fault::ClosedEarly,
    Fault::Refused,
    Fault::Unreachable,
    Fault::DnsNotFound,
    Fault::DnsAgain,
    Fault::Tls(TlsFault::UnknownIssuer),
    Fault::Tls(TlsFault::SelfSigned),
    Fault::Tls(TlsFault::SelfSignedInChain),
    Fault::Tls(TlsFault::Expired),
    Fault::Tls(TlsFault::NotYetValid),
    Fault::Tls(TlsFault::WrongName),
    Fault::Tls(TlsFault::Other),
    Fault::Protocol(ProtocolFault::StatusLine),
    Fault::Protocol(ProtocolFault::Header),
    Fault::Protocol(ProtocolFault::HeadTooLarge),
    Fault::Protocol(ProtocolFault::ContentLength),
    Fault::Protocol(ProtocolFault::ChunkSize),
    Fault::Protocol(ProtocolFault::Trailing),
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
];

impl Fault {
    /// All, in the order in which they are declared.
    pub fn all() -> impl Iterator<Item = Fault> {
        ALL.into_iter()
    }

    /// The name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fault::ResponseTimeout => "response_timeout",
            Fault::IdleTimeout => "idle_timeout",
            Fault::ConnectTimeout => "connect_timeout",
            Fault::Reset => "reset",
            Fault::BrokenPipe => "broken_pipe",
            Fault::ClosedEarly => "closed_early",
            Fault::Refused => "refused",
            Fault::Unreachable => "unreachable",
            Fault::DnsNotFound => "dns_not_found",
            Fault::DnsAgain => "dns_again",
            Fault::Tls(TlsFault::UnknownIssuer) => "tls_unknown_issuer",
            Fault::Tls(TlsFault::SelfSigned) => "tls_self_signed",
            Fault::Tls(TlsFault::SelfSignedInChain) => "tls_self_signed_in_chain",
            Fault::Tls(TlsFault::Expired) => "tls_expired",
            Fault::Tls(TlsFault::NotYetValid) => "tls_not_yet_valid",
            Fault::Tls(TlsFault::WrongName) => "tls_wrong_name",
            Fault::Tls(TlsFault::Other) => "tls_other",
            Fault::Protocol(ProtocolFault::StatusLine) => "http_status_line",
            Fault::Protocol(ProtocolFault::Header) => "http_header",
            Fault::Protocol(ProtocolFault::HeadTooLarge) => "http_head_too_large",
            Fault::Protocol(ProtocolFault::ContentLength) => "http_content_length",
            Fault::Protocol(ProtocolFault::ChunkSize) => "http_chunk_size",
            Fault::Protocol(ProtocolFault::Trailing) => "http_trailing",
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
        }
    }

    /// The fault of a name in the record.
    #[must_use]
    pub fn named(name: &str) -> Option<Fault> {
        ALL.into_iter().find(|fault| fault.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_found_by_its_name_again() {
        for fault in Fault::all() {
            assert_eq!(Fault::named(fault.name()), Some(fault));
        }
        assert_eq!(Fault::named("gremlins"), None);
    }
}
