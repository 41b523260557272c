//! Mapping of rustls errors to faults.

use measure::{
    Fault,
    outcome::{Alert, TlsFault},
};
use tokio_rustls::rustls::{
    AlertDescription, CertificateError, Error, InvalidMessage, OtherError, PeerIncompatible,
    PeerMisbehaved,
};

#[derive(Debug)]
pub(super) struct SelfSigned(pub(super) TlsFault);

impl std::fmt::Display for SelfSigned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("self-signed certificate")
    }
}

impl std::error::Error for SelfSigned {}

/// Returns the fault for a TLS error. `None` if the error has another cause.
#[must_use]
pub fn fault(error: &std::io::Error) -> Option<Fault> {
    let inner = error.get_ref()?.downcast_ref::<Error>()?;
    Some(Fault::Tls(match inner {
        Error::InvalidCertificate(certificate) => of_certificate(certificate),
        Error::NoCertificatesPresented | Error::UnsupportedNameType => TlsFault::BadCertificate,
        Error::AlertReceived(alert) => of_alert(*alert),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => TlsFault::Plain,
        Error::InvalidMessage(InvalidMessage::UnknownProtocolVersion)
        | Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => TlsFault::Version,
        Error::PeerIncompatible(_) => TlsFault::Incompatible,
        Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol) => {
            TlsFault::Http2Only
        }
        _ => TlsFault::Other,
    }))
}

fn of_certificate(error: &CertificateError) -> TlsFault {
    use CertificateError as C;
    match error {
        C::UnknownIssuer => TlsFault::UnknownIssuer,
        C::Expired | C::ExpiredContext { .. } => TlsFault::Expired,
        C::NotValidYet | C::NotValidYetContext { .. } => TlsFault::NotYetValid,
        C::NotValidForName | C::NotValidForNameContext { .. } => TlsFault::WrongName,
        C::Other(OtherError(other)) => other
            .downcast_ref::<SelfSigned>()
            .map_or(TlsFault::BadCertificate, |who| who.0),
        _ => TlsFault::BadCertificate,
    }
}

fn of_alert(alert: AlertDescription) -> TlsFault {
    use AlertDescription as D;
    TlsFault::Alert(match alert {
        D::NoApplicationProtocol => return TlsFault::Http2Only,
        D::ProtocolVersion => return TlsFault::Version,
        D::AccessDenied => Alert::AccessDenied,
        D::BadCertificate => Alert::BadCertificate,
        D::BadCertificateStatusResponse => Alert::BadCertificateStatusResponse,
        D::BadRecordMac => Alert::BadRecordMac,
        D::CertificateExpired => Alert::CertificateExpired,
        D::CertificateRequired => Alert::CertificateRequired,
        D::CertificateRevoked => Alert::CertificateRevoked,
        D::CertificateUnknown => Alert::CertificateUnknown,
        D::DecodeError => Alert::DecodeError,
        D::DecryptError => Alert::DecryptError,
        D::HandshakeFailure => Alert::HandshakeFailure,
        D::IllegalParameter => Alert::IllegalParameter,
        D::InappropriateFallback => Alert::InappropriateFallback,
        D::InsufficientSecurity => Alert::InsufficientSecurity,
        D::InternalError => Alert::InternalError,
        D::MissingExtension => Alert::MissingExtension,
        D::NoRenegotiation => Alert::NoRenegotiation,
        D::RecordOverflow => Alert::RecordOverflow,
        D::UnexpectedMessage => Alert::UnexpectedMessage,
        D::UnknownCA => Alert::UnknownCa,
        D::UnknownPSKIdentity => Alert::UnknownPskIdentity,
        D::UnrecognisedName => Alert::UnrecognizedName,
        D::UnsupportedCertificate => Alert::UnsupportedCertificate,
        D::UnsupportedExtension => Alert::UnsupportedExtension,
        D::UserCanceled => Alert::UserCanceled,
        _ => Alert::Other,
    })
}
