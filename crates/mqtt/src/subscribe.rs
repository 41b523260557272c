//! Encoding of SUBSCRIBE and UNSUBSCRIBE, and parsing of SUBACK and UNSUBACK in place.

use crate::{
    Qos, Reason, Version,
    property::{self, Block, Property, PropertyOwner},
    wire::{Malformed, PacketReader, TooLong, put_binary, put_packet, put_two},
};

/// Which retained messages a new subscription receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retained {
    /// All matching messages.
    #[default]
    Send,
    /// All matching messages, but only if the subscription is new.
    SendIfNew,
    /// No retained messages.
    Keep,
}

/// A subscription. MQTT 3.1.1 uses only its topic filter and quality of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter<'a> {
    /// Topic filter of the subscription.
    pub topic: &'a str,
    /// Maximum quality of service of deliveries.
    pub qos: Qos,
    /// Whether to exclude messages that this client publishes.
    pub no_local: bool,
    /// Whether delivered messages keep the retain flag with which they were published.
    pub as_published: bool,
    /// Retained messages to receive.
    pub retained: Retained,
}

impl<'a> Filter<'a> {
    /// Creates a subscription with default options.
    #[must_use]
    pub fn new(topic: &'a str, qos: Qos) -> Filter<'a> {
        Filter {
            topic,
            qos,
            no_local: false,
            as_published: false,
            retained: Retained::Send,
        }
    }

    fn options(&self, version: Version) -> u8 {
        let qos = self.qos.level();
        match version {
            Version::V311 => qos,
            Version::V5 => {
                let (local, published) = (u8::from(self.no_local), u8::from(self.as_published));
                qos | local << 2 | published << 3 | (self.retained as u8) << 4
            }
        }
    }
}

/// Appends a SUBSCRIBE with at least one filter.
pub fn put_subscribe(
    out: &mut Vec<u8>,
    version: Version,
    identifier: u16,
    filters: &[Filter<'_>],
    properties: &[Property<'_>],
) -> Result<(), TooLong> {
    let mut body = Vec::new();
    put_two(&mut body, identifier);
    if version == Version::V5 {
        property::put(&mut body, properties)?;
    }
    for filter in filters {
        put_binary(&mut body, filter.topic.as_bytes())?;
        body.push(filter.options(version));
    }
    put_packet(out, 0x82, &body)
}

/// The response to a SUBSCRIBE or an UNSUBSCRIBE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered<'a> {
    /// Identifier of the request.
    pub identifier: u16,
    /// Properties. MQTT 5 only.
    pub properties: Block<'a>,
    /// One code per filter, in order. Empty for the UNSUBACK of 3.1.1.
    codes: &'a [u8],
}

impl<'a> Answered<'a> {
    /// Returns one result per filter, in order. A refusal in 3.1.1 has no specific reason.
    pub fn reasons(&self) -> impl Iterator<Item = Reason> + use<'a> {
        self.codes.iter().map(|code| Reason(*code))
    }

    pub(crate) fn read_suback(version: Version, body: &'a [u8]) -> Result<Answered<'a>, Malformed> {
        let answered = Answered::read(version, body)?;
        if answered.codes.is_empty() {
            return Err(Malformed::Short);
        }
        let is_known = |code: u8| match version {
            Version::V311 => code <= 2 || code == 0x80,
            Version::V5 => code <= 2 || code >= 0x80,
        };
        match answered.codes.iter().find(|code| !is_known(**code)) {
            Some(code) => Err(Malformed::Code(*code)),
            None => Ok(answered),
        }
    }

    pub(crate) fn read_unsuback(
        version: Version,
        body: &'a [u8],
    ) -> Result<Answered<'a>, Malformed> {
        let answered = Answered::read(version, body)?;
        match version {
            Version::V311 if !answered.codes.is_empty() => Err(Malformed::Long),
            Version::V5 if answered.codes.is_empty() => Err(Malformed::Short),
            _ => Ok(answered),
        }
    }

    fn read(version: Version, body: &'a [u8]) -> Result<Answered<'a>, Malformed> {
        let mut reader = PacketReader::new(body);
        let identifier = reader.identifier()?;
        let mut properties = Block::default();
        if version == Version::V5 {
            properties = Block::read(&mut reader, PropertyOwner::Answer)?;
        }
        Ok(Answered {
            identifier,
            properties,
            codes: reader.rest,
        })
    }
}
