//! Negotiation of permessage-deflate (RFC 7692, section 7.1).

use super::Role;
use super::extension::{self, Extension, Parameter};

pub(super) const NAME: &str = "permessage-deflate";
const DEFAULT_BITS: u8 = 15;

/// The compression that a client offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Offer {
    /// No compression.
    #[default]
    Off,
    /// Compression of each message independently, so that an idle connection needs no memory for
    /// compression.
    NoContext,
    /// Compression as browsers offer it: messages may refer to earlier messages.
    Full,
}

impl Offer {
    /// Returns the value of `Sec-WebSocket-Extensions`. `None` means that the header is not sent.
    #[must_use]
    pub fn header(self) -> Option<&'static str> {
        match self {
            Offer::Off => None,
            Offer::NoContext => {
                Some("permessage-deflate; client_no_context_takeover; server_no_context_takeover")
            }
            Offer::Full => Some("permessage-deflate; client_max_window_bits"),
        }
    }
}

/// The agreed parameters of permessage-deflate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated {
    client: SentDeflate,
    server: SentDeflate,
}

/// How one end compresses the messages that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SentDeflate {
    /// Whether a message may refer to earlier messages.
    pub(super) takes_over: bool,
    /// Base-2 logarithm of the window size, 8 to 15.
    pub(super) window_bits: u8,
}

impl SentDeflate {
    const DEFAULT: SentDeflate = SentDeflate {
        takes_over: true,
        window_bits: DEFAULT_BITS,
    };
}

impl Negotiated {
    pub(super) fn sent_by(&self, role: Role) -> SentDeflate {
        match role {
            Role::Client => self.client,
            Role::Server => self.server,
        }
    }

    pub(super) fn received_by(&self, role: Role) -> SentDeflate {
        match role {
            Role::Client => self.server,
            Role::Server => self.client,
        }
    }

    /// Parses the parameters that the server accepted. Returns `None` if one of them is invalid.
    pub(super) fn from_response(offer: Offer, accepted: Extension<'_>) -> Option<Negotiated> {
        let parameters = Parameters::parse(accepted)?;
        let answers_offer = match offer {
            Offer::Off => false,
            Offer::NoContext => parameters.server_no_context,
            Offer::Full => true,
        };
        let client_bits = match parameters.client_bits {
            None => DEFAULT_BITS,
            // The server may limit the window only if the client offered that.
            Some(bits) if offer == Offer::Full => bits?,
            Some(_) => return None,
        };
        let server_bits = match parameters.server_bits {
            None => DEFAULT_BITS,
            Some(bits) => bits?,
        };
        answers_offer.then_some(Negotiated {
            client: SentDeflate {
                takes_over: !parameters.client_no_context && offer == Offer::Full,
                window_bits: client_bits,
            },
            server: SentDeflate {
                takes_over: !parameters.server_no_context,
                window_bits: server_bits,
            },
        })
    }
}

/// Parameters of an offer or a response.
#[derive(Debug, Default)]
struct Parameters {
    client_no_context: bool,
    server_no_context: bool,
    /// Number of window bits. The inner value is `None` if the parameter has no value.
    client_bits: Option<Option<u8>>,
    server_bits: Option<Option<u8>>,
}

impl Parameters {
    /// Parses the parameters. Returns `None` if one is unknown, repeated or has an invalid value.
    fn parse(extension: Extension<'_>) -> Option<Parameters> {
        let mut parsed = Parameters::default();
        for Parameter { name, value } in extension.parameters() {
            let is_repeated = match name {
                "client_no_context_takeover" if value.is_none() => {
                    std::mem::replace(&mut parsed.client_no_context, true)
                }
                "server_no_context_takeover" if value.is_none() => {
                    std::mem::replace(&mut parsed.server_no_context, true)
                }
                "client_max_window_bits" => parsed.client_bits.replace(bits(value)?).is_some(),
                "server_max_window_bits" => parsed.server_bits.replace(bits(value)?).is_some(),
                _ => return None,
            };
            if is_repeated {
                return None;
            }
        }
        Some(parsed)
    }
}

/// Parses an optional number of bits. Returns `None` if the value is invalid.
fn bits(value: Option<&str>) -> Option<Option<u8>> {
    match value {
        None => Some(None),
        Some(value) => (8..=15).find(|bits| bits.to_string() == value).map(Some),
    }
}

/// A server's response to an offer of permessage-deflate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// Parameters that client and server agreed on.
    pub negotiated: Negotiated,
    /// Value of `Sec-WebSocket-Extensions` in the response.
    pub header: String,
}

/// Accepts, as a server, the first acceptable offer of permessage-deflate in `offers`, a value of
/// `Sec-WebSocket-Extensions`. Returns `None` if there is none.
#[must_use]
pub fn accept_offer(offers: &str) -> Option<Acceptance> {
    extension::parse(offers)
        .filter(|offer| offer.name == NAME)
        .find_map(accept)
}

fn accept(offer: Extension<'_>) -> Option<Acceptance> {
    let parameters = Parameters::parse(offer)?;
    let mut header = NAME.to_owned();
    let mut negotiated = Negotiated {
        client: SentDeflate::DEFAULT,
        server: SentDeflate::DEFAULT,
    };
    if parameters.client_no_context {
        header.push_str("; client_no_context_takeover");
        negotiated.client.takes_over = false;
    }
    if parameters.server_no_context {
        header.push_str("; server_no_context_takeover");
        negotiated.server.takes_over = false;
    }
    if let Some(bits) = parameters.server_bits {
        // The library cannot write a raw stream with the smallest window.
        let bits = bits.filter(|bits| *bits > 8)?;
        header.push_str(&format!("; server_max_window_bits={bits}"));
        negotiated.server.window_bits = bits;
    }
    Some(Acceptance { negotiated, header })
}
