//! `loadline run SCRIPT.lua --target URL`: a script of wrk's with Loadline's own flags, report and exit codes.

use std::path::Path;

use plan::{FirstArrival, Load, Phase, Plan, Pool, Rate, Shape, units::SECOND};
use script::lua::Trouble;

use session::exit;

use crate::read::{Command, Persona, parts};

/// Whether a test file is a script of wrk's.
pub fn is_script(what: &str) -> bool {
    let suffix = Path::new(what).extension();
    !what.contains("://") && suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("lua"))
}

/// Connections of a run that says nothing of them: as many as wrk has.
const CONNECTIONS: u32 = 10;

/// What Loadline's own flags say of such a run.
#[derive(Debug)]
pub struct Flags<'a> {
    /// The script.
    pub script: &'a Path,
    /// The URL.
    pub target: Option<&'a str>,
    /// How long, in nanoseconds.
    pub duration_ns: Option<u64>,
    /// Threads.
    pub workers: Option<usize>,
    /// Connections.
    pub connections: Option<u32>,
    /// Requests come at a rate.
    pub paced: bool,
    /// They come at random moments.
    pub at_random: bool,
    /// For the script's `init`.
    pub arguments: &'a [String],
    /// A flag that asks for what a script cannot give.
    pub unfit: Option<&'a str>,
}

/// The command that the flags come to, without headers.
///
/// # Errors
/// One line of what is wrong with them.
pub fn command(flags: &Flags<'_>) -> Result<Command, String> {
    let script = flags.script.to_owned();
    std::fs::File::open(&script).map_err(|why| format!("{}: {why}", script.display()))?;
    let Some(url) = flags.target else {
        return Err(format!(
            "{}: a script of wrk's names no target: add --target URL",
            script.display()
        ));
    };
    if let Some(flag) = flags.unfit {
        return Err(format!("{flag} does not go with a script of wrk's"));
    }
    let Some(parts) =
        parts(url).filter(|parts| parts.scheme.to_ascii_lowercase().starts_with("http"))
    else {
        return Err(format!(
            "`{url}` is no URL that begins with http:// or https://"
        ));
    };
    let threads = flags.workers.unwrap_or(1) as u64;
    let connections = u64::from(flags.connections.unwrap_or(CONNECTIONS));
    if connections % threads != 0 {
        return Err(format!(
            "{connections} connections cannot be shared equally by {threads} workers: make --connections a multiple of --workers"
        ));
    }
    let mut arguments = vec![url.to_owned()];
    arguments.extend_from_slice(flags.arguments);
    Ok(Command {
        persona: if flags.paced {
            Persona::Wrk2
        } else {
            Persona::Wrk
        },
        url: url.to_owned(),
        parts,
        threads,
        connections,
        duration_ns: flags.duration_ns.unwrap_or(10 * SECOND),
        script: Some(script),
        headers: Vec::new(),
        latency: true,
        uncorrected: false,
        batch_latency: false,
        timeout_ns: 10 * SECOND,
        rate: flags.paced.then_some(1),
        at_random: flags.at_random,
        json: None,
        arguments,
    })
}

/// The plan of that command.
///
/// # Errors
/// When there are not enough descriptors.
pub fn plan(command: &Command, rate: Option<Rate>, insecure: bool) -> Result<Plan, String> {
    let mut plan = command.plan();
    if let Some(rate) = rate {
        let mut phase = Phase::new(command.duration_ns, Shape::Rate(rate));
        phase.arrivals = command.arrivals();
        plan.load = Load::Open {
            phases: vec![phase],
            first: FirstArrival::AtStart,
        };
        let connections = u32::try_from(command.connections).unwrap_or(u32::MAX);
        plan.http.pool = Pool::Shared(connections);
    }
    plan.http.verify_tls = !insecure;
    plan.http.tls.no_alpn = false;
    session::descriptors_for(command.connections).map_err(|problem| problem.to_string())?;
    Ok(plan)
}

/// What kept a script from running, in our own words.
pub fn words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Script(message) => format!("the script failed: {message}"),
        Trouble::Load(message) => format!("the script does not load: {message}"),
        Trouble::Request(flaw) => {
            format!("the script's request() does not answer a whole request: {flaw}")
        }
        other => other.to_string(),
    }
}

/// And the code for it.
pub fn code(trouble: &Trouble) -> u8 {
    match trouble {
        Trouble::Script(_) | Trouble::Load(_) | Trouble::Request(_) => exit::BAD_INPUT,
        Trouble::Place(_) | Trouble::Memory => exit::COULD_NOT_RUN,
    }
}
