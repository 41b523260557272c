//! Work beside the scenarios of a plan: MQTT clients on the same timeline. What they do is [`mqtt`](crate::mqtt)'s; this module says
//! how their connections travel, when they publish, and what of it cannot be.

use serde::Serialize;

use crate::{
    Http, Load, Plan, Problem, Schedule, Tls,
    mqtt::{Clients, Mqtt},
    units,
};

/// MQTT clients beside the scenarios.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    /// What they do.
    pub mqtt: Mqtt,
    /// Whether certificates are verified.
    pub verify_tls: bool,
    /// Certificates of their own.
    pub tls: Tls,
}

impl Beside {
    /// How connections travel: to the addresses that the plan gives for names, and through no proxy.
    #[must_use]
    pub fn http(&self, of_plan: &Http) -> Http {
        let mut http = Http {
            verify_tls: self.verify_tls,
            tls: self.tls.clone(),
            ..Http::default()
        };
        http.route.resolve.clone_from(&of_plan.route.resolve);
        // Nothing that HTTP is negotiated by is said to a server of another protocol.
        http.tls.no_alpn = true;
        http
    }
}

/// When the clients of a group publish.
#[derive(Debug, Clone)]
pub struct Publications {
    /// As the load of a run of their own would have it, from the start on.
    pub schedule: Schedule,
    /// So many of its arrivals are none: they would be due before the clients are connected.
    pub before: u64,
}

impl Publications {
    /// Those that a load of their own plans, of clients that are connected from a moment on, up to the end of the run's.
    #[must_use]
    pub fn of(load: &Load, seed: u64, ready_ns: u64, end_ns: u64) -> Publications {
        let schedule = Schedule::new(load, seed).until(end_ns);
        Publications {
            before: schedule.due_of_shard(0, 1, ready_ns),
            schedule,
        }
    }

    /// How many messages are planned.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.schedule.total() - self.before
    }
}

impl Plan {
    /// When the clients beside the scenarios publish, group by group, as loads of their own; none for a group that does not.
    #[must_use]
    pub fn loads_beside(&self) -> Vec<Option<Load>> {
        let groups = self.beside.iter().flat_map(|beside| &beside.mqtt.groups);
        let of = |group: &Clients| group.publish.as_ref()?.pace.as_ref()?.load(&self.load);
        groups.map(of).collect()
    }

    /// What of the work beside the scenarios cannot be.
    pub(crate) fn problems_beside(&self, problems: &mut Vec<Problem>) {
        let Some(beside) = &self.beside else { return };
        let mut refuse = |why: String| problems.push(Problem::anywhere(why));
        let (ready_ns, end_ns) = (beside.mqtt.ready_ns(), self.load.end_ns());
        let seconds = |ns: u64| ns as f64 / units::SECOND as f64;
        for group in &beside.mqtt.groups {
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
                    "mqtt: {} clients are connected {}s behind the start, when the messages are over ({}s): make the load longer, or `connect-rate` higher",
                    beside.mqtt.clients(),
                    seconds(ready_ns),
                    seconds(load.end_ns())
                ));
            }
        }
    }
}
