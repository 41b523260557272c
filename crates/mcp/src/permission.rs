//! Decides whether a plan may run from here: the code and commands that it starts, the hosts that
//! it names, and the caps of the server.

use plan::{Load, Plan, Step, profile::Profile, server::MetricLocation, units::SECOND};
use record::units;

use crate::{
    hosts::{AllowedHosts, named_hosts},
    options::LoadCaps,
};

/// Prefix of targets that are embedded in this program.
pub(crate) const LAB: &str = "lab:";

/// Highest load of a plan, as far as it is known before the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedLoad {
    /// Requests per second. `None` for a closed load.
    pub rate: Option<f64>,
    /// Requests of the run. `None` for a closed load.
    pub requests: Option<f64>,
    /// Users of a closed load.
    pub users: Option<u32>,
    /// Listeners beside the scenarios, and how many of them connect per second.
    pub listeners: Option<(u32, f64)>,
    /// Duration of the load in nanoseconds.
    pub duration_ns: u64,
    /// Whether rounds of loops are known, so that `rate` and `requests` are upper bounds.
    pub is_known: bool,
}

impl ExpectedLoad {
    /// Returns the highest load of a profile.
    pub fn new(plan: &Plan, profile: &Profile) -> ExpectedLoad {
        let per_arrival = match (profile.requests, profile.arrivals) {
            (Some(requests), Some(arrivals)) if arrivals > 0 => requests / arrivals as f64,
            _ => 1.0,
        };
        let of_phases = profile.phases.iter();
        let of_phases = of_phases.flat_map(|phase| [phase.from_per_second, phase.to_per_second]);
        let rates = of_phases.map(|rate| rate * per_arrival);
        let rates = rates.chain(profile.requests_per_second.iter().copied());
        let is_open = matches!(plan.load, Load::Open { .. });
        ExpectedLoad {
            rate: is_open.then(|| Profile::peak(rates)),
            requests: profile.requests,
            users: profile.users,
            listeners: plan.listen.as_ref().map(|listen| {
                let every_s = listen.connect_every_ns as f64 / SECOND as f64;
                (listen.clients, every_s.recip())
            }),
            duration_ns: profile.end_ns,
            is_known: profile.is_known,
        }
    }

    /// Returns the caps that forbid this load, each with the flag that a person can change.
    pub fn exceeded(&self, caps: &LoadCaps) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(rate) = self.rate.filter(|rate| *rate > caps.rate * 1.000_001) {
            lines.push(format!(
                "the peak of {} requests/s is above --most-rate {}/s",
                units::rate(rate),
                units::rate(caps.rate)
            ));
        }
        if let Some(requests) = self.requests.filter(|all| *all > caps.requests as f64) {
            lines.push(format!(
                "{} requests are above --most-requests {}",
                units::count(requests.ceil() as u64),
                units::count(caps.requests)
            ));
        }
        if let Some(users) = self.users.filter(|users| *users > caps.users) {
            lines.push(format!(
                "{users} users are above --most-users {}",
                caps.users
            ));
        }
        if let Some((clients, per_second)) = self.listeners {
            if clients > caps.users {
                lines.push(format!(
                    "{clients} listeners are above --most-users {}",
                    caps.users
                ));
            }
            if per_second > caps.rate * 1.000_001 {
                lines.push(format!(
                    "{} connections/s of listeners are above --most-rate {}/s",
                    units::rate(per_second),
                    units::rate(caps.rate)
                ));
            }
        }
        if self.duration_ns > caps.duration_ns {
            lines.push(format!(
                "{} is above --most-duration {}",
                units::duration(self.duration_ns),
                units::duration(caps.duration_ns)
            ));
        }
        lines
    }
}

/// Returns the parts of a plan that never run from here.
pub(crate) fn forbidden_parts(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    let mut forbid = |is_there: bool, line: &str| {
        if is_there {
            lines.push(line.to_owned());
        }
    };
    forbid(
        plan.script.is_some() || plan.has_extensions(),
        "`script` runs code, which is not possible from here: remove it",
    );
    forbid(
        plan.background.is_some() || !matches!(plan.work, plan::Work::Scenarios(_)),
        "only HTTP, WebSocket and Socket.IO steps run from here: remove `mqtt`",
    );
    forbid(
        plan.http.route.unix.is_some(),
        "`unix` connects to a socket of this machine, which is not possible from here: remove it",
    );
    forbid(
        matches!(plan.load, Load::Several { .. }),
        "several loads on one timeline cannot run from here: use one load",
    );
    let runs_command =
        |source: &plan::server::MetricSource| matches!(source.place, MetricLocation::Command(_));
    forbid(
        plan.server.iter().any(runs_command),
        "`command:` starts a program, which is not possible from here: use another source of metrics",
    );
    let has_loop = |scenario: &plan::Scenario| {
        let mut steps = scenario.all_steps();
        steps.any(|step| matches!(step, Step::Loop(_)))
    };
    forbid(
        plan.setup.iter().chain(&plan.teardown).any(has_loop),
        "`setup` and `teardown` cannot have loops here, because their requests are not counted: move the loop into `steps`",
    );
    let options = plan.target.expose().strip_prefix(LAB).unwrap_or_default();
    forbid(
        options.contains("downstream") || options.contains("://") || options.contains("log="),
        "options of an embedded target that call services or write files are not possible from here: remove them",
    );
    lines
}

/// Returns a line for each host of the plan that a person has not allowed.
pub(crate) fn forbidden_hosts(plan: &Plan, allowed: &AllowedHosts) -> Vec<String> {
    let hosts = named_hosts(plan).into_iter();
    let forbidden = hosts.filter(|host| !allowed.allows(host));
    let lines = forbidden.map(|host| {
        format!(
            "host not allowed: `{host}`: a person must restart the server with --allow-host {host}"
        )
    });
    lines.collect()
}

/// Returns the time in nanoseconds after which a run with this load is ended from outside.
pub(crate) fn time_limit_ns(duration_ns: u64, drain_ns: u64) -> u64 {
    // Setup and teardown steps are not part of the load.
    duration_ns + drain_ns + 30 * SECOND
}

#[cfg(test)]
mod tests {
    use plan::profile::Assumed;

    use super::*;
    use crate::plan_files::{PlanAccess, PlanInput};

    fn plan(text: &str) -> Plan {
        let access = PlanAccess {
            folder: None,
            env: &[],
        };
        let text = format!("loadline: 1\n{text}");
        access.read(&PlanInput::Text(text)).unwrap().plan
    }

    fn exceeded(load: &str) -> Vec<String> {
        let plan = plan(&format!(
            "target: http://127.0.0.1:1\nload: {load}\nsteps: [ get: /, get: / ]\n"
        ));
        let profile = Profile::new(&plan, 1, Assumed::default(), &[]);
        ExpectedLoad::new(&plan, &profile).exceeded(&LoadCaps::default())
    }

    #[test]
    fn load_at_the_caps_is_allowed() {
        assert_eq!(
            exceeded("{ rate: 100/s, duration: 60s }"),
            Vec::<String>::new()
        );
        assert_eq!(
            exceeded("{ users: 100, duration: 5m }"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn load_above_a_cap_names_the_flag() {
        for (load, flag) in [
            ("{ rate: 101/s, duration: 60s }", "--most-rate 200/s"),
            ("{ from: 1/s, to: 150/s, duration: 60s }", "--most-rate"),
            ("{ users: 101, duration: 60s }", "--most-users 100"),
            ("{ rate: 1/s, duration: 301s }", "--most-duration"),
            ("{ rate: 99/s, duration: 300s, max-users: 5 }", ""),
        ] {
            let lines = exceeded(load);
            let is_named = lines.iter().any(|line| line.contains(flag));
            assert!(is_named || flag.is_empty(), "{load}: {lines:?}");
        }
        let most = LoadCaps {
            requests: 10,
            ..LoadCaps::default()
        };
        let load = ExpectedLoad {
            rate: Some(1.0),
            requests: Some(11.0),
            users: None,
            listeners: None,
            duration_ns: SECOND,
            is_known: true,
        };
        assert!(load.exceeded(&most)[0].contains("--most-requests 10"));
    }

    #[test]
    fn listeners_count_as_users() {
        let lines = |clients: &str| {
            let plan = plan(&format!(
                "target: lab:chat\nload: {{ rate: 1/s, duration: 1s }}\n\
                 listen: {{ {clients}, open: /rooms/a, push: {{ sent: $.s, from: $.f, sequence: $.n }} }}\n\
                 steps:\n  - websocket: {{ connect: /rooms/a }}\n  \
                 - websocket: {{ send: {{ json: {{ s: '{{{{ $intended }}}}', f: '{{{{ $sender }}}}', n: '{{{{ $message }}}}' }} }} }}\n"
            ));
            let profile = Profile::new(&plan, 1, Assumed::default(), &[]);
            ExpectedLoad::new(&plan, &profile).exceeded(&LoadCaps::default())
        };
        assert_eq!(
            lines("clients: 100, connect-rate: 200/s"),
            Vec::<String>::new()
        );
        assert!(lines("clients: 101")[0].contains("101 listeners are above --most-users 100"));
        assert!(lines("clients: 9, connect-rate: 500/s")[0].contains("--most-rate 200/s"));
    }

    #[test]
    fn hosts_of_every_part_need_permission() {
        let allowed = AllowedHosts::read(&[], None).unwrap();
        let load = "load: { rate: 1/s, duration: 1s }\n";
        for text in [
            "target: http://example.org\nsteps: [ get: / ]\n",
            "target: http://127.0.0.1:1\nsteps: [ get: 'http://example.org/' ]\n",
            "target: http://127.0.0.1:1\nallow-hosts: [example.org]\nsteps: [ get: / ]\n",
            "target: http://127.0.0.1:1\nserver: { app: 'http://example.org/metrics' }\nsteps: [ get: / ]\n",
            "target: http://127.0.0.1:1\nsetup: [ get: 'http://example.org/' ]\nsteps: [ get: / ]\n",
        ] {
            let lines = forbidden_hosts(&plan(&format!("{load}{text}")), &allowed);
            assert!(
                lines.len() == 1 && lines[0].ends_with("--allow-host example.org"),
                "{text}: {lines:?}"
            );
        }
        let resolved = plan(&format!(
            "{load}target: http://localhost:1\nhttp: {{ resolve: ['localhost:1:10.0.0.1'] }}\nsteps: [ get: / ]\n"
        ));
        let lines = forbidden_hosts(&resolved, &allowed);
        assert!(lines[0].contains("10.0.0.1"), "{lines:?}");
    }

    #[test]
    fn commands_and_sockets_are_refused() {
        let load = "load: { rate: 1/s, duration: 1s }\nsteps: [ get: / ]\n";
        for (text, word) in [
            (
                "target: http://127.0.0.1:1\nserver: { a: 'command:id' }\n",
                "command:",
            ),
            (
                "target: http://127.0.0.1:1\nhttp: { unix: /tmp/s }\n",
                "unix",
            ),
            (
                "target: http://127.0.0.1:1\nsetup: [ loop: { count: 9, steps: [ get: / ] } ]\n",
                "cannot have loops",
            ),
            (
                "target: 'lab:sum?downstream=a=http://x'\n",
                "embedded target",
            ),
        ] {
            let lines = forbidden_parts(&plan(&format!("{load}{text}")));
            assert!(
                lines.iter().any(|line| line.contains(word)),
                "{text}: {lines:?}"
            );
        }
    }
}
