//! The hosts that a test may send requests to. By default, these are the target and the hosts of
//! absolute URLs in the test file. The user must allow other hosts explicitly.
//!
//! Host names are compared in lower case and without the port.

use plan::{
    At, Plan, Problem, Request, Variable, Work,
    rng::{Purpose, Rng},
};
use query::Scope;
use serde_json::Value;

use codec::url;

/// The user's permissions, in addition to the hosts in the test file.
#[derive(Debug, Clone, Default)]
pub struct Allow {
    /// Additional hosts, or `*.example.org` for all subdomains.
    pub hosts: Vec<String>,
    /// If set, requests may only go to these hosts, even if the test file contains others.
    pub only: Option<Vec<String>>,
    /// Whether all other hosts are also allowed, with a note, as in other tools.
    pub others_too: bool,
}

/// Decision whether requests may be sent to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// The host is allowed.
    Allowed,
    /// The host is allowed, and a note mentions it.
    Noted,
    /// The host is refused.
    Refused,
}

/// The hosts that a run may send requests to.
#[derive(Debug, Clone)]
pub struct Hosts {
    known: Vec<String>,
    allow: Allow,
}

impl Hosts {
    /// Creates the rules for a plan.
    #[must_use]
    pub fn new(plan: &Plan, allow: &Allow) -> Hosts {
        let mut known: Vec<String> = Vec::new();
        for (host, _) in written(plan) {
            if !known.contains(&host) {
                known.push(host);
            }
        }
        Hosts {
            known,
            allow: allow.clone(),
        }
    }

    /// Returns the hosts in the test file, starting with the target.
    #[must_use]
    pub fn known(&self) -> &[String] {
        &self.known
    }

    /// Decides whether requests may be sent to a host that appears during the run.
    #[must_use]
    pub fn ruling(&self, host: &str) -> Ruling {
        let among = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, host));
        if let Some(only) = &self.allow.only {
            return if among(only) {
                Ruling::Allowed
            } else {
                Ruling::Refused
            };
        }
        if self.known.iter().any(|known| known == host) || among(&self.allow.hosts) {
            Ruling::Allowed
        } else if self.allow.others_too {
            Ruling::Noted
        } else {
            Ruling::Refused
        }
    }

    /// Returns the port of a plan's target.
    #[must_use]
    pub fn target_port(plan: &Plan) -> Option<u16> {
        if let Work::Mqtt(mqtt) = &plan.work {
            return Some(mqtt.port);
        }
        url::parse(plan.target.expose()).map(|target| target.origin.port)
    }

    /// Returns advice for the user: how to allow a refused host.
    #[must_use]
    pub fn advice(&self, host: &str) -> String {
        match &self.allow.only {
            Some(only) => format!("LOADLINE_ALLOW_HOSTS allows {}", only.join(", ")),
            None => format!("use --allow-host {host} to allow it"),
        }
    }

    /// Reports the hosts that are known before the run but missing from the user's list.
    #[must_use]
    pub fn problems(plan: &Plan, allow: &Allow) -> Vec<Problem> {
        let Some(only) = &allow.only else {
            return Vec::new();
        };
        let asked = allow.hosts.iter().map(|host| (host.clone(), None));
        let mut all = written(plan);
        all.extend(asked);
        all.extend(led_to(plan).into_iter().map(|host| (host, None)));
        let mut problems: Vec<Problem> = Vec::new();
        for (host, at) in all {
            // The list must contain the pattern itself.
            if only
                .iter()
                .any(|pattern| *pattern == host || matches(pattern, &host))
            {
                continue;
            }
            let message = format!(
                "host not allowed: `{host}` is not in LOADLINE_ALLOW_HOSTS ({})",
                only.join(", ")
            );
            if problems.iter().all(|known| known.message != message) {
                problems.push(Problem { at, message });
            }
        }
        problems
    }
}

/// Normalizes a host as in URLs: lower case, no port, IPv6 without brackets.
#[must_use]
pub fn canonical(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(below) = text.strip_prefix("*.") {
        return canonical(below).map(|name| format!("*.{name}"));
    }
    let address = text.split('%').next().unwrap_or(text);
    let bare_v6 = address.parse::<std::net::Ipv6Addr>().is_ok();
    let authority = if bare_v6 {
        format!("[{text}]")
    } else {
        text.to_owned()
    };
    let target = url::parse(&format!("http://{authority}/"))?;
    let is_host = target.path == "/" && target.userinfo.is_none() && target.origin.port == 80;
    is_host.then_some(target.origin.host)
}

/// Returns the hosts to which address overrides redirect connections. They need separate
/// permission.
fn led_to(plan: &Plan) -> Vec<String> {
    let route = &plan.http.route;
    let given = route.resolve.iter().flat_map(|one| &one.addresses);
    let socket = route.unix.iter().map(|_| "localhost".to_owned());
    given.map(ToString::to_string).chain(socket).collect()
}

fn matches(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(below) => host.len() > below.len() && host.ends_with(below),
        None => pattern == host,
    }
}

fn written(plan: &Plan) -> Vec<(String, Option<At>)> {
    let mut hosts = Vec::new();
    if let Some(target) = url::parse(plan.target.expose()) {
        hosts.push((target.origin.host, None));
    }
    if let Work::Mqtt(mqtt) = &plan.work {
        hosts.push((mqtt.host.to_ascii_lowercase(), None));
    }
    let background = plan.background.as_ref();
    if let Some(background) =
        background.filter(|background| !background.mqtt.host.starts_with("lab:"))
    {
        hosts.push((background.mqtt.host.to_ascii_lowercase(), None));
    }
    let scenarios = plan.scenarios_and_opening();
    let scenarios = scenarios.chain(&plan.setup).chain(&plan.teardown);
    for scenario in scenarios {
        for request in scenario.requests() {
            let found = hosts_of(request, plan);
            hosts.extend(found.into_iter().map(|host| (host, request.at.clone())));
        }
    }
    hosts
}

fn hosts_of(request: &Request, plan: &Plan) -> Vec<String> {
    if let Some(host) = host_before_holes(request.url_text.expose(), "{{") {
        return vec![host];
    }
    let mut scope = Written {
        plan,
        chosen: None,
        hole: Value::String(HOLE.to_owned()),
    };
    let mut hosts = Vec::new();
    let chosen = plan
        .variables
        .iter()
        .filter_map(|(name, variable)| match variable {
            Variable::OneOf(values) => Some(values.iter().map(move |value| (name.as_str(), value))),
            Variable::Constant(_) => None,
        });
    for choice in std::iter::once(None).chain(chosen.flatten().map(Some)) {
        scope.chosen = choice;
        let mut text = String::new();
        let mut rng = Rng::keyed(0, Purpose::User, 0, 0);
        if request.url.write_text(&scope, &mut rng, &mut text).is_ok()
            && let Some(host) = host_before_holes(&text, HOLE)
            && !hosts.contains(&host)
        {
            hosts.push(host);
        }
    }
    hosts
}

/// Placeholder for a value that is unknown before the run.
const HOLE: &str = "\u{1}";

/// Returns the host of an absolute URL if the template determines it. The actual host is checked
/// again during the run.
fn host_before_holes(text: &str, hole: &str) -> Option<String> {
    let text = text.trim_start();
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let port = host.rfind(':').filter(|at| !host[*at..].contains(']'));
    let host = port.map_or(host, |at| &host[..at]);
    if host.contains(hole) || scheme.contains(hole) {
        return None;
    }
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "ws" => "http",
        "wss" => "https",
        _ => scheme,
    };
    let target = url::parse(&format!("{scheme}://{host}/"))?;
    Some(target.origin.host)
}

/// The variables that have a value in the file. Other variables become placeholders.
struct Written<'p> {
    plan: &'p Plan,
    chosen: Option<(&'p str, &'p Value)>,
    hole: Value,
}

impl Scope for Written<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        if let Some((chosen, value)) = self.chosen
            && chosen == name
        {
            return Some(value);
        }
        let mut variables = self.plan.variables.iter();
        let constant = variables.find_map(|(known, variable)| match variable {
            Variable::Constant(value) if known == name => Some(value),
            _ => None,
        });
        constant.or(Some(&self.hole))
    }
}

#[cfg(test)]
mod tests {
    use plan::{Format, Load, Scenario, Step, Template};
    use serde_json::json;

    use super::*;

    fn plan(urls: &[&str]) -> Plan {
        let step = |url: &&str| {
            let template = Template::parse_text(url).expect("a template");
            Step::Request(Box::new(Request::new("GET", template, url)))
        };
        let scenario = Scenario {
            name: None,
            weight: 1,
            volume: None,
            on_error: Vec::new(),
            steps: urls.iter().map(step).collect(),
        };
        let target = "http://Target.test:8080/base".to_owned();
        let mut plan = Plan::new(
            String::new(),
            Format::NATIVE,
            target,
            Load::Once,
            vec![scenario],
        );
        plan.variables = vec![
            (
                "base".into(),
                Variable::Constant(json!("https://const.test")),
            ),
            (
                "one".into(),
                Variable::OneOf(vec![json!("a.test"), json!("b.test")]),
            ),
        ];
        plan
    }

    #[test]
    fn written_hosts_are_known() {
        let plan = plan(&[
            "/a",
            "https://abs.test/{{ id }}",
            "{{ base }}/x",
            "http://{{ one }}:81/",
            "http://{{ captured }}/",
            "{{ captured }}",
            "http://ports.test:{{ port }}/",
            "http://{{ user }}:{{ word }}@users.test/",
            "http://[::1]:{{ port }}/",
            "http://open.test{{ rest }}",
        ]);
        let hosts = Hosts::new(&plan, &Allow::default());
        assert_eq!(
            hosts.known(),
            [
                "target.test",
                "abs.test",
                "const.test",
                "a.test",
                "b.test",
                "ports.test",
                "users.test",
                "::1"
            ]
        );
        assert_eq!(hosts.ruling("abs.test"), Ruling::Allowed);
        assert_eq!(hosts.ruling("evil.test"), Ruling::Refused);
    }

    #[test]
    fn allowed_and_fixed_hosts_are_respected() {
        let plan = plan(&["/a", "http://other.test/"]);
        let mut allow = Allow {
            hosts: vec!["*.cdn.test".into(), "::1".into()],
            ..Allow::default()
        };
        let hosts = Hosts::new(&plan, &allow);
        assert_eq!(hosts.ruling("x.cdn.test"), Ruling::Allowed);
        assert_eq!(hosts.ruling("cdn.test"), Ruling::Refused);
        assert_eq!(hosts.ruling("xcdn.test"), Ruling::Refused);
        assert_eq!(hosts.ruling("::1"), Ruling::Allowed);
        allow.others_too = true;
        assert_eq!(Hosts::new(&plan, &allow).ruling("evil.test"), Ruling::Noted);
        assert!(Hosts::problems(&plan, &allow).is_empty());
        allow.only = Some(vec!["target.test".into(), "*.cdn.test".into()]);
        let problems = Hosts::problems(&plan, &allow);
        let reported: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(reported.len(), 2, "{reported:?}");
        assert!(reported[0].starts_with("host not allowed: `other.test`"));
        assert!(reported[1].starts_with("host not allowed: `::1`"));
        assert_eq!(
            Hosts::new(&plan, &allow).ruling("other.test"),
            Ruling::Refused
        );
        let mut led = plan.clone();
        let resolve = plan::route::Resolve::parse("target.test:8080:10.0.0.1").expect("read");
        led.http.route.resolve = vec![resolve];
        assert_eq!(Hosts::problems(&led, &allow).len(), 3);
        allow.only = None;
        allow.others_too = false;
        assert_eq!(Hosts::new(&led, &allow).ruling("10.0.0.1"), Ruling::Refused);
        led.http.route.unix = Some("/run/s".into());
        allow.only = Some(vec!["*.test".into(), "::1".into(), "*.cdn.test".into()]);
        let problems = Hosts::problems(&led, &allow);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[1].message.contains("`localhost`"));
    }

    #[test]
    fn hosts_are_canonicalized() {
        assert_eq!(canonical("EXAMPLE.org").as_deref(), Some("example.org"));
        assert_eq!(canonical("[::1]").as_deref(), Some("::1"));
        assert_eq!(canonical("::1").as_deref(), Some("::1"));
        assert_eq!(canonical("*.A.b").as_deref(), Some("*.a.b"));
        for bad in ["", "http://a", "a/b", "a:81", "u@a", "a b"] {
            assert_eq!(canonical(bad), None, "{bad}");
        }
    }
}
