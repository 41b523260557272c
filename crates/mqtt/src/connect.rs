//! Encoding of CONNECT, PINGREQ and DISCONNECT.

use crate::{
    Qos, Reason, Version,
    property::{self, Property},
    wire::{TooLong, put_binary, put_packet, put_two},
};

/// The content of a CONNECT packet.
#[derive(Debug, Clone)]
pub struct Connect<'a> {
    /// Client identifier. If it is empty, the server assigns one.
    pub client_id: &'a str,
    /// Whether to discard the old session and start a new one.
    pub clean: bool,
    /// Keep-alive in seconds. 0 disables it.
    pub keep_alive: u16,
    /// User name for authentication.
    pub username: Option<&'a str>,
    /// Password for authentication.
    pub password: Option<&'a [u8]>,
    /// Will of the client.
    pub will: Option<Will<'a>>,
    /// Properties. MQTT 5 only.
    pub properties: &'a [Property<'a>],
}

/// A message that the server publishes if the client disappears without DISCONNECT.
#[derive(Debug, Clone)]
pub struct Will<'a> {
    /// Topic of the message.
    pub topic: &'a str,
    /// Payload of the message.
    pub payload: &'a [u8],
    /// Quality of service of the message.
    pub qos: Qos,
    /// Whether the server retains the message.
    pub retain: bool,
    /// Properties. MQTT 5 only.
    pub properties: &'a [Property<'a>],
}

const CLEAN: u8 = 1 << 1;
const WILL: u8 = 1 << 2;
const WILL_RETAIN: u8 = 1 << 5;
const PASSWORD: u8 = 1 << 6;
const USERNAME: u8 = 1 << 7;

impl Connect<'_> {
    /// Appends the CONNECT packet.
    pub fn put(&self, out: &mut Vec<u8>, version: Version) -> Result<(), TooLong> {
        let mut body = Vec::with_capacity(64);
        put_binary(&mut body, b"MQTT")?;
        body.push(match version {
            Version::V311 => 4,
            Version::V5 => 5,
        });
        body.push(self.flags());
        put_two(&mut body, self.keep_alive);
        let is_v5 = version == Version::V5;
        if is_v5 {
            property::put(&mut body, self.properties)?;
        }
        put_binary(&mut body, self.client_id.as_bytes())?;
        if let Some(will) = &self.will {
            if is_v5 {
                property::put(&mut body, will.properties)?;
            }
            put_binary(&mut body, will.topic.as_bytes())?;
            put_binary(&mut body, will.payload)?;
        }
        if let Some(username) = self.username {
            put_binary(&mut body, username.as_bytes())?;
        }
        if let Some(password) = self.password {
            put_binary(&mut body, password)?;
        }
        put_packet(out, 0x10, &body)
    }

    fn flags(&self) -> u8 {
        let mut flags = 0;
        if self.clean {
            flags |= CLEAN;
        }
        if let Some(will) = &self.will {
            flags |= WILL | will.qos.level() << 3;
            if will.retain {
                flags |= WILL_RETAIN;
            }
        }
        if self.username.is_some() {
            flags |= USERNAME;
        }
        if self.password.is_some() {
            flags |= PASSWORD;
        }
        flags
    }
}

/// Appends a PINGREQ.
pub fn put_ping(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xc0, 0]);
}

/// Appends a DISCONNECT. The reason and the properties are used only in MQTT 5.
pub fn put_disconnect(
    out: &mut Vec<u8>,
    version: Version,
    reason: Reason,
    properties: &[Property<'_>],
) -> Result<(), TooLong> {
    let mut body = Vec::new();
    put_reason(&mut body, version, reason, properties)?;
    put_packet(out, 0xe0, &body)
}

pub(crate) fn put_reason(
    body: &mut Vec<u8>,
    version: Version,
    reason: Reason,
    properties: &[Property<'_>],
) -> Result<(), TooLong> {
    if version == Version::V311 || (reason == Reason::SUCCESS && properties.is_empty()) {
        return Ok(());
    }
    body.push(reason.0);
    if !properties.is_empty() {
        property::put(body, properties)?;
    }
    Ok(())
}
