//! Background work: MQTT clients that run during the scenarios, with their connection settings,
//! publication times and validation. [`mqtt`](crate::mqtt) describes what the clients do.

use serde::Serialize;

use crate::{
    Http, Load, Plan, Problem, Schedule, Tls,
    mqtt::{Clients, Mqtt},
    units,
};

/// MQTT clients that run alongside the scenarios.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BackgroundMqtt {
    /// The client groups and what they do.
    pub mqtt: Mqtt,
    /// Whether the clients verify certificates.
    pub verify_tls: bool,
    /// TLS settings of the clients.
    pub tls: Tls,
}

impl BackgroundMqtt {
    /// Returns the clients' connection settings, with the plan's address overrides but without its
    /// proxy.
    #[must_use]
    pub fn http(&self, of_plan: &Http) -> Http {
        let mut http = Http {
            verify_tls: self.verify_tls,
            tls: self.tls.clone(),
            ..Http::default()
        };
        http.route.resolve.clone_from(&of_plan.route.resolve);
        // Do not offer ALPN to MQTT servers, because the offered protocols are HTTP versions.
        http.tls.no_alpn = true;
        http
    }
}

/// The times at which the clients of a group publish.
#[derive(Debug, Clone)]
pub struct Publications {
    /// Schedule of the messages from the start of the run, as if they were the load of a run.
    pub schedule: Schedule,
    /// Number of arrivals to drop because they are due before the clients are connected.
    pub before: u64,
}

impl Publications {
    /// Creates the publication times of a load, from the time at which the clients are connected
    /// (`ready_ns`) to the end of the run's load.
    #[must_use]
    pub fn new(load: &Load, seed: u64, ready_ns: u64, end_ns: u64) -> Publications {
        let schedule = Schedule::new(load, seed).until(end_ns);
        Publications {
            before: schedule.due_of_shard(0, 1, ready_ns),
            schedule,
        }
    }

    /// Returns the number of planned messages.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.schedule.total() - self.before
    }
}

impl Plan {
    /// Returns the message load of each group, in order. An entry is `None` if its group does not
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
                refuse("mqtt: a `volume` of messages follows the arrival rate, but a number of users has none: use a `rate`".into());
                continue;
            };
            if load.end_ns() > end_ns {
                refuse(format!(
                    "mqtt: the `load` of the messages lasts {}s and that of the plan {}s: the run ends with the plan's load, so make both equally long",
                    seconds(load.end_ns()),
                    seconds(end_ns)
                ));
            } else if load.end_ns() <= ready_ns {
                refuse(format!(
                    "mqtt: {} clients are connected {}s after the start, but messages end after {}s: make the load longer, or increase `connect-rate`",
                    background.mqtt.clients(),
                    seconds(ready_ns),
                    seconds(load.end_ns())
                ));
            }
        }
    }
}
