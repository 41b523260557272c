//! Finds reasons why runs cannot be compared: load, requests, tool, machine, validity, completion.
//! Target, name and criteria may differ.

use std::collections::BTreeSet;

use record::{FileFacts, Run, RunState, clock, sha256, units};
use serde_json::Value;

use super::{ComparedRun, Side};
use analysis::summary::Summary;

const MAY_DIFFER: [&str; 13] = [
    "name",
    "about",
    "format",
    "target",
    "criteria",
    "stop",
    "guard",
    "notes",
    "files",
    "server",
    "assumed",
    "http.route",
    "http.trace_url",
];

/// Path suffix of a scenario's present volume, which reports compare with the load.
const TODAY: &str = ".volume.today";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incompatibility {
    pub text: String,
    pub is_of_one: bool,
    pub is_invalid: bool,
}

impl Incompatibility {
    fn of_one(text: String) -> Incompatibility {
        Incompatibility {
            is_of_one: true,
            ..Incompatibility::new(text)
        }
    }

    fn new(text: String) -> Incompatibility {
        Incompatibility {
            text,
            is_of_one: false,
            is_invalid: false,
        }
    }
}

#[must_use]
pub fn incompatibilities(baseline: &Side, candidate: &Side) -> Vec<Incompatibility> {
    let runs: Vec<&ComparedRun> = baseline.runs.iter().chain(&candidate.runs).collect();
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let mut found: Vec<Incompatibility> = runs.iter().filter_map(|run| in_itself(run)).collect();
    let different = |differs: fn(&ComparedRun, &ComparedRun) -> Option<String>| {
        runs.iter()
            .find_map(|run| differs(first, run))
            .map(Incompatibility::new)
    };
    found.extend(different(tool));
    // A different load also makes the plan different, so report only the load.
    found.extend(different(load).or_else(|| different(plan)));
    found.extend(different(http_version));
    found.extend(different(data));
    found.extend(different(generator));
    found.extend(different(machine));
    found
}

pub(crate) fn fault(summary: &Summary, run: Option<&Run>) -> Option<String> {
    let how = match summary.run.state {
        RunState::Complete => None,
        RunState::Running => Some("is still running, or was killed".to_owned()),
        RunState::Interrupted => {
            let by = summary.run.ended_by.as_deref().unwrap_or("unknown reason");
            Some(format!("was ended early: {by}"))
        }
    };
    let how = how.or_else(|| {
        let loss = summary.lost.first()?;
        let (from, to) = (clock(loss.from_ns), clock(loss.to_ns));
        Some(format!(
            "lost a node: from {from} to {to} its load differed from the plan"
        ))
    });
    let how = how.or_else(|| {
        let run = run?;
        let is_short = run.cut.is_some() || !run.missing.is_empty() || run.lost().next().is_some();
        is_short.then(|| "has an incomplete record".to_owned())
    });
    how.or_else(|| (summary.all.count == 0).then(|| "requested nothing".to_owned()))
}

fn in_itself(run: &ComparedRun) -> Option<Incompatibility> {
    let summary = &run.summary;
    if let Some(measurement) = &summary.measurement
        && measurement.verdict == "INVALID"
    {
        let reason = measurement.reasons.first();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        return Some(Incompatibility {
            text: format!("the measurement of {} is INVALID{reason}", run.name),
            is_of_one: true,
            is_invalid: true,
        });
    }
    let how = fault(summary, run.run.as_ref())?;
    Some(Incompatibility::of_one(format!("{} {how}", run.name)))
}

/// Returns the properties that comparable runs must share, as strings for an index without records.
/// The order is that of [`incompatibilities`].
#[must_use]
pub fn fingerprint(summary: &Summary, run: &Run, plan: &Value) -> Vec<(String, String)> {
    let of = &summary.run;
    let normalized = normalized(plan, &of.target, "").to_string();
    let files = run.manifest.files.iter().skip(1);
    let files = files.map(|file| format!("{} {:?}\n", file.path, file.sha256));
    let workers = of.workers.map(|workers| workers.to_string());
    let facets = [
        (
            "version",
            format!("{} {}", measured_by(summary), of.version),
        ),
        ("kind", of.frontend.clone()),
        ("load", of.load.clone()),
        ("plan", sha256(normalized.as_bytes())),
        ("data", sha256(files.collect::<String>().as_bytes())),
        ("worker threads", workers.unwrap_or_default()),
        ("machine", host(run)),
        ("HTTP version", negotiated(run)),
    ];
    let facets = facets.into_iter();
    facets.map(|(what, is)| (what.to_owned(), is)).collect()
}

pub(super) fn remarks(baseline: &Side, candidate: &Side) -> Vec<String> {
    let runs = baseline.runs.iter().chain(&candidate.runs);
    let reported = runs.filter_map(|run| {
        let measurement = run.summary.measurement.as_ref()?;
        let is_degraded = measurement.verdict == "DEGRADED";
        let reason = measurement.reasons.first();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        is_degraded.then(|| format!("the measurement of {} is DEGRADED{reason}", run.name))
    });
    reported.collect()
}

fn tool(first: &ComparedRun, other: &ComparedRun) -> Option<String> {
    let (a, b) = (measured_by(&first.summary), measured_by(&other.summary));
    if a != b {
        return Some(format!(
            "{} was measured by {a} and {} by {b}, and these tools define times differently",
            first.name, other.name
        ));
    }
    let (a, b) = (&first.summary.run.version, &other.summary.run.version);
    (a != b).then(|| {
        format!(
            "{} was measured by version {a} and {} by version {b}",
            first.name, other.name
        )
    })
}

fn measured_by(summary: &Summary) -> &str {
    summary.run.imported_from.as_deref().unwrap_or("Loadline")
}

fn load(first: &ComparedRun, other: &ComparedRun) -> Option<String> {
    let (a, b) = (&first.summary.run, &other.summary.run);
    if a.frontend != b.frontend {
        return Some(format!(
            "{} was run as {} and {} as {}",
            first.name, a.frontend, other.name, b.frontend
        ));
    }
    (a.load != b.load).then(|| {
        format!(
            "the loads differ: {} in {}, {} in {}",
            a.load, first.name, b.load, other.name
        )
    })
}

fn plan(first: &ComparedRun, other: &ComparedRun) -> Option<String> {
    if first.plan.is_null() || other.plan.is_null() {
        return None;
    }
    let [a, b] = [first, other].map(|run| normalized(&run.plan, &run.summary.run.target, ""));
    let PlanDifference {
        place,
        first: a,
        second: b,
    } = difference("", &a, &b)?;
    Some(format!(
        "the plans differ: {place} is {a} in {} and {b} in {}",
        first.name, other.name
    ))
}

/// Compares the HTTP versions and limits that servers negotiated.
fn http_version(first: &ComparedRun, other: &ComparedRun) -> Option<String> {
    let (a, b) = (
        negotiated(first.run.as_ref()?),
        negotiated(other.run.as_ref()?),
    );
    (a != b).then(|| {
        format!(
            "the HTTP versions differ: {a} in {}, {b} in {}",
            first.name, other.name
        )
    })
}

/// Returns the negotiated versions without their origins, which may differ.
fn negotiated(run: &Run) -> String {
    let versions = run.manifest.negotiated.iter();
    let texts: BTreeSet<String> = versions
        .map(|one| match (one.is_http2(), one.stream_limit) {
            (false, _) => "HTTP/1.1".to_owned(),
            (true, Some(limit)) => format!("HTTP/2 with {} streams", units::count(limit.into())),
            (true, None) => "HTTP/2".to_owned(),
        })
        .collect();
    if texts.is_empty() {
        return "HTTP/1.1".to_owned();
    }
    texts.into_iter().collect::<Vec<_>>().join(" and ")
}

fn data(first: &ComparedRun, other: &ComparedRun) -> Option<String> {
    // The first file is the test, which is compared as a plan instead.
    let files = |run: &ComparedRun| {
        let manifest = &run.run.as_ref()?.manifest;
        Some(
            manifest
                .files
                .iter()
                .skip(1)
                .cloned()
                .collect::<Vec<FileFacts>>(),
        )
    };
    let (a, b) = (files(first)?, files(other)?);
    let changed = a.iter().find(|file| {
        let mut others = b.iter().filter(|other| other.path == file.path);
        others.any(|other| other.sha256 != file.sha256)
    })?;
    Some(format!(
        "{} was different in {} and in {}",
        changed.path, first.name, other.name
    ))
}

fn generator(first: &ComparedRun, other: &ComparedRun) -> Option<String> {
    let (a, b) = (first.summary.run.workers?, other.summary.run.workers?);
    (a != b).then(|| {
        format!(
            "{} was sent by {a} worker threads and {} by {b}",
            first.name, other.name
        )
    })
}

fn machine(first: &ComparedRun, other: &ComparedRun) -> Option<String> {
    let (a, b) = (host(first.run.as_ref()?), host(other.run.as_ref()?));
    (a != b).then(|| {
        format!(
            "the machines differ: {} ran on {a}, {} on {b}",
            first.name, other.name
        )
    })
}

fn host(run: &Run) -> String {
    let host = &run.manifest.host;
    let cpu = host.cpu.as_deref().unwrap_or("an unknown processor");
    let cpus = host.cpus.map_or_else(String::new, |n| format!("{n} × "));
    let limit = host
        .cgroup_cpu
        .as_deref()
        .filter(|limit| !limit.starts_with("max"));
    let limit = limit.map_or_else(String::new, |limit| format!(", limited to {limit} µs"));
    format!("{cpus}{cpu}{limit}")
}

/// Returns the plan without its target and its file positions. `path` is the position within the
/// plan.
fn normalized(plan: &Value, target: &str, path: &str) -> Value {
    match plan {
        Value::Object(members) => {
            let compared = members.iter().filter_map(|(name, value)| {
                let path = place(path, name);
                let is_free = MAY_DIFFER.contains(&path.as_str()) || path.ends_with(TODAY);
                let counts = name != "at" && !is_free;
                counts.then(|| (name.clone(), normalized(value, target, &path)))
            });
            compared.collect()
        }
        Value::Array(items) => {
            // In lists, drop only file positions.
            let items = items
                .iter()
                .map(|item| normalized(item, target, &format!("{path}[]")));
            items.collect()
        }
        Value::String(text) => Value::String(unhidden(&if target.is_empty() {
            text.clone()
        } else {
            text.replace(target, "")
        })),
        other => other.clone(),
    }
}

fn place(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn unhidden(text: &str) -> String {
    const OPEN: &str = "‹redacted:";
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, following)) = rest.split_once(OPEN) {
        let Some((_, after)) = following.split_once('›') else {
            break;
        };
        out += before;
        out += "‹redacted›";
        rest = after;
    }
    out + rest
}

#[derive(Debug, PartialEq)]
struct PlanDifference {
    place: String,
    first: String,
    second: String,
}

fn difference(at: &str, a: &Value, b: &Value) -> Option<PlanDifference> {
    match (a, b) {
        _ if a == b => None,
        (Value::Object(first), Value::Object(second)) => {
            let names = first
                .keys()
                .chain(second.keys().filter(|name| !first.contains_key(*name)));
            let mut parts = names.map(|name| {
                let place = place(at, name);
                let [a, b] = [first, second].map(|of| of.get(name).unwrap_or(&Value::Null));
                difference(&place, a, b)
            });
            parts.find_map(|found| found)
        }
        (Value::Array(first), Value::Array(second)) if first.len() == second.len() => {
            let mut parts = first.iter().zip(second).enumerate();
            parts.find_map(|(i, (a, b))| difference(&format!("{at}[{i}]"), a, b))
        }
        (Value::Array(first), Value::Array(second)) => {
            let count = |n: usize| format!("{n} long");
            Some(PlanDifference {
                place: at.to_owned(),
                first: count(first.len()),
                second: count(second.len()),
            })
        }
        _ => Some(PlanDifference {
            place: at.to_owned(),
            first: render(a),
            second: render(b),
        }),
    }
}

fn render(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    let cut: String = text.chars().take(LONGEST).collect();
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn first_difference(a: &Value, b: &Value) -> Option<PlanDifference> {
        difference(
            "",
            &normalized(a, "http://a:1", ""),
            &normalized(b, "http://b:22", ""),
        )
    }

    #[test]
    fn where_the_target_is_and_what_it_is_called_makes_no_difference() {
        let of = |target: &str, name: &str, line: u32| {
            json!({"name": name, "target": target, "criteria": [name],
                   "steps": [{"url": {"literal": format!("{target}/x")}, "at": {"line": line}}]})
        };
        assert_eq!(
            first_difference(&of("http://a:1", "one", 3), &of("http://b:22", "two", 9)),
            None
        );
    }

    #[test]
    fn the_present_volume_makes_no_difference() {
        let of = |today: &str, text: &str| {
            let today = json!({"text": today, "per_second": 1});
            json!({"scenarios": [{"volume": {"text": text, "today": today}}]})
        };
        let (a, b) = (of("1000/d", "2/s"), of("2000/d", "2/s"));
        assert_eq!(first_difference(&a, &b), None);
        assert!(first_difference(&a, &of("1000/d", "3/s")).is_some());
    }

    #[test]
    fn links_to_traces_make_no_difference() {
        let of = |url: &str| json!({"http": {"trace_url": url, "version": "auto"}});
        assert_eq!(
            first_difference(&of("http://a/{trace_id}"), &of("http://b/{trace_id}")),
            None
        );
    }

    #[test]
    fn a_difference_is_named_by_its_place() {
        let of = |rate: u32| json!({"load": {"phases": [{"rate": 1}, {"rate": rate}]}});
        let found = first_difference(&of(200), &of(300)).unwrap();
        assert_eq!(
            (
                found.place.as_str(),
                found.first.as_str(),
                found.second.as_str()
            ),
            ("load.phases[1].rate", "200", "300")
        );
        let longer = json!({"load": {"phases": [1, 2, 3]}});
        let found = first_difference(&of(1), &longer).unwrap();
        assert_eq!(
            (
                found.place.as_str(),
                found.first.as_str(),
                found.second.as_str()
            ),
            ("load.phases", "2 long", "3 long")
        );
    }

    #[test]
    fn names_within_steps_count() {
        let of =
            |name: &str| json!({"name": name, "scenarios": [{"name": name}], "server": [name]});
        let found = first_difference(&of("a"), &of("b")).unwrap();
        assert_eq!(found.place, "scenarios[0].name");
    }

    #[test]
    fn secrets_are_alike_however_each_run_hid_them() {
        let of = |hash: &str| json!({"headers": [["authorization", format!("Bearer ‹redacted:{hash}›")]]});
        assert_eq!(first_difference(&of("abcdef"), &of("123456")), None);
    }
}
