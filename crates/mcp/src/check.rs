//! Checks a plan without sending requests: its problems, its load profile, and whether the server
//! allows it.

use plan::{Load, Plan, Problem, profile::Profile};
use record::units;
use serde_json::{Value, json};
use session::profile::MachineCheck;

use crate::{
    answer::{Answer, number, seconds},
    expected_load::{ExpectedLoad, is_too_long_to_draw, rate_text, requests_per_arrival},
    hosts::{AllowedHosts, is_loopback, named_hosts},
    options::{LoadCaps, ServerOptions},
    permission::{forbidden_hosts, forbidden_parts, unknown_lab},
    plan_files::{PlanInput, PlanSnapshot},
};

const MOST_FINDINGS: usize = 12;
const MOST_ENDPOINTS: usize = 10;
const UNBOUNDED: &str = "Users send as fast as the service answers. The server ends the run if it exceeds --most-rate or --most-requests: add `think`, or use a rate.";
/// Seed used to count random arrivals before a run.
const SEED: u64 = 1;

/// A plan that has been read and whose load is known.
#[derive(Debug)]
pub(crate) struct CheckedPlan {
    pub snapshot: PlanSnapshot,
    pub digest: String,
    pub hosts: Vec<String>,
    pub expected: ExpectedLoad,
    /// Reasons why the plan must not run, apart from its load.
    pub forbidden: Vec<String>,
    profile: Profile,
    machine: Vec<MachineCheck>,
}

impl CheckedPlan {
    /// Reads a plan and computes its load profile.
    ///
    /// Fails with all problems of the plan.
    pub fn read(
        options: &ServerOptions,
        allowed: &AllowedHosts,
        input: &PlanInput,
    ) -> Result<CheckedPlan, Vec<Problem>> {
        let snapshot = options.access().read(input)?;
        let plan = &snapshot.plan;
        let assumed = plan.assumed.unwrap_or_default();
        let (profile, machine) = if is_too_long_to_draw(plan, &options.caps) {
            // One iteration is enough to count the requests of an arrival.
            let one_iteration = Plan {
                load: Load::Once,
                ..plan.clone()
            };
            let (profile, _) = session::profile::profile(&one_iteration, SEED, assumed)?;
            (profile, Vec::new())
        } else {
            session::profile::profile(plan, SEED, assumed)?
        };
        let mut forbidden = forbidden_parts(plan);
        forbidden.extend(unknown_lab(plan, &options.labs));
        forbidden.extend(forbidden_hosts(plan, allowed));
        Ok(CheckedPlan {
            digest: snapshot.digest(),
            hosts: named_hosts(plan),
            expected: ExpectedLoad::new(plan, &profile),
            forbidden,
            profile,
            machine,
            snapshot,
        })
    }

    /// Returns whether the plan only loads this machine.
    pub fn is_local(&self) -> bool {
        is_loopback(&self.hosts)
    }

    /// Returns the average number of requests per arrival.
    pub fn requests_per_arrival(&self) -> f64 {
        requests_per_arrival(&self.profile)
    }

    /// Returns all reasons why the plan must not run with its load.
    pub fn obstacles(&self, caps: &LoadCaps) -> Vec<String> {
        let mut lines = self.forbidden.clone();
        lines.extend(self.expected.exceeded(caps));
        lines
    }

    /// Describes the load in a question for a person.
    pub fn question(&self) -> String {
        let rate = match (self.expected.rate, self.expected.users) {
            (Some(rate), _) => rate_text(rate),
            (None, Some(users)) => {
                format!("the requests of {users} users, as fast as the service answers,")
            }
            (None, None) => "one iteration".to_owned(),
        };
        let requests = self.expected.requests.map(|all| {
            let all = units::count(all.ceil() as u64);
            format!(", {all} requests")
        });
        format!(
            "Send {rate} for {}{}{}, to {}?",
            units::duration(self.expected.duration_ns),
            requests.unwrap_or_default(),
            self.expected.listeners_text(),
            self.hosts.join(", ")
        )
    }

    fn profile_json(&self) -> Value {
        let expected = &self.expected;
        let rate = expected
            .rate
            .map(|rate| number(rate, "requests/s", "highest planned rate"));
        let requests = expected
            .requests
            .map(|all| number(all, "requests", "planned in total"));
        let users = expected
            .users
            .map(|users| number(f64::from(users), "users", "of a closed load"));
        json!({
            "hosts": self.hosts,
            "peak_rate": rate,
            "users": users,
            "requests": requests,
            "duration": seconds(expected.duration_ns, "of the load"),
            "is_upper_bound": expected.is_known && expected.rate.is_some(),
        })
    }
}

/// Returns the answer to `plan_check`.
pub(crate) fn check_answer(checked: Result<&CheckedPlan, &[Problem]>, caps: &LoadCaps) -> Answer {
    let checked = match checked {
        Ok(checked) => checked,
        Err(problems) => return invalid_plan(problems),
    };
    let obstacles = checked.obstacles(caps);
    let is_allowed = obstacles.is_empty();
    let conclusion = if is_allowed {
        "ALLOWED. The plan is valid and within the caps of this server. Nothing was sent."
            .to_owned()
    } else {
        format!(
            "NOT ALLOWED. The plan is valid, but this server does not run it: {}. Nothing was sent.",
            obstacles.join("; ")
        )
    };
    let endpoints = checked.profile.endpoints.iter().take(MOST_ENDPOINTS);
    let needs = checked.machine.iter();
    let needs = needs.map(|check| {
        let word = match check.enough {
            Some(true) => "enough",
            Some(false) => "NOT ENOUGH",
            None => "unknown",
        };
        format!("{}: {word}: {}", check.about, check.text)
    });
    let notes = checked.snapshot.plan.provenance.notes.iter();
    let mut notes: Vec<String> = notes.map(|note| note.text.clone()).collect();
    if checked.expected.users.is_some() {
        notes.push(UNBOUNDED.to_owned());
    }
    let mut answer = Answer::new(conclusion)
        .with("allowed", is_allowed)
        .with("digest", checked.digest.as_str())
        .with("profile", checked.profile_json())
        .with("forbidden", obstacles)
        .with(
            "endpoints",
            endpoints.map(|row| row.name.clone()).collect::<Vec<_>>(),
        )
        .with("needs", needs.collect::<Vec<_>>())
        .with("notes", notes);
    answer.is_error = !is_allowed;
    answer
}

/// Returns the answer for a plan with problems.
pub(crate) fn invalid_plan(problems: &[Problem]) -> Answer {
    let findings = problems.iter().take(MOST_FINDINGS);
    let findings: Vec<String> = findings.map(ToString::to_string).collect();
    let first = findings.first().cloned().unwrap_or_default();
    let mut answer = Answer::new(format!(
        "INVALID PLAN. Nothing was sent. First problem: {first}"
    ))
    .with("allowed", false)
    .with("findings", findings);
    answer.is_error = true;
    answer
}

#[cfg(test)]
mod tests {
    use plan::units::SECOND;
    use worker::clock;

    use super::*;

    fn check(text: &str) -> Answer {
        check_with(text, None)
    }

    /// Checks a plan with `LOADLINE_ALLOW_HOSTS` set to `fixed`.
    fn check_with(text: &str, fixed: Option<&str>) -> Answer {
        let options = ServerOptions::for_tests();
        let allowed = AllowedHosts::read(&[], fixed).unwrap();
        let input = PlanInput::Text(text.to_owned());
        let checked = CheckedPlan::read(&options, &allowed, &input);
        let checked = checked.as_ref().map_err(Vec::as_slice);
        check_answer(checked, &LoadCaps::default())
    }

    const PLAN: &str = "loadline: 1\ntarget: http://127.0.0.1:1\nload: { rate: 50/s, duration: 60s }\nsteps: [ get: /a, get: /b ]\n";

    #[test]
    fn allowed_plan_has_a_digest_and_a_profile() {
        let answer = check(PLAN).render();
        assert!(!answer.is_error, "{}", answer.text);
        assert_eq!(answer.body["digest"].as_str().unwrap().len(), 64);
        assert_eq!(answer.body["profile"]["peak_rate"]["value"], 100.0);
        assert_eq!(answer.body["profile"]["requests"]["value"], 6_000.0);
        assert_eq!(answer.body["profile"]["hosts"][0], "127.0.0.1");
    }

    #[test]
    fn forbidden_plan_names_the_cap_first() {
        let answer = check(&PLAN.replace("50/s", "5000/s")).render();
        assert!(answer.is_error);
        assert!(answer.text.starts_with("NOT ALLOWED."), "{}", answer.text);
        assert!(answer.text.contains("--most-rate 200/s"), "{}", answer.text);
    }

    #[test]
    fn problems_have_positions() {
        let answer = check(&PLAN.replace("steps", "stepps")).render();
        assert!(answer.is_error && answer.text.starts_with("INVALID PLAN."));
        let first = answer.body["findings"][0].as_str().unwrap();
        assert!(first.starts_with("plan.yml:4:1"), "{first}");
    }

    #[test]
    fn long_random_load_is_refused_without_drawing_it() {
        let load = "rate: 10000/s, duration: 24h, arrivals: poisson";
        let began_ns = clock::monotonic_ns();
        let answer = check(&PLAN.replace("rate: 50/s, duration: 60s", load)).render();
        let took_ns = clock::monotonic_ns() - began_ns;
        assert!(took_ns < 2 * SECOND, "{took_ns} ns");
        assert!(answer.text.contains("--most-rate 200/s"), "{}", answer.text);
        assert_eq!(answer.body["profile"]["peak_rate"]["value"], 20_000.0);
        assert_eq!(answer.body["profile"]["requests"]["value"], 1_728_000_000.0);
    }

    #[test]
    fn embedded_target_needs_this_machine_and_a_known_name() {
        let plan = |name: &str| PLAN.replace("http://127.0.0.1:1", name);
        assert!(!check(&plan("lab:sum")).is_error);
        let unknown = check(&plan("lab:sun")).render().text;
        assert!(unknown.contains("no embedded target `sun`"), "{unknown}");
        let fixed = check_with(&plan("lab:sum"), Some("a.example"))
            .render()
            .text;
        assert!(fixed.contains("host not allowed: `127.0.0.1`"), "{fixed}");
    }

    #[test]
    fn question_names_the_listeners() {
        let plan = "loadline: 1\ntarget: lab:chat\nload: { rate: 1/s, duration: 10s }\n\
            listen: { clients: 30, open: /rooms/a, name: live, push: { sent: $.s, from: $.f, sequence: $.n } }\n\
            steps:\n  - websocket: { connect: /rooms/a }\n  \
            - websocket: { send: { json: { s: '{{ $intended }}', f: '{{ $sender }}', n: '{{ $message }}' } } }\n";
        let options = ServerOptions::for_tests();
        let allowed = AllowedHosts::read(&[], None).unwrap();
        let input = PlanInput::Text(plan.to_owned());
        let checked = CheckedPlan::read(&options, &allowed, &input).unwrap();
        let question = checked.question();
        let end = ", 20 requests and 30 listeners, to 127.0.0.1?";
        assert!(question.ends_with(end), "{question}");
    }
}
