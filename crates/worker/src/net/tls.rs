//! TLS configuration for rustls: the system's certificate authorities, custom authorities, or no
//! verification.

use std::sync::Arc;

use measure::outcome::TlsFault;
use plan::{Http, Tls, TlsVersions};
use tokio_rustls::rustls::{
    self, CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, OtherError,
    RootCertStore, SignatureScheme,
    client::{
        WantsClientCert, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer, PrivateKeyDer, ServerName, UnixTime,
        pem::{self, PemObject},
    },
    server::ParsedCertificate,
    version,
};

pub use super::tls_fault::fault;
use super::{der, tls_fault::SelfSigned};

/// Creates the client configuration of a run. Fails if a certificate or key is invalid.
pub fn config(http: &Http) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions: &[_] = match http.tls.versions {
        TlsVersions::All => &[&version::TLS12, &version::TLS13],
        TlsVersions::Only12 => &[&version::TLS12],
        TlsVersions::Only13 => &[&version::TLS13],
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|e| format!("cannot set up TLS: {e}"))?;
    let verifier: Arc<dyn ServerCertVerifier> = if http.verify_tls {
        Arc::new(Naming::new(&http.tls, provider)?)
    } else {
        Arc::new(Anyone(provider))
    };
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = identified(builder, http)?;
    // With ALPN, the handshake fails immediately if the server supports only HTTP/2.
    if !http.tls.no_alpn {
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
    }
    Ok(Arc::new(config))
}

fn identified(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    http: &Http,
) -> Result<ClientConfig, String> {
    let Some((certificates, key)) = &http.tls.identity else {
        return Ok(builder.with_no_client_auth());
    };
    let certificates = certificates_of(certificates)
        .map_err(|reason| format!("the client certificate: {reason}"))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|e| match e {
        pem::Error::NoItemsFound => {
            "the key of the client certificate cannot be used: the PEM text contains no unencrypted key".to_owned()
        }
        other => format!("the key of the client certificate cannot be read: {other}"),
    })?;
    builder
        .with_client_auth_cert(certificates, key)
        .map_err(|e| match e {
            rustls::Error::InconsistentKeys(_) => {
                "the key does not belong to the client certificate".to_owned()
            }
            other => format!("the client certificate cannot be used: {other}"),
        })
}

/// Validates a plan's certificates, key and server name, without loading the system's authorities.
pub fn check(http: &Http) -> Result<(), String> {
    let tls = &http.tls;
    if let Some(authorities) = &tls.authorities {
        certificates_of(authorities).map_err(|reason| format!("the authorities: {reason}"))?;
    }
    if let Some(name) = &tls.server_name {
        ServerName::try_from(name.as_str())
            .map_err(|_| format!("`{name}` is not a valid server name"))?;
    }
    let mut unverified = http.clone();
    unverified.verify_tls = false;
    config(&unverified).map(drop)
}

/// Validates PEM certificates.
pub fn check_certificates(pem: &str) -> Result<(), String> {
    certificates_of(pem).map(drop)
}

fn certificates_of(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err("the PEM text contains no certificate".to_owned()),
        Err(error) => Err(format!("a certificate cannot be read: {error}")),
    }
}

/// A certificate verifier that distinguishes self-signed certificates from unknown issuers. Like
/// OpenSSL, it trusts listed server certificates.
#[derive(Debug)]
struct Naming {
    /// Verifier for certificate chains. `None` if there are no authorities to trust.
    usual: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates to trust directly, even if they are not authorities.
    own: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Naming {
    fn new(tls: &Tls, provider: Arc<CryptoProvider>) -> Result<Naming, String> {
        let own = match &tls.authorities {
            Some(authorities) => certificates_of(authorities)?,
            None => {
                let mut all = rustls_native_certs::load_native_certs().certs;
                if let Some(more) = &tls.more_authorities {
                    all.extend(certificates_of(more)?);
                }
                all
            }
        };
        let mut roots = RootCertStore::empty();
        // Skip unusable roots, because they may be server certificates.
        roots.add_parsable_certificates(own.iter().cloned());
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        Ok(Naming {
            usual: builder.build().ok(),
            own,
            provider,
        })
    }

    fn itself(
        end_entity: &CertificateDer<'_>,
        server_name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let no = rustls::Error::InvalidCertificate;
        let (from, to) =
            der::validity(end_entity).ok_or_else(|| no(CertificateError::BadEncoding))?;
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if now < from {
            return Err(no(CertificateError::NotValidYet));
        }
        if now > to {
            return Err(no(CertificateError::Expired));
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn named(
        error: rustls::Error,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
    ) -> rustls::Error {
        use rustls::Error::InvalidCertificate;
        let self_signed = |fault| {
            InvalidCertificate(CertificateError::Other(OtherError(Arc::new(SelfSigned(
                fault,
            )))))
        };
        match &error {
            // Rustls reports "other" for a server that uses an authority's certificate, which is
            // usually self-signed.
            InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_)) => {
                if der::is_self_issued(end_entity) {
                    self_signed(TlsFault::SelfSigned)
                } else if intermediates.iter().any(|c| der::is_self_issued(c)) {
                    self_signed(TlsFault::SelfSignedInChain)
                } else {
                    error
                }
            }
            _ => error,
        }
    }
}

impl ServerCertVerifier for Naming {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.own.iter().any(|own| own == end_entity) {
            return Naming::itself(end_entity, server_name, now);
        }
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let verified = self.usual.as_ref().map_or(Err(unknown), |usual| {
            usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        });
        verified.map_err(|error| Naming::named(error, end_entity, intermediates))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
