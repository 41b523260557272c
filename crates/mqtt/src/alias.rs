//! Topic aliases that a server assigns. An alias supplies the topic of a message without one.

use std::collections::HashMap;

use crate::{property::Id, publish::Message, wire::Malformed};

/// The aliases of one connection. They do not outlive the connection.
#[derive(Debug, Clone, Default)]
pub struct Aliases {
    maximum: u16,
    topics: HashMap<u16, Box<[u8]>>,
}

impl Aliases {
    /// Creates the table of a client that allows `maximum` aliases.
    #[must_use]
    pub fn new(maximum: u16) -> Aliases {
        Aliases {
            maximum,
            topics: HashMap::new(),
        }
    }

    /// Returns the topic of a message, looking up its alias if it has one.
    pub fn topic<'a>(&'a mut self, message: &Message<'a>) -> Result<&'a [u8], Malformed> {
        let Some(alias) = message.properties.number(Id::TopicAlias) else {
            return Ok(message.topic);
        };
        let wrong = Malformed::PropertyValue(Id::TopicAlias as u32);
        let alias = u16::try_from(alias).map_err(|_| wrong)?;
        if alias > self.maximum {
            return Err(wrong);
        }
        if !message.topic.is_empty() {
            self.topics.insert(alias, message.topic.into());
        }
        self.topics.get(&alias).map(AsRef::as_ref).ok_or(wrong)
    }
}
