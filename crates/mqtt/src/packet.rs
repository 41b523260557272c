//! Packets as they come from a server, found in a stream of bytes and read in place: whole ones only, and how many bytes the next one needs.

use crate::{
    Reason, Version,
    connack::{Connack, Said},
    connect::put_reason,
    property::{Block, Place},
    publish::Message,
    subscribe::Answered,
    wire::{self, Malformed, Reader, put_length, put_two},
};

/// Where in its flow an acknowledgement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// PUBACK: a message of QoS 1 has arrived.
    Acknowledged,
    /// PUBREC: a message of QoS 2 has arrived.
    Received,
    /// PUBREL: its receiver may forget its identifier.
    Released,
    /// PUBCOMP: and has.
    Complete,
}

impl Stage {
    fn first(self) -> u8 {
        match self {
            Stage::Acknowledged => 0x40,
            Stage::Received => 0x50,
            Stage::Released => 0x62,
            Stage::Complete => 0x70,
        }
    }
}

/// A PUBACK, PUBREC, PUBREL or PUBCOMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack<'a> {
    /// Which of them.
    pub stage: Stage,
    /// Of which message.
    pub identifier: u16,
    /// Whether it was taken.
    pub reason: Reason,
    /// MQTT 5 only.
    pub properties: Block<'a>,
}

impl<'a> Ack<'a> {
    #[inline]
    fn read(version: Version, stage: Stage, body: &'a [u8]) -> Result<Ack<'a>, Malformed> {
        let mut reader = Reader::of(body);
        let mut ack = Ack {
            stage,
            identifier: reader.identifier()?,
            reason: Reason::SUCCESS,
            properties: Block::default(),
        };
        if version == Version::V5 && !reader.rest.is_empty() {
            ack.reason = Reason(reader.byte()?);
            if !reader.rest.is_empty() {
                ack.properties = Block::read(&mut reader, Place::Answer)?;
            }
        }
        reader.end()?;
        Ok(ack)
    }
}

/// Writes a PUBACK, PUBREC, PUBREL or PUBCOMP.
#[inline]
pub fn put_ack(out: &mut Vec<u8>, version: Version, stage: Stage, identifier: u16, reason: Reason) {
    if version == Version::V311 || reason == Reason::SUCCESS {
        let [high, low] = identifier.to_be_bytes();
        out.extend_from_slice(&[stage.first(), 2, high, low]);
        return;
    }
    let mut body = Vec::with_capacity(3);
    put_two(&mut body, identifier);
    // Without properties nothing in it can be too long.
    let _ = put_reason(&mut body, version, reason, &[]);
    out.push(stage.first());
    put_length(out, body.len());
    out.extend_from_slice(&body);
}

/// What a server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Whether the client is let in.
    Connack(Connack<'a>),
    /// A message is delivered.
    Publish(Message<'a>),
    /// A step of a message's flow.
    Ack(Ack<'a>),
    /// What became of a SUBSCRIBE.
    Suback(Answered<'a>),
    /// What became of an UNSUBSCRIBE.
    Unsuback(Answered<'a>),
    /// The server lives.
    Pingresp,
    /// The client is sent away; MQTT 5 only.
    Disconnect(Said<'a>),
    /// More is to be proved; MQTT 5 only.
    Auth(Said<'a>),
}

/// What stands at the beginning of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<'a> {
    /// A packet, and how many bytes it takes.
    Packet(Packet<'a>, usize),
    /// Not a whole one: so many bytes, at least, are needed before it is worth looking again.
    Partial(usize),
}

/// Reads the packet at the beginning of bytes, of at most so many bytes.
#[inline]
pub fn next(version: Version, bytes: &[u8], max_bytes: usize) -> Result<Next<'_>, Malformed> {
    let Some((first, rest)) = bytes.split_first() else {
        return Ok(Next::Partial(2));
    };
    let Some((length, length_bytes)) = wire::length(rest)? else {
        return Ok(Next::Partial(bytes.len() + 1));
    };
    let whole = 1 + length_bytes + length;
    if whole > max_bytes {
        return Err(Malformed::TooLarge(whole));
    }
    if bytes.len() < whole {
        return Ok(Next::Partial(whole));
    }
    let packet = read(version, *first, &bytes[1 + length_bytes..whole])?;
    Ok(Next::Packet(packet, whole))
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
        4 => ack(Stage::Acknowledged),
        5 => ack(Stage::Received),
        6 => ack(Stage::Released),
        7 => ack(Stage::Complete),
        9 => Answered::read_suback(version, body).map(Packet::Suback),
        11 => Answered::read_unsuback(version, body).map(Packet::Unsuback),
        13 => Reader::of(body).end().map(|()| Packet::Pingresp),
        14 => Said::read(body, Place::Disconnect).map(Packet::Disconnect),
        _ => Said::read(body, Place::Auth).map(Packet::Auth),
    }
}
