//! Options of the lab.

use std::sync::Arc;

use bytes::Bytes;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::units;
use crate::{LabError, LabOptions};

pub(super) const OPTIONS: &[&str] = &[
    "max-streams",
    "service",
    "body",
    "refuse",
    "goaway-after",
    "cert",
    "key",
];

const MAX_BODY: u64 = 16 * 1024 * 1024;

pub(super) struct Http2Config {
    pub(super) max_streams: u32,
    pub(super) service_ns: u64,
    pub(super) body: Bytes,
    /// Share of streams that are refused.
    pub(super) refuse: f64,
    /// Number of requests after which the lab ends a connection with GOAWAY.
    pub(super) goaway_after: Option<u64>,
    pub(super) tls: Option<TlsAcceptor>,
}

impl Http2Config {
    pub(super) fn read(options: &LabOptions) -> Result<Self, LabError> {
        let body = options.read(super::NAME, "body", "12", |text| {
            units::count(text, 0..=MAX_BODY)
        })?;
        let limit = |text: &str| units::count(text, 0..=u64::from(u32::MAX));
        let max_streams = options.read(super::NAME, "max-streams", "100", limit)?;
        Ok(Self {
            max_streams: u32::try_from(max_streams).unwrap_or(u32::MAX),
            service_ns: options.read(super::NAME, "service", "0", units::duration)?,
            body: vec![b'x'; usize::try_from(body).unwrap_or(0)].into(),
            refuse: options.read(super::NAME, "refuse", "0%", units::share)?,
            goaway_after: match options.extra("goaway-after") {
                None => None,
                Some(_) => Some(options.read(super::NAME, "goaway-after", "", |text| {
                    units::count(text, 1..=u64::MAX)
                })?),
            },
            tls: tls(options)?,
        })
    }
}

fn tls(options: &LabOptions) -> Result<Option<TlsAcceptor>, LabError> {
    let (certificate, key) = match (options.extra("cert"), options.extra("key")) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => {
            return Err(options.refuse(
                super::NAME,
                "cert",
                "also give the option `key`".to_owned(),
            ));
        }
        (None, Some(_)) => {
            return Err(options.refuse(
                super::NAME,
                "key",
                "also give the option `cert`".to_owned(),
            ));
        }
    };
    let unreadable = |option, error: &dyn std::fmt::Display| {
        options.refuse(
            super::NAME,
            option,
            format!("no PEM file can be read there: {error}"),
        )
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable("cert", &error))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable("key", &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| {
            options.refuse(super::NAME, "cert", format!("it cannot be used: {error}"))
        })?;
    let mut config = config;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}
