//! A virtual user: its variables, its connections, and its position in a list of operations. Each
//! user is a small future.

mod abort;
mod awaited_events;
mod blocks;
mod capture;
mod failure_sample;
mod fork;
mod goodput;
mod groups;
pub mod hook;
mod judge;
mod listener;
mod messages;
mod ongoing;
mod operation;
mod publish;
mod request;
pub mod script;
mod socketio;
mod step_trace;
mod vars;
mod websocket;

use std::{collections::HashMap, rc::Rc};

use measure::{
    Fault, LabelId, Recorder,
    accumulator::{Event, Reason},
    sample::{Intended, RequestOutcome},
};
use plan::{
    rng::{Purpose, Rng},
    scenario::{Jitter, LoopCount, LoopRange, Over, ThinkTime},
    template::Template,
    units,
};
use query::Scope;
use serde_json::{Map, Value};

use crate::{
    program::{Enter, Op, Program},
    publications::{PublisherLease, Publishers},
};
use abort::IterationAbort;
pub use capture::Inspection;
use codec::cookies::Jar;
use groups::OpenGroup;
use hook::WorkerHook;
pub(crate) use listener::open_listener;
use script::{ScriptCall, ScriptHost};
pub use vars::{Vars, uuid};
use websocket::OpenSockets;
use worker::{
    OutputLine, Worker,
    client::{Client, pool::ConnectionPool},
    deadlines::Limit,
    memory::Held,
    step_trace::StepTrace,
};

/// The start of an iteration.
#[derive(Debug, Clone, Copy)]
pub struct IterationStart {
    /// Number of the arrival, or of the iteration in a closed model.
    pub number: u64,
    /// Intended start of the iteration.
    pub intended: Intended,
    /// Index of the scenario.
    pub scenario: usize,
    /// Seed for the iteration's random numbers.
    pub seed: u64,
    /// Whether the iteration counts in the ledger of arrivals.
    pub counts_arrival: bool,
}

/// The environment that all virtual users of a worker share.
pub struct Env {
    /// The worker that runs the users.
    pub worker: Rc<Worker>,
    /// The worker's HTTP client.
    pub client: Rc<Client>,
    /// The worker's copy of the program.
    pub program: Program,
    /// The worker's hook. `None` if the run has no hooks.
    pub hook: WorkerHook,
    /// The worker's instance of the script. `None` if the plan has no script.
    pub script: Option<Rc<dyn ScriptHost>>,
    /// The worker's publishers. `None` without listeners.
    pub publishers: Option<Rc<Publishers>>,
}

/// The connections and waits of a user, which a closed model keeps between iterations. The user's
/// data is a separate [`User`], which can be cloned.
#[derive(Debug)]
pub struct UserIo {
    /// Connections of the user. Parallel branches share them.
    pub pool: Rc<ConnectionPool>,
    /// Time limit of the user's waits. The end of the run aborts it.
    pub limit: Rc<Limit>,
    /// WebSocket connections and the Socket.IO session of the iteration.
    sockets: OpenSockets,
}

impl UserIo {
    /// Creates the connections and waits of a user, with this limit.
    pub(crate) fn with_limit(limit: Rc<Limit>) -> UserIo {
        UserIo {
            limit,
            ..UserIo::default()
        }
    }

    fn with_pool(pool: Rc<ConnectionPool>) -> UserIo {
        UserIo {
            pool,
            limit: Rc::default(),
            sockets: OpenSockets::default(),
        }
    }
}

impl Default for UserIo {
    fn default() -> Self {
        UserIo::with_pool(Rc::new(ConnectionPool::own()))
    }
}

#[derive(Clone)]
struct User<'a> {
    worker: &'a Rc<Worker>,
    client: &'a Rc<Client>,
    program: &'a Program,
    hook: &'a WorkerHook,
    script: &'a Option<Rc<dyn ScriptHost>>,
    publishers: Option<&'a Rc<Publishers>>,
    publisher: PublisherLease,
    scenario: usize,
    io: &'a UserIo,
    vars: Vars<'a>,
    rng: Rng,
    jar: Jar,
    loops: Vec<Round>,
    open: Vec<OpenGroup>,
    held: Rc<Held>,
    weights: HashMap<query::path::Path, u64>,
    due: Intended,
    paused_ns: u64,
}

#[derive(Clone)]
struct Round {
    index: i64,
    end: Option<i64>,
    elements: Option<Vec<Value>>,
}

/// Runs one iteration, records it, and returns its result.
pub async fn run(env: &Env, io: &UserIo, start: IterationStart) -> RequestOutcome {
    let (worker, program) = (&env.worker, &env.program);
    let begun = worker.clock.now();
    let scenario = &program.scenarios[start.scenario];
    worker.recorder.borrow_mut().frontend(
        begun,
        &Event::UserStarted {
            scenario: start.scenario as u32,
        },
    );
    worker
        .recorder
        .borrow_mut()
        .issued(begun, scenario.label, start.intended);
    let mut user = User::new(env, io, start);
    let result = {
        let mut ops = std::pin::pin!(user.run_ops(&scenario.ops, 0, scenario.ops.len()));
        std::future::poll_fn(|cx| io.sockets.poll_steps(ops.as_mut(), cx)).await
    };
    io.sockets.close_all();
    let result = user.tell_script(result, &scenario.on_error).await;
    user.end_groups(&result);
    let timing = IterationTiming {
        label: scenario.label,
        pauses: scenario.pauses,
        intended: start.intended,
        paused_ns: user.paused_ns,
    };
    let now = worker.clock.now();
    let mut reported = None;
    let mut recorder = worker.recorder.borrow_mut();
    let ended = match result {
        Ok(()) | Err(IterationAbort::Left) => {
            recorder.run.exited += u64::from(result.is_err() && start.counts_arrival);
            recorder.frontend(
                now,
                &Event::UserCompleted {
                    session_ns: now.saturating_sub(begun),
                },
            );
            RequestOutcome::Ok
        }
        Err(end) => {
            let (reason, step) = match &end {
                IterationAbort::Fault(fault, step) => (Some(Reason::Fault(*fault)), *step),
                IterationAbort::Answered(_, fault, step) => {
                    (Some(Reason::Fault(*fault)), Some(*step))
                }
                IterationAbort::WebSocket(fault) => (Some(Reason::WebSocket(*fault)), None),
                IterationAbort::Refused(status, step) => {
                    (Some(Reason::Refused(*status)), Some(*step))
                }
                IterationAbort::Capture(step) => (Some(Reason::Capture), *step),
                IterationAbort::NamedInStep(name, _, step) => {
                    (Some(Reason::Named(name)), Some(*step))
                }
                IterationAbort::Unexpected(_, name) | IterationAbort::Named(name, _) => {
                    (Some(Reason::Named(name)), None)
                }
                IterationAbort::Failed(_) | IterationAbort::Left => (None, None),
            };
            if let Some(reason) = reason {
                recorder.frontend(now, &Event::UserFailed { reason, step });
                // A failed capture comes after a response, so the request itself succeeded.
                let is_capture = matches!(reason, Reason::Capture);
                let is_news = program.tells_errors && step.is_some() && !is_capture;
                reported = is_news.then(|| reason.to_kept());
            }
            end.ended()
        }
    };

    count(&mut recorder, now, timing, ended);
    drop(recorder);
    if let Some(error) = reported {
        worker.emit(OutputLine::Error(error));
    }
    ended
}

/// Label and times of an iteration or group.
struct IterationTiming {
    label: LabelId,
    /// Whether the iteration or group has think times.
    pauses: bool,
    intended: Intended,
    /// Total think time so far.
    paused_ns: u64,
}

/// Records an iteration or group under its label.
fn count(recorder: &mut Recorder, now: u64, timing: IterationTiming, ended: RequestOutcome) {
    // After a network fault, the iteration counts as slower than all completed iterations.
    let IterationTiming {
        label,
        pauses,
        intended,
        paused_ns,
    } = timing;
    recorder.iteration(now, label, intended, ended);
    if pauses {
        recorder.unpaused(now, label, intended, paused_ns, ended);
    }
}

/// Runs the first scenario once, without recording. Returns the user's variables, or the reason for
/// a failure.
pub async fn once(env: &Env, io: &UserIo) -> Result<Map<String, Value>, String> {
    let start = IterationStart {
        number: 0,
        intended: Intended::after_previous(env.worker.clock.now(), 0),
        scenario: 0,
        seed: env.program.seed,
        counts_arrival: true,
    };
    let mut user = User::new(env, io, start);
    let ended = match env.program.scenarios.first() {
        Some(scenario) => {
            let mut ops = std::pin::pin!(user.run_ops(&scenario.ops, 0, scenario.ops.len()));
            std::future::poll_fn(|cx| io.sockets.poll_steps(ops.as_mut(), cx)).await
        }
        None => Ok(()),
    };
    io.sockets.close_all();
    ended
        .or_else(|end| match end {
            IterationAbort::Left => Ok(()),
            other => Err(other),
        })
        .map(|()| user.vars.into_own())
        .map_err(|end| end.reason())
}

impl<'a> User<'a> {
    fn new(env: &'a Env, io: &'a UserIo, start: IterationStart) -> User<'a> {
        let (worker, program) = (&env.worker, &env.program);
        User {
            worker,
            client: &env.client,
            program,
            hook: &env.hook,
            script: &env.script,
            publishers: env.publishers.as_ref(),
            publisher: PublisherLease::default(),
            scenario: start.scenario,
            io,
            vars: Vars::new(program, start.seed, start.number),
            rng: Rng::keyed(start.seed, Purpose::User, start.number, 0),
            jar: Jar::new(program.http.cookies),
            loops: Vec::new(),
            open: Vec::new(),
            held: Rc::new(Held::nothing(&worker.memory)),
            weights: HashMap::new(),
            due: start.intended,
            paused_ns: 0,
        }
    }

    async fn run_ops(
        &mut self,
        ops: &'a [Op],
        from: usize,
        to: usize,
    ) -> Result<(), IterationAbort> {
        let mut at = from;
        while let Some(op) = ops.get(at).filter(|_| at < to) {
            at += 1;
            match op {
                Op::Request(index) => self.request(*index).await?,
                Op::WebSocket(index) => self.websocket(*index).await?,
                Op::SocketIo(index) => self.socketio(*index).await?,
                Op::Fork(fork) => {
                    at = fork.after;
                    // Box the future, because it cannot contain itself.
                    Box::pin(self.fork(ops, fork)).await?;
                }
                Op::Think(time, jitter) => self.think(time, *jitter).await?,
                Op::Log(template) => self.log(template),
                Op::Call(call) => {
                    self.call_script(ScriptCall::Step(call)).await?;
                    if self.worker.common.walks {
                        let what = format!("call {}", call.function);
                        let how = StepTrace::Goes(what, "done".to_owned());
                        self.worker.emit(OutputLine::Step(how));
                    }
                }
                Op::Exit(share) => {
                    if self.rng.unit() < *share {
                        return Err(IterationAbort::Left);
                    }
                }
                Op::If(block) => {
                    if !self.is_true(&block.condition)? {
                        at = block.after;
                    }
                }
                Op::Choose(choose) => at = self.choose(choose),
                Op::Jump(to) => at = *to,
                Op::Begin(index) => self.begin_group(*index),
                Op::End => self.end_group(RequestOutcome::Ok),
                Op::Enter(enter) => {
                    if !self.enter_loop(enter) {
                        at = enter.after;
                    }
                }
                Op::Next(enter_at) => {
                    let Op::Enter(enter) = &ops[*enter_at] else {
                        continue;
                    };
                    let goes_on = match self.decides(enter.while_true.as_ref()) {
                        None => true,
                        Some(call) => self.call_script(ScriptCall::While(call)).await?.is_true,
                    };
                    if self.next_round(enter, goes_on) {
                        at = enter_at + 1;
                        self.yield_if_needed().await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Yields, so that a loop without requests neither blocks other users nor outlives the run.
    async fn yield_if_needed(&self) -> Result<(), IterationAbort> {
        if self.io.limit.is_aborted() {
            return Err(IterationAbort::Fault(Fault::Unfinished, None));
        }
        // The scenario does not pause here, so keep messages that arrive now for the next step.
        self.io.sockets.is_reading.set(false);
        if !tokio::task::coop::has_budget_remaining() {
            tokio::task::yield_now().await;
        }
        tokio::task::coop::consume_budget().await;
        self.io.sockets.is_reading.set(true);
        Ok(())
    }

    fn log(&mut self, template: &Template) {
        let text = template.to_text(&self.vars, &mut self.rng);
        let secrets = self.secrets();
        self.worker.emit(OutputLine::Log { text, secrets });
    }

    fn secrets(&self) -> Vec<String> {
        let known = self.program.secret_variables.iter();
        let values = known.filter_map(|name| self.vars.get(name));
        values.flat_map(plan::secret::leaves).collect()
    }

    async fn think(
        &mut self,
        time: &ThinkTime,
        jitter: Option<Jitter>,
    ) -> Result<(), IterationAbort> {
        let base = match time {
            ThinkTime::Fixed(ns) => *ns as f64,
            ThinkTime::Templated(template) => {
                let value = template.eval(&self.vars, &mut self.rng);
                think_ns(value.as_ref()).ok_or_else(|| {
                    IterationAbort::Named(
                        format!("Invalid think time: {}", query::value::text(value.as_ref())),
                        Fault::Declared,
                    )
                })?
            }
        };
        let spread = match jitter {
            None => 0.0,
            Some(Jitter::Share(share)) => base * share,
            Some(Jitter::Absolute(ns)) => ns as f64,
        };
        let ns = (base + spread * (2.0 * self.rng.unit() - 1.0))
            .clamp(0.0, units::MAX_DURATION as f64) as u64;
        if self.worker.common.walks {
            self.worker.emit(OutputLine::Step(StepTrace::Thinks(ns)));
        }
        let now = self.worker.clock.now();
        self.due = Intended::after_previous(now, ns);
        let slept = self.worker.sleep_until(self.due.ns(), &self.io.limit).await;
        // Lateness after a pause counts for the next request.
        self.paused_ns += match slept {
            Ok(()) => ns,
            Err(_) => self.worker.clock.now().saturating_sub(now).min(ns),
        };
        slept.map_err(|_| IterationAbort::Fault(Fault::Unfinished, None))
    }

    fn enter_loop(&mut self, enter: &Enter) -> bool {
        let mut range = match &enter.count {
            LoopCount::Fixed(range) => *range,
            LoopCount::Templated(template) => {
                LoopRange::from_value(template.eval(&self.vars, &mut self.rng).as_ref())
            }
        };
        let is_decided = self.decides(enter.while_true.as_ref()).is_some();
        if is_decided {
            // The function decides after each round, so remove the limit.
            range.end = None;
        }
        let elements = match enter.over.as_ref().filter(|_| !is_decided) {
            None => None,
            Some(Over::List(list)) => Some(
                list.iter()
                    .map(|t| t.eval(&self.vars, &mut self.rng).unwrap_or(Value::Null))
                    .collect(),
            ),
            Some(Over::Variable(path)) => match self.vars.list(path) {
                Some(list) => Some(list),
                None => return false,
            },
        };
        if let Some(elements) = &elements {
            // The loop visits the whole list. A range only sets its start.
            range.end = Some(elements.len() as i64);
        }
        let round = Round {
            index: range.start,
            end: range.end,
            elements,
        };
        let runs = round.end.is_none_or(|end| round.index < end);
        if runs {
            self.show_round(enter, &round);
            self.loops.push(round);
        }
        runs
    }

    fn next_round(&mut self, enter: &Enter, goes_on: bool) -> bool {
        let Some(mut round) = self.loops.pop() else {
            return false;
        };
        round.index += 1;
        let runs = goes_on && round.end.is_none_or(|end| round.index < end);
        if runs {
            self.show_round(enter, &round);
            self.loops.push(round);
        }
        runs
    }

    fn show_round(&mut self, enter: &Enter, round: &Round) {
        let element = match &round.elements {
            Some(elements) => usize::try_from(round.index)
                .ok()
                .and_then(|i| elements.get(i))
                .cloned(),
            // Without a list, the element is the first index in every round.
            None if self.vars.is_set(&enter.element_as) && round.index != 0 => None,
            None => Some(Value::from(round.index)),
        };
        self.vars.set(&enter.index_as, Value::from(round.index));
        if let Some(element) = element {
            self.vars.set(&enter.element_as, element);
        }
    }
}

/// Returns the duration of a templated think time, as Artillery interprets it. Numbers are seconds,
/// and other text is parsed like in the `ms` package.
fn think_ns(value: Option<&Value>) -> Option<f64> {
    let ns = match value? {
        Value::Number(n) => n.as_f64()? * units::SECOND as f64,
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(seconds) => seconds * units::SECOND as f64,
            Err(_) => units::parse_ms_grammar(text)?,
        },
        _ => return None,
    };
    ns.is_finite().then_some(ns.max(0.0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn user_future_is_small() {
        fn size_of<F, A, B, C>(_: impl Fn(A, B, C) -> F) -> usize {
            std::mem::size_of::<F>()
        }
        let bytes = size_of(super::run);
        assert!(bytes <= 3 << 10, "{bytes} bytes");
    }
}
