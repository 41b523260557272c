//! What is known of a connection from its beginning.

use std::net::SocketAddr;

use tokio_rustls::rustls::SupportedCipherSuite;

/// What is known of a connection from its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionInfo {
    /// Address of the server, or of the proxy. `None` if the connection is not over TCP.
    pub peer: Option<SocketAddr>,
    /// What TLS negotiated. `None` without TLS.
    pub tls: Option<TlsInfo>,
    /// Whether the protocol is HTTP/2.
    pub is_http2: bool,
}

/// What a TLS handshake negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsInfo {
    /// Version of TLS: `1.2` or `1.3`.
    pub version: &'static str,
    /// IANA's name of the cipher suite, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: &'static str,
}

/// Describes a cipher suite, which belongs to one version of TLS.
pub(super) fn tls_info(suite: SupportedCipherSuite) -> TlsInfo {
    let (version, name) = match suite {
        SupportedCipherSuite::Tls12(_) => ("1.2", suite.suite().as_str()),
        SupportedCipherSuite::Tls13(_) => ("1.3", suite.suite().as_str()),
    };
    TlsInfo {
        version,
        cipher: match name.unwrap_or_default() {
            // rustls adds the version to the names of TLS 1.3.
            "TLS13_AES_128_GCM_SHA256" => "TLS_AES_128_GCM_SHA256",
            "TLS13_AES_256_GCM_SHA384" => "TLS_AES_256_GCM_SHA384",
            "TLS13_CHACHA20_POLY1305_SHA256" => "TLS_CHACHA20_POLY1305_SHA256",
            other => other,
        },
    }
}
