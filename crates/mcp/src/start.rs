//! Prepares runs and searches: parses their arguments, checks them again, and writes the files for
//! the process.

use std::{ffi::OsString, path::Path};

use plan::units::{self, SECOND};
use record::units::{count, duration, rate};
use serde_json::json;

use crate::{
    answer::Answer,
    arguments::{FindArguments, StartArguments, plan_input},
    check::{CheckedPlan, invalid_plan},
    expected_load::rate_text,
    hosts::{AllowedHosts, LOOPBACK},
    options::{DRAIN_NS, ServerOptions},
    permission::{LAB, time_limit_ns},
    plan_files::PlanInput,
    process::{ProcessKind, ProcessOrder},
};

const FIXED_HOSTS: &str = "LOADLINE_ALLOW_HOSTS";
/// Host name that does not exist on any machine.
const NO_HOST: &str = "none.invalid";
const DRAIN: &str = "30s";

/// A run or a search that is ready to start, except that a person may have to confirm it.
#[derive(Debug)]
pub(crate) struct ReadyStart {
    pub checked: CheckedPlan,
    /// Question for a person, used if the load leaves this machine.
    pub question: String,
    kind: ProcessKind,
    flags: Vec<String>,
    planned_ns: u64,
}

/// Prepares runs and searches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Starter<'a> {
    pub options: &'a ServerOptions,
    pub allowed: &'a AllowedHosts,
}

impl Starter<'_> {
    /// Checks the arguments of `run_start`.
    ///
    /// Fails with the answer for a refused call.
    pub fn run(&self, arguments: StartArguments) -> Result<ReadyStart, Answer> {
        let url = arguments.url.as_deref();
        let load = (arguments.rate.as_deref(), arguments.duration.as_deref());
        let given = (arguments.plan, arguments.path);
        let checked = match (url, load) {
            (Some(url), (Some(rate), Some(duration))) => {
                self.url(url, rate, duration, given, arguments.digest.is_some())?
            }
            (None, (None, None)) => self.checked(given, arguments.digest.as_deref())?,
            (Some(_), _) => {
                return Err(Answer::unsent("`url` needs `rate` and `duration`."));
            }
            (None, _) => {
                return Err(Answer::unsent(
                    "`rate` and `duration` are only for `url`: a plan has its own load.",
                ));
            }
        };
        let obstacles = checked.obstacles(&self.options.caps);
        if !obstacles.is_empty() {
            return Err(Answer::unsent(obstacles.join("; ")).with("forbidden", obstacles));
        }
        Ok(ReadyStart {
            question: checked.question(),
            planned_ns: checked.expected.duration_ns,
            checked,
            kind: ProcessKind::Run,
            flags: Vec::new(),
        })
    }

    /// Checks the arguments of `find_start`.
    ///
    /// Fails with the answer for a refused call.
    pub fn search(&self, arguments: FindArguments) -> Result<ReadyStart, Answer> {
        let given = (arguments.plan, arguments.path);
        let has_digest = arguments.digest.is_some();
        let checked = match arguments.url.as_deref() {
            Some(url) => self.url(url, "1/s", "1s", given, has_digest)?,
            None => self.checked(given, arguments.digest.as_deref())?,
        };
        let level = |name: &str, text: &str| {
            units::parse_rate(text)
                .map(|rate| rate.as_f64())
                .map_err(|error| Answer::unsent(error.describe(name, text)))
        };
        let max = level("max", &arguments.max)?;
        let budget = arguments.budget.as_deref().unwrap_or("2m");
        let budget_ns = units::parse_duration(budget)
            .map_err(|error| Answer::unsent(error.describe("budget", budget)))?;
        let mut flags = vec!["--max".to_owned(), arguments.max];
        if let Some(min) = arguments.min {
            level("min", &min)?;
            flags.extend(["--min".to_owned(), min]);
        }
        flags.extend(["--budget".to_owned(), budget.to_owned()]);
        for criterion in arguments.criteria {
            plan::criteria::parse_criterion(&criterion)
                .map_err(|error| Answer::unsent(error.describe("criteria", &criterion)))?;
            flags.extend(["--slo".to_owned(), criterion]);
        }
        let mut obstacles = checked.forbidden.clone();
        obstacles.extend(self.search_exceeds(&checked, max, budget_ns));
        if !obstacles.is_empty() {
            return Err(Answer::unsent(obstacles.join("; ")).with("forbidden", obstacles));
        }
        Ok(ReadyStart {
            question: format!(
                "Search the highest load for {}, with {}{}, at {}?",
                duration(budget_ns),
                rate_text(max * checked.requests_per_arrival()),
                checked.expected.listeners_text(),
                checked.hosts.join(", ")
            ),
            checked,
            kind: ProcessKind::Search,
            flags,
            planned_ns: budget_ns,
        })
    }

    /// Writes the files for a process, and returns how to start it.
    ///
    /// Fails with a one-line error if a file cannot be written.
    pub fn order(&self, ready: &ReadyStart, handle: String) -> Result<ProcessOrder, String> {
        let runs = &self.options.runs;
        let folder = runs.join("mcp").join(&handle);
        let plan = ready.checked.snapshot.write(&folder.join("plan"))?;
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        match ready.kind {
            ProcessKind::Run => {
                add(&["run", &text(&plan), "--runs", &text(runs), "--quiet"]);
            }
            ProcessKind::Search => {
                let (out, json) = (folder.join("search"), folder.join("find.json"));
                add(&["find", &text(&plan), "--out", &text(&out)]);
                add(&["--json", &text(&json)]);
            }
        }
        add(&["--tag", &handle, "--drain", DRAIN]);
        arguments.extend(ready.flags.iter().map(OsString::from));
        let mut env = self.options.access().variables();
        // The engine refuses all other hosts, including those of redirects.
        env.push((FIXED_HOSTS.to_owned(), self.hosts(&ready.checked)));
        Ok(ProcessOrder {
            kind: ready.kind,
            handle,
            arguments,
            env,
            folder,
            runs: runs.clone(),
            planned_ns: ready.planned_ns,
            limit_ns: time_limit_ns(ready.planned_ns, DRAIN_NS),
        })
    }

    /// Returns the hosts that a run may load, separated by commas: this machine if it is allowed,
    /// and the hosts of the plan, which a person confirms.
    fn hosts(&self, checked: &CheckedPlan) -> String {
        let own = LOOPBACK.iter().map(|host| (*host).to_owned());
        let mut hosts: Vec<String> = own.filter(|host| self.allowed.allows(host)).collect();
        let named = checked.hosts.iter();
        let named: Vec<String> = named
            .filter(|host| !hosts.contains(host))
            .cloned()
            .collect();
        hosts.extend(named);
        if hosts.is_empty() {
            // An empty list would allow all hosts.
            hosts.push(NO_HOST.to_owned());
        }
        hosts.join(",")
    }

    fn search_exceeds(&self, checked: &CheckedPlan, max: f64, budget_ns: u64) -> Vec<String> {
        let caps = &self.options.caps;
        let mut lines = Vec::new();
        let requests = checked.requests_per_arrival();
        if max * requests > caps.rate * 1.000_001 {
            lines.push(format!(
                "a search up to {} requests/s is above --most-rate {}/s: lower `max`",
                rate(max * requests),
                rate(caps.rate)
            ));
        }
        if budget_ns > caps.duration_ns {
            lines.push(format!(
                "a budget of {} is above --most-duration {}: lower `budget`",
                duration(budget_ns),
                duration(caps.duration_ns)
            ));
        }
        let all = max * requests * budget_ns as f64 / SECOND as f64;
        if all > caps.requests as f64 {
            lines.push(format!(
                "up to {} requests are above --most-requests {}: lower `max` or `budget`",
                count(all.ceil() as u64),
                count(caps.requests)
            ));
        }
        lines.extend(checked.expected.listeners_exceed(caps));
        if !checked.expected.is_known {
            lines.push(
                "the plan has loops of unknown length, so the load of a search is unknown: run it instead"
                    .to_owned(),
            );
        }
        lines
    }

    fn checked(
        &self,
        (plan, path): (Option<String>, Option<String>),
        digest: Option<&str>,
    ) -> Result<CheckedPlan, Answer> {
        let input = plan_input(plan, path)
            .map_err(|_| Answer::unsent("Give `plan`, `path` or `url`, and only one of them."))?;
        let checked = self.read(&input)?;
        match digest {
            Some(digest) if digest == checked.digest => Ok(checked),
            Some(_) => Err(Answer::unsent(
                "The plan or one of its files is not what plan_check saw: call plan_check again, and use its digest.",
            )),
            None => Err(Answer::unsent(
                "`digest` is missing: call plan_check first, and use the digest of its answer.",
            )),
        }
    }

    fn url(
        &self,
        url: &str,
        rate: &str,
        duration: &str,
        given: (Option<String>, Option<String>),
        has_digest: bool,
    ) -> Result<CheckedPlan, Answer> {
        if given.0.is_some() || given.1.is_some() || has_digest {
            return Err(Answer::unsent(
                "`url` cannot be combined with `plan`, `path` or `digest`.",
            ));
        }
        let text = url_plan(url, rate, duration).map_err(Answer::unsent)?;
        self.read(&PlanInput::Text(text))
    }

    fn read(&self, input: &PlanInput) -> Result<CheckedPlan, Answer> {
        CheckedPlan::read(self.options, self.allowed, input)
            .map_err(|problems| invalid_plan(&problems))
    }
}

/// Writes a plan that sends GET requests to a URL.
fn url_plan(url: &str, rate: &str, duration: &str) -> Result<String, String> {
    if url.contains("{{") {
        return Err(format!(
            "`{url}`: a URL cannot contain templates: use a plan"
        ));
    }
    let (target, request) = if url.starts_with(LAB) {
        (url.to_owned(), "/".to_owned())
    } else {
        let parsed = url::Url::parse(url).ok();
        let parsed = parsed.filter(|parsed| matches!(parsed.scheme(), "http" | "https"));
        let parsed = parsed.filter(|parsed| parsed.username().is_empty() && parsed.has_host());
        let parsed = parsed.ok_or_else(|| {
            format!("`{url}` is not a valid URL: use http://HOST:PORT/PATH or lab:NAME")
        })?;
        (parsed.origin().ascii_serialization(), url.to_owned())
    };
    let plan = json!({
        "loadline": 1,
        "name": url,
        "target": target,
        "load": { "rate": rate, "duration": duration },
        "steps": [{ "get": { "url": request } }],
    });
    Ok(plan.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_files::PlanAccess;

    fn run(arguments: StartArguments) -> Result<ReadyStart, Answer> {
        let options = ServerOptions::for_tests();
        let allowed = AllowedHosts::read(&[], None).unwrap();
        Starter {
            options: &options,
            allowed: &allowed,
        }
        .run(arguments)
    }

    fn search(max: &str, budget: Option<&str>) -> Result<ReadyStart, Answer> {
        let options = ServerOptions::for_tests();
        let allowed = AllowedHosts::read(&[], None).unwrap();
        let arguments = FindArguments {
            url: Some("lab:sum".to_owned()),
            criteria: vec!["p99 < 1s".to_owned()],
            max: max.to_owned(),
            budget: budget.map(ToOwned::to_owned),
            ..FindArguments::default()
        };
        Starter {
            options: &options,
            allowed: &allowed,
        }
        .search(arguments)
    }

    fn text(result: Result<ReadyStart, Answer>) -> String {
        result.unwrap_err().render().text
    }

    fn url(url: &str, rate: &str) -> StartArguments {
        StartArguments {
            url: Some(url.to_owned()),
            rate: Some(rate.to_owned()),
            duration: Some("10s".to_owned()),
            ..StartArguments::default()
        }
    }

    #[test]
    fn url_of_this_machine_may_be_loaded() {
        let ready = run(url("http://127.0.0.1:8080/a?b=c", "10/s")).unwrap();
        assert!(ready.checked.is_local());
        assert_eq!(ready.planned_ns, 10 * SECOND);
        assert!(run(url("lab:sum", "10/s")).unwrap().checked.is_local());
    }

    #[test]
    fn other_hosts_and_loads_are_refused() {
        let refused = text(run(url("http://example.org/", "10/s")));
        assert!(refused.contains("--allow-host example.org"), "{refused}");
        assert!(text(run(url("lab:sum", "1000/s"))).contains("--most-rate"));
        assert!(text(run(url("file:///etc/passwd", "1/s"))).contains("not a valid URL"));
        assert!(text(run(url("http://a/{{ $env.HOME }}", "1/s"))).contains("templates"));
    }

    #[test]
    fn plan_needs_the_digest_of_its_check() {
        let plan =
            "loadline: 1\ntarget: lab:sum\nload: { rate: 1/s, duration: 1s }\nsteps: [ get: / ]\n";
        let start = |digest: Option<&str>| {
            run(StartArguments {
                plan: Some(plan.to_owned()),
                digest: digest.map(ToOwned::to_owned),
                ..StartArguments::default()
            })
        };
        assert!(text(start(None)).contains("call plan_check first"));
        assert!(text(start(Some("x"))).contains("is not what plan_check saw"));
        let access = PlanAccess {
            folder: None,
            env: &[],
        };
        let digest = access.read(&PlanInput::Text(plan.to_owned())).unwrap();
        assert!(start(Some(&digest.digest())).is_ok());
    }

    #[test]
    fn search_has_caps() {
        assert_eq!(search("100/s", None).unwrap().planned_ns, 120 * SECOND);
        assert!(text(search("300/s", None)).contains("--most-rate"));
        assert!(text(search("10/s", Some("10m"))).contains("--most-duration"));
        assert!(text(search("x", None)).contains("max"));
    }

    const CHAT: &str = "loadline: 1\ntarget: http://load.example.org\n\
        load: { rate: 1/s, duration: 1s }\n\
        listen: { clients: CLIENTS, open: /rooms/a, name: live, push: { sent: $.s, from: $.f, sequence: $.n } }\n\
        steps:\n  - websocket: { connect: /rooms/a }\n  \
        - websocket: { send: { json: { s: '{{ $intended }}', f: '{{ $sender }}', n: '{{ $message }}' } } }\n";

    /// Prepares the search for a plan with a host that a person has allowed.
    fn plan_search(plan: &str) -> (ServerOptions, AllowedHosts, Result<ReadyStart, Answer>) {
        let options = ServerOptions::for_tests();
        let hosts = ["load.example.org".to_owned(), "other.example".to_owned()];
        let allowed = AllowedHosts::read(&hosts, None).unwrap();
        let starter = Starter {
            options: &options,
            allowed: &allowed,
        };
        let read = options.access().read(&PlanInput::Text(plan.to_owned()));
        let ready = starter.search(FindArguments {
            plan: Some(plan.to_owned()),
            digest: Some(read.unwrap().digest()),
            criteria: vec!["p99 < 1s".to_owned()],
            max: "10/s".to_owned(),
            ..FindArguments::default()
        });
        (options, allowed, ready)
    }

    #[test]
    fn listeners_of_a_search_have_a_cap() {
        let (.., ready) = plan_search(&CHAT.replace("CLIENTS", "101"));
        assert!(text(ready).contains("101 listeners are above --most-users 100"));
    }

    #[test]
    fn question_of_a_search_names_requests_and_listeners() {
        let (.., ready) = plan_search(&CHAT.replace("CLIENTS", "30"));
        assert_eq!(
            ready.unwrap().question,
            "Search the highest load for 2 min, with up to 20 requests/s and 30 listeners, at load.example.org?"
        );
        let plan = "loadline: 1\ntarget: http://load.example.org\n\
            load: { rate: 1/s, duration: 1s }\nsteps: [ get: /a, get: /b, get: /c ]\n";
        let question = plan_search(plan).2.unwrap().question;
        assert!(
            question.contains("with up to 30 requests/s, at"),
            "{question}"
        );
    }

    #[test]
    fn run_may_load_only_the_hosts_of_its_question() {
        let plan = "loadline: 1\ntarget: http://load.example.org\n\
            load: { rate: 1/s, duration: 1s }\nsteps: [ get: / ]\n";
        let hosts = |plan: &str| {
            let (options, allowed, ready) = plan_search(plan);
            let starter = Starter {
                options: &options,
                allowed: &allowed,
            };
            starter.hosts(&ready.unwrap().checked)
        };
        assert_eq!(hosts(plan), "localhost,127.0.0.1,::1,load.example.org");
        let local = plan.replace("http://load.example.org", "lab:sum");
        assert_eq!(hosts(&local), "localhost,127.0.0.1,::1");
    }
}
