//! The status that a server returned, as the protocol defines it.

use std::{fmt, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

/// The status of a response. It is displayed as the code, after the name of the protocol unless
/// that is HTTP: `200`, `websocket:1011`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// HTTP status code.
    Http(u16),
    /// Close code of a WebSocket connection.
    WebSocket(u16),
    /// Status code of a gRPC call.
    Grpc(u16),
    /// Reason code of an MQTT operation.
    Mqtt(u16),
}

impl Status {
    /// Returns the HTTP status code. `None` for another protocol.
    #[must_use]
    pub fn http(self) -> Option<u16> {
        match self {
            Status::Http(code) => Some(code),
            _ => None,
        }
    }

    /// Returns whether the protocol allows this code.
    #[must_use]
    pub fn is_possible(self) -> bool {
        match self {
            Status::Http(code) => code < 1000,
            Status::WebSocket(code) => code < 5000,
            Status::Grpc(code) | Status::Mqtt(code) => code < 256,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Http(code) => write!(f, "{code}"),
            Status::WebSocket(code) => write!(f, "websocket:{code}"),
            Status::Grpc(code) => write!(f, "grpc:{code}"),
            Status::Mqtt(code) => write!(f, "mqtt:{code}"),
        }
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Status, String> {
        let (protocol, code) = text.split_once(':').unwrap_or(("http", text));
        let code = code.parse().map_err(|_| format!("no status: {text}"))?;
        match protocol {
            "http" => Ok(Status::Http(code)),
            "websocket" => Ok(Status::WebSocket(code)),
            "grpc" => Ok(Status::Grpc(code)),
            "mqtt" => Ok(Status::Mqtt(code)),
            _ => Err(format!("no protocol: {protocol}")),
        }
    }
}

/// Serializes an HTTP status as a number, and any other status as text.
impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Status::Http(code) => serializer.serialize_u16(*code),
            other => serializer.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Status, D::Error> {
        deserializer.deserialize_any(StatusVisitor)
    }
}

struct StatusVisitor;

impl Visitor<'_> for StatusVisitor {
    type Value = Status;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a status")
    }

    fn visit_u64<E: Error>(self, code: u64) -> Result<Status, E> {
        let code = u16::try_from(code);
        code.map(Status::Http).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Status, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn texts_round_trip() {
        for (status, text) in [
            (Status::Http(200), "200"),
            (Status::WebSocket(1011), "websocket:1011"),
            (Status::Grpc(14), "grpc:14"),
            (Status::Mqtt(135), "mqtt:135"),
        ] {
            assert_eq!(status.to_string(), text);
            assert_eq!(text.parse(), Ok(status));
            assert!(status.is_possible());
            // As a value and as a key.
            let json = serde_json::to_string(&[(status, 1)]).unwrap();
            let read: Vec<(Status, u8)> = serde_json::from_str(&json).unwrap();
            assert_eq!(read, [(status, 1)]);
            let map = BTreeMap::from([(status, 1)]);
            let json = serde_json::to_string(&map).unwrap();
            assert_eq!(json, format!("{{\"{text}\":1}}"));
            assert_eq!(
                serde_json::from_str::<BTreeMap<Status, u8>>(&json).unwrap(),
                map
            );
        }
        assert!("smtp:250".parse::<Status>().is_err());
        assert!("grpc:".parse::<Status>().is_err());
        assert!(!Status::Http(1000).is_possible());
    }
}
