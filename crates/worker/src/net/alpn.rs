//! Protocols that the client offers in a TLS handshake (ALPN), and the TLS configuration for each
//! offer.

use std::{cell::OnceCell, sync::Arc};

use tokio_rustls::rustls::ClientConfig;

/// Protocols that the client offers in a TLS handshake (ALPN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alpn {
    /// HTTP/1.1, or the protocols of the given configuration.
    Http1,
    /// Only HTTP/2.
    Http2,
    /// HTTP/2 and HTTP/1.1. The server chooses.
    Both,
}

/// TLS configurations, by offered protocols.
#[derive(Debug)]
pub(super) struct TlsConfigs {
    http1: Arc<ClientConfig>,
    http2: OnceCell<Arc<ClientConfig>>,
    both: OnceCell<Arc<ClientConfig>>,
}

impl TlsConfigs {
    /// Creates the configurations. `http1` is the configuration for connections without HTTP/2.
    pub(super) fn new(http1: Arc<ClientConfig>) -> TlsConfigs {
        TlsConfigs {
            http1,
            http2: OnceCell::new(),
            both: OnceCell::new(),
        }
    }

    pub(super) fn get(&self, alpn: Alpn) -> &Arc<ClientConfig> {
        let with = |protocols: &[&[u8]]| {
            let mut config = ClientConfig::clone(&self.http1);
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            Arc::new(config)
        };
        match alpn {
            Alpn::Http1 => &self.http1,
            Alpn::Http2 => self.http2.get_or_init(|| with(&[H2])),
            Alpn::Both => self.both.get_or_init(|| with(&[H2, b"http/1.1"])),
        }
    }
}

/// The name of HTTP/2 in ALPN.
pub(super) const H2: &[u8] = b"h2";
