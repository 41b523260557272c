//! Causes of TLS failures: the certificate, an alert of the server, or data that is not TLS.
//!
//! The names are part of the record format and never change, unlike the texts for users.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "variants are named after the failure")]
pub enum TlsFault {
    UnknownIssuer,
    SelfSigned,
    SelfSignedInChain,
    Expired,
    NotYetValid,
    WrongName,
    BadCertificate,
    /// The peer responded in plain text, because the port does not use TLS.
    Plain,
    Version,
    Incompatible,
    /// The server does not offer HTTP/1.1.
    Http2Only,
    /// The server does not offer HTTP/2.
    NoHttp2,
    /// The server offers neither HTTP/1.1 nor HTTP/2.
    NoHttp,
    Closed,
    Alert(Alert),
    Other,
}

/// Alerts of RFC 8446 and RFC 5246 without a specific [`TlsFault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "the names come from the standard and are self-explanatory"
)]
pub enum Alert {
    AccessDenied,
    BadCertificate,
    BadCertificateStatusResponse,
    BadRecordMac,
    CertificateExpired,
    CertificateRequired,
    CertificateRevoked,
    CertificateUnknown,
    DecodeError,
    DecryptError,
    HandshakeFailure,
    IllegalParameter,
    InappropriateFallback,
    InsufficientSecurity,
    InternalError,
    MissingExtension,
    NoRenegotiation,
    RecordOverflow,
    UnexpectedMessage,
    UnknownCa,
    UnknownPskIdentity,
    UnrecognizedName,
    UnsupportedCertificate,
    UnsupportedExtension,
    UserCanceled,
    Other,
}

const FAULTS: [(TlsFault, &str, &str); 15] = [
    (
        TlsFault::UnknownIssuer,
        "tls_unknown_issuer",
        "TLS: unknown issuer",
    ),
    (
        TlsFault::SelfSigned,
        "tls_self_signed",
        "TLS: self-signed certificate",
    ),
    (
        TlsFault::SelfSignedInChain,
        "tls_self_signed_in_chain",
        "TLS: self-signed certificate in the chain",
    ),
    (TlsFault::Expired, "tls_expired", "TLS: certificate expired"),
    (
        TlsFault::NotYetValid,
        "tls_not_yet_valid",
        "TLS: certificate not valid yet",
    ),
    (
        TlsFault::WrongName,
        "tls_wrong_name",
        "TLS: certificate is for another name",
    ),
    (
        TlsFault::BadCertificate,
        "tls_bad_certificate",
        "TLS: unusable certificate",
    ),
    (
        TlsFault::Plain,
        "tls_plain",
        "TLS: the port answers in plain text, without TLS",
    ),
    (
        TlsFault::Version,
        "tls_version",
        "TLS: no common version (ours: 1.2, 1.3)",
    ),
    (
        TlsFault::Incompatible,
        "tls_incompatible",
        "TLS: no common cipher or other feature",
    ),
    (
        TlsFault::Http2Only,
        "tls_http2_only",
        "TLS: the server supports only HTTP/2",
    ),
    (
        TlsFault::NoHttp2,
        "tls_no_http2",
        "TLS: no h2 (ALPN), the server does not offer HTTP/2",
    ),
    (
        TlsFault::NoHttp,
        "tls_no_http",
        "TLS: the server offers neither h2 nor http/1.1 (ALPN)",
    ),
    (
        TlsFault::Closed,
        "tls_closed",
        "TLS: connection closed during the handshake",
    ),
    (TlsFault::Other, "tls_other", "TLS handshake failed"),
];

const ALERTS: [(Alert, &str, &str); 26] = {
    use Alert as A;
    macro_rules! alert {
        ($alert:ident, $name:literal) => {
            (
                A::$alert,
                concat!("tls_alert_", $name),
                concat!("TLS: the server refused, alert ", $name),
            )
        };
    }
    [
        alert!(AccessDenied, "access_denied"),
        alert!(BadCertificate, "bad_certificate"),
        alert!(
            BadCertificateStatusResponse,
            "bad_certificate_status_response"
        ),
        alert!(BadRecordMac, "bad_record_mac"),
        alert!(CertificateExpired, "certificate_expired"),
        alert!(CertificateRequired, "certificate_required"),
        alert!(CertificateRevoked, "certificate_revoked"),
        alert!(CertificateUnknown, "certificate_unknown"),
        alert!(DecodeError, "decode_error"),
        alert!(DecryptError, "decrypt_error"),
        alert!(HandshakeFailure, "handshake_failure"),
        alert!(IllegalParameter, "illegal_parameter"),
        alert!(InappropriateFallback, "inappropriate_fallback"),
        alert!(InsufficientSecurity, "insufficient_security"),
        alert!(InternalError, "internal_error"),
        alert!(MissingExtension, "missing_extension"),
        alert!(NoRenegotiation, "no_renegotiation"),
        alert!(RecordOverflow, "record_overflow"),
        alert!(UnexpectedMessage, "unexpected_message"),
        alert!(UnknownCa, "unknown_ca"),
        alert!(UnknownPskIdentity, "unknown_psk_identity"),
        alert!(UnrecognizedName, "unrecognized_name"),
        alert!(UnsupportedCertificate, "unsupported_certificate"),
        alert!(UnsupportedExtension, "unsupported_extension"),
        alert!(UserCanceled, "user_canceled"),
        alert!(Other, "unknown"),
    ]
};

impl TlsFault {
    /// Returns all TLS faults.
    pub fn all() -> impl Iterator<Item = TlsFault> {
        let alerts = ALERTS.iter().map(|(alert, ..)| TlsFault::Alert(*alert));
        FAULTS.iter().map(|(fault, ..)| *fault).chain(alerts)
    }

    #[must_use]
    /// Returns the name in the record.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    #[must_use]
    /// Returns the text for users.
    pub fn text(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        let found = match self {
            TlsFault::Alert(alert) => ALERTS
                .iter()
                .find(|(known, ..)| *known == alert)
                .map(|(_, name, text)| (*name, *text)),
            fault => FAULTS
                .iter()
                .find(|(known, ..)| *known == fault)
                .map(|(_, name, text)| (*name, *text)),
        };
        found.unwrap_or(("tls_other", "TLS handshake failed"))
    }
}
