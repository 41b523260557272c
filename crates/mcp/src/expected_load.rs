//! The highest load of a plan, as far as it is known before the run, and the limits that it
//! exceeds.

use plan::{Load, Plan, Step, profile::Profile, units::SECOND};
use record::units;

use crate::options::LoadCaps;

/// The highest load of a plan, as far as it is known before the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedLoad {
    /// Requests per second. `None` for a closed load.
    pub rate: Option<f64>,
    /// Total number of requests. `None` for a closed load.
    pub requests: Option<f64>,
    /// Number of users of a closed load.
    pub users: Option<u32>,
    /// Number of listeners that stay connected during the load, and the number that connect per
    /// second.
    pub listeners: Option<(u32, f64)>,
    /// Duration of the load in nanoseconds.
    pub duration_ns: u64,
    /// Whether the number of loop iterations is known, so that `rate` and `requests` are upper
    /// bounds.
    pub is_known: bool,
}

impl ExpectedLoad {
    /// Returns the highest load of a plan. The profile provides the number of requests per arrival,
    /// and may be that of a shorter load.
    pub fn new(plan: &Plan, profile: &Profile) -> ExpectedLoad {
        let per_arrival = requests_per_arrival(profile);
        let arrivals = PlannedArrivals::new(plan);
        let requests = match plan.load {
            Load::Once => profile.requests,
            _ => arrivals.map(|arrivals| arrivals.total * per_arrival),
        };
        ExpectedLoad {
            rate: arrivals.map(|arrivals| arrivals.peak_per_second * per_arrival),
            requests: requests.map(|all| all + unmeasured_requests(plan) as f64),
            users: match plan.load {
                Load::Closed { users, .. } => Some(users),
                _ => None,
            },
            listeners: plan.listen.as_ref().map(|listen| {
                let every_s = listen.connect_every_ns as f64 / SECOND as f64;
                (listen.clients, every_s.recip())
            }),
            duration_ns: plan.end_ns(),
            is_known: profile.is_known,
        }
    }

    /// Returns the limits that forbid this load, each with the flag with which a person can change
    /// it.
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
        lines.extend(self.listeners_exceed(caps));
        if self.duration_ns > caps.duration_ns {
            lines.push(format!(
                "{} is above --most-duration {}",
                units::duration(self.duration_ns),
                units::duration(caps.duration_ns)
            ));
        }
        lines
    }

    /// Describes the listeners as part of a question. Empty if there are none.
    pub fn listeners_text(&self) -> String {
        self.listeners.map_or_else(String::new, |(clients, _)| {
            format!(" and {} listeners", units::count(u64::from(clients)))
        })
    }

    /// Returns the limits that forbid the listeners.
    pub fn listeners_exceed(&self, caps: &LoadCaps) -> Vec<String> {
        let mut lines = Vec::new();
        let Some((clients, per_second)) = self.listeners else {
            return lines;
        };
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
        lines
    }
}

/// Returns the average number of requests per arrival.
pub(crate) fn requests_per_arrival(profile: &Profile) -> f64 {
    match (profile.requests, profile.arrivals) {
        (Some(requests), Some(arrivals)) if arrivals > 0 => requests / arrivals as f64,
        _ => {
            let scenarios = profile.scenarios.iter();
            scenarios.map(|row| row.requests * row.share).sum()
        }
    }
}

/// Formats an upper bound of a rate for a question.
pub(crate) fn rate_text(per_second: f64) -> String {
    if per_second.fract() == 0.0 {
        format!("up to {} requests/s", units::count(per_second as u64))
    } else {
        format!("up to {} requests/s", units::rate(per_second))
    }
}

/// Returns the number of requests in `setup` and `teardown`, excluding those in loops.
pub(crate) fn unmeasured_requests(plan: &Plan) -> usize {
    let scenarios = plan.setup.iter().chain(&plan.teardown);
    let steps = scenarios.flat_map(plan::Scenario::all_steps);
    let sends = |step: &&Step| {
        matches!(
            step,
            Step::Request(_) | Step::WebSocket(_) | Step::SocketIo(_)
        )
    };
    steps.filter(sends).count()
}

/// Returns whether the load of a plan is too high to compute its profile. Computing it requires
/// drawing each random arrival.
pub(crate) fn is_too_long_to_draw(plan: &Plan, caps: &LoadCaps) -> bool {
    let arrivals = PlannedArrivals::new(plan);
    arrivals.is_some_and(|arrivals| {
        arrivals.peak_per_second > caps.rate * 1.000_001
            || arrivals.total > caps.requests as f64
            || plan.end_ns() > caps.duration_ns
    })
}

/// Arrivals of an open load, counted without drawing them.
#[derive(Debug, Clone, Copy)]
struct PlannedArrivals {
    peak_per_second: f64,
    /// Total number of arrivals, on average if they are random.
    total: f64,
}

impl PlannedArrivals {
    /// Returns `None` if the load is not open.
    fn new(plan: &Plan) -> Option<PlannedArrivals> {
        let Load::Open { phases, .. } = &plan.load else {
            return None;
        };
        let mut arrivals = PlannedArrivals {
            peak_per_second: 0.0,
            total: 0.0,
        };
        let mut left_ns = plan.end_ns();
        for phase in phases {
            let own_ns = phase.duration_ns.min(left_ns);
            left_ns -= own_ns;
            let (first, last) = phase.ends();
            let share = own_ns as f64 / phase.duration_ns.max(1) as f64;
            let last = first + (last - first) * share;
            arrivals.peak_per_second = arrivals.peak_per_second.max(first).max(last);
            arrivals.total += (first + last) / 2.0 * own_ns as f64 / SECOND as f64;
        }
        Some(arrivals)
    }
}

#[cfg(test)]
mod tests {
    use plan::profile::Assumed;

    use super::*;
    use crate::plan_files::plan_of as plan;

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
                 listen: {{ {clients}, open: /rooms/a, name: live, push: {{ sent: $.s, from: $.f, sequence: $.n }} }}\n\
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
    fn closed_form_equals_the_number_of_arrivals() {
        for load in [
            "{ rate: 7/s, duration: 90s }",
            "{ from: 1/s, to: 150/s, duration: 60s }",
            "[ { rate: 10/s, duration: 10s }, { pause: 5s }, { count: 30, duration: 10s } ]",
        ] {
            let plan = plan(&format!(
                "target: lab:sum\nload: {load}\nsteps: [ get: / ]\n"
            ));
            let drawn = plan.schedule(1).total() as f64;
            let total = PlannedArrivals::new(&plan).unwrap().total;
            assert!((total - drawn).abs() <= 1.0, "{load}: {total} and {drawn}");
        }
    }

    #[test]
    fn requests_of_setup_and_teardown_count() {
        let plan = plan(
            "target: lab:sum\nload: { rate: 1/s, duration: 10s }\nsteps: [ get: / ]\n\
             setup: [ get: /a, get: /b ]\nteardown: [ get: /c ]\n",
        );
        let profile = Profile::new(&plan, 1, Assumed::default(), &[]);
        assert_eq!(ExpectedLoad::new(&plan, &profile).requests, Some(13.0));
    }
}
