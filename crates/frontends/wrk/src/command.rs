//! `loadline run SCRIPT.lua --target URL`: runs a wrk script with Loadline's flags, report and exit
//! codes.

use std::path::Path;

use engine::{EngineOptions, RunError};
use measure::accumulator::Tally;
use plan::{FirstArrival, Load, Phase, Plan, PoolPolicy, Rate, Shape, units::SECOND};
use script::lua::{self, ScriptError};
use session::{FinishedRun, RunOptions, ScriptLoader, ScriptRun, SharedMessageSink, exit};

use crate::{
    print::WrkReport,
    read::{Persona, WrkCommand, parts},
    run::accumulators,
    test::{Strictness, WrkTest},
};

const CONNECTIONS: u32 = 10;

#[derive(Debug)]
pub(crate) struct LuaFiles;

impl ScriptLoader for LuaFiles {
    fn runs(&self, what: &str) -> bool {
        let suffix = Path::new(what).extension();
        !what.contains("://") && suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("lua"))
    }

    fn read(&self, requested: &RunOptions<'_>) -> Result<(Plan, Box<dyn ScriptRun>), String> {
        let command = command(requested)?;
        let plan = plan(&command, requested.rate, requested.insecure)?;
        let lua = Lua {
            target: plan.target.expose().clone(),
            command,
            test: None,
            trouble: None,
        };
        Ok((plan, Box::new(lua)))
    }
}

struct Lua {
    command: WrkCommand,
    target: String,
    test: Option<WrkTest>,
    trouble: Option<ScriptError>,
}

impl ScriptRun for Lua {
    fn ready(
        &mut self,
        plan: &Plan,
        options: &mut EngineOptions,
        sink: &SharedMessageSink,
    ) -> Result<(), (String, u8)> {
        let test = WrkTest::ready(&self.command, Strictness::Native, &options.stop, sink)
            .map_err(|trouble| (words(&trouble), code(&trouble)))?;
        options.workers = Some(test.threads());
        options.driver = Some(test.driver(plan, options.seed));
        options.doing = Some(test.doing());
        options.frontend = Some(accumulators(&self.command));
        self.test = Some(test);
        Ok(())
    }

    fn ended(&mut self, ended: &FinishedRun, counted: Tally) {
        lua::flush_output();
        let Some(test) = &self.test else { return };
        self.trouble = test.failure();
        // Do not call `done` after a hang, or after an error in any process.
        let manifest = &ended.run.manifest;
        let is_dead = match &ended.error {
            Some(RunError::Stuck(_)) => true,
            Some(_) => manifest.processes.is_some(),
            None => false,
        };
        // Do not call `done` in a part either, because a part lacks the figures of the whole run.
        let is_part = manifest.share.is_some();
        if self.trouble.is_none() && !is_dead && !is_part {
            let report = WrkReport::from_part(counted, ended.runtime_ns(), &self.target);
            self.trouble = test.done(&report).err();
            lua::flush_output();
        }
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.as_ref().map(words)
    }
}

fn command(flags: &RunOptions<'_>) -> Result<WrkCommand, String> {
    if flags.routed {
        return Err(
            "--resolve and --unix are not available for wrk scripts, which resolve addresses themselves (`wrk.lookup`)".to_owned(),
        );
    }
    let script = Path::new(flags.what).to_owned();
    std::fs::File::open(&script).map_err(|reason| format!("{}: {reason}", script.display()))?;
    let Some(url) = flags.target else {
        return Err(format!(
            "{}: a wrk script does not set a target: add --target URL",
            script.display()
        ));
    };
    if let Some(flag) = flags.unfit {
        return Err(format!(
            "{flag} is not available for wrk scripts: remove it"
        ));
    }
    let Some(parts) =
        parts(url).filter(|parts| parts.scheme.to_ascii_lowercase().starts_with("http"))
    else {
        return Err(format!(
            "`{url}` is not a URL that starts with http:// or https://"
        ));
    };
    let threads = flags.workers.unwrap_or(1) as u64;
    let connections = u64::from(flags.connections.unwrap_or(CONNECTIONS));
    if connections % threads != 0 {
        return Err(format!(
            "{connections} connections cannot be divided equally among {threads} workers: make --connections a multiple of --workers"
        ));
    }
    let mut arguments = vec![url.to_owned()];
    arguments.extend_from_slice(flags.arguments);
    Ok(WrkCommand {
        persona: if flags.rate.is_some() {
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
        headers: flags.headers.clone(),
        latency: true,
        uncorrected: false,
        batch_latency: false,
        timeout_ns: 10 * SECOND,
        rate: flags.rate.map(|_| 1),
        at_random: flags.at_random,
        json: None,
        arguments,
    })
}

fn plan(command: &WrkCommand, rate: Option<Rate>, insecure: bool) -> Result<Plan, String> {
    let mut plan = command.plan();
    if let Some(rate) = rate {
        let mut phase = Phase::new(command.duration_ns, Shape::Rate(rate));
        phase.arrivals = command.arrivals();
        plan.load = Load::Open {
            phases: vec![phase],
            first: FirstArrival::AtStart,
        };
        let connections = u32::try_from(command.connections).unwrap_or(u32::MAX);
        plan.http.pool = PoolPolicy::Shared(connections);
    }
    plan.http.verify_tls = !insecure;
    plan.http.tls.no_alpn = false;
    session::descriptors_for(command.connections).map_err(|problem| problem.to_string())?;
    Ok(plan)
}

fn words(trouble: &ScriptError) -> String {
    match trouble {
        ScriptError::Script(message) => format!("the script failed: {message}"),
        ScriptError::Load(message) => format!("the script cannot be loaded: {message}"),
        ScriptError::Request(flaw) => {
            format!("the script's request() does not return a complete request: {flaw}")
        }
        other => other.to_string(),
    }
}

fn code(trouble: &ScriptError) -> u8 {
    match trouble {
        ScriptError::Script(_) | ScriptError::Load(_) | ScriptError::Request(_) => exit::BAD_INPUT,
        ScriptError::Place(_) | ScriptError::Memory => exit::COULD_NOT_RUN,
    }
}
