//! Handles tool calls, from their arguments to the answer.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use analysis::summary::Summary;
use decisions::compare::Side;
use plan::units::SECOND;
use record::Run;
use rmcp::{
    RoleServer,
    model::{CallToolRequestParams, InputRequiredResult},
    service::RequestContext,
};
use serde_json::{Map, Value};
use tokio::time::sleep;
use worker::clock;

use super::{POLL_INTERVAL, ServerState};
use crate::{
    answer::Answer,
    arguments::{
        self, CheckArguments, CompareArguments, ExplainArguments, ListArguments, ResultArguments,
        StatusArguments, StopArguments,
    },
    check::{CheckedPlan, check_answer},
    comparison::{compare_answer, compared_run},
    confirmation::Confirmation,
    explanation::explain_answer,
    process::{ProcessKind, TestProcess},
    result::{ResultRequest, run_result},
    run_list::list_answer,
    search_result::search_answer,
    start::{ReadyStart, Starter},
    status::{started_answer, status_answer},
    untrusted,
};

/// Maximum time in seconds that a call waits for the end of a run.
const MOST_WAIT_S: u64 = 30;
/// Maximum number of runs on one side of a comparison.
const MOST_COMPARED: usize = 40;
/// Maximum time that a start waits for the name of its run.
const NAME_WAIT: Duration = Duration::from_secs(5);

/// Result of a call.
pub(super) enum CallOutcome {
    Answered(Answer),
    Asked(Box<InputRequiredResult>),
    UnknownTool,
}

impl From<Answer> for CallOutcome {
    fn from(answer: Answer) -> CallOutcome {
        CallOutcome::Answered(answer)
    }
}

/// Calls a tool.
pub(super) async fn call(
    state: &ServerState,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> CallOutcome {
    let values = request.arguments.clone().unwrap_or_default();
    let outcome = match request.name.as_ref() {
        "plan_check" => check(state, values).map(CallOutcome::from),
        "run_start" => match arguments::read(values) {
            Ok(arguments) => {
                let ready = starter(state).run(arguments);
                Ok(start(state, ready, request, context).await)
            }
            Err(line) => Err(line),
        },
        "find_start" => match arguments::read(values) {
            Ok(arguments) => {
                let ready = starter(state).search(arguments);
                Ok(start(state, ready, request, context).await)
            }
            Err(line) => Err(line),
        },
        "run_status" => match arguments::read(values) {
            Ok(arguments) => Ok(status(state, arguments).await.into()),
            Err(line) => Err(line),
        },
        "run_stop" => stop(state, values).map(CallOutcome::from),
        "run_result" => result(state, values).map(CallOutcome::from),
        "runs_list" => list(state, values).map(CallOutcome::from),
        "compare" => compare(state, values).map(CallOutcome::from),
        "explain" => arguments::read(values)
            .map(|arguments: ExplainArguments| explain_answer(&arguments.about).into()),
        _ => return CallOutcome::UnknownTool,
    };
    outcome.unwrap_or_else(|line| match request.name.as_ref() {
        "plan_check" | "run_start" | "find_start" => Answer::unsent(line).into(),
        _ => Answer::refused(line).into(),
    })
}

fn starter(state: &ServerState) -> Starter<'_> {
    Starter {
        options: &state.options,
        allowed: &state.allowed,
    }
}

fn check(state: &ServerState, values: Map<String, Value>) -> Result<Answer, String> {
    let arguments: CheckArguments = arguments::read(values)?;
    let input = arguments::plan_input(arguments.plan, arguments.path)?;
    let checked = CheckedPlan::read(&state.options, &state.allowed, &input);
    let checked = checked.as_ref().map_err(Vec::as_slice);
    Ok(check_answer(checked, &state.options.caps))
}

async fn start(
    state: &ServerState,
    ready: Result<ReadyStart, Answer>,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> CallOutcome {
    let ready = match ready {
        Ok(ready) => ready,
        Err(answer) => return answer.into(),
    };
    if let Some(obstacle) = obstacle(state) {
        return Answer::unsent(obstacle).into();
    }
    if state.options.asks && !ready.checked.is_local() {
        let (question, digest) = (&ready.question, &ready.checked.digest);
        let questions = &state.questions;
        match questions.confirm(question, digest, request, context).await {
            Confirmation::Granted => {}
            Confirmation::Asked(asked) => return CallOutcome::Asked(asked),
            Confirmation::Denied(reason) => return Answer::unsent(reason).into(),
        }
    }
    let handle = handle();
    if let Err(answer) = start_process(state, &ready, handle.clone()) {
        return answer.into();
    }
    let until_ns = clock::monotonic_ns() + NAME_WAIT.as_nanos() as u64;
    loop {
        let is_waiting = clock::monotonic_ns() < until_ns;
        let answer = with_process(state, &handle, |process| {
            let is_search = process.order.kind == ProcessKind::Search;
            if process.code.is_some() {
                Some(status_answer(process, None))
            } else if process.record.is_some() || is_search || !is_waiting {
                Some(started_answer(process))
            } else {
                None
            }
        });
        match answer {
            Some(Some(answer)) => return answer.into(),
            Some(None) => sleep(POLL_INTERVAL).await,
            None => return ServerState::lost().into(),
        }
    }
}

fn obstacle(state: &ServerState) -> Option<String> {
    let mut processes = state.processes.lock().ok()?;
    processes.obstacle(&state.options.caps)
}

/// Starts a process, unless another call has started one in the meantime.
fn start_process(state: &ServerState, ready: &ReadyStart, handle: String) -> Result<(), Answer> {
    let mut processes = state.processes.lock().map_err(|_| ServerState::lost())?;
    if let Some(obstacle) = processes.obstacle(&state.options.caps) {
        return Err(Answer::unsent(obstacle));
    }
    let order = starter(state)
        .order(ready, handle)
        .map_err(Answer::failed)?;
    processes.start(order).map_err(Answer::failed)
}

/// Returns a name for a process whose record does not exist yet.
fn handle() -> String {
    let now = record::utc(session::inputs::now_wall_ns(), "%Y%m%dT%H%M%SZ");
    format!("mcp-{now}-{:04x}", session::inputs::random_seed() as u16)
}

/// Updates a process and passes it to a function. Returns `None` if the process is unknown.
fn with_process<T>(
    state: &ServerState,
    name: &str,
    use_process: impl FnOnce(&mut TestProcess) -> T,
) -> Option<T> {
    let mut processes = state.processes.lock().ok()?;
    processes.update(&state.options.caps);
    processes.find(name).map(use_process)
}

async fn status(state: &ServerState, arguments: StatusArguments) -> Answer {
    let wait_s = arguments.wait.min(MOST_WAIT_S);
    let until_ns = clock::monotonic_ns() + wait_s * SECOND;
    loop {
        let is_over = clock::monotonic_ns() >= until_ns;
        let record = with_process(state, &arguments.run, |process| {
            let is_due = is_over || process.code.is_some();
            is_due.then(|| process.record.clone().filter(|_| process.code.is_none()))
        });
        match record {
            Some(Some(record)) => {
                // The limits are also enforced while the record is being summarised.
                let so_far = record.and_then(|record| summary_so_far(&record));
                let answer = with_process(state, &arguments.run, |process| {
                    status_answer(process, so_far.as_ref())
                });
                return answer.unwrap_or_else(ServerState::lost);
            }
            Some(None) => sleep(POLL_INTERVAL).await,
            None => return unknown_run(state, &arguments.run),
        }
    }
}

/// Returns the summary of a run in progress, or `None` if its record cannot be read yet.
fn summary_so_far(record: &Path) -> Option<Summary> {
    let run = Run::open(record).ok()?;
    Some(analysis::summarise(&Run { live: true, ..run }))
}

/// Returns the answer for a run that this server did not start.
fn unknown_run(state: &ServerState, name: &str) -> Answer {
    match recorded(state, name) {
        Ok(_) => Answer::new("ENDED. Call run_result for what may be concluded.").with("run", name),
        Err(line) => Answer::refused(line),
    }
}

fn stop(state: &ServerState, values: Map<String, Value>) -> Result<Answer, String> {
    let arguments: StopArguments = arguments::read(values)?;
    let stopped = with_process(state, &arguments.run, |process| {
        let reason = crate::answer::plain(&arguments.reason, 120);
        process.stop(&format!("stopped by the client: {reason}"));
        status_answer(process, None)
    });
    stopped.ok_or_else(|| {
        format!(
            "no run `{}` of this server: use the name from run_start",
            arguments.run
        )
    })
}

/// Result of a process that this server started.
enum ProcessResult {
    Answer(Answer),
    /// Folder of the record.
    Record(PathBuf),
}

fn result(state: &ServerState, values: Map<String, Value>) -> Result<Answer, String> {
    let arguments: ResultArguments = arguments::read(values)?;
    let request = ResultRequest {
        label: arguments.label.as_deref(),
        include_untrusted: arguments.include_untrusted,
        excerpts: arguments.excerpts,
    };
    let known = with_process(state, &arguments.run, |process| {
        if process.code.is_none() {
            return Err(format!(
                "{} is still running: wait with run_status, or end it with run_stop",
                process.name()
            ));
        }
        let answer = match (&process.order.kind, &process.record) {
            (ProcessKind::Search, _) => search(process),
            (ProcessKind::Run, None) => status_answer(process, None),
            // The record is read later, because the limits must be enforced in the meantime.
            (ProcessKind::Run, Some(record)) => return Ok(ProcessResult::Record(record.clone())),
        };
        Ok(ProcessResult::Answer(answer))
    });
    let record = match known.transpose()? {
        Some(ProcessResult::Answer(answer)) => return Ok(answer),
        Some(ProcessResult::Record(record)) => record,
        None => recorded_result(state, &arguments.run)?,
    };
    let name = record.file_name().unwrap_or_default().to_string_lossy();
    Ok(run_result(&name, &summary(&record)?, request))
}

/// Returns the folder of a record written by another process, if the run has ended.
fn recorded_result(state: &ServerState, name: &str) -> Result<PathBuf, String> {
    let record = recorded(state, name)?;
    if record::is_running(&record) {
        return Err(format!("{name} is still running"));
    }
    Ok(record)
}

fn search(process: &TestProcess) -> Answer {
    let text = std::fs::read(process.order.folder.join("find.json")).ok();
    let found = text.and_then(|text| serde_json::from_slice(&text).ok());
    match found {
        Some(found) => search_answer(&process.order.handle, &found),
        None => {
            let mut answer =
                Answer::failed("The search has no result. Its last message is in the block below.");
            answer.excerpts = untrusted::block(process.last_error().as_slice());
            answer
        }
    }
}

/// Returns the summary that the command writes as `summary.json`.
pub(super) fn summary(record: &Path) -> Result<Summary, String> {
    let run = Run::open(record).map_err(|error| error.to_string())?;
    Ok(audit::page(&run).summary)
}

/// Returns the folder of a record by its name. Paths are refused.
pub(super) fn recorded(state: &ServerState, name: &str) -> Result<PathBuf, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!(
            "`{name}` is not the name of a run: use a name from runs_list"
        ));
    }
    let runs = &state.options.runs;
    let known = record::all(runs);
    let named = |dir: &&PathBuf| {
        let own = dir.file_name().unwrap_or_default().to_string_lossy();
        name == "last" || own == name
    };
    let found = known.iter().rev().find(named).cloned();
    found.ok_or_else(|| format!("no run `{name}` in {}: use runs_list", runs.display()))
}

fn list(state: &ServerState, values: Map<String, Value>) -> Result<Answer, String> {
    let arguments: ListArguments = arguments::read(values)?;
    let known = history::known(&state.options.runs, false);
    Ok(list_answer(&known.runs, &arguments))
}

fn compare(state: &ServerState, values: Map<String, Value>) -> Result<Answer, String> {
    let arguments: CompareArguments = arguments::read(values)?;
    let baseline = side(state, "baseline", &arguments.baseline)?;
    let candidate = side(state, "candidate", &arguments.candidate)?;
    Ok(compare_answer(&baseline, &candidate))
}

/// Reads the runs of one side. Each run is read only once.
fn side(state: &ServerState, what: &str, names: &[String]) -> Result<Side, String> {
    let mut records: Vec<PathBuf> = Vec::new();
    for name in names {
        let found = match name.strip_prefix("tag:") {
            Some(tag) => tagged(state, tag)?,
            None => vec![recorded(state, name)?],
        };
        for record in found {
            if record::is_running(&record) {
                return Err(format!("a run of the {what} is still running"));
            }
            if !records.contains(&record) {
                records.push(record);
            }
        }
    }
    if records.is_empty() || records.len() > MOST_COMPARED {
        return Err(format!("the {what} needs 1 to {MOST_COMPARED} runs"));
    }
    let runs = records.iter().map(|record| compared_run(record));
    Ok(Side {
        name: what.to_owned(),
        runs: runs.collect::<Result<_, _>>()?,
    })
}

fn tagged(state: &ServerState, tag: &str) -> Result<Vec<PathBuf>, String> {
    let runs = &state.options.runs;
    let has_tag = |record: &PathBuf| {
        let manifest = record::read_manifest(record).ok();
        let about = manifest.and_then(|manifest| manifest.about);
        about.is_some_and(|about| about.tags.iter().any(|one| one == tag))
    };
    let found: Vec<PathBuf> = record::all(runs).into_iter().filter(has_tag).collect();
    if found.is_empty() {
        return Err(format!("no run has the tag `{tag}`"));
    }
    Ok(found)
}
