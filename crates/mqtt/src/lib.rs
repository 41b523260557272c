//! MQTT 3.1.1 and 5 for clients, as state machines without I/O: packets, sessions, and message
//! headers that reveal lost messages.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod alias;
pub mod connack;
pub mod connect;
pub mod flight;
pub mod packet;
pub mod property;
pub mod publish;
pub mod reason;
pub mod session;
pub mod stamp;
pub mod subscribe;
pub mod topic;
pub mod wire;

pub use connack::Connack;
pub use connect::{Connect, Will};
pub use flight::Flight;
pub use packet::{Ack, AckKind, NextPacket, Packet};
pub use property::{Id, Property, PropertyValue};
pub use publish::{Message, Publish, Template};
pub use reason::Reason;
pub use session::{Event, Session};
pub use stamp::Stamp;
pub use subscribe::{Filter, Retained};
pub use wire::Malformed;

/// Version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// MQTT 3.1.1, protocol level 4.
    V311,
    /// MQTT 5, protocol level 5.
    V5,
}

/// Quality of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Qos {
    /// At most once, never acknowledged.
    #[default]
    AtMostOnce,
    /// At least once, acknowledged by PUBACK.
    AtLeastOnce,
    /// Exactly once, with PUBREC, PUBREL and PUBCOMP.
    ExactlyOnce,
}

impl Qos {
    /// Returns the level: 0, 1 or 2.
    #[must_use]
    pub fn level(self) -> u8 {
        self as u8
    }

    /// Returns the quality of service with this level (0, 1 or 2). `None` for other values.
    #[must_use]
    pub fn from_level(level: u8) -> Option<Qos> {
        match level {
            0 => Some(Qos::AtMostOnce),
            1 => Some(Qos::AtLeastOnce),
            2 => Some(Qos::ExactlyOnce),
            _ => None,
        }
    }
}
