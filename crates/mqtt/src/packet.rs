//! Parser that finds packets from a server in a byte stream and parses them in place.

use crate::{
    Reason, Version,
    connack::{Connack, Said},
    connect::put_reason,
    property::{Block, PropertyOwner},
    publish::Message,
    subscribe::Answered,
    wire::{self, Malformed, PacketReader, put_length, put_two},
};

/// Type of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckKind {
    /// PUBACK: the receiver has a QoS 1 message.
    Acknowledged,
    /// PUBREC: the receiver has a QoS 2 message.
    Received,
    /// PUBREL: the receiver may release the identifier.
    Released,
    /// PUBCOMP: the receiver has released the identifier.
    Complete,
}

impl AckKind {
    fn first(self) -> u8 {
        match self {
            AckKind::Acknowledged => 0x40,
            AckKind::Received => 0x50,
            AckKind::Released => 0x62,
            AckKind::Complete => 0x70,
        }
    }
}

/// A PUBACK, PUBREC, PUBREL or PUBCOMP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack<'a> {
    /// Type of the packet.
    pub stage: AckKind,
    /// Identifier of the message.
    pub identifier: u16,
    /// Success, or the reason for the refusal.
    pub reason: Reason,
    /// Properties. MQTT 5 only.
    pub properties: Block<'a>,
}

impl<'a> Ack<'a> {
    #[inline]
    fn read(version: Version, stage: AckKind, body: &'a [u8]) -> Result<Ack<'a>, Malformed> {
        let mut reader = PacketReader::new(body);
        let mut ack = Ack {
            stage,
            identifier: reader.identifier()?,
            reason: Reason::SUCCESS,
            properties: Block::default(),
        };
        if version == Version::V5 && !reader.rest.is_empty() {
            ack.reason = Reason(reader.byte()?);
            if !reader.rest.is_empty() {
                ack.properties = Block::read(&mut reader, PropertyOwner::Answer)?;
            }
        }
        reader.end()?;
        Ok(ack)
    }
}

/// Appends a PUBACK, PUBREC, PUBREL or PUBCOMP.
#[inline]
pub fn put_ack(
    out: &mut Vec<u8>,
    version: Version,
    stage: AckKind,
    identifier: u16,
    reason: Reason,
) {
    if version == Version::V311 || reason == Reason::SUCCESS {
        let [high, low] = identifier.to_be_bytes();
        out.extend_from_slice(&[stage.first(), 2, high, low]);
        return;
    }
    let mut body = Vec::with_capacity(3);
    put_two(&mut body, identifier);
    let _ = put_reason(&mut body, version, reason, &[]);
    out.push(stage.first());
    put_length(out, body.len());
    out.extend_from_slice(&body);
}

/// A packet from a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Response to CONNECT.
    Connack(Connack<'a>),
    /// A delivered message.
    Publish(Message<'a>),
    /// A PUBACK, PUBREC, PUBREL or PUBCOMP.
    Ack(Ack<'a>),
    /// Response to SUBSCRIBE.
    Suback(Answered<'a>),
    /// Response to UNSUBSCRIBE.
    Unsuback(Answered<'a>),
    /// Response to PINGREQ. Contains no data.
    Pingresp,
    /// Announces that the server closes the connection. MQTT 5 only.
    Disconnect(Said<'a>),
    /// Step of the extended authentication. MQTT 5 only.
    Auth(Said<'a>),
}

/// The result of [`next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPacket<'a> {
    /// A packet, and its size in bytes.
    Packet(Packet<'a>, usize),
    /// The packet is incomplete. Contains the minimum number of bytes that it needs.
    Partial(usize),
}

/// Parses the packet at the start of the bytes. Fails if the packet is malformed or larger than
/// `max_bytes`.
#[inline]
pub fn next(version: Version, bytes: &[u8], max_bytes: usize) -> Result<NextPacket<'_>, Malformed> {
    let Some((first, rest)) = bytes.split_first() else {
        return Ok(NextPacket::Partial(2));
    };
    let Some((length, length_bytes)) = wire::length(rest)? else {
        return Ok(NextPacket::Partial(bytes.len() + 1));
    };
    let whole = 1 + length_bytes + length;
    if whole > max_bytes {
        return Err(Malformed::TooLarge(whole));
    }
    if bytes.len() < whole {
        return Ok(NextPacket::Partial(whole));
    }
    let packet = read(version, *first, &bytes[1 + length_bytes..whole])?;
    Ok(NextPacket::Packet(packet, whole))
}

#[inline]
fn read(version: Version, first: u8, body: &[u8]) -> Result<Packet<'_>, Malformed> {
    let kind = first >> 4;
    if kind == 3 {
        return Message::read(version, first, body).map(Packet::Publish);
    }
    let is_v5 = version == Version::V5;
    let flags = if kind == 6 { 2 } else { 0 };
    let is_known = matches!(kind, 2 | 4..=7 | 9 | 11 | 13) || (is_v5 && matches!(kind, 14 | 15));
    if !is_known {
        return Err(Malformed::Type(kind));
    }
    if first & 0x0f != flags {
        return Err(Malformed::Flags(first));
    }
    let ack = |stage| Ack::read(version, stage, body).map(Packet::Ack);
    match kind {
        2 => Connack::read(version, body).map(Packet::Connack),
        4 => ack(AckKind::Acknowledged),
        5 => ack(AckKind::Received),
        6 => ack(AckKind::Released),
        7 => ack(AckKind::Complete),
        9 => Answered::read_suback(version, body).map(Packet::Suback),
        11 => Answered::read_unsuback(version, body).map(Packet::Unsuback),
        13 => PacketReader::new(body).end().map(|()| Packet::Pingresp),
        14 => Said::read(body, PropertyOwner::Disconnect).map(Packet::Disconnect),
        _ => Said::read(body, PropertyOwner::Auth).map(Packet::Auth),
    }
}
