//! MQTT clients in a plan: groups, connections, publications and subscriptions.

mod groups;
mod pace;

use serde::Serialize;

pub use groups::{Groups, PayloadKind};
pub use pace::PublishPace;

/// The MQTT clients of a plan, in groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mqtt {
    /// Host of the server, without brackets around an IPv6 address.
    pub host: String,
    /// Additional hosts. The clients are distributed over all hosts in turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_hosts: Vec<String>,
    /// Port of the server.
    pub port: u16,
    /// Whether to connect with TLS.
    pub tls: bool,
    /// Protocol version of the clients.
    pub version: Version,
    /// What each arrival of the load triggers.
    pub arrivals: Arrival,
    /// Time between the connects of two clients, in nanoseconds.
    pub connect_every_ns: u64,
    /// Client groups. Client numbers continue from one group to the next.
    pub groups: Vec<Clients>,
}

/// Version of the MQTT protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Version {
    /// MQTT 3.1.1.
    #[serde(rename = "3.1.1")]
    V311,
    /// MQTT 5.
    #[serde(rename = "5")]
    V5,
}

/// What each arrival of the load triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// A client connects.
    Connection,
    /// A publisher sends a message. Publishers take turns.
    Message,
    /// The arrivals belong to other work, and each publishing group has its own pace.
    Elsewhere,
}

/// A group of clients with the same settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clients {
    /// Number of clients.
    pub count: u32,
    /// Number of the first client, which templates use.
    pub first: u64,
    /// Template of the client identifier.
    pub client_id: String,
    /// Template of the user name.
    pub username: Option<String>,
    /// Template of the password. The record does not contain it.
    #[serde(skip)]
    pub password: Option<String>,
    /// Keep-alive in seconds.
    pub keep_alive_s: u16,
    /// Whether each connection starts a new session.
    pub clean: bool,
    /// Time that the session outlives its connection, in seconds (MQTT 5).
    pub session_expiry_s: u32,
    /// Message that the server publishes when the connection is lost (the "will").
    pub will: Option<Will>,
    /// Messages that the clients publish.
    pub publish: Option<Publishing>,
    /// Subscriptions of each client.
    pub subscribe: Vec<Subscribing>,
    /// Settings of individual clients, in order, which override the group's templates. May be
    /// empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<Own>,
    /// Credentials of individual clients, in order, if they come from a file. The record does not
    /// contain them.
    #[serde(skip)]
    pub credentials: Vec<Credential>,
}

/// Credentials of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credential {
    /// Client identifier, if it differs from the group's template.
    pub client_id: Option<String>,
    /// User name.
    pub username: Option<String>,
    /// Password.
    pub password: Option<String>,
}

/// Settings of an individual client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Own {
    /// User name. It is a token, so the record does not contain it.
    #[serde(skip)]
    pub username: Option<String>,
    /// Topic that the client publishes to.
    pub topic: String,
}

/// A will: the message that the server publishes when the connection is lost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Will {
    /// Template of the topic.
    pub topic: String,
    /// Payload of the message.
    pub payload: String,
    /// Quality of service: 0, 1 or 2.
    pub qos: u8,
    /// Whether the server retains the message.
    pub retain: bool,
    /// Delay between the end of the connection and the message, in seconds (MQTT 5).
    pub delay_s: u32,
}

/// Properties of a message (MQTT 5).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Properties {
    /// Names and values of user properties.
    pub user: Vec<(String, String)>,
    /// Content type of the payload.
    pub content_type: Option<String>,
    /// Message expiry in seconds.
    pub expiry_s: Option<u32>,
}

impl Properties {
    /// Returns whether there are no properties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Properties::default()
    }
}

/// The messages that the clients of a group publish.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Publishing {
    /// Template of the topic.
    pub topic: String,
    /// Quality of service: 0, 1 or 2.
    pub qos: u8,
    /// Whether the server retains the messages.
    pub retain: bool,
    /// Payload of the messages.
    pub payload: Payload,
    /// Maximum number of unacknowledged messages per client.
    pub inflight: u16,
    /// Properties of the messages.
    #[serde(skip_serializing_if = "Properties::is_empty")]
    pub properties: Properties,
    /// Publication pace of the group. `None` if each arrival of the load is a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<PublishPace>,
}

/// Payload of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// Payload of this size in bytes. It starts with a message header if the size is sufficient.
    Stamped(u32),
    /// Text from a template.
    Text(String),
    /// Groups of identical messages.
    Groups(Groups),
}

/// A subscription of a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Subscribing {
    /// Template of the topic filter.
    pub filter: String,
    /// Quality of service: 0, 1 or 2.
    pub qos: u8,
}

/// How the operations of the clients are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// As requests with responses.
    Request,
    /// As separate durations, which do not count in any total.
    Aside,
}

/// Label of connect operations.
pub const CONNECT: &str = "CONNECT";
/// Label of subscribe operations.
pub const SUBSCRIBE: &str = "SUBSCRIBE";
/// Labels of publish operations, by quality of service.
pub const PUBLISH: [&str; 3] = ["PUBLISH QoS 0", "PUBLISH QoS 1", "PUBLISH QoS 2"];
/// Label of deliveries.
pub const DELIVERY: &str = "DELIVERY";
/// Time between the last connect and the first message, in which subscriptions complete.
pub const SETTLE_NS: u64 = crate::units::SECOND;

impl Mqtt {
    /// Returns the labels of the clients' operations, and how each is counted.
    #[must_use]
    pub fn operations(&self) -> Vec<(Counted, &'static str)> {
        let mut all = vec![(Counted::Request, CONNECT)];
        if self.groups.iter().any(|group| !group.subscribe.is_empty()) {
            all.push((Counted::Request, SUBSCRIBE));
            all.push((Counted::Aside, DELIVERY));
        }
        for (level, name) in PUBLISH.into_iter().enumerate() {
            let is_used = |group: &Clients| {
                let publish = group.publish.as_ref();
                publish.is_some_and(|publish| usize::from(publish.qos) == level)
            };
            if self.groups.iter().any(is_used) {
                all.push((Counted::Request, name));
            }
        }
        all
    }

    /// Returns all hosts. Client `n` connects to the host at index `n` modulo the number of hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.host.as_str()).chain(self.more_hosts.iter().map(String::as_str))
    }

    /// Returns the number of clients.
    #[must_use]
    pub fn clients(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.count)).sum()
    }

    /// Returns the number of publishing clients.
    #[must_use]
    pub fn publishers(&self) -> u64 {
        let publishing = self.groups.iter().filter(|group| group.publish.is_some());
        publishing.map(|group| u64::from(group.count)).sum()
    }

    /// Returns whether any clients use a shared subscription.
    #[must_use]
    pub fn shares_subscriptions(&self) -> bool {
        let mut all = self.groups.iter().flat_map(|group| &group.subscribe);
        all.any(|subscribing| subscribing.filter.starts_with("$share/"))
    }

    /// Returns the time at which all clients should be connected and subscribed, in nanoseconds
    /// from the start. No client publishes earlier.
    #[must_use]
    pub fn ready_ns(&self) -> u64 {
        let connects = self.connect_every_ns.saturating_mul(self.clients());
        connects.saturating_add(SETTLE_NS)
    }

    /// Returns whether `name` is a label of the clients' operations.
    #[must_use]
    pub fn does(&self, name: &str) -> bool {
        self.operations().iter().any(|(_, known)| *known == name)
    }

    /// Returns the first server as a target URL.
    #[must_use]
    pub fn target(&self) -> String {
        let scheme = if self.tls { "mqtts" } else { "mqtt" };
        if self.host.contains(':') {
            return format!("{scheme}://[{}]:{}", self.host, self.port);
        }
        format!("{scheme}://{}:{}", self.host, self.port)
    }
}

/// The values of a template's placeholders.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// `%i`: number of the client.
    pub number: u64,
    /// `%c`: client identifier.
    pub client_id: &'a str,
    /// `%u`: user name.
    pub username: &'a str,
    /// Seed of `%rand_N`.
    pub seed: u64,
}

/// Expands `%i`, `%c`, `%u` and `%rand_N`. `%rand_N` is a number from 1 to N that is constant for a
/// client.
#[must_use]
pub fn fill(template: &str, facts: Facts<'_>) -> String {
    let (mut out, mut rest) = (String::with_capacity(template.len() + 8), template);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (filled, used) = hole(rest, facts);
        out.push_str(&filled);
        rest = &rest[used..];
    }
    out.push_str(rest);
    out
}

fn hole(rest: &str, facts: Facts<'_>) -> (String, usize) {
    if let Some(after) = rest.strip_prefix("%rand_") {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if let Ok(most) = after[..digits].parse::<u64>()
            && most > 0
        {
            let purpose = crate::rng::Purpose::User;
            let mut rng = crate::rng::Rng::keyed(facts.seed, purpose, facts.number, most);
            return ((rng.below(most) + 1).to_string(), "%rand_".len() + digits);
        }
    }
    match rest.as_bytes().get(1) {
        Some(b'i') => (facts.number.to_string(), 2),
        Some(b'c') => (facts.client_id.to_owned(), 2),
        Some(b'u') => (facts.username.to_owned(), 2),
        _ => ("%".to_owned(), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_expanded() {
        let facts = Facts {
            number: 7,
            client_id: "c7",
            username: "u",
            seed: 1,
        };
        assert_eq!(fill("a/%i/%c/%u/100%", facts), "a/7/c7/u/100%");
        assert_eq!(fill("%rand_1/%rand_x/%%i", facts), "1/%rand_x/%7");
        let drawn: u64 = fill("%rand_50", facts).parse().expect("a number");
        assert!((1..=50).contains(&drawn));
        assert_eq!(fill("%rand_50", facts), drawn.to_string(), "each time");
    }
}
