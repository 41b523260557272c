//! Properties of MQTT 5: identifiers, value types, and the packets that may contain them. Parses
//! properties in place and encodes them.

use crate::wire::{MAX_LENGTH, Malformed, PacketReader, TooLong, put_binary, put_length, put_two};

/// A packet that may contain properties, or the will in a CONNECT packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum PropertyOwner {
    /// The CONNECT packet.
    Connect = 1,
    /// The CONNACK packet.
    Connack = 1 << 1,
    /// The PUBLISH packet.
    Publish = 1 << 2,
    /// The will within CONNECT.
    Will = 1 << 3,
    /// Any of PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK and UNSUBACK, which allow the same
    /// properties.
    Answer = 1 << 4,
    /// The SUBSCRIBE packet.
    Subscribe = 1 << 5,
    /// The UNSUBSCRIBE packet.
    Unsubscribe = 1 << 6,
    /// The DISCONNECT packet.
    Disconnect = 1 << 7,
    /// The AUTH packet.
    Auth = 1 << 8,
}

/// The type of a property's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The number 0 or 1, in one byte.
    Flag,
    /// A number of two bytes.
    Two,
    /// A number of two bytes, not 0.
    TwoNotZero,
    /// A number of four bytes.
    Four,
    /// A number of four bytes, not 0.
    FourNotZero,
    /// A variable-length integer of one to four bytes, not 0.
    Length,
    /// A UTF-8 string.
    Text,
    /// Binary data.
    Binary,
    /// A pair of UTF-8 strings.
    Pair,
}

macro_rules! properties {
    ($($(#[doc = $doc:literal])* $name:ident = $id:literal, $shape:ident, [$($place:ident)*];)*) => {
        /// The identifier of a property.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Id { $($(#[doc = $doc])* $name = $id,)* }

        impl Id {
            /// All properties that the protocol defines.
            pub const ALL: &'static [Id] = &[$(Id::$name,)*];

            /// Returns the property with this number.
            #[must_use]
            pub fn from_number(id: usize) -> Option<Id> {
                match id { $($id => Some(Id::$name),)* _ => None }
            }

            /// Returns the type of the property's value.
            #[must_use]
            pub fn shape(self) -> Shape {
                match self { $(Id::$name => Shape::$shape,)* }
            }

            fn places(self) -> u16 {
                match self { $(Id::$name => 0 $(| PropertyOwner::$place as u16)*,)* }
            }
        }
    };
}

properties! {
    /// Whether the payload is UTF-8.
    PayloadFormat = 1, Flag, [Publish Will];
    /// Message expiry in seconds.
    MessageExpiry = 2, Four, [Publish Will];
    /// Content type of the payload.
    ContentType = 3, Text, [Publish Will];
    /// Topic to which a response should be published.
    ResponseTopic = 8, Text, [Publish Will];
    /// Data that identifies the request to which a response belongs.
    CorrelationData = 9, Binary, [Publish Will];
    /// Identifier of a subscription.
    SubscriptionId = 11, Length, [Publish Subscribe];
    /// Time in seconds that the session outlives the connection.
    SessionExpiry = 17, Four, [Connect Connack Disconnect];
    /// Client identifier assigned by the server.
    AssignedClientId = 18, Text, [Connack];
    /// Keep-alive required by the server.
    ServerKeepAlive = 19, Two, [Connack];
    /// Authentication method.
    AuthMethod = 21, Text, [Connect Connack Auth];
    /// Authentication data.
    AuthData = 22, Binary, [Connect Connack Auth];
    /// Whether the server may send reason strings.
    RequestProblem = 23, Flag, [Connect];
    /// Delay until the server publishes the will, in seconds.
    WillDelay = 24, Four, [Will];
    /// Whether the server should send response information.
    RequestResponse = 25, Flag, [Connect];
    /// Information from which the client forms response topics.
    ResponseInfo = 26, Text, [Connack];
    /// Another server that the client should use.
    ServerReference = 28, Text, [Connack Disconnect];
    /// Reason as text, for diagnostics.
    ReasonString = 31, Text, [Connack Answer Disconnect Auth];
    /// Maximum number of messages above QoS 0 that may be in flight.
    ReceiveMaximum = 33, TwoNotZero, [Connect Connack];
    /// Highest topic alias that is accepted.
    TopicAliasMaximum = 34, Two, [Connect Connack];
    /// Number that replaces the topic.
    TopicAlias = 35, TwoNotZero, [Publish];
    /// Maximum QoS that the server supports.
    MaximumQos = 36, Flag, [Connack];
    /// Whether the server supports retained messages.
    RetainAvailable = 37, Flag, [Connack];
    /// A pair of name and value that the application defines.
    User = 38, Pair, [Connect Connack Publish Will Answer Subscribe Unsubscribe Disconnect Auth];
    /// Maximum packet size in bytes.
    MaximumPacket = 39, FourNotZero, [Connect Connack];
    /// Whether the server supports wildcards in filters.
    WildcardAvailable = 40, Flag, [Connack];
    /// Whether the server supports subscription identifiers.
    SubscriptionIdAvailable = 41, Flag, [Connack];
    /// Whether the server supports shared subscriptions.
    SharedAvailable = 42, Flag, [Connack];
}

/// The value of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropertyValue<'a> {
    /// A number of any numeric type.
    Number(u32),
    /// A UTF-8 string.
    Text(&'a str),
    /// Binary data.
    Binary(&'a [u8]),
    /// A pair of UTF-8 strings.
    Pair(&'a str, &'a str),
}

/// A property: an identifier and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Property<'a> {
    /// Identifier of the property.
    pub id: Id,
    /// Value of the property.
    pub value: PropertyValue<'a>,
}

impl<'a> Property<'a> {
    /// Creates a numeric property.
    #[must_use]
    pub fn number(id: Id, value: u32) -> Property<'a> {
        let value = PropertyValue::Number(value);
        Property { id, value }
    }

    /// Creates a string property.
    #[must_use]
    pub fn text(id: Id, value: &'a str) -> Property<'a> {
        let value = PropertyValue::Text(value);
        Property { id, value }
    }

    /// Creates a binary property.
    #[must_use]
    pub fn binary(id: Id, value: &'a [u8]) -> Property<'a> {
        let value = PropertyValue::Binary(value);
        Property { id, value }
    }

    /// Creates a user property.
    #[must_use]
    pub fn user(name: &'a str, value: &'a str) -> Property<'a> {
        let value = PropertyValue::Pair(name, value);
        Property {
            id: Id::User,
            value,
        }
    }
}

/// A validated block of properties, which is read in place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Block<'a>(&'a [u8]);

impl<'a> Block<'a> {
    /// Reads and validates a block, including its length field.
    #[inline]
    pub fn read(
        reader: &mut PacketReader<'a>,
        place: PropertyOwner,
    ) -> Result<Block<'a>, Malformed> {
        let bytes = reader.length()?;
        let block = reader.take(bytes)?;
        if block.is_empty() {
            return Ok(Block(block));
        }
        check(block, place)?;
        Ok(Block(block))
    }

    /// Returns all properties in order.
    pub fn iter(self) -> impl Iterator<Item = Property<'a>> {
        let mut reader = PacketReader::new(self.0);
        std::iter::from_fn(move || match reader.rest.is_empty() {
            true => None,
            false => one(&mut reader).ok(),
        })
    }

    /// Returns the value of the first property with this identifier.
    #[must_use]
    pub fn get(self, id: Id) -> Option<PropertyValue<'a>> {
        self.iter().find(|p| p.id == id).map(|p| p.value)
    }

    /// Returns the value of a numeric property, if it is present.
    #[must_use]
    pub fn number(self, id: Id) -> Option<u32> {
        match self.get(id) {
            Some(PropertyValue::Number(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the value of a string property, if it is present.
    #[must_use]
    pub fn text(self, id: Id) -> Option<&'a str> {
        match self.get(id) {
            Some(PropertyValue::Text(value)) => Some(value),
            _ => None,
        }
    }
}

fn check(block: &[u8], place: PropertyOwner) -> Result<(), Malformed> {
    let mut reader = PacketReader::new(block);
    let mut seen = 0u64;
    while !reader.rest.is_empty() {
        let id = one(&mut reader)?.id;
        let here = id.places() & place as u16 != 0;
        // These may occur several times, because a message may match several subscriptions.
        let many = id == Id::User || (id == Id::SubscriptionId && place == PropertyOwner::Publish);
        let bit = 1u64 << (id as u8);
        if !here || (seen & bit != 0 && !many) {
            return Err(Malformed::Property(u32::from(id as u8)));
        }
        seen |= bit;
    }
    Ok(())
}

fn one<'a>(reader: &mut PacketReader<'a>) -> Result<Property<'a>, Malformed> {
    let number = reader.length()?;
    let id = Id::from_number(number).ok_or(Malformed::Property(number as u32))?;
    let value = match id.shape() {
        Shape::Flag => PropertyValue::Number(u32::from(reader.byte()?)),
        Shape::Two | Shape::TwoNotZero => PropertyValue::Number(u32::from(reader.two()?)),
        Shape::Four | Shape::FourNotZero => PropertyValue::Number(reader.four()?),
        Shape::Length => PropertyValue::Number(reader.length()? as u32),
        Shape::Text => PropertyValue::Text(reader.text()?),
        Shape::Binary => PropertyValue::Binary(reader.binary()?),
        Shape::Pair => PropertyValue::Pair(reader.text()?, reader.text()?),
    };
    let right = match (id.shape(), value) {
        (Shape::Flag, PropertyValue::Number(n)) => n <= 1,
        (Shape::TwoNotZero | Shape::FourNotZero | Shape::Length, PropertyValue::Number(n)) => n > 0,
        _ => true,
    };
    if right {
        Ok(Property { id, value })
    } else {
        Err(Malformed::PropertyValue(number as u32))
    }
}

/// Appends a block of properties, including its length field. Omits values of the wrong type.
pub fn put(out: &mut Vec<u8>, properties: &[Property<'_>]) -> Result<(), TooLong> {
    if properties.is_empty() {
        out.push(0);
        return Ok(());
    }
    let mut block = Vec::new();
    for property in properties {
        put_one(&mut block, *property)?;
    }
    let bytes = block.len();
    if bytes > MAX_LENGTH {
        return Err(TooLong { bytes });
    }
    put_length(out, bytes);
    out.extend_from_slice(&block);
    Ok(())
}

fn put_one(out: &mut Vec<u8>, property: Property<'_>) -> Result<(), TooLong> {
    let shape = property.id.shape();
    debug_assert!(
        matches!(
            (shape, property.value),
            (Shape::Text, PropertyValue::Text(_))
                | (Shape::Binary, PropertyValue::Binary(_))
                | (Shape::Pair, PropertyValue::Pair(..))
                | (
                    Shape::Flag
                        | Shape::Two
                        | Shape::TwoNotZero
                        | Shape::Four
                        | Shape::FourNotZero
                        | Shape::Length,
                    PropertyValue::Number(_)
                )
        ),
        "{property:?} has the wrong type"
    );
    out.push(property.id as u8);
    match (property.value, shape) {
        (PropertyValue::Number(n), Shape::Flag) => out.push(n as u8),
        (PropertyValue::Number(n), Shape::Two | Shape::TwoNotZero) => put_two(out, n as u16),
        (PropertyValue::Number(n), Shape::Length) => put_length(out, n as usize),
        (PropertyValue::Number(n), _) => out.extend_from_slice(&n.to_be_bytes()),
        (PropertyValue::Text(text), _) => put_binary(out, text.as_bytes())?,
        (PropertyValue::Binary(data), _) => put_binary(out, data)?,
        (PropertyValue::Pair(name, value), _) => {
            put_binary(out, name.as_bytes())?;
            put_binary(out, value.as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], place: PropertyOwner) -> Result<Vec<Property<'_>>, Malformed> {
        let mut reader = PacketReader::new(bytes);
        Block::read(&mut reader, place).map(|block| block.iter().collect())
    }

    #[test]
    fn properties_round_trip_in_allowed_packets() {
        let properties = [
            Property::number(Id::PayloadFormat, 1),
            Property::number(Id::MessageExpiry, 70_000),
            Property::text(Id::ContentType, "text/plain"),
            Property::binary(Id::CorrelationData, &[0, 1, 2]),
            Property::number(Id::TopicAlias, 7),
            Property::number(Id::SubscriptionId, 300),
            Property::number(Id::SubscriptionId, 301),
            Property::user("a", "b"),
            Property::user("a", "c"),
        ];
        let mut out = Vec::new();
        put(&mut out, &properties).unwrap();
        assert_eq!(read(&out, PropertyOwner::Publish).unwrap(), properties);
        assert_eq!(
            read(&out, PropertyOwner::Connack),
            Err(Malformed::Property(1))
        );
    }

    #[test]
    fn invalid_properties_are_rejected() {
        // Blocks with a duplicate, an invalid value, an unknown identifier, and a truncated
        // property.
        let twice = [10, 33, 0, 1, 33, 0, 1, 33, 0, 1, 0];
        assert_eq!(
            read(&twice[..11], PropertyOwner::Connack),
            Err(Malformed::Property(33))
        );
        assert_eq!(
            read(&[3, 33, 0, 0], PropertyOwner::Connack),
            Err(Malformed::PropertyValue(33))
        );
        assert_eq!(
            read(&[2, 36, 2], PropertyOwner::Connack),
            Err(Malformed::PropertyValue(36))
        );
        assert_eq!(
            read(&[2, 99, 0], PropertyOwner::Connack),
            Err(Malformed::Property(99))
        );
        assert_eq!(
            read(&[2, 33, 0], PropertyOwner::Connack),
            Err(Malformed::Short)
        );
        assert_eq!(
            read(&[9, 33, 0, 1], PropertyOwner::Connack),
            Err(Malformed::Short)
        );
    }
}
