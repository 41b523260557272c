//! The compiled test: scenarios as flat lists of operations, requests as bytes where nothing in them is templated.
//!
//! Compiling happens once, before the run; it may fail and allocate. Each worker gets a copy of its own, so that nothing
//! on the hot path is shared between cores.

mod captures;
mod looks;
mod multipart;
mod request;
mod sizes;
mod stencil;

use std::sync::Arc;

use measure::{LabelId, Labels, label::Group};
use plan::{
    Draw, Load, Plan, Rules, Schedule, Variable,
    scenario::{
        Block, BlockKind, Branch, Jitter, Loop, LoopCount, LoopRange, Over, Parallel, Step,
        ThinkTime,
    },
    template::Template,
};
use query::filtrex::Expression;
use serde_json::{Map, Value};

pub use captures::{CaptureFrom, Capturing, Checking, Compiled, PathSource};
pub use looks::{Looking, Looks};
pub use request::RequestStep;
pub use sizes::sizes;

use codec::{Origin, content::Unpacking};

/// A compiled test.
#[derive(Debug, Clone)]
pub struct Program {
    /// In the order of the plan.
    pub scenarios: Vec<CompiledScenario>,
    /// All request steps of all scenarios.
    pub requests: Vec<RequestStep>,
    /// All groups of all scenarios.
    pub groups: Vec<CompiledGroup>,
    /// Variables with the same value for all.
    pub constants: Map<String, Value>,
    /// Variables of which each virtual user gets one element.
    pub choices: Vec<(String, Vec<Value>)>,
    /// Tables. Shared between workers, but only pointed at: no reference is counted while the test runs.
    pub payloads: Arc<Vec<plan::Payload>>,
    /// How requests travel.
    pub http: plan::Http,
    /// What a failure is and what it ends.
    pub rules: Rules,
    /// Who reads what answers hold.
    pub unpacking: Unpacking,
    /// The load.
    pub load: Load,
    /// When arrivals are intended.
    pub schedule: Schedule,
    /// The seed of everything random.
    pub seed: u64,
    /// Which scenario an arrival gets.
    pub draw: Draw,
    /// The base URL.
    pub target: String,
    /// Whether anything asks for `$uuid`: making one for each virtual user would be felt.
    pub uses_uuid: bool,
    /// Whether what ends a virtual user is told.
    pub tells_errors: bool,
    /// Whether nothing is told of what answers held.
    pub without_excerpts: bool,
    /// Variables that hold something secret.
    pub secret_variables: Vec<String>,
    /// Origins known before the run.
    pub origins: Vec<Origin>,
    /// All labels.
    pub labels: Labels,
}

/// A compiled scenario.
#[derive(Debug, Clone)]
pub struct CompiledScenario {
    /// Flat list of operations.
    pub ops: Vec<Op>,
    /// The label of its iterations.
    pub label: LabelId,
    /// Whether it has pauses.
    pub pauses: bool,
}

/// An operation of a scenario.
#[derive(Debug, Clone)]
pub enum Op {
    /// Send request number so-and-so of [`Program::requests`].
    Request(usize),
    /// Pause.
    Think(ThinkTime, Option<Jitter>),
    /// Print a line.
    Log(Template),
    /// End the iteration for this share of those that come here.
    Leave(f64),
    /// Begin a loop; its end is at the given operation.
    Enter(Box<Enter>),
    /// Go round again, to just behind the given [`Op::Enter`], or on.
    Next(usize),
    /// Carry out several stretches of operations at the same time.
    Fork(Box<Fork>),
    /// Go on behind a block where its condition is not true.
    If(Box<If>),
    /// Go on with one of several stretches.
    Choose(Box<Choose>),
    /// Go on elsewhere.
    Jump(usize),
    /// Begin group number so-and-so of [`Program::groups`].
    Begin(usize),
    /// End the group that began last.
    End,
}

/// Steps that belong together under a name: a transaction.
#[derive(Debug, Clone)]
pub struct CompiledGroup {
    /// Its name.
    pub name: String,
    /// What its times are counted under.
    pub label: LabelId,
    /// Whether any of its steps is a pause, or one of another group of its name is: they are in one row.
    pub pauses: bool,
}

/// The beginning of a block with a condition.
#[derive(Debug, Clone)]
pub struct If {
    /// Whether it is carried out.
    pub condition: Expression,
    /// Where to go on if it is not.
    pub behind: usize,
}

/// A choice between stretches of operations.
#[derive(Debug, Clone)]
pub struct Choose {
    /// Where each begins, and its weight.
    pub branches: Vec<(usize, u32)>,
    /// The sum of the weights.
    pub total: u64,
}

/// Stretches of operations that are carried out at the same time.
#[derive(Debug, Clone)]
pub struct Fork {
    /// From and up to which operation each goes.
    pub branches: Vec<(usize, usize)>,
    /// At most so many at a time.
    pub limit: usize,
    /// Where to go on afterwards.
    pub behind: usize,
}

/// The beginning of a loop.
#[derive(Debug, Clone)]
pub struct Enter {
    /// How often.
    pub count: LoopCount,
    /// Over what.
    pub over: Option<Over>,
    /// The variable that holds the index.
    pub index_as: String,
    /// The variable that holds the element.
    pub element_as: String,
    /// Where to go on when the loop does not run at all: behind its [`Op::Next`].
    pub behind: usize,
}

impl Program {
    /// Whether a variable, by the first part of its path, holds something secret.
    #[must_use]
    pub fn is_secret(&self, root: &str) -> bool {
        self.secret_variables.iter().any(|name| name == root)
    }

    /// Compiles a plan.
    ///
    /// # Errors
    /// Everything that keeps it from running, one line each.
    pub fn compile(
        plan: &Plan,
        seed: u64,
        looking: Option<&dyn Looking>,
    ) -> Result<Program, Vec<plan::Problem>> {
        let mut problems = plan.problems();
        let mut compiler = Compiler {
            plan,
            looking,
            labels: Labels::default(),
            requests: Vec::new(),
            groups: Vec::new(),
            origins: Vec::new(),
            problems: Vec::new(),
        };
        let scenarios = compiler.scenarios();
        problems.append(&mut compiler.problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let (own, choices) = variables(&plan.variables);
        let (tables, payloads) = tables(visible_payloads(plan, &own));
        let payloads = Arc::new(payloads);
        let mut constants = plan.inherited.clone();
        constants.extend(tables);
        constants.extend(own);
        Ok(Program {
            scenarios,
            requests: compiler.requests,
            groups: compiler.groups,
            payloads,
            constants,
            choices,
            http: plan.http.clone(),
            rules: plan.rules,
            unpacking: if plan.http.takes_any_encoding {
                Unpacking::Lenient
            } else {
                Unpacking::Strict
            },
            load: plan.load.clone(),
            schedule: plan.schedule(seed),
            seed,
            draw: plan.draw(seed),
            target: plan.target.clone(),
            // Wherever a name can stand, it stands in the scenarios' own words.
            uses_uuid: looking.is_some_and(Looking::reads_all_variables)
                || serde_json::to_string(&plan.scenarios())
                    .is_ok_and(|text| text.contains("$uuid")),
            without_excerpts: plan.without_excerpts,
            secret_variables: plan.secret_variables.clone(),
            tells_errors: looking.is_some_and(Looking::tells_errors),
            origins: compiler.origins,
            labels: compiler.labels,
        })
    }

    /// The highest planned rate of requests per second as far as the flow tells, for choosing the number of workers.
    #[must_use]
    pub fn peak_requests(&self, plan: &Plan) -> f64 {
        plan.peak_rate().unwrap_or(0.0) * self.requests_of_user() as f64
    }

    /// Requests of one iteration, of the scenario that has the most of them; at least one.
    #[must_use]
    pub fn requests_of_user(&self) -> u64 {
        let of_scenarios = self.scenarios.iter().map(|s| fixed_requests(&s.ops));
        of_scenarios.max().unwrap_or(1).max(1)
    }
}

/// Requests of one pass, loops of known length unrolled.
fn fixed_requests(ops: &[Op]) -> u64 {
    let mut factors = vec![1u64];
    let mut sum = 0u64;
    for op in ops {
        let factor = factors.last().copied().unwrap_or(1);
        match op {
            Op::Request(_) => sum = sum.saturating_add(factor),
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
            // Of several ways all are counted: which it is that takes most depends on chance.
            Op::Think(..)
            | Op::Log(_)
            | Op::Leave(_)
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

/// The payloads without the columns that a variable of the same name hides: variables are set after payloads.
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

/// Whole tables as variables of their own, the same for all, and the other payloads.
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
    looking: Option<&'a dyn Looking>,
    labels: Labels,
    requests: Vec<RequestStep>,
    groups: Vec<CompiledGroup>,
    origins: Vec<Origin>,
    problems: Vec<plan::Problem>,
}

impl Compiler<'_> {
    fn scenarios(&mut self) -> Vec<CompiledScenario> {
        let plan = self.plan;
        let mut scenarios = Vec::new();
        for scenario in plan.scenarios() {
            let mut ops = Vec::new();
            self.steps(&scenario.steps, &mut ops);
            let pauses = ops.iter().any(|op| matches!(op, Op::Think(..)));
            scenarios.push(CompiledScenario {
                ops,
                label: 0,
                pauses,
            });
        }
        // Requests first: their numbers are the ones that people see in the record.
        for (index, scenario) in plan.scenarios().iter().enumerate() {
            let name = scenario.shown(index);
            scenarios[index].label = self.labels.id(Group::Iteration, "", &name);
        }
        for group in &mut self.groups {
            group.label = self.labels.id(Group::Transaction, "", &group.name);
        }
        let pausing = self.groups.iter().filter(|group| group.pauses);
        let pausing: Vec<LabelId> = pausing.map(|group| group.label).collect();
        for group in &mut self.groups {
            group.pauses = pausing.contains(&group.label);
        }
        scenarios
    }

    fn steps(&mut self, steps: &[Step], ops: &mut Vec<Op>) {
        for step in steps {
            match step {
                Step::Request(request) => {
                    let label = self
                        .labels
                        .id(Group::Request, &request.method, &request.label);
                    let looks = self.looking.map(|looking| looking.looks(request));
                    match RequestStep::compile(
                        request,
                        (self.requests.len(), label),
                        (self.plan, looks.unwrap_or_default()),
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
                Step::Think(think) => ops.push(Op::Think(think.time.clone(), think.jitter)),
                Step::Log(template) => ops.push(Op::Log(template.clone())),
                Step::Leave(share) => ops.push(Op::Leave(*share)),
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
            behind: 0,
        })));
        let mut branches = Vec::new();
        for step in &inner.steps {
            let from = ops.len();
            self.steps(std::slice::from_ref(step), ops);
            branches.push((from, ops.len()));
        }
        let behind = ops.len();
        if let Op::Fork(fork) = &mut ops[begin] {
            (fork.branches, fork.behind) = (branches, behind);
        }
    }

    fn block(&mut self, inner: &Block, ops: &mut Vec<Op>) {
        match &inner.by {
            BlockKind::If(condition) => {
                let begin = ops.len();
                ops.push(Op::If(Box::new(If {
                    condition: condition.clone(),
                    behind: 0,
                })));
                self.steps(&inner.steps, ops);
                let end = ops.len();
                if let Op::If(begin) = &mut ops[begin] {
                    begin.behind = end;
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
                self.groups[index].pauses = within.any(|op| matches!(op, Op::Think(..)));
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
        let behind = ops.len();
        for end in ends {
            ops[end] = Op::Jump(behind);
        }
        let total = all.iter().map(|branch| u64::from(branch.weight)).sum();
        ops[begin] = Op::Choose(Box::new(Choose { branches, total }));
    }

    fn repeat(&mut self, inner: &Loop, ops: &mut Vec<Op>) {
        let enter = ops.len();
        ops.push(Op::Enter(Box::new(Enter {
            count: inner.count.clone(),
            over: inner.over.clone(),
            index_as: inner.index_as.clone(),
            element_as: inner.element_as.clone(),
            behind: 0,
        })));
        self.steps(&inner.steps, ops);
        ops.push(Op::Next(enter));
        let behind = ops.len();
        if let Op::Enter(begin) = &mut ops[enter] {
            begin.behind = behind;
        }
    }
}
