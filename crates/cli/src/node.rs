//! The command `loadline node`, which runs one process of a distributed run. Its conductor starts
//! it and exchanges messages with it over standard input and output.

use std::{fs::File, io, os::fd::AsFd};

use plan::Problem;
use session::{Job, LabProcess, RunRefused, ScriptRun, SharedMessageSink, exit};

use crate::{
    args,
    embedded::Embedded,
    error::CommandError,
    log,
    run::{job, prepare},
};

pub fn node() -> u8 {
    let mut guards = Vec::new();
    // Standard output carries messages for the conductor, so scripts print to a copy of it.
    let apart = io::stdout().as_fd().try_clone_to_owned();
    let apart = apart.and_then(|fd| frontend_wrk::print_to_stderr().map(|()| File::from(fd)));
    let output = match apart {
        Ok(output) => output,
        Err(error) => {
            log::error(format_args!(
                "standard output cannot be redirected: {error}"
            ));
            return exit::COULD_NOT_RUN;
        }
    };
    let served = cluster::node::serve(io::stdin(), output, &mut |test, seed, sink| {
        let mut args: args::RunArgs = serde_json::from_value(test.clone()).map_err(|error| {
            let line = format!("the conductor is of another version of Loadline: {error}");
            RunRefused::bad_input(vec![Problem::anywhere(line)])
        })?;
        args.seed = Some(seed);
        let (job, more) = part(&args, sink).map_err(refused)?;
        guards.push(more);
        Ok(job)
    });
    match served {
        Ok(()) => exit::PASS,
        Err(reason) => {
            log::error(format_args!(
                "standard input is not from a conductor of this version ({reason}): use \
                `loadline run … --on`, which starts the nodes"
            ));
            exit::COULD_NOT_RUN
        }
    }
}

pub fn part(
    args: &args::RunArgs,
    sink: &SharedMessageSink,
) -> Result<(Job, PartResources), CommandError> {
    let mut native_run = prepare(args)?;
    let mut part = PartResources {
        _lab: native_run.lab.take(),
        _broker: native_run.broker.take(),
        script: native_run.script.take(),
    };
    let job = job(native_run, args, part.script.as_mut(), sink);
    let job = job.map_err(|(line, code)| CommandError {
        lines: vec![line],
        code,
    })?;
    Ok((job, part))
}

pub struct PartResources {
    _lab: Option<Embedded>,
    _broker: Option<LabProcess>,
    script: Option<Box<dyn ScriptRun>>,
}

fn refused(CommandError { lines, code }: CommandError) -> RunRefused {
    RunRefused {
        problems: lines.into_iter().map(Problem::anywhere).collect(),
        bad_input: code == exit::BAD_INPUT,
    }
}
