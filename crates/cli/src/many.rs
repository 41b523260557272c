//! Runs of several machines on the command line: `loadline run … --on local|ray`, and `loadline node`, which carries out a part of one. How
//! nodes begin together, what they send and who is lost is `cluster`'s.

use std::io;

use cluster::{Backend, Local, Wanted};
use plan::Problem;
use session::{LabProcess, Refused, exit, lab_process, mock_process};

use crate::{args, embedded::Embedded, mocked::Mocked, native, rerender, stop::Stop};

/// So many nodes, if nobody says otherwise.
const NODES: u64 = 2;
/// In the runs folder, where nodes of this machine keep their own records while a run goes on.
const KEPT: &str = ".nodes";

/// Runs `loadline node`.
pub fn node() -> u8 {
    // What lives as long as the test.
    let mut kept = Vec::new();
    cluster::node::serve(io::stdin(), io::stdout(), &mut |test, seed, voice| {
        let mut args: args::Run = serde_json::from_value(test.clone()).map_err(|error| {
            let line = format!("the conductor is of another version of Loadline: {error}");
            Refused::bad_input(vec![Problem::anywhere(line)])
        })?;
        args.seed = Some(seed);
        let (job, more) = native::part(&args, voice).map_err(refused)?;
        kept.push(more);
        Ok(job)
    });
    exit::PASS
}

fn refused(Stop { lines, code }: Stop) -> Refused {
    Refused {
        problems: lines.into_iter().map(Problem::anywhere).collect(),
        bad_input: code == exit::BAD_INPUT,
    }
}

/// What stands behind `--on`, if that was asked for.
///
/// # Errors
/// One line of what cannot be carried out by several nodes.
pub fn asked(args: &args::Run) -> Result<bool, Stop> {
    let many = &args.many;
    if many.on.is_none() {
        return Ok(false);
    }
    let alone = [(args.once, "--once"), (args.trace, "--trace")];
    if let Some((_, flag)) = alone.iter().find(|(given, _)| *given) {
        return Err(Stop::bad_input(format!(
            "{flag} beside --on: that is tried out by one process, leave --on out"
        )));
    }
    if many.nodes == Some(0) {
        return Err(Stop::bad_input("--nodes 0: at least 1 is needed"));
    }
    let on_ray = many.on.as_deref() == Some("ray");
    if !on_ray && (many.address.is_some() || many.insecure_cluster) {
        return Err(Stop::bad_input(
            "--address and --insecure-cluster are for --on ray: with --on local nodes are processes of this machine",
        ));
    }
    Ok(true)
}

/// What a conductor needs beside the job.
///
/// # Errors
/// One line of what is in the way.
pub fn wanted(
    args: &args::Run,
    seed: u64,
    (lab, broker): (Option<&Embedded>, Option<&LabProcess>),
    mocks: Option<&Mocked>,
) -> Result<Wanted, Stop> {
    let mut environment = Vec::new();
    let own = match lab {
        Some(Embedded::Own(lab)) => lab.listeners(),
        _ => &[],
    };
    let listeners: Vec<&str> = own
        .iter()
        .chain(broker.map_or(&[][..], LabProcess::listeners))
        .map(String::as_str)
        .collect();
    if !listeners.is_empty() {
        let name = lab_process::ENVIRONMENT.to_owned();
        environment.push((name, listeners.join(" ")));
    }
    if let Some(told) = mocks.and_then(Mocked::environment) {
        environment.push((mock_process::ENVIRONMENT.to_owned(), told));
    }
    let mut of_node = args.clone();
    of_node.many = args::Many::default();
    of_node.seed = Some(seed);
    (of_node.json, of_node.export) = (None, Vec::new());
    (of_node.ui, of_node.open) = (false, false);
    of_node.runs = None;
    let test = serde_json::to_value(&of_node)
        .map_err(|error| Stop::could_not_run(format!("the command line cannot be handed on: {error}")))?;
    let keep = rerender::runs(args.runs.as_deref()).join(KEPT);
    let nodes = args.many.nodes.unwrap_or(NODES);
    let backend: Box<dyn Backend> = Box::new(Local::with(environment));
    Ok(Wanted {
        backend,
        nodes,
        test,
        keep: Some(keep),
    })
}
