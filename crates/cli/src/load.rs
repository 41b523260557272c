//! Flags that define the load. This module parses them, creates plans for URLs, and replaces the
//! load of a file.

use plan::mocks::MockAddress;
use std::path::PathBuf;

use formats::{Inputs, UrlOptions};
use plan::{ArrivalProcess, FirstArrival, Load, Phase, Plan, PoolPolicy, Shape, units};
use session::{inputs, memory, pacing};

use crate::{
    args,
    error::{CommandError, flag_error},
    front_ends, headers, messages, urls,
};

pub struct Flags {
    pub rate: Option<plan::Rate>,
    pub duration_ns: Option<u64>,
    pub arrivals: Option<ArrivalProcess>,
    pub drain_ns: u64,
    pub pacing_slack_ns: Option<u64>,
    pub memory: u64,
}

impl Flags {
    pub fn read(args: &args::RunArgs) -> Result<Flags, CommandError> {
        let rate = args
            .rate
            .as_deref()
            .map(|text| units::parse_rate(text).map_err(|e| flag_error("--rate", text, &e)));
        let duration = args.duration.as_deref().map(|text| {
            // A number without a unit is in seconds, as in `--rate 100`.
            let is_bare = text.trim().parse::<f64>().is_ok();
            let in_seconds = if is_bare {
                format!("{}s", text.trim())
            } else {
                text.to_owned()
            };
            units::parse_duration(&in_seconds).map_err(|e| flag_error("--duration", text, &e))
        });
        // Unlike the duration, the drain may be zero.
        let drain_ns = match args.drain.as_str() {
            "0" | "0s" | "0ms" => 0,
            text => units::parse_duration(text).map_err(|e| flag_error("--drain", text, &e))?,
        };
        let arrivals = args.arrivals.as_deref().map(|text| {
            if text == "poisson" {
                ArrivalProcess::Poisson
            } else {
                ArrivalProcess::Even
            }
        });
        if args.connections == Some(0) {
            return Err(CommandError::bad_input("--connections 0: use at least 1"));
        }
        if args.users == Some(0) {
            return Err(CommandError::bad_input("--users 0: use at least 1"));
        }
        if args.requests == Some(0) {
            return Err(CommandError::bad_input("--requests 0: use at least 1"));
        }
        if args.requests.is_some() && args.rate.is_some() && args.duration.is_some() {
            return Err(CommandError::bad_input(
                "--rate, --duration and --requests determine each other: remove one of them",
            ));
        }
        if args.workers == Some(0) {
            return Err(CommandError::bad_input("--workers 0: use at least 1"));
        }
        Ok(Flags {
            rate: rate.transpose()?,
            duration_ns: duration.transpose()?,
            arrivals,
            drain_ns,
            pacing_slack_ns: pacing::from_flag(args.pacing_slack.as_deref())
                .map_err(CommandError::bad_input)?,
            memory: memory::budget(args.memory.as_deref()).map_err(CommandError::bad_input)?,
        })
    }

    pub fn shape_the_load(&self, args: &args::RunArgs) -> bool {
        self.rate.is_some()
            || self.duration_ns.is_some()
            || self.arrivals.is_some()
            || args.connections.is_some()
            || args.users.is_some()
            || args.requests.is_some()
    }
}

pub fn load(
    args: &args::RunArgs,
    flags: &Flags,
    target: Option<&str>,
    mocks: &[MockAddress],
) -> Result<Plan, CommandError> {
    let is_url = args.what.contains("://");
    if is_url || args.what.starts_with("lab:") {
        let url = if is_url {
            args.what.as_str()
        } else {
            target.unwrap_or_default()
        };
        let mut options = UrlOptions {
            rate: flags.rate,
            users: args.users,
            requests: args.requests,
            connections: args.connections,
            duration_ns: flags.duration_ns,
            arrivals: flags.arrivals,
            insecure: args.insecure,
            ..UrlOptions::default()
        };
        urls::add(&mut options, args).map_err(CommandError::bad_input)?;
        let mut plan = formats::url_plan(url, &options)?;
        headers::add(&mut plan, &args.header).map_err(CommandError::bad_input)?;
        override_version(&mut plan, args)?;
        override_trace_context(&mut plan, args)?;
        return Ok(plan);
    }
    if let Some(reason) = urls::without_scheme(&args.what) {
        return Err(CommandError::bad_input(reason));
    }
    let inputs = Inputs {
        files: vec![PathBuf::from(&args.what)],
        environment: args.environment.clone(),
        target: target.map(ToOwned::to_owned),
        insecure: args.insecure,
        process_env: inputs::environment(),
        test_id: String::new(),
        stage: args.stage.clone(),
        native: true,
        memory: Some(flags.memory),
        secrets: args.secret.clone(),
        mocks: mocks.to_vec(),
        run_name: args.stamp,
        ..Inputs::default()
    };
    let mut plan = formats::load(&inputs, &front_ends::readers())?;
    headers::add(&mut plan, &args.header).map_err(CommandError::bad_input)?;
    override_version(&mut plan, args)?;
    override_trace_context(&mut plan, args)?;
    if flags.shape_the_load(args) {
        override_load(&mut plan, args, flags)?;
    }
    Ok(plan)
}

/// Applies `--http`. Only scenarios support versions other than HTTP/1.1.
fn override_version(plan: &mut Plan, args: &args::RunArgs) -> Result<(), CommandError> {
    let Some(name) = &args.http else {
        return Ok(());
    };
    if !matches!(plan.work, plan::Work::Scenarios(_)) {
        let reason = format!("--http {name}: this test file is always sent over HTTP/1.1");
        return Err(CommandError::bad_input(reason));
    }
    plan.http.versions.usual = plan::HttpVersion::named(name).unwrap_or_default();
    plan.http.versions.by_origin.clear();
    Ok(())
}

/// Applies `--trace-context` and `--trace-url`.
fn override_trace_context(plan: &mut Plan, args: &args::RunArgs) -> Result<(), CommandError> {
    if let Some(sampling) = args.trace_context {
        if !matches!(plan.work, plan::Work::Scenarios(_)) {
            let reason =
                "--trace-context: only requests of HTTP scenarios can carry a trace context";
            return Err(CommandError::bad_input(reason));
        }
        plan.http.trace_context.get_or_insert_default().sampling = sampling;
    }
    let Some(url) = &args.trace_url else {
        return Ok(());
    };
    plan::TraceContext::check_url(url)
        .map_err(|reason| CommandError::bad_input(format!("--trace-url: {reason}")))?;
    if plan.http.trace_context.is_none() {
        let reason = "--trace-url needs traced requests: add --trace-context";
        return Err(CommandError::bad_input(reason));
    }
    plan.http.trace_url = Some(url.clone());
    Ok(())
}

/// Returns the flag that would replace several workloads with a single load.
fn flag_of_one_load(args: &args::RunArgs, flags: &Flags) -> Option<&'static str> {
    let flags = [
        (flags.rate.is_some(), "--rate"),
        (args.users.is_some(), "--users"),
        (args.connections.is_some(), "--connections"),
        (flags.arrivals.is_some(), "--arrivals"),
    ];
    let mut set = flags.into_iter().filter(|(is_set, _)| *is_set);
    set.next().map(|(_, flag)| flag)
}

fn override_load(plan: &mut Plan, args: &args::RunArgs, flags: &Flags) -> Result<(), CommandError> {
    if let Some(flag) = flag_of_one_load(args, flags).filter(|_| !plan.workloads().is_empty()) {
        return Err(CommandError::bad_input(format!(
            "{flag} sets one load, but this plan has several `workloads`: change their `load` in the file"
        )));
    }
    let duration_ns = flags.duration_ns.unwrap_or(10 * units::SECOND);
    plan.remove_connect_phase();
    let text = match (flags.rate, args.connections) {
        (Some(rate), connections) => {
            let mut phase = Phase::new(duration_ns, Shape::Rate(rate));
            phase.arrivals = flags.arrivals.unwrap_or(ArrivalProcess::Even);
            plan.load = Load::Open {
                phases: vec![phase],
                first: FirstArrival::AtStart,
            };
            if let Some(connections) = connections {
                plan.http.pool = PoolPolicy::Shared(connections);
            }
            "--rate"
        }
        (None, connections) if args.users.is_some() => {
            let users = args.users.unwrap_or_default();
            plan.load = Load::users(users, duration_ns);
            plan.http.pool = connections.map_or(PoolPolicy::PerUser, PoolPolicy::Shared);
            "--users"
        }
        (None, Some(users)) => {
            plan.load = Load::users(users, duration_ns);
            plan.http.pool = PoolPolicy::PerUser;
            "--connections"
        }
        (None, None) if flags.arrivals.is_some() => {
            return Err(CommandError::bad_input(
                "with a test file, --arrivals needs --rate",
            ));
        }
        (None, None) => {
            plan.load.stretch_to(duration_ns);
            plan.add_connect_phase();
            plan.provenance.notes.push(plan::Note {
                at: None,
                text: format!(
                    "the load in the file was scaled in time to {} by --duration",
                    record::units::duration(duration_ns)
                ),
            });
            return Ok(());
        }
    };
    // Listeners do not depend on the rate of the scenarios.
    match plan.listen {
        Some(_) => plan.add_connect_phase(),
        None => messages::leave_out(plan, text),
    }
    plan.provenance.notes.push(plan::Note {
        at: None,
        text: format!("the load in the file was replaced by {text}"),
    });
    Ok(())
}
