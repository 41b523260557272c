//! The plan of a run, for its record and its report.

use std::path::Path;

use k6::{
    options::{Options, tls::TlsVersion},
    scenario::{Executor, Scenario},
};
use plan::{
    FirstArrival, Format, Http, HttpVersion, Load, Note, Phase, Plan, Rate, Shape, TlsVersions,
    Workload,
    work::{External, Work},
};

use crate::shared::Shared;

/// Name of the front end in records.
pub const NAME: &str = "k6";

/// Creates the plan. The script decides during the run which requests to send.
pub fn plan(shared: &Shared, script: &str) -> Plan {
    let name = Path::new(script).file_name();
    let name = name.map_or(script.into(), |name| name.to_string_lossy().into_owned());
    let scenarios = &shared.plan.scenarios;
    let workloads = scenarios.iter().map(|scenario| {
        let mut workload = workload(scenario);
        if scenarios.len() > 1 {
            // With several scenarios, readers need to know how each of them starts its iterations.
            let executor = scenario.executor.kind().name();
            workload.text = format!("{executor}, {}", workload.text);
        }
        workload
    });
    let workloads = workloads.collect();
    let work = Work::External(External {
        by: "the k6 script".to_owned(),
    });
    let load = Load::Several { workloads };
    let mut plan = Plan::new(name, Format(NAME), String::new(), load, work);
    plan.http = http(shared);
    if shared.script.is_archived() {
        plan.provenance.files = vec![script.to_owned()];
        return plan;
    }
    for file in shared.script.files() {
        match file.name.strip_prefix("file://") {
            Some(path) => plan.provenance.files.push(path.to_owned()),
            None => plan.provenance.notes.push(Note {
                at: None,
                text: format!(
                    "the script imports {}, downloaded before the run ({} bytes, SHA-256 {})",
                    file.name.split('?').next().unwrap_or_default(),
                    file.content.len(),
                    file.sha256
                ),
            }),
        }
    }
    plan
}

fn http(shared: &Shared) -> Http {
    let mut http = Http {
        verify_tls: shared.options.insecure_skip_tls_verify != Some(true),
        // The script itself stores cookies and follows redirects.
        cookie_jar: false,
        max_redirects: 0,
        ..Http::default()
    };
    let mut certificates = shared.options.tls_auth.iter().flatten();
    http.tls.identity = certificates
        .next()
        .map(|one| (one.cert.clone(), one.key.clone()));
    http.tls.versions = tls_versions(&shared.options);
    // As k6: HTTP/2 if the server chooses it in the TLS handshake.
    http.versions.usual = HttpVersion::Auto;
    http.timeouts.total_ns = None;
    http
}

/// Returns the versions of TLS that are offered. Options that exclude both are refused before.
fn tls_versions(options: &Options) -> TlsVersions {
    let allowed = options.tls_version.unwrap_or_default();
    match (
        allowed.allows(TlsVersion::Tls12),
        allowed.allows(TlsVersion::Tls13),
    ) {
        (true, false) => TlsVersions::Only12,
        (false, true) => TlsVersions::Only13,
        _ => TlsVersions::All,
    }
}

fn workload(scenario: &Scenario) -> Workload {
    let executor = &scenario.executor;
    let arrivals = executor.arrivals();
    let rate = |count: u64, per_ns: u64| Rate { count, per_ns };
    let load = match executor {
        Executor::ConstantArrivalRate(constant) => Load::Open {
            phases: vec![Phase::new(
                constant.duration_ns,
                Shape::Rate(rate(constant.rate, constant.time_unit_ns)),
            )],
            first: FirstArrival::AtStart,
        },
        Executor::RampingArrivalRate(ramping) => {
            let mut from = ramping.start_rate;
            let phases = ramping.stages.iter().map(|stage| {
                let from = std::mem::replace(&mut from, stage.target);
                let shape = match from == stage.target {
                    true => Shape::Rate(rate(from, ramping.time_unit_ns)),
                    false => Shape::Staircase {
                        from: rate(from, ramping.time_unit_ns),
                        to: rate(stage.target, ramping.time_unit_ns),
                    },
                };
                Phase::new(stage.duration_ns, shape)
            });
            Load::Open {
                phases: phases.collect(),
                first: FirstArrival::AtStart,
            }
        }
        _ => Load::users(
            u32::try_from(executor.max_vus()).unwrap_or(u32::MAX),
            executor.end_ns(),
        ),
    };
    Workload {
        name: scenario.name.clone(),
        starts_ns: scenario.start_time_ns,
        graceful_stop_ns: scenario.graceful_stop_ns,
        load,
        planned: arrivals.map(|arrivals| arrivals.total()),
        text: scenario.description(),
        scenarios: Vec::new(),
    }
}
