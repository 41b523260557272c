//! Reason codes of MQTT 5 with their names, and the six return codes of a 3.1.1 CONNACK.

use std::fmt;

use crate::{Version, wire::Malformed};

/// A reason code of MQTT 5. Codes from 0x80 are refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(pub u8);

const NAMES: [(u8, &str); 43] = [
    (0x00, "Success"),
    (0x01, "Granted QoS 1"),
    (0x02, "Granted QoS 2"),
    (0x04, "Disconnect with Will Message"),
    (0x10, "No matching subscribers"),
    (0x11, "No subscription existed"),
    (0x18, "Continue authentication"),
    (0x19, "Re-authenticate"),
    (0x80, "Unspecified error"),
    (0x81, "Malformed Packet"),
    (0x82, "Protocol Error"),
    (0x83, "Implementation specific error"),
    (0x84, "Unsupported Protocol Version"),
    (0x85, "Client Identifier not valid"),
    (0x86, "Bad User Name or Password"),
    (0x87, "Not authorized"),
    (0x88, "Server unavailable"),
    (0x89, "Server busy"),
    (0x8a, "Banned"),
    (0x8b, "Server shutting down"),
    (0x8c, "Bad authentication method"),
    (0x8d, "Keep Alive timeout"),
    (0x8e, "Session taken over"),
    (0x8f, "Topic Filter invalid"),
    (0x90, "Topic Name invalid"),
    (0x91, "Packet Identifier in use"),
    (0x92, "Packet Identifier not found"),
    (0x93, "Receive Maximum exceeded"),
    (0x94, "Topic Alias invalid"),
    (0x95, "Packet too large"),
    (0x96, "Message rate too high"),
    (0x97, "Quota exceeded"),
    (0x98, "Administrative action"),
    (0x99, "Payload format invalid"),
    (0x9a, "Retain not supported"),
    (0x9b, "QoS not supported"),
    (0x9c, "Use another server"),
    (0x9d, "Server moved"),
    (0x9e, "Shared Subscriptions not supported"),
    (0x9f, "Connection rate exceeded"),
    (0xa0, "Maximum connect time"),
    (0xa1, "Subscription Identifiers not supported"),
    (0xa2, "Wildcard Subscriptions not supported"),
];

/// Return codes of a 3.1.1 CONNACK, expressed as reason codes of MQTT 5.
const RETURN_CODES: [u8; 6] = [0x00, 0x84, 0x85, 0x88, 0x86, 0x87];

impl Reason {
    /// The operation succeeded.
    pub const SUCCESS: Reason = Reason(0);
    /// The acknowledged packet identifier is unknown.
    pub const NOT_FOUND: Reason = Reason(0x92);

    /// Returns whether the server refused the request.
    #[must_use]
    pub fn is_refusal(self) -> bool {
        self.0 >= 0x80
    }

    /// Returns the name in the specification. `None` if the code is unknown.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let at = NAMES
            .binary_search_by_key(&self.0, |(code, _)| *code)
            .ok()?;
        Some(NAMES[at].1)
    }

    /// Returns the 3.1.1 CONNACK return code with this meaning, if there is one.
    #[must_use]
    pub fn return_code(self) -> Option<u8> {
        let at = RETURN_CODES.iter().position(|code| *code == self.0)?;
        Some(at as u8)
    }

    /// Returns why a connection was refused: the name of the reason, and its code in the given
    /// MQTT version.
    #[must_use]
    pub fn text(self, version: Version) -> String {
        match (version, self.name(), self.return_code()) {
            (Version::V311, Some(name), Some(code)) => format!("{name} (return code {code})"),
            _ => self.to_string(),
        }
    }

    /// Converts the code of a CONNACK to a reason code of MQTT 5.
    pub fn of_connack(version: Version, code: u8) -> Result<Reason, Malformed> {
        match version {
            Version::V311 => RETURN_CODES
                .get(usize::from(code))
                .map(|code| Reason(*code))
                .ok_or(Malformed::Code(code)),
            Version::V5 if code == 0 || code >= 0x80 => Ok(Reason(code)),
            Version::V5 => Err(Malformed::Code(code)),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.0;
        match self.name() {
            Some(name) => write!(f, "{name} (0x{code:02x})"),
            None => write!(f, "unknown reason 0x{code:02x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_codes() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(Reason(0x97).to_string(), "Quota exceeded (0x97)");
        assert_eq!(Reason(0x77).to_string(), "unknown reason 0x77");
        assert_eq!(
            Reason::of_connack(Version::V311, 5),
            Ok(Reason(0x87)),
            "not authorised"
        );
        assert_eq!(
            Reason(0x87).text(Version::V311),
            "Not authorized (return code 5)"
        );
        assert_eq!(Reason(0x87).text(Version::V5), "Not authorized (0x87)");
        assert_eq!(
            Reason::of_connack(Version::V311, 6),
            Err(Malformed::Code(6))
        );
        assert_eq!(Reason::of_connack(Version::V5, 3), Err(Malformed::Code(3)));
    }
}
