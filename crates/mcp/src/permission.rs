//! Decides whether a plan may run on this server, considering the code and commands that it starts
//! and the hosts that it names.

use plan::{Load, Plan, Step, server::MetricLocation, units::SECOND};

use crate::{
    expected_load::unmeasured_requests,
    hosts::{AllowedHosts, named_hosts},
};

/// Prefix of targets that are embedded in this program.
pub(crate) const LAB: &str = "lab:";

/// Maximum number of requests in `setup` and `teardown`.
const MOST_UNMEASURED: usize = 50;
/// Maximum number of redirects of a request, which is the default of plans.
const MOST_REDIRECTS: u32 = 10;

/// Options of embedded targets that write files, listen for other machines or call services.
const FORBIDDEN_OPTIONS: [&str; 4] = ["log", "host", "port", "downstream"];

/// Returns the parts of a plan that must never run on this server.
pub(crate) fn forbidden_parts(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    let mut forbid = |is_there: bool, line: &str| {
        if is_there {
            lines.push(line.to_owned());
        }
    };
    forbid(
        plan.script.is_some() || plan.has_extensions(),
        "`script` runs code, which is not allowed over MCP: remove it",
    );
    forbid(
        plan.background.is_some() || !matches!(plan.work, plan::Work::Scenarios(_)),
        "only HTTP, WebSocket and Socket.IO steps are allowed over MCP: remove `mqtt`",
    );
    forbid(
        plan.http.route.unix.is_some(),
        "`unix` connects to a socket of this machine, which is not allowed over MCP: remove it",
    );
    forbid(
        matches!(plan.load, Load::Several { .. }),
        "`workloads` cannot run over MCP: use one `load`",
    );
    let runs_command =
        |source: &plan::server::MetricSource| matches!(source.place, MetricLocation::Command(_));
    forbid(
        plan.policy.server.iter().any(runs_command),
        "`command:` starts a program, which is not allowed over MCP: use another source of metrics",
    );
    let has_loop = |scenario: &plan::Scenario| {
        let mut steps = scenario.all_steps();
        steps.any(|step| matches!(step, Step::Loop(_)))
    };
    forbid(
        plan.setup.iter().chain(&plan.teardown).any(has_loop),
        "`setup` and `teardown` cannot have loops here, because their requests are not counted: move the loop into `steps`",
    );
    let unmeasured = unmeasured_requests(plan);
    if unmeasured > MOST_UNMEASURED {
        lines.push(format!(
            "`setup` and `teardown` send {unmeasured} requests, but at most {MOST_UNMEASURED} are allowed over MCP: move requests into `steps`"
        ));
    }
    let own_limits = plan.scenarios().iter().flat_map(plan::Scenario::requests);
    let redirects = own_limits.filter_map(|request| request.max_redirects);
    let redirects = redirects.fold(plan.http.max_redirects, u32::max);
    if redirects > MOST_REDIRECTS {
        lines.push(format!(
            "`redirects: {redirects}` multiplies the load: use at most {MOST_REDIRECTS}"
        ));
    }
    if let Some(target) = plan.target.expose().strip_prefix(LAB) {
        lines.extend(forbidden_option(target));
    }
    lines
}

/// Returns an error message if the plan's target is an embedded target that does not exist.
pub(crate) fn unknown_lab(plan: &Plan, labs: &[String]) -> Option<String> {
    let target = plan.target.expose().strip_prefix(LAB)?;
    let name = target.split('?').next().unwrap_or(target);
    let is_known = labs.iter().any(|lab| lab == name);
    (!is_known).then(|| {
        format!(
            "there is no embedded target `{name}`: use one of {}",
            labs.join(", ")
        )
    })
}

/// Returns why the target `NAME?option=value&…` must not be started on this server, or `None` if it
/// may be started.
fn forbidden_option(target: &str) -> Option<String> {
    let (name, options) = target.split_once('?').unwrap_or((target, ""));
    if name.starts_with('-') {
        return Some(format!(
            "`{name}` is not the name of an embedded target: use lab:NAME"
        ));
    }
    let is_allowed = |option: &&str| {
        option.split_once('=').is_some_and(|(key, value)| {
            key.starts_with(|c: char| c.is_ascii_alphabetic())
                && !FORBIDDEN_OPTIONS.contains(&key)
                && !value.contains("://")
        })
    };
    let mut options = options.split('&').filter(|option| !option.is_empty());
    let forbidden = options.find(|option| !is_allowed(option))?;
    Some(format!(
        "`{forbidden}` is not an option of an embedded target that is allowed over MCP: use option=value, without {} and URLs",
        FORBIDDEN_OPTIONS.join(", ")
    ))
}

/// Returns an error message for each host of the plan that a person has not allowed.
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

/// Returns the time in nanoseconds after which the server ends a run with this load.
pub(crate) fn time_limit_ns(duration_ns: u64, drain_ns: u64) -> u64 {
    // Setup and teardown steps are not part of the load.
    duration_ns + drain_ns + 30 * SECOND
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_files::plan_of as plan;

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

    #[test]
    fn options_of_embedded_targets_cannot_be_flags() {
        let lines = |target: &str| {
            forbidden_parts(&plan(&format!(
                "load: {{ rate: 1/s, duration: 1s }}\nsteps: [ get: / ]\ntarget: '{target}'\n"
            )))
        };
        for target in [
            "lab:sum?--log&/tmp/x",
            "lab:sum?--host&0.0.0.0",
            "lab:sum?--log=/tmp/x",
            "lab:sum?log=/tmp/x",
            "lab:sum?host=0.0.0.0",
            "lab:sum?port=80",
            "lab:sum?seed=1&downstream=a",
            "lab:sum?seed=1&callback=http://x",
            "lab:sum?seed",
            "lab:--log",
        ] {
            assert_eq!(lines(target).len(), 1, "{target}");
        }
        for target in ["lab:sum", "lab:sum?", "lab:sum?seed=1&max-in-flight=9"] {
            assert_eq!(lines(target), Vec::<String>::new(), "{target}");
        }
    }

    #[test]
    fn many_redirects_and_requests_of_setup_are_refused() {
        let lines = |extra: &str| {
            forbidden_parts(&plan(&format!(
                "target: lab:sum\nload: {{ rate: 1/s, duration: 1s }}\nsteps: [ get: / ]\n{extra}\n"
            )))
        };
        assert_eq!(lines("http: { redirects: 10 }"), Vec::<String>::new());
        assert!(lines("http: { redirects: 11 }")[0].contains("use at most 10"));
        let setup = |requests: usize| format!("setup: [ {} ]", vec!["get: /"; requests].join(", "));
        assert_eq!(lines(&setup(50)), Vec::<String>::new());
        assert!(lines(&setup(51))[0].contains("send 51 requests"));
    }
}
