//! The opening handshake (RFC 6455, section 4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

use super::deflate::NAME;
use super::extension::{self, Extension};
use super::{Negotiated, Offer};

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Returns the value of `Sec-WebSocket-Key` for 16 random bytes.
#[must_use]
pub fn request_key(random: [u8; 16]) -> [u8; 24] {
    let mut key = [0; 24];
    let written = STANDARD.encode_slice(random, &mut key);
    debug_assert_eq!(written, Ok(24));
    key
}

/// Returns the value of `Sec-WebSocket-Accept` for a key.
#[must_use]
pub fn accept_key(key: &[u8]) -> [u8; 28] {
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut accept = [0; 28];
    let written = STANDARD.encode_slice(digest, &mut accept);
    debug_assert_eq!(written, Ok(28));
    accept
}

/// The offer in the client's upgrade request.
#[derive(Debug, Clone, Copy)]
pub struct UpgradeOffer<'a> {
    /// The value of `Sec-WebSocket-Key`.
    pub key: &'a [u8],
    /// Subprotocols in order of preference.
    pub subprotocols: &'a [String],
    /// Offered compression.
    pub deflate: Offer,
}

/// What the server accepted in its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgraded {
    /// Accepted subprotocol. `None` if the server chose none, even if some were offered.
    pub subprotocol: Option<String>,
    /// Accepted compression. `None` if it was not offered or not accepted.
    pub deflate: Option<Negotiated>,
}

/// Why a response does not open a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpgradeError {
    /// The status is not 101.
    Status(u16),
    /// `Upgrade` is not `websocket`.
    Upgrade,
    /// `Connection` does not contain `upgrade`.
    Connection,
    /// `Sec-WebSocket-Accept` is missing or does not match the key.
    AcceptKey,
    /// The server chose a subprotocol that was not offered, or more than one.
    Subprotocol(String),
    /// The server uses an extension that was not offered, or more than one.
    Extension(String),
    /// The server accepted permessage-deflate with parameters that do not fit the offer.
    ExtensionParameters(String),
}

impl UpgradeError {
    /// Returns the stable name of the error.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Status(_) => "upgrade_status",
            Self::Upgrade => "upgrade_header",
            Self::Connection => "upgrade_connection",
            Self::AcceptKey => "upgrade_accept_key",
            Self::Subprotocol(_) => "upgrade_subprotocol",
            Self::Extension(_) => "upgrade_extension",
            Self::ExtensionParameters(_) => "upgrade_extension_parameters",
        }
    }
}

/// Checks the response to an upgrade request. The names in `headers` must be in lower case, as in
/// [`crate::Response`].
pub fn check_response(
    status: u16,
    headers: &[(String, String)],
    offer: UpgradeOffer<'_>,
) -> Result<Upgraded, UpgradeError> {
    if status != 101 {
        return Err(UpgradeError::Status(status));
    }
    let has_token = |name, token: &str| {
        let mut tokens = values(headers, name).flat_map(|value| value.split(','));
        tokens.any(|value| value.trim().eq_ignore_ascii_case(token))
    };
    if !has_token("upgrade", "websocket") {
        return Err(UpgradeError::Upgrade);
    }
    if !has_token("connection", "upgrade") {
        return Err(UpgradeError::Connection);
    }
    let mut accept = values(headers, "sec-websocket-accept").map(str::trim);
    let expected = accept_key(offer.key);
    if accept.next().map(str::as_bytes) != Some(&expected[..]) || accept.next().is_some() {
        return Err(UpgradeError::AcceptKey);
    }
    Ok(Upgraded {
        subprotocol: subprotocol(headers, offer.subprotocols)?,
        deflate: deflate(headers, offer.deflate)?,
    })
}

fn subprotocol(
    headers: &[(String, String)],
    offered: &[String],
) -> Result<Option<String>, UpgradeError> {
    let chosen: Vec<&str> = values(headers, "sec-websocket-protocol").collect();
    match chosen[..] {
        [] => Ok(None),
        [one] if offered.iter().any(|offered| offered == one.trim()) => {
            Ok(Some(one.trim().to_owned()))
        }
        _ => Err(UpgradeError::Subprotocol(chosen.join(", "))),
    }
}

fn deflate(headers: &[(String, String)], offer: Offer) -> Result<Option<Negotiated>, UpgradeError> {
    let accepted: Vec<Extension<'_>> = values(headers, "sec-websocket-extensions")
        .flat_map(extension::parse)
        .collect();
    let refusal = || values(headers, "sec-websocket-extensions").collect::<Vec<_>>();
    match accepted[..] {
        [] => Ok(None),
        [one] if one.name == NAME && offer != Offer::Off => {
            let negotiated = Negotiated::from_response(offer, one);
            let wrong = || UpgradeError::ExtensionParameters(refusal().join(", "));
            negotiated.map(Some).ok_or_else(wrong)
        }
        _ => Err(UpgradeError::Extension(refusal().join(", "))),
    }
}

fn values<'a>(
    headers: &'a [(String, String)],
    name: &'static str,
) -> impl Iterator<Item = &'a str> {
    let named = headers.iter().filter(move |(header, _)| header == name);
    named.map(|(_, value)| value.as_str())
}
