//! Background work: MQTT clients on the timeline of a plan's scenarios. Has their connection
//! settings, publication times and validation. [`mqtt`](crate::mqtt) has their actions.

use serde::Serialize;

use crate::{
    Http, Load, Plan, Problem, Schedule, Tls,
    mqtt::{Clients, Mqtt},
    units,
};

/// MQTT clients that run alongside the scenarios.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BackgroundMqtt {
    /// Their actions.
    pub mqtt: Mqtt,
    /// Whether certificates are verified.
    pub verify_tls: bool,
    /// TLS settings of these clients.
    pub tls: Tls,
}

impl BackgroundMqtt {
    /// Connection settings. They use the plan's address overrides, but no proxy.
    #[must_use]
    pub fn http(&self, of_plan: &Http) -> Http {
        let mut http = Http {
            verify_tls: self.verify_tls,
            tls: self.tls.clone(),
            ..Http::default()
        };
        http.route.resolve.clone_from(&of_plan.route.resolve);
        // ALPN is for HTTP and is not offered to MQTT servers.
        http.tls.no_alpn = true;
        http
    }
}

/// When the clients of a group publish.
#[derive(Debug, Clone)]
pub struct Publications {
    /// The group's schedule from the start, as if it were the load of a run.
    pub schedule: Schedule,
    /// Number of arrivals to drop, because they are due before the clients are connected.
    pub before: u64,
}

impl Publications {
    /// Creates the publications of a load. They last from when its clients are connected until the
    /// run's load ends.
    #[must_use]
    pub fn new(load: &Load, seed: u64, ready_ns: u64, end_ns: u64) -> Publications {
        let schedule = Schedule::new(load, seed).until(end_ns);
        Publications {
            before: schedule.due_of_shard(0, 1, ready_ns),
            schedule,
        }
    }

    /// Number of planned messages.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.schedule.total() - self.before
    }
}

impl Plan {
    /// Loads of the publishing groups, in the order of the groups. `None` for a group that does not
    /// publish.
    #[must_use]
    pub fn background_loads(&self) -> Vec<Option<Load>> {
        let groups = self
            .background
            .iter()
            .flat_map(|background| &background.mqtt.groups);
        let of = |group: &Clients| group.publish.as_ref()?.pace.as_ref()?.load(&self.load);
        groups.map(of).collect()
    }

    pub(crate) fn background_problems(&self, problems: &mut Vec<Problem>) {
        let Some(background) = &self.background else {
            return;
        };
        let mut refuse = |reason: String| problems.push(Problem::anywhere(reason));
        let (ready_ns, end_ns) = (background.mqtt.ready_ns(), self.load.end_ns());
        let seconds = |ns: u64| ns as f64 / units::SECOND as f64;
        for group in &background.mqtt.groups {
            let Some(pace) = group.publish.as_ref().and_then(|p| p.pace.as_ref()) else {
                continue;
            };
            let Some(load) = pace.load(&self.load) else {
                refuse("mqtt: a `volume` of messages goes up and down with arrivals, and a number of users has none: write a `rate`".into());
                continue;
            };
            if load.end_ns() > end_ns {
                refuse(format!(
                    "mqtt: the messages' own `load` lasts {}s and that of the plan {}s: the run ends with the plan's, make it as long",
                    seconds(load.end_ns()),
                    seconds(end_ns)
                ));
            } else if load.end_ns() <= ready_ns {
                refuse(format!(
                    "mqtt: {} clients are connected {}s after the start, when the messages have ended ({}s): make the load longer, or `connect-rate` higher",
                    background.mqtt.clients(),
                    seconds(ready_ns),
                    seconds(load.end_ns())
                ));
            }
        }
    }
}
