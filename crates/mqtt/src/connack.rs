//! CONNACK, DISCONNECT and AUTH packets from a server, parsed in place.

use crate::{
    Qos, Reason, Version,
    property::{Block, Id, PropertyOwner},
    wire::{Malformed, PacketReader},
};

/// A CONNACK packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connack<'a> {
    /// Whether the server still has the session of this client.
    pub session_present: bool,
    /// Success, or the reason for the refusal.
    pub reason: Reason,
    /// Properties. MQTT 5 only.
    pub properties: Block<'a>,
}

impl<'a> Connack<'a> {
    pub(crate) fn read(version: Version, body: &'a [u8]) -> Result<Connack<'a>, Malformed> {
        let mut reader = PacketReader::new(body);
        let flags = reader.byte()?;
        if flags > 1 {
            return Err(Malformed::Flags(flags));
        }
        let reason = Reason::of_connack(version, reader.byte()?)?;
        let mut properties = Block::default();
        if version == Version::V5 {
            properties = Block::read(&mut reader, PropertyOwner::Connack)?;
        }
        reader.end()?;
        Ok(Connack {
            session_present: flags == 1,
            reason,
            properties,
        })
    }

    /// Returns the limits that the server announces.
    #[must_use]
    pub fn terms(&self) -> Terms {
        let number = |id| self.properties.number(id);
        let is_offered = |id| number(id) != Some(0);
        let qos = number(Id::MaximumQos).and_then(|level| Qos::from_level(level as u8));
        Terms {
            receive_maximum: number(Id::ReceiveMaximum).map_or(u16::MAX, |n| n as u16),
            maximum_qos: qos.unwrap_or(Qos::ExactlyOnce),
            maximum_packet: number(Id::MaximumPacket).unwrap_or(u32::MAX),
            topic_alias_maximum: number(Id::TopicAliasMaximum).unwrap_or(0) as u16,
            keep_alive: number(Id::ServerKeepAlive).map(|seconds| seconds as u16),
            session_expiry_s: number(Id::SessionExpiry),
            retain: is_offered(Id::RetainAvailable),
            wildcards: is_offered(Id::WildcardAvailable),
            subscription_ids: is_offered(Id::SubscriptionIdAvailable),
            shared: is_offered(Id::SharedAvailable),
        }
    }
}

/// The limits that a server announces. Other limits have the protocol's default value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Maximum number of messages above QoS 0 that may be in flight.
    pub receive_maximum: u16,
    /// Maximum QoS of a message.
    pub maximum_qos: Qos,
    /// Maximum packet size in bytes.
    pub maximum_packet: u32,
    /// Highest topic alias. 0 disables aliases.
    pub topic_alias_maximum: u16,
    /// Keep-alive in seconds that replaces the client's value.
    pub keep_alive: Option<u16>,
    /// Session expiry in seconds that replaces the client's value.
    pub session_expiry_s: Option<u32>,
    /// Whether the server supports retained messages.
    pub retain: bool,
    /// Whether the server supports wildcards in filters.
    pub wildcards: bool,
    /// Whether the server supports subscription identifiers.
    pub subscription_ids: bool,
    /// Whether the server supports shared subscriptions.
    pub shared: bool,
}

/// A DISCONNECT or AUTH packet, which consists of a reason and properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said<'a> {
    /// Reason of the packet.
    pub reason: Reason,
    /// Properties of the packet.
    pub properties: Block<'a>,
}

impl<'a> Said<'a> {
    pub(crate) fn read(body: &'a [u8], place: PropertyOwner) -> Result<Said<'a>, Malformed> {
        let mut reader = PacketReader::new(body);
        let mut text = Said {
            reason: Reason::SUCCESS,
            properties: Block::default(),
        };
        if !body.is_empty() {
            text.reason = Reason(reader.byte()?);
        }
        if !reader.rest.is_empty() {
            text.properties = Block::read(&mut reader, place)?;
        }
        reader.end()?;
        Ok(text)
    }
}
