//! PUBLISH packets, encoded from a prepared template and parsed in place. Allocates memory only
//! when a buffer must grow.

use crate::{
    Qos, Version,
    property::{self, Block, Property, PropertyOwner},
    topic,
    wire::{MAX_LENGTH, Malformed, PacketReader, TooLong, put_binary, put_length},
};

const DUP: u8 = 1 << 3;

/// The settings that all messages of a template share.
#[derive(Debug, Clone)]
pub struct Publish<'a> {
    /// Topic of the messages. May be empty only with a topic alias.
    pub topic: &'a str,
    /// Quality of service of the messages.
    pub qos: Qos,
    /// Whether the server retains the messages.
    pub retain: bool,
    /// Properties. MQTT 5 only.
    pub properties: &'a [Property<'a>],
}

/// The encoded beginning of messages that differ only in identifier and payload.
#[derive(Debug, Clone)]
pub struct Template {
    first: u8,
    head: Vec<u8>,
    identifier: Option<usize>,
}

impl Template {
    /// Encodes the constant part of the messages.
    pub fn new(version: Version, publish: &Publish<'_>) -> Result<Template, TooLong> {
        let mut head = Vec::new();
        put_binary(&mut head, publish.topic.as_bytes())?;
        let identifier = (publish.qos > Qos::AtMostOnce).then_some(head.len());
        if identifier.is_some() {
            head.extend_from_slice(&[0, 0]);
        }
        if version == Version::V5 {
            property::put(&mut head, publish.properties)?;
        }
        let first = 0x30 | publish.qos.level() << 1 | u8::from(publish.retain);
        Ok(Template {
            first,
            head,
            identifier,
        })
    }

    /// Returns the quality of service of the messages.
    #[must_use]
    pub fn qos(&self) -> Qos {
        Qos::from_level(self.first >> 1 & 3).unwrap_or_default()
    }

    /// Returns whether a payload of this size fits into one packet.
    #[must_use]
    pub fn fits(&self, payload_bytes: usize) -> bool {
        self.head.len() + payload_bytes <= MAX_LENGTH
    }

    /// Appends a message. Ignores `identifier` for QoS 0. The payload must fit, see
    /// [`Template::fits`].
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>, identifier: u16, is_again: bool, payload: &[u8]) {
        out.reserve(self.head.len() + payload.len() + 5);
        out.push(self.first | if is_again { DUP } else { 0 });
        put_length(out, self.head.len() + payload.len());
        let head = out.len();
        out.extend_from_slice(&self.head);
        if let Some(at) = self.identifier {
            let place = &mut out[head + at..head + at + 2];
            place.copy_from_slice(&identifier.to_be_bytes());
        }
        out.extend_from_slice(payload);
    }
}

/// A message that a server delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Topic of the message. Empty if a topic alias replaces it.
    pub topic: &'a [u8],
    /// Quality of service of the delivery.
    pub qos: Qos,
    /// Whether the message may be a duplicate (DUP flag).
    pub is_again: bool,
    /// Whether the message was retained.
    pub retain: bool,
    /// Packet identifier. `None` if the QoS is 0.
    pub identifier: Option<u16>,
    /// Properties. MQTT 5 only.
    pub properties: Block<'a>,
    /// Payload of the message.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    #[inline]
    pub(crate) fn read(
        version: Version,
        first: u8,
        body: &'a [u8],
    ) -> Result<Message<'a>, Malformed> {
        let qos = Qos::from_level(first >> 1 & 3).ok_or(Malformed::Flags(first))?;
        if qos == Qos::AtMostOnce && first & DUP != 0 {
            return Err(Malformed::Flags(first));
        }
        let mut reader = PacketReader::new(body);
        let topic = reader.binary()?;
        let mut identifier = None;
        if qos > Qos::AtMostOnce {
            identifier = Some(reader.identifier()?);
        }
        let mut properties = Block::default();
        if version == Version::V5 {
            properties = Block::read(&mut reader, PropertyOwner::Publish)?;
        }
        let has_alias = || properties.number(property::Id::TopicAlias).is_some();
        if topic.is_empty() {
            if !has_alias() {
                return Err(Malformed::Topic);
            }
        } else if topic::has_wildcard(topic) {
            return Err(Malformed::Topic);
        }
        Ok(Message {
            topic,
            qos,
            is_again: first & DUP != 0,
            retain: first & 1 == 1,
            identifier,
            properties,
            payload: reader.rest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_is_patched_with_identifier_and_payload() {
        let publish = Publish {
            topic: "a/b",
            qos: Qos::AtLeastOnce,
            retain: true,
            properties: &[],
        };
        let template = Template::new(Version::V311, &publish).unwrap();
        let mut out = Vec::new();
        template.put(&mut out, 10, false, b"xy");
        assert_eq!(out, b"\x33\x09\x00\x03a/b\x00\x0axy");
        out.clear();
        template.put(&mut out, 0x1234, true, b"");
        assert_eq!(out, b"\x3b\x07\x00\x03a/b\x12\x34");
        assert!(template.fits(MAX_LENGTH - 7) && !template.fits(MAX_LENGTH - 6));
        assert_eq!(template.qos(), Qos::AtLeastOnce);
    }

    #[test]
    fn oversized_message_is_rejected() {
        let read = |first, body: &'static [u8]| Message::read(Version::V311, first, body);
        assert_eq!(read(0x36, b"\x00\x01a"), Err(Malformed::Flags(0x36)));
        assert_eq!(read(0x38, b"\x00\x01a"), Err(Malformed::Flags(0x38)));
        assert_eq!(read(0x30, b"\x00\x00a"), Err(Malformed::Topic));
        assert_eq!(read(0x30, b"\x00\x01+"), Err(Malformed::Topic));
        assert_eq!(
            read(0x32, b"\x00\x01a\x00\x00"),
            Err(Malformed::NoIdentifier)
        );
        assert_eq!(read(0x30, b"\x00\x02a"), Err(Malformed::Short));
        assert_eq!(
            read(0x30, b"\x00\x01ab").map(|m| m.payload),
            Ok(b"b".as_slice())
        );
    }
}
