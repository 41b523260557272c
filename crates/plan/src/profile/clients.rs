//! Background MQTT clients in a load profile.

use serde::Serialize;

use crate::{Plan, background::Publications};

/// A group of MQTT clients in the profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientsRow {
    /// Action of the clients: `publish` or `subscribe`.
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
