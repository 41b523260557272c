//! WebSocket clients that stay connected during the load and receive the messages that scenarios
//! publish.
//!
//! The listeners connect before the load starts, in a phase without arrivals.

use serde::Serialize;

use crate::{
    Load, Phase, Plan, Problem, Request, Scenario, Shape, Step, UserPhase,
    units::{self, SECOND},
    websocket::WebSocketAction,
};

/// Message: why a plan with listeners must run in a single process.
pub const ONE_PROCESS: &str = "listeners (`listen:`) and the messages that they receive must be in one process: run the plan on one machine";
/// Name of the phase in which the listeners connect.
pub const CONNECT_PHASE: &str = "connect";
/// Message: the plan's own phases may not have the name [`CONNECT_PHASE`].
pub const CONNECT_NAME_IS_TAKEN: &str = "listen: the phase in which the listeners connect has the name `connect`: name the other phase differently";
/// Time between the planned connect of the last listener and the start of the load.
pub const SETTLE_NS: u64 = SECOND;
/// Default time to wait for deliveries after the last publication.
pub const GRACE_NS: u64 = 5 * SECOND;
/// First word of the label of deliveries.
pub const PUSH: &str = "PUSH";

/// Name of the variable of a publishing step that contains the intended start of the operation, in
/// nanoseconds of the run.
pub const INTENDED: &str = "$intended";
/// Name of the variable of a publishing step that contains the number of the publisher in the run.
pub const SENDER: &str = "$sender";
/// Name of the variable of a publishing step that contains the message number, counted from 0 for
/// each publisher.
pub const MESSAGE: &str = "$message";
/// The variables that identify a published message, which together are its stamp.
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
    /// Steps that open a connection and subscribe to messages.
    pub opening: Scenario,
    /// Location of the stamp in a received message.
    pub push: PushPaths,
    /// Maximum time to wait for deliveries after the last publication, in nanoseconds.
    pub grace_ns: u64,
}

/// Paths in a received message at which the stamp variables of the publishing step are found.
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

    /// Returns the label name of deliveries.
    #[must_use]
    pub fn push_label(&self) -> String {
        format!("{PUSH} {}", self.name)
    }

    /// Returns the label name of connects.
    #[must_use]
    pub fn connect_label(&self) -> String {
        format!("CONNECT {}", self.name)
    }
}

/// Returns how many of the variables in [`STAMP`] the templates use.
#[must_use]
pub fn stamps_of<T: Serialize>(templates: &T) -> usize {
    // Every template variable is serialized in this form, and literal text never is.
    let form = |variable: &&&str| format!(r#""variable":"{variable}""#);
    let text = serde_json::to_string(templates).unwrap_or_default();
    STAMP
        .iter()
        .filter(|variable| text.contains(&form(variable)))
        .count()
}

/// Returns how many of the variables in [`STAMP`] a request sends.
#[must_use]
pub fn stamps_of_request(request: &Request) -> usize {
    let sent = (&request.query, &request.headers, &request.body);
    stamps_of(&(&request.url, sent, &request.cookies))
}

/// Returns how many of the variables in [`STAMP`] a step can publish.
fn stamps_of_step(step: &Step) -> usize {
    match step {
        Step::Request(request) => stamps_of_request(request),
        Step::WebSocket(step) => match &step.action {
            WebSocketAction::Send { payload, .. } => stamps_of(payload),
            _ => 0,
        },
        _ => 0,
    }
}

impl Plan {
    /// Returns the plan's scenarios, and the steps with which listeners open their connections.
    pub fn scenarios_and_opening(&self) -> impl Iterator<Item = &Scenario> {
        let opening = self.listen.iter().map(|listen| &listen.opening);
        self.scenarios().iter().chain(opening)
    }

    /// Returns how many phases have the name [`CONNECT_PHASE`].
    #[must_use]
    pub fn phases_named_connect(&self) -> usize {
        let is_named = |name: &Option<String>| name.as_deref() == Some(CONNECT_PHASE);
        match &self.load {
            Load::Open { phases, .. } => phases.iter().filter(|p| is_named(&p.name)).count(),
            Load::Closed { phases, .. } => phases.iter().filter(|p| is_named(&p.name)).count(),
            Load::Several { .. } | Load::Once => 0,
        }
    }

    /// Adds a phase before the load in which the listeners connect. Does nothing if the plan has no
    /// listeners or already has this phase.
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

    /// Removes the phase that [`Plan::add_connect_phase`] added, so that the load can be changed.
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

    /// Returns the number of publications per second at the highest arrival rate. Each step that
    /// sends stamps counts once per iteration. Returns `None` for a closed load.
    #[must_use]
    pub fn peak_publications(&self) -> Option<f64> {
        let weights: f64 = self.scenarios().iter().map(|s| f64::from(s.weight)).sum();
        let of_iteration = self.scenarios().iter().map(|scenario| {
            let steps = scenario.all_steps();
            let publishing = steps.filter(|step| stamps_of_step(step) > 0).count();
            publishing as f64 * f64::from(scenario.weight) / weights.max(1.0)
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
        let all = format!("{{{{ {INTENDED} }}}}, {{{{ {SENDER} }}}} and {{{{ {MESSAGE} }}}}");
        let steps = || self.scenarios().iter().flat_map(Scenario::all_steps);
        let stamps = steps().map(stamps_of_step);
        let stamps: Vec<usize> = stamps.filter(|stamps| *stamps > 0).collect();
        if stamps.is_empty() {
            refuse(&format!(
                "listen: no step publishes a message that listeners can recognize: put {all} into the messages of a step"
            ));
        }
        if stamps.iter().any(|stamps| *stamps < STAMP.len()) {
            refuse(&format!(
                "listen: a step sends a part of the stamp, which no listener recognizes: use {all} together"
            ));
        }
        let mut socketio = steps().filter(|step| matches!(step, Step::SocketIo(_)));
        if socketio.any(|step| stamps_of(step) > 0) {
            refuse(
                "listen: Socket.IO steps cannot publish for listeners: use a request or a WebSocket message",
            );
        }
        let connect_label = listen.connect_label();
        let shares_label = |step: &Step| match step {
            Step::Request(request) => {
                request.opens_connection()
                    && connect_label == format!("{} {}", request.verb(), request.label)
            }
            _ => false,
        };
        if steps().any(shares_label) {
            refuse(&format!(
                "listen: a step has the label `{connect_label}` of the listeners, so their times would be mixed: give one of them a `name`"
            ));
        }
        if self.phases_named_connect() > 1 {
            refuse(CONNECT_NAME_IS_TAKEN);
        }
        let ready_ns = listen.ready_ns();
        if self
            .max_duration_ns
            .is_some_and(|most_ns| most_ns <= ready_ns)
        {
            refuse(
                "listen: `max-duration` ends before the listeners are connected: increase it or `connect-rate`",
            );
        }
        if listen.ready_ns() > units::MAX_DURATION {
            refuse("listen: the clients would not be connected in time: increase `connect-rate`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Draw, FirstArrival, Format, Rate, scenario::RequestBody, template::Template, work::Work,
    };

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

    fn refusals(plan: &Plan) -> Vec<String> {
        let mut problems = Vec::new();
        plan.listen_problems(&mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    fn sending(load: Load, text: &str) -> Plan {
        let mut plan = plan(load);
        let mut request = Request::new("POST", Template::from("/"), "/");
        request.name = Some("{{ $intended }}".to_owned());
        request.body = RequestBody::Json(Template::parse_text(text).unwrap());
        let Work::Scenarios(scenarios) = &mut plan.work else {
            panic!("scenarios")
        };
        scenarios[0].steps = vec![Step::Request(Box::new(request))];
        plan
    }

    #[test]
    fn only_steps_that_send_all_stamps_publish() {
        let texts = refusals(&plan(Load::users(1, SECOND)));
        assert!(texts[0].contains("no step publishes"), "{texts:?}");
        let load = || Load::users(1, SECOND);
        let texts = refusals(&sending(
            load(),
            "query($sender: ID!, $message: ID, $intended: I)",
        ));
        assert!(texts[0].contains("no step publishes"), "{texts:?}");
        let texts = refusals(&sending(load(), "{{ $intended }}"));
        assert!(texts[0].contains("a part of the stamp"), "{texts:?}");
        let whole = "{{ $intended }} {{ $sender }} {{ $message }}";
        assert_eq!(refusals(&sending(load(), whole)), Vec::<String>::new());
    }

    #[test]
    fn the_name_and_the_time_of_the_connect_phase_are_reserved() {
        let whole = "{{ $intended }} {{ $sender }} {{ $message }}";
        let mut named = sending(Load::users(1, SECOND), whole);
        let phases = |names: [&str; 2]| {
            let phase = |name: &str| Phase {
                name: Some(name.to_owned()),
                ..Phase::new(SECOND, Shape::Rate(Rate::per_second(1)))
            };
            let first = FirstArrival::AtStart;
            Load::Open {
                phases: names.map(phase).into(),
                first,
            }
        };
        named.load = phases([CONNECT_PHASE, CONNECT_PHASE]);
        assert!(refusals(&named)[0].contains("the name `connect`"));
        named.load = phases(["a", "b"]);
        named.max_duration_ns = Some(SECOND);
        assert!(refusals(&named)[0].contains("`max-duration` ends"));
    }
}
