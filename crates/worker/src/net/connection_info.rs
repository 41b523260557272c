//! Properties of a connection that are fixed when it is opened.

use std::net::SocketAddr;

use tokio_rustls::rustls::SupportedCipherSuite;

/// The properties of a connection that are fixed when it is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionInfo {
    /// Address of the server or the proxy. `None` if the connection does not use TCP.
    pub peer: Option<SocketAddr>,
    /// Parameters that TLS negotiated. `None` without TLS.
    pub tls: Option<TlsInfo>,
    /// Whether the protocol is HTTP/2.
    pub is_http2: bool,
}

/// The parameters that a TLS handshake negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsInfo {
    /// TLS version: `1.2` or `1.3`.
    pub version: &'static str,
    /// IANA name of the cipher suite, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: &'static str,
}

/// Returns the TLS version and the name of a cipher suite, which belongs to one version.
pub(super) fn tls_info(suite: SupportedCipherSuite) -> TlsInfo {
    let (version, name) = match suite {
        SupportedCipherSuite::Tls12(_) => ("1.2", suite.suite().as_str()),
        SupportedCipherSuite::Tls13(_) => ("1.3", suite.suite().as_str()),
    };
    TlsInfo {
        version,
        cipher: match name.unwrap_or_default() {
            // For TLS 1.3, rustls adds the version to the names.
            "TLS13_AES_128_GCM_SHA256" => "TLS_AES_128_GCM_SHA256",
            "TLS13_AES_256_GCM_SHA384" => "TLS_AES_256_GCM_SHA384",
            "TLS13_CHACHA20_POLY1305_SHA256" => "TLS_CHACHA20_POLY1305_SHA256",
            other => other,
        },
    }
}
