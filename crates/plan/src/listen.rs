//! WebSocket clients that stay connected during the load and receive what the scenarios publish.
//!
//! The listeners connect before the load starts, in a phase without arrivals.

use serde::Serialize;

use crate::{
    Load, Phase, Plan, Problem, Scenario, Shape, UserPhase,
    units::{self, SECOND},
};

/// Why a plan with listeners cannot be divided.
pub const ONE_PROCESS: &str = "listeners (`listen:`) and the messages that they receive must be in one process: run the plan on one machine";
/// Name of the phase in which the listeners connect.
pub const CONNECT_PHASE: &str = "connect";
/// Time between the planned connect of the last listener and the start of the load.
pub const SETTLE_NS: u64 = SECOND;
/// Maximum time that deliveries are awaited after the last publication, by default.
pub const GRACE_NS: u64 = 5 * SECOND;
/// First word of the label of deliveries.
pub const PUSH: &str = "PUSH";

/// Variable of a publishing step: intended start of the operation, in nanoseconds of the run.
pub const INTENDED: &str = "$intended";
/// Variable of a publishing step: number of the publisher in the run.
pub const SENDER: &str = "$sender";
/// Variable of a publishing step: number of the message of its publisher, from 0.
pub const MESSAGE: &str = "$message";
/// Variables that identify a published message.
pub const STAMP: [&str; 3] = [INTENDED, SENDER, MESSAGE];

/// WebSocket clients that receive messages during the load.
#[derive(Debug, Clone, Serialize)]
pub struct Listen {
    /// Number of clients.
    pub clients: u32,
    /// Time between the connects of two clients, in nanoseconds.
    pub connect_every_ns: u64,
    /// Name of the connections in labels.
    pub name: String,
    /// Steps that open a connection and join what it listens to.
    pub opening: Scenario,
    /// Where a received message contains its stamp.
    pub push: PushPaths,
    /// Maximum time that deliveries are awaited after the last publication, in nanoseconds.
    pub grace_ns: u64,
}

/// Paths of a received message to the variables of the step that published it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PushPaths {
    /// Path to the value of `$intended`.
    pub sent: String,
    /// Path to the value of `$sender`.
    pub from: String,
    /// Path to the value of `$message`.
    pub sequence: String,
}

impl Listen {
    /// Returns the intended connect time of a client, in nanoseconds of the run.
    #[must_use]
    pub fn connect_ns(&self, client: u32) -> u64 {
        u64::from(client).saturating_mul(self.connect_every_ns)
    }

    /// Returns the start of the load, in nanoseconds of the run.
    #[must_use]
    pub fn ready_ns(&self) -> u64 {
        self.connect_ns(self.clients.saturating_sub(1))
            .saturating_add(SETTLE_NS)
    }

    /// Returns the name of the deliveries' label.
    #[must_use]
    pub fn push_label(&self) -> String {
        format!("{PUSH} {}", self.name)
    }

    /// Returns the name of the label of connects.
    #[must_use]
    pub fn connect_label(&self) -> String {
        format!("CONNECT {}", self.name)
    }
}

/// Whether a step's serialized text uses a variable that identifies a published message.
#[must_use]
pub fn uses_stamp<T: Serialize>(step: &T) -> bool {
    serde_json::to_string(step)
        .is_ok_and(|text| STAMP.iter().any(|variable| text.contains(variable)))
}

impl Plan {
    /// Returns the scenarios, and the steps with which listeners open their connections.
    pub fn scenarios_and_opening(&self) -> impl Iterator<Item = &Scenario> {
        let opening = self.listen.iter().map(|listen| &listen.opening);
        self.scenarios().iter().chain(opening)
    }

    /// Adds the phase in which the listeners connect before the load. No effect without listeners,
    /// or if the plan has this phase.
    pub fn add_connect_phase(&mut self) {
        self.remove_connect_phase();
        let Some(listen) = &self.listen else {
            return;
        };
        let duration_ns = listen.ready_ns();
        let name = Some(CONNECT_PHASE.to_owned());
        let duration_text = format!("{}s", duration_ns as f64 / SECOND as f64);
        match &mut self.load {
            Load::Open { phases, .. } => phases.insert(
                0,
                Phase {
                    name,
                    duration_text,
                    ..Phase::new(duration_ns, Shape::Pause)
                },
            ),
            Load::Closed {
                users,
                duration_ns: all_ns,
                phases,
            } => {
                if phases.is_empty() {
                    phases.push(UserPhase {
                        name: None,
                        from: *users,
                        to: *users,
                        duration_ns: *all_ns,
                        duration_text: format!("{}s", *all_ns as f64 / SECOND as f64),
                    });
                }
                let pause = UserPhase {
                    name,
                    from: 0,
                    to: 0,
                    duration_ns,
                    duration_text,
                };
                phases.insert(0, pause);
                *all_ns = all_ns.saturating_add(duration_ns);
            }
            Load::Several { .. } | Load::Once => {}
        }
    }

    /// Removes the phase that [`Plan::add_connect_phase`] added, to change the load.
    pub fn remove_connect_phase(&mut self) {
        let is_own = |name: Option<&String>| name.is_some_and(|name| name == CONNECT_PHASE);
        if self.listen.is_none() {
            return;
        }
        match &mut self.load {
            Load::Open { phases, .. } => {
                let first = phases.first();
                if first.is_some_and(|p| is_own(p.name.as_ref()) && p.shape == Shape::Pause) {
                    phases.remove(0);
                }
            }
            Load::Closed {
                duration_ns,
                phases,
                ..
            } => {
                let first = phases.first();
                if first.is_some_and(|p| is_own(p.name.as_ref()) && p.from == 0 && p.to == 0) {
                    *duration_ns = duration_ns.saturating_sub(phases.remove(0).duration_ns);
                }
            }
            Load::Several { .. } | Load::Once => {}
        }
    }

    /// Returns the publications per second at the highest arrival rate: each step that stamps its
    /// message counts once per iteration. `None` in a closed load.
    #[must_use]
    pub fn peak_publications(&self) -> Option<f64> {
        let weights: f64 = self.scenarios().iter().map(|s| f64::from(s.weight)).sum();
        let of_iteration = self.scenarios().iter().map(|scenario| {
            let steps = scenario.all_steps();
            let is_leaf = |step: &&crate::Step| step.children().next().is_none();
            let stamps = steps.filter(is_leaf).filter(uses_stamp);
            stamps.count() as f64 * f64::from(scenario.weight) / weights.max(1.0)
        });
        Some(self.peak_rate()? * of_iteration.sum::<f64>())
    }

    pub(crate) fn listen_problems(&self, problems: &mut Vec<Problem>) {
        let Some(listen) = &self.listen else {
            return;
        };
        let mut refuse = |reason: &str| problems.push(Problem::anywhere(reason));
        if self.background.is_some() {
            refuse("a plan cannot have both `mqtt` and `listen`: use two plans");
        }
        if matches!(self.load, Load::Several { .. }) {
            refuse("listen: the listeners need a plan with one load");
        }
        if !self.scenarios().iter().any(uses_stamp) {
            let text = format!(
                "listen: no step publishes a message that listeners can recognize: put {{{{ {INTENDED} }}}}, {{{{ {SENDER} }}}} and {{{{ {MESSAGE} }}}} into the messages of a step"
            );
            refuse(&text);
        }
        if listen.ready_ns() > units::MAX_DURATION {
            refuse("listen: the clients would not be connected in time: increase `connect-rate`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draw, FirstArrival, Format, Rate};

    fn plan(load: Load) -> Plan {
        let opening = Scenario {
            name: None,
            weight: 1,
            volume: None,
            steps: Vec::new(),
            on_error: Vec::new(),
        };
        let mut plan = Plan::new(
            String::new(),
            Format::NATIVE,
            "http://127.0.0.1".to_owned(),
            load,
            vec![opening.clone()],
        );
        plan.listen = Some(Listen {
            clients: 5,
            connect_every_ns: SECOND / 2,
            name: "live".to_owned(),
            opening,
            push: PushPaths {
                sent: String::new(),
                from: String::new(),
                sequence: String::new(),
            },
            grace_ns: GRACE_NS,
        });
        plan
    }

    #[test]
    fn load_starts_after_the_connects() {
        let phases = vec![Phase::new(SECOND, Shape::Rate(Rate::per_second(10)))];
        let first = FirstArrival::AtStart;
        let mut open = plan(Load::Open { phases, first });
        let before = open.load.clone();
        open.add_connect_phase();
        open.add_connect_phase();
        assert_eq!(open.load.end_ns(), 4 * SECOND);
        let first = open.schedule(1).shard(0, 1).next();
        assert_eq!(first.map(|arrival| arrival.intended_ns), Some(3 * SECOND));
        open.remove_connect_phase();
        assert_eq!(open.load, before);
        let _: Draw = open.draw(1);
    }

    #[test]
    fn users_start_after_the_connects() {
        let mut closed = plan(Load::users(3, 2 * SECOND));
        closed.add_connect_phase();
        let Load::Closed { phases, .. } = &closed.load else {
            panic!("{:?}", closed.load)
        };
        let stays = crate::ActivePeriod::all(phases, 0, closed.load.end_ns());
        assert_eq!(stays.len(), 1);
        assert_eq!(
            (stays[0].from_ns, stays[0].until_ns),
            (3 * SECOND, 5 * SECOND)
        );
        closed.remove_connect_phase();
        assert_eq!(closed.load.end_ns(), 2 * SECOND);
    }

    #[test]
    fn plan_without_stamps_is_refused() {
        let problems = plan(Load::users(1, SECOND)).problems();
        let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert!(texts[0].contains("no step publishes"), "{texts:?}");
    }
}
