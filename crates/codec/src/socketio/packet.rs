//! Socket.IO packets: `type [attachments-] [namespace,] [id] [JSON]`.

/// Type of a Socket.IO packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// Joins a namespace. The server's response has the same type.
    Connect,
    /// Leaves a namespace.
    Disconnect,
    /// An event: a list of its name and arguments.
    Event,
    /// Acknowledges an event: a list of arguments.
    Ack,
    /// The server refuses a namespace.
    ConnectError,
    /// An event with binary arguments, which follow in separate messages.
    BinaryEvent,
    /// An acknowledgement with binary arguments.
    BinaryAck,
}

impl PacketKind {
    pub(super) const ALL: [PacketKind; 7] = [
        PacketKind::Connect,
        PacketKind::Disconnect,
        PacketKind::Event,
        PacketKind::Ack,
        PacketKind::ConnectError,
        PacketKind::BinaryEvent,
        PacketKind::BinaryAck,
    ];

    fn digit(self) -> u8 {
        b'0' + self as u8
    }

    pub(super) fn is_binary(self) -> bool {
        matches!(self, PacketKind::BinaryEvent | PacketKind::BinaryAck)
    }
}

/// A Socket.IO packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Type of the packet.
    pub kind: PacketKind,
    /// Number of binary attachments. The JSON contains placeholders for them.
    pub attachments: u32,
    /// Namespace, which begins with `/`. The default is `/`.
    pub namespace: &'a str,
    /// Number that the acknowledgement of an event repeats.
    pub id: Option<u64>,
    /// Content as JSON. Empty if there is none.
    pub json: &'a str,
}

/// The error for a text that is not a Socket.IO packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketError;

impl<'a> Packet<'a> {
    /// Creates a packet without an ID and attachments.
    #[must_use]
    pub fn new(kind: PacketKind, namespace: &'a str, json: &'a str) -> Packet<'a> {
        Packet {
            kind,
            attachments: 0,
            namespace,
            id: None,
            json,
        }
    }

    /// Parses a packet. Does not check that the content is JSON.
    pub fn parse(text: &'a str) -> Result<Packet<'a>, PacketError> {
        let mut chars = text.chars();
        let digit = chars.next().ok_or(PacketError)?;
        let mut kinds = PacketKind::ALL.into_iter();
        let kind = kinds.find(|kind| char::from(kind.digit()) == digit);
        let kind = kind.ok_or(PacketError)?;
        let mut rest = chars.as_str();
        let mut attachments = 0;
        if kind.is_binary() {
            let (number, after) = rest.split_once('-').ok_or(PacketError)?;
            attachments = number.parse().map_err(|_| PacketError)?;
            rest = after;
        }
        let mut namespace = "/";
        if rest.starts_with('/') {
            (namespace, rest) = rest.split_once(',').unwrap_or((rest, ""));
            // Clients may append a query, which is not part of the name.
            namespace = namespace.split('?').next().unwrap_or(namespace);
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, json) = rest.split_at(digits);
        let has_id = !number.is_empty();
        let id = has_id.then(|| number.parse().map_err(|_| PacketError));
        Ok(Packet {
            kind,
            attachments,
            namespace,
            id: id.transpose()?,
            json,
        })
    }

    /// Returns the packet as text.
    #[must_use]
    pub fn to_text(self) -> String {
        let mut text = String::with_capacity(self.json.len() + self.namespace.len() + 8);
        text.push(char::from(self.kind.digit()));
        if self.kind.is_binary() {
            text.push_str(&format!("{}-", self.attachments));
        }
        if self.namespace != "/" {
            text.push_str(self.namespace);
            text.push(',');
        }
        if let Some(id) = self.id {
            text.push_str(&id.to_string());
        }
        text.push_str(self.json);
        text
    }
}
