//! What MQTT clients do: plain data, as a plan holds it. When they do it is the load's business, how it is done a driver's.

mod groups;
mod pace;

use serde::Serialize;

pub use groups::{Groups, Value};
pub use pace::Pace;

/// Groups of MQTT clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mqtt {
    /// The server's host, without brackets.
    pub host: String,
    /// Further hosts, which clients take in turn with the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_hosts: Vec<String>,
    /// The port.
    pub port: u16,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// 3.1.1 or 5.
    pub version: Version,
    /// What an arrival of the load is.
    pub arrivals: Arrival,
    /// From one client's connect to the next one's, in nanoseconds.
    pub connect_every_ns: u64,
    /// The clients, which are numbered through all groups.
    pub groups: Vec<Clients>,
}

/// Which MQTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Version {
    /// 3.1.1.
    #[serde(rename = "3.1.1")]
    V311,
    /// 5.
    #[serde(rename = "5")]
    V5,
}

/// What an arrival of the load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// A client connects.
    Connection,
    /// A message is published; those who publish take turns.
    Message,
    /// Nothing that these clients do: the load is other work's, and each group that publishes has its own pace.
    Elsewhere,
}

/// Clients that do the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clients {
    /// How many.
    pub count: u32,
    /// The number of the first, as templates have it.
    pub first: u64,
    /// Who they are; a template.
    pub client_id: String,
    /// The user name; a template.
    pub username: Option<String>,
    /// The password; a template. Never written down.
    #[serde(skip)]
    pub password: Option<String>,
    /// Seconds after which silence is an end.
    pub keep_alive_s: u16,
    /// Begin a new session.
    pub clean: bool,
    /// Seconds that the session outlives its connection (MQTT 5).
    pub session_expiry_s: u32,
    /// What the server publishes when a client is gone.
    pub will: Option<Will>,
    /// What they publish.
    pub publish: Option<Publishing>,
    /// What they subscribe to.
    pub subscribe: Vec<Subscribing>,
    /// What each has of its own, in order, instead of what the templates say; empty: nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<Own>,
    /// Who each of them is, in order, where a file says so. Never written down.
    #[serde(skip)]
    pub credentials: Vec<Credential>,
}

/// Who a client is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credential {
    /// Its client identifier, where it is not the group's.
    pub client_id: Option<String>,
    /// Its user name.
    pub username: Option<String>,
    /// Its password.
    pub password: Option<String>,
}

/// What one client has of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Own {
    /// The user name: a token, so never written down.
    #[serde(skip)]
    pub username: Option<String>,
    /// Where it publishes.
    pub topic: String,
}

/// A will.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Will {
    /// Where; a template.
    pub topic: String,
    /// What.
    pub payload: String,
    /// 0, 1 or 2.
    pub qos: u8,
    /// Whether it is retained.
    pub retain: bool,
    /// Seconds behind the end of the connection (MQTT 5).
    pub delay_s: u32,
}

/// What messages carry beside their payload (MQTT 5).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Properties {
    /// Names and values of the user's.
    pub user: Vec<(String, String)>,
    /// What the payload is.
    pub content_type: Option<String>,
    /// Seconds until nobody wants the message any more.
    pub expiry_s: Option<u32>,
}

impl Properties {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Properties::default()
    }
}

/// What clients publish.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Publishing {
    /// Where; a template.
    pub topic: String,
    /// 0, 1 or 2.
    pub qos: u8,
    /// Whether it is retained.
    pub retain: bool,
    /// What.
    pub payload: Payload,
    /// So many messages of a client may wait for their acknowledgement.
    pub inflight: u16,
    /// What they carry beside.
    #[serde(skip_serializing_if = "Properties::is_empty")]
    pub properties: Properties,
    /// When, where that is not the load's business.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
}

/// What messages say.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// So many bytes, with a stamp at their beginning where it fits.
    Stamped(u32),
    /// A text; a template.
    Text(String),
    /// Groups of equal messages.
    Groups(Groups),
}

/// What clients subscribe to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Subscribing {
    /// The filter; a template.
    pub filter: String,
    /// 0, 1 or 2.
    pub qos: u8,
}

/// What an operation of clients is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// It is asked and answered.
    Request,
    /// It is nobody's request.
    Aside,
}

/// A client connects.
pub const CONNECT: &str = "CONNECT";
/// It subscribes.
pub const SUBSCRIBE: &str = "SUBSCRIBE";
/// It publishes, by quality of service.
pub const PUBLISH: [&str; 3] = ["PUBLISH QoS 0", "PUBLISH QoS 1", "PUBLISH QoS 2"];
/// A message reaches who has subscribed to it.
pub const DELIVERY: &str = "DELIVERY";
/// Behind the last connect, before the first message: subscriptions take their time too.
pub const SETTLE_NS: u64 = crate::units::SECOND;

impl Mqtt {
    /// The names of what its clients do, as they are counted.
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

    /// All hosts; client `n` connects to the one at `n` modulo their number.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.host.as_str()).chain(self.more_hosts.iter().map(String::as_str))
    }

    /// How many clients there are.
    #[must_use]
    pub fn clients(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.count)).sum()
    }

    /// How many of them publish.
    #[must_use]
    pub fn publishers(&self) -> u64 {
        let publishing = self.groups.iter().filter(|group| group.publish.is_some());
        publishing.map(|group| u64::from(group.count)).sum()
    }

    /// Whether some of its clients share a subscription.
    #[must_use]
    pub fn shares_subscriptions(&self) -> bool {
        let mut all = self.groups.iter().flat_map(|group| &group.subscribe);
        all.any(|subscribing| subscribing.filter.starts_with("$share/"))
    }

    /// When every client should be connected and have subscribed: nothing is published before, in nanoseconds from the start.
    #[must_use]
    pub fn ready_ns(&self) -> u64 {
        let connects = self.connect_every_ns.saturating_mul(self.clients());
        connects.saturating_add(SETTLE_NS)
    }

    /// Whether a name is one of what its clients do.
    #[must_use]
    pub fn does(&self, name: &str) -> bool {
        self.operations().iter().any(|(_, known)| *known == name)
    }

    /// The server, as a target is named.
    #[must_use]
    pub fn target(&self) -> String {
        let scheme = if self.tls { "mqtts" } else { "mqtt" };
        if self.host.contains(':') {
            return format!("{scheme}://[{}]:{}", self.host, self.port);
        }
        format!("{scheme}://{}:{}", self.host, self.port)
    }
}

/// What stands for something in a template.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// `%i`: the client's number.
    pub number: u64,
    /// `%c`: its client identifier.
    pub client_id: &'a str,
    /// `%u`: its user name.
    pub username: &'a str,
    /// Where `%rand_N` is drawn from.
    pub seed: u64,
}

/// Fills a template in: `%i`, `%c`, `%u`, and `%rand_N`, a number from 1 to N that is the same whenever it is asked for.
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
    if let Some(behind) = rest.strip_prefix("%rand_") {
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        if let Ok(most) = behind[..digits].parse::<u64>()
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
    fn templates_are_filled_in() {
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
