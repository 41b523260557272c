//! Compiled scenarios: flat lists of operations.
//!
//! A plan is compiled once before the run. Each worker gets a copy, so that cores share no data on
//! the path of a request.

mod captures;
mod change;
mod head_template;
mod interest;
mod known;
mod listen;
mod load;
mod multipart;
mod request;
mod sizes;
mod socketio;
mod stream;
mod values;
mod websocket;

use std::sync::Arc;

use measure::{LabelId, Labels, label::LabelGroup};
use plan::{
    FailureRules, Plan, Schedule, Variable,
    criteria::{GoodputBound, goodputs},
    scenario::{
        Block, BlockKind, Branch, Call, Jitter, Loop, LoopCount, LoopRange, Over, Parallel, Step,
        ThinkTime,
    },
    socketio::SocketIoAction,
    template::Template,
    websocket::WebSocketAction,
};
use query::filtrex::Filtrex;
use serde_json::{Map, Value};

pub use captures::{CaptureFrom, Capturing, Checking, Compiled, ContentRules, PathSource};
pub use change::RequestChange;
pub use interest::{HookInterest, Interest};
pub use listen::CompiledListen;
pub use load::CompiledLoad;
pub use request::RequestStep;
pub use sizes::sizes;
pub use socketio::SessionStep;
pub(crate) use websocket::SEQUENCE;
pub use websocket::{ExpectedMessage, MessageStep};

use codec::{Origin, content::Unpacking};

/// A compiled test.
#[derive(Debug, Clone)]
pub struct Program {
    /// Scenarios in plan order.
    pub scenarios: Vec<CompiledScenario>,
    /// Listeners for the messages that the scenarios publish.
    pub listen: Option<CompiledListen>,
    /// Request steps of all scenarios.
    pub requests: Vec<RequestStep>,
    /// WebSocket steps of all scenarios.
    pub messages: Vec<MessageStep>,
    /// Socket.IO steps of all scenarios.
    pub session_steps: Vec<SessionStep>,
    /// Groups of all scenarios.
    pub groups: Vec<CompiledGroup>,
    /// Variables with the same value for all users.
    pub constants: Map<String, Value>,
    /// Variables for which each virtual user draws a value from a list.
    pub choices: Vec<(String, Vec<Value>)>,
    /// Data tables, which workers share. Their reference count does not change during the run.
    pub payloads: Arc<Vec<plan::Payload>>,
    /// Connection settings of the plan.
    pub http: plan::Http,
    /// Bounds of the goodput metrics in the criteria.
    pub goodputs: Vec<Vec<GoodputBound>>,
    /// Which results count as failures, and which of them end an iteration.
    pub rules: FailureRules,
    /// Content encodings to decode.
    pub unpacking: Unpacking,
    /// The planned load, or each of several workloads.
    pub loads: Vec<CompiledLoad>,
    /// Maximum number of iterations of a closed load, across all processes.
    pub iterations: Option<u64>,
    /// Schedule of the intended starts. With several workloads, each has its own schedule instead.
    pub schedule: Schedule,
    /// Seed for all random numbers.
    pub seed: u64,
    /// Base URL of the test.
    pub target: String,
    /// Whether a scenario uses `$uuid`. Creating a UUID for every user would be slow.
    pub uses_uuid: bool,
    /// Whether to report errors that end virtual users.
    pub tells_errors: bool,
    /// Whether to omit response excerpts.
    pub without_excerpts: bool,
    /// Names of variables that contain secrets.
    pub secret_variables: Vec<String>,
    /// Origins known before the run.
    pub origins: Vec<Origin>,
    /// All labels.
    pub labels: Labels,
}

/// A compiled scenario.
#[derive(Debug, Clone)]
pub struct CompiledScenario {
    /// Name of the scenario, or its index in the plan.
    pub name: String,
    /// Flat list of operations.
    pub ops: Vec<Op>,
    /// Label of the scenario's iterations.
    pub label: LabelId,
    /// Whether the scenario has think times.
    pub pauses: bool,
    /// Functions to call when a request has no usable response.
    pub on_error: Vec<Call>,
}

/// An operation of a scenario.
#[derive(Debug, Clone)]
pub enum Op {
    /// Sends a request. Contains the index in [`Program::requests`].
    Request(usize),
    /// Sends or awaits messages. Contains the index in [`Program::messages`].
    WebSocket(usize),
    /// Emits or awaits events. Contains the index in [`Program::session_steps`].
    SocketIo(usize),
    /// Pauses for a think time.
    Think(ThinkTime, Option<Jitter>),
    /// Prints a line.
    Log(Template),
    /// Calls a function of the script.
    Call(Call),
    /// Ends the iteration for this share of users.
    Exit(f64),
    /// Starts a loop.
    Enter(Box<Enter>),
    /// Starts the next round of the loop whose [`Op::Enter`] has this index, or leaves the loop.
    Next(usize),
    /// Runs several ranges of operations in parallel.
    Fork(Box<Fork>),
    /// Skips a block if its condition is false.
    If(Box<If>),
    /// Chooses one of several ranges of operations.
    Choose(Box<Choose>),
    /// Jumps to the operation with this index.
    Jump(usize),
    /// Opens a group. Contains the index in [`Program::groups`].
    Begin(usize),
    /// Closes the innermost group.
    End,
}

/// A named group of steps (a transaction).
#[derive(Debug, Clone)]
pub struct CompiledGroup {
    /// Name of the group in the plan.
    pub name: String,
    /// Label of the group's times.
    pub label: LabelId,
    /// Whether any group with this name has think times.
    pub pauses: bool,
}

/// The start of a conditional block.
#[derive(Debug, Clone)]
pub struct If {
    /// Condition under which the block runs.
    pub condition: Filtrex,
    /// Index of the first operation after the block.
    pub after: usize,
}

/// A choice between ranges of operations.
#[derive(Debug, Clone)]
pub struct Choose {
    /// Index of the first operation, and weight, of each branch.
    pub branches: Vec<(usize, u32)>,
    /// Sum of the weights.
    pub total: u64,
}

/// Several ranges of operations that run in parallel.
#[derive(Debug, Clone)]
pub struct Fork {
    /// Start (inclusive) and end (exclusive) of each branch.
    pub branches: Vec<(usize, usize)>,
    /// Maximum number of parallel branches.
    pub limit: usize,
    /// Index of the first operation after the branches.
    pub after: usize,
}

/// The start of a loop.
#[derive(Debug, Clone)]
pub struct Enter {
    /// Number of rounds.
    pub count: LoopCount,
    /// Function that decides whether there is another round.
    pub while_true: Option<Call>,
    /// List to iterate over. `None` if the loop only counts.
    pub over: Option<Over>,
    /// Name of the variable for the index.
    pub index_as: String,
    /// Name of the variable for the element.
    pub element_as: String,
    /// Index of the first operation after the loop.
    pub after: usize,
}

impl Program {
    /// Returns whether a variable is secret. `root` is the first part of its path.
    #[must_use]
    pub fn is_secret(&self, root: &str) -> bool {
        self.secret_variables.iter().any(|name| name == root)
    }

    /// Compiles a plan. On failure, returns all problems, one per line.
    pub fn compile(
        plan: &Plan,
        seed: u64,
        looking: Option<&dyn HookInterest>,
    ) -> Result<Program, Vec<plan::Problem>> {
        let mut problems = plan.problems();
        let mut compiler = Compiler {
            plan,
            looking,
            labels: Labels::default(),
            requests: Vec::new(),
            messages: Vec::new(),
            session_steps: Vec::new(),
            groups: Vec::new(),
            origins: Vec::new(),
            problems: Vec::new(),
        };
        let scenarios = compiler.scenarios();
        let listen = compiler.listen();
        problems.append(&mut compiler.problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let (own, choices) = variables(&plan.variables);
        let (tables, payloads) = tables(visible_payloads(plan, &own));
        let payloads = Arc::new(payloads);
        let mut constants = plan.setup_vars.clone();
        constants.extend(tables);
        constants.extend(own);
        Ok(Program {
            scenarios,
            listen,
            requests: compiler.requests,
            messages: compiler.messages,
            session_steps: compiler.session_steps,
            groups: compiler.groups,
            payloads,
            constants,
            choices,
            http: plan.http.clone(),
            goodputs: goodputs(
                plan.policy
                    .criteria
                    .iter()
                    .chain(&plan.policy.unjudged_criteria),
            ),
            rules: plan.rules,
            unpacking: if plan.http.takes_any_encoding {
                Unpacking::Lenient
            } else {
                Unpacking::Strict
            },
            loads: CompiledLoad::all(plan, seed),
            iterations: plan.iterations,
            schedule: plan.schedule(seed),
            seed,
            target: plan.target.expose().clone(),
            // The strings of the scenarios contain every use of a variable's name.
            uses_uuid: looking.is_some_and(HookInterest::reads_all_variables)
                || serde_json::to_string(&plan.scenarios_and_opening().collect::<Vec<_>>())
                    .is_ok_and(|text| text.contains("$uuid")),
            without_excerpts: plan.policy.omit_excerpts,
            secret_variables: plan.secret_variables.clone(),
            tells_errors: looking.is_some_and(HookInterest::tells_errors),
            origins: compiler.origins,
            labels: compiler.labels,
        })
    }

    /// Returns the highest planned request rate, as far as it is known. The number of workers
    /// depends on it.
    #[must_use]
    pub fn peak_requests(&self, plan: &Plan) -> f64 {
        plan.peak_rate().unwrap_or(0.0) * self.requests_of_user() as f64
    }

    /// Returns the number of requests per iteration of the largest scenario, at least one.
    #[must_use]
    pub fn requests_of_user(&self) -> u64 {
        let is_timed = |op: &Op| match op {
            Op::Request(_) => true,
            Op::WebSocket(index) => self.messages[*index].label.is_some(),
            Op::SocketIo(index) => self.session_steps[*index].label.is_some(),
            _ => false,
        };
        let of_scenarios = self.scenarios.iter();
        let of_scenarios = of_scenarios.map(|s| fixed_requests(&s.ops, &is_timed));
        of_scenarios.max().unwrap_or(1).max(1)
    }
}

fn fixed_requests(ops: &[Op], is_timed: &dyn Fn(&Op) -> bool) -> u64 {
    let mut factors = vec![1u64];
    let mut sum = 0u64;
    for op in ops {
        let factor = factors.last().copied().unwrap_or(1);
        match op {
            Op::Request(_) | Op::WebSocket(_) | Op::SocketIo(_) => {
                if is_timed(op) {
                    sum = sum.saturating_add(factor);
                }
            }
            Op::Enter(enter) => {
                let times = match &enter.count {
                    LoopCount::Fixed(LoopRange {
                        start,
                        end: Some(end),
                    }) => end.saturating_sub(*start).max(0) as u64,
                    _ => 1,
                };
                factors.push(factor.saturating_mul(times));
            }
            Op::Next(_) => {
                factors.pop();
            }
            // Count all branches, because any of them may be chosen.
            Op::Think(..)
            | Op::Log(_)
            | Op::Call(_)
            | Op::Exit(_)
            | Op::Fork(_)
            | Op::If(_)
            | Op::Choose(_)
            | Op::Jump(_)
            | Op::Begin(_)
            | Op::End => {}
        }
    }
    sum
}

type Constants = Map<String, Value>;
type Choices = Vec<(String, Vec<Value>)>;

fn variables(all: &[(String, Variable)]) -> (Constants, Choices) {
    let (mut constants, mut choices) = (Map::new(), Vec::new());
    for (name, variable) in all {
        match variable {
            Variable::Constant(value) => {
                constants.insert(name.clone(), value.clone());
            }
            Variable::OneOf(values) => choices.push((name.clone(), values.clone())),
        }
    }
    (constants, choices)
}

fn visible_payloads(plan: &Plan, constants: &Constants) -> Vec<plan::Payload> {
    let mut payloads = plan.payloads.clone();
    for field in payloads
        .iter_mut()
        .flat_map(|payload| payload.fields.iter_mut())
    {
        if constants.contains_key(field) {
            field.clear();
        }
    }
    payloads
}

fn tables(payloads: Vec<plan::Payload>) -> (Constants, Vec<plan::Payload>) {
    let (mut tables, mut others) = (Map::new(), Vec::new());
    for payload in payloads {
        let Some(name) = payload.all_as else {
            others.push(payload);
            continue;
        };
        let row = |row: &Vec<Value>| {
            if payload.fields.is_empty() {
                return Value::Array(row.clone());
            }
            let cells = payload.fields.iter().cloned().zip(row.iter().cloned());
            Value::Object(cells.collect())
        };
        tables.insert(name, payload.rows.iter().map(row).collect());
    }
    (tables, others)
}

struct Compiler<'a> {
    plan: &'a Plan,
    looking: Option<&'a dyn HookInterest>,
    labels: Labels,
    requests: Vec<RequestStep>,
    messages: Vec<MessageStep>,
    session_steps: Vec<SessionStep>,
    groups: Vec<CompiledGroup>,
    origins: Vec<Origin>,
    problems: Vec<plan::Problem>,
}

impl Compiler<'_> {
    fn scenarios(&mut self) -> Vec<CompiledScenario> {
        let plan = self.plan;
        let mut scenarios = Vec::new();
        for (index, scenario) in plan.scenarios().iter().enumerate() {
            let mut ops = Vec::new();
            self.steps(&scenario.steps, &mut ops);
            let pauses = ops.iter().any(|op| self.pauses(op));
            scenarios.push(CompiledScenario {
                name: scenario.render(index),
                ops,
                label: 0,
                pauses,
                on_error: scenario.on_error.clone(),
            });
        }
        // Number requests first, because the record shows their numbers.
        for (index, scenario) in plan.scenarios().iter().enumerate() {
            let name = scenario.render(index);
            scenarios[index].label = self.labels.id(LabelGroup::Iteration, "", &name);
        }
        for group in &mut self.groups {
            group.label = self.labels.id(LabelGroup::Transaction, "", &group.name);
        }
        let pausing = self.groups.iter().filter(|group| group.pauses);
        let pausing: Vec<LabelId> = pausing.map(|group| group.label).collect();
        for group in &mut self.groups {
            group.pauses = pausing.contains(&group.label);
        }
        scenarios
    }

    fn pauses(&self, op: &Op) -> bool {
        match op {
            Op::Think(..) => true,
            Op::WebSocket(index) => {
                matches!(
                    self.messages[*index].spec.action,
                    WebSocketAction::Listen(_)
                )
            }
            Op::SocketIo(index) => {
                matches!(
                    self.session_steps[*index].spec.action,
                    SocketIoAction::Listen(_)
                )
            }
            _ => false,
        }
    }

    fn steps(&mut self, steps: &[Step], ops: &mut Vec<Op>) {
        for step in steps {
            match step {
                Step::Request(request) => {
                    let label = self
                        .labels
                        .id(LabelGroup::Request, request.verb(), &request.label);
                    let looks = self.looking.map(|looking| looking.looks(request));
                    match RequestStep::compile(
                        request,
                        self.requests.len(),
                        label,
                        self.plan,
                        looks.unwrap_or_default(),
                        &mut self.origins,
                    ) {
                        Ok(step) => self.requests.push(step),
                        Err(problem) => {
                            self.problems.push(problem);
                            continue;
                        }
                    }
                    ops.push(Op::Request(self.requests.len() - 1));
                }
                Step::WebSocket(step) => {
                    let label = step
                        .verb()
                        .map(|verb| self.labels.id(LabelGroup::WebSocket, verb, &step.label));
                    match MessageStep::compile(step, label) {
                        Ok(step) => self.messages.push(step),
                        Err(problem) => {
                            self.problems.push(problem);
                            continue;
                        }
                    }
                    ops.push(Op::WebSocket(self.messages.len() - 1));
                }
                Step::SocketIo(step) => {
                    let label = step
                        .verb()
                        .map(|verb| self.labels.id(LabelGroup::SocketIo, verb, &step.label));
                    match SessionStep::compile(step, label) {
                        Ok(step) => self.session_steps.push(step),
                        Err(problem) => {
                            self.problems.push(problem);
                            continue;
                        }
                    }
                    ops.push(Op::SocketIo(self.session_steps.len() - 1));
                }
                Step::Think(think) => ops.push(Op::Think(think.time.clone(), think.jitter)),
                Step::Log(template) => ops.push(Op::Log(template.clone())),
                Step::Call(call) => ops.push(Op::Call(call.clone())),
                Step::Exit(share) => ops.push(Op::Exit(*share)),
                Step::Loop(inner) => self.repeat(inner, ops),
                Step::Parallel(inner) => self.fork(inner, ops),
                Step::Block(inner) => self.block(inner, ops),
                Step::Choose(branches) => self.choose(branches, ops),
            }
        }
    }

    fn fork(&mut self, inner: &Parallel, ops: &mut Vec<Op>) {
        let begin = ops.len();
        ops.push(Op::Fork(Box::new(Fork {
            branches: Vec::new(),
            limit: inner.limit.max(1),
            after: 0,
        })));
        let mut branches = Vec::new();
        for step in &inner.steps {
            let from = ops.len();
            self.steps(std::slice::from_ref(step), ops);
            branches.push((from, ops.len()));
        }
        let following = ops.len();
        if let Op::Fork(fork) = &mut ops[begin] {
            (fork.branches, fork.after) = (branches, following);
        }
    }

    fn block(&mut self, inner: &Block, ops: &mut Vec<Op>) {
        match &inner.by {
            BlockKind::If(condition) => {
                let begin = ops.len();
                ops.push(Op::If(Box::new(If {
                    condition: condition.clone(),
                    after: 0,
                })));
                self.steps(&inner.steps, ops);
                let end = ops.len();
                if let Op::If(begin) = &mut ops[begin] {
                    begin.after = end;
                }
            }
            BlockKind::Group(name) => {
                let index = self.groups.len();
                self.groups.push(CompiledGroup {
                    name: name.clone(),
                    label: 0,
                    pauses: false,
                });
                let begin = ops.len();
                ops.push(Op::Begin(index));
                self.steps(&inner.steps, ops);
                let mut within = ops[begin..].iter();
                self.groups[index].pauses = within.any(|op| self.pauses(op));
                ops.push(Op::End);
            }
        }
    }

    fn choose(&mut self, all: &[Branch], ops: &mut Vec<Op>) {
        let begin = ops.len();
        ops.push(Op::Jump(0));
        let (mut branches, mut ends) = (Vec::new(), Vec::new());
        for branch in all {
            branches.push((ops.len(), branch.weight));
            self.steps(&branch.steps, ops);
            ends.push(ops.len());
            ops.push(Op::Jump(0));
        }
        let following = ops.len();
        for end in ends {
            ops[end] = Op::Jump(following);
        }
        let total = all.iter().map(|branch| u64::from(branch.weight)).sum();
        ops[begin] = Op::Choose(Box::new(Choose { branches, total }));
    }

    fn repeat(&mut self, inner: &Loop, ops: &mut Vec<Op>) {
        let enter = ops.len();
        ops.push(Op::Enter(Box::new(Enter {
            count: inner.count.clone(),
            while_true: inner.while_true.clone(),
            over: inner.over.clone(),
            index_as: inner.index_as.clone(),
            element_as: inner.element_as.clone(),
            after: 0,
        })));
        self.steps(&inner.steps, ops);
        ops.push(Op::Next(enter));
        let following = ops.len();
        if let Op::Enter(begin) = &mut ops[enter] {
            begin.after = following;
        }
    }
}
