//! Background MQTT clients and listeners in the load profile.

use serde::Serialize;

use crate::{Plan, background::Publications, units::SECOND};

/// A group of MQTT clients in the load profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientsRow {
    /// What the clients do: `publish` or `subscribe`.
    pub does: &'static str,
    /// Number of clients in the group.
    pub clients: u32,
    /// Topic to publish to, or filter to subscribe to.
    pub topic: String,
    /// Quality of service of the messages or the subscription.
    pub qos: u8,
    /// Highest message rate of the group. `None` if the group only receives.
    pub per_second: Option<f64>,
    /// Number of messages. `None` if the group only receives.
    pub messages: Option<u64>,
}

/// The listeners in the load profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListenersRow {
    /// Number of connections, which equals the number of file descriptors and of source ports.
    pub clients: u32,
    /// Connects per second.
    pub connects_per_second: f64,
    /// Start of the load, in nanoseconds of the run.
    pub load_starts_ns: u64,
    /// Deliveries per second at the highest arrival rate. `None` in a closed load.
    pub deliveries_per_second: Option<f64>,
    /// Memory of the connections in bytes, except for TLS, compression and kernel buffers.
    pub memory: u64,
}

/// Measured memory per listener in bytes, rounded up.
const LISTENER_BYTES: u64 = 4 << 10;

pub(super) fn listeners(plan: &Plan) -> Option<ListenersRow> {
    let listen = plan.listen.as_ref()?;
    let clients = f64::from(listen.clients);
    Some(ListenersRow {
        clients: listen.clients,
        connects_per_second: SECOND as f64 / listen.connect_every_ns.max(1) as f64,
        load_starts_ns: listen.ready_ns(),
        deliveries_per_second: plan.peak_publications().map(|rate| rate * clients),
        memory: u64::from(listen.clients) * LISTENER_BYTES,
    })
}

pub(super) fn rows(plan: &Plan, seed: u64) -> Vec<ClientsRow> {
    let Some(background) = &plan.background else {
        return Vec::new();
    };
    let ready_ns = background.mqtt.ready_ns();
    let groups = background.mqtt.groups.iter().zip(plan.background_loads());
    let row = |(group, load): (&crate::mqtt::Clients, Option<crate::Load>)| {
        let filters: Vec<&str> = group.subscribe.iter().map(|s| s.filter.as_str()).collect();
        let (does, topic, qos) = match &group.publish {
            Some(publish) => ("publish", publish.topic.clone(), publish.qos),
            None => {
                let qos = group.subscribe.first().map_or(0, |s| s.qos);
                ("subscribe", filters.join(", "), qos)
            }
        };
        ClientsRow {
            does,
            clients: group.count,
            topic,
            qos,
            per_second: load.as_ref().map(crate::Load::peak_rate),
            messages: load
                .map(|load| Publications::new(&load, seed, ready_ns, plan.end_ns()).planned()),
        }
    };
    groups.map(row).collect()
}
