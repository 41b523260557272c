//! The average iteration of a scenario: calls per endpoint, and think time. Steps that depend on
//! responses count once, so the result is then only an estimate.

use crate::{
    Plan, Request, Scenario, Step, Variable,
    scenario::{BlockKind, Branch, LoopCount, LoopRange, Over, ThinkTime},
    socketio::SocketIoAction,
    websocket::WebSocketAction,
};

#[derive(Debug, Clone, Default)]
pub(super) struct Journey {
    pub calls: Vec<(Endpoint, f64)>,
    pub think_ns: f64,
    /// Whether all numbers are known before the run. Loops or pauses may depend on responses.
    pub is_known: bool,
    pub is_certain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub method: String,
    pub name: String,
}

impl Journey {
    pub fn new(plan: &Plan, scenario: &Scenario) -> Journey {
        let mut journey = Journey {
            is_known: true,
            is_certain: true,
            ..Journey::default()
        };
        journey.walk(plan, &scenario.steps, 1.0);
        journey
    }

    pub fn requests(&self) -> f64 {
        self.calls.iter().map(|(_, times)| times).sum()
    }

    pub fn is_exact(&self) -> bool {
        self.is_known && self.is_certain
    }

    fn operation(&mut self, verb: Option<&str>, label: &str, coming: f64) {
        if let Some(verb) = verb {
            let endpoint = Endpoint {
                method: verb.to_owned(),
                name: label.to_owned(),
            };
            self.add(endpoint, coming);
        }
    }

    /// Adds the calls of these steps, for `coming` users. Returns how many users continue
    /// afterwards.
    fn walk(&mut self, plan: &Plan, steps: &[Step], coming: f64) -> f64 {
        let mut coming = coming;
        for step in steps {
            match step {
                Step::Request(request) => self.request(request, coming),
                Step::WebSocket(step) => {
                    self.operation(step.verb(), &step.label, coming);
                    if let WebSocketAction::Listen(ns) = step.action {
                        self.think_ns += coming * ns as f64;
                    }
                }
                Step::SocketIo(step) => {
                    self.operation(step.verb(), &step.label, coming);
                    if let SocketIoAction::Listen(ns) = step.action {
                        self.think_ns += coming * ns as f64;
                    }
                }
                Step::Think(think) => match think.time {
                    ThinkTime::Fixed(ns) => self.think_ns += coming * ns as f64,
                    ThinkTime::Templated(_) => self.is_known = false,
                },
                Step::Log(_) | Step::Call(_) => {}
                Step::Exit(share) => {
                    self.is_certain = false;
                    coming *= 1.0 - share;
                }
                Step::Parallel(inner) => {
                    self.walk(plan, &inner.steps, coming);
                }
                Step::Block(inner) => match &inner.by {
                    BlockKind::If(_) => {
                        self.is_known = false;
                        coming = self.walk(plan, &inner.steps, coming);
                    }
                    BlockKind::Group(_) => coming = self.walk(plan, &inner.steps, coming),
                },
                Step::Choose(branches) => {
                    self.is_certain &= branches.len() < 2;
                    let all: f64 = branches.iter().map(|b| f64::from(b.weight)).sum();
                    let each = |branch: &Branch| coming * f64::from(branch.weight) / all.max(1.0);
                    let shares: Vec<f64> = branches.iter().map(each).collect();
                    let gone = branches.iter().zip(shares);
                    coming = gone
                        .map(|(branch, share)| self.walk(plan, &branch.steps, share))
                        .sum();
                }
                Step::Loop(inner) => {
                    let counted = rounds(plan, &inner.count, inner.over.as_ref());
                    let rounds = counted.filter(|_| inner.while_true.is_none());
                    self.is_known &= rounds.is_some();
                    coming = self.repeat(plan, &inner.steps, coming, rounds.unwrap_or(1));
                }
            }
        }
        coming
    }

    /// Adds the calls of a loop. The users who do not exit in a round make the calls of the next
    /// round.
    fn repeat(&mut self, plan: &Plan, steps: &[Step], coming: f64, rounds: u64) -> f64 {
        if rounds == 0 {
            return coming;
        }
        let mut once = Journey {
            is_known: true,
            is_certain: true,
            ..Journey::default()
        };
        let staying = once.walk(plan, steps, 1.0);
        let (passes, left) = if staying < 1.0 {
            let last = staying.powf(rounds as f64);
            ((1.0 - last) / (1.0 - staying), last)
        } else {
            (rounds as f64, 1.0)
        };
        for (endpoint, times) in once.calls {
            self.add(endpoint, coming * passes * times);
        }
        self.think_ns += coming * passes * once.think_ns;
        self.is_known &= once.is_known;
        self.is_certain &= once.is_certain;
        coming * left
    }

    fn request(&mut self, request: &Request, coming: f64) {
        let share = request.probability.map_or(1.0, |percent| percent / 100.0);
        self.is_certain &= request.probability.is_none();
        self.is_known &= request.condition.is_none();
        let endpoint = Endpoint {
            method: request.verb().to_owned(),
            name: request.label.clone(),
        };
        self.add(endpoint, coming * share.clamp(0.0, 1.0));
    }

    fn add(&mut self, endpoint: Endpoint, times: f64) {
        match self.calls.iter_mut().find(|(known, _)| *known == endpoint) {
            Some((_, all)) => *all += times,
            None => self.calls.push((endpoint, times)),
        }
    }
}

/// Returns the number of rounds of a loop. `None` if it is known only at run time.
fn rounds(plan: &Plan, count: &LoopCount, over: Option<&Over>) -> Option<u64> {
    match over {
        Some(Over::List(items)) => return Some(items.len() as u64),
        Some(Over::Variable(name)) => return length(plan, name),
        None => {}
    }
    match count {
        LoopCount::Fixed(LoopRange {
            start,
            end: Some(end),
        }) => u64::try_from(end.saturating_sub(*start)).ok().or(Some(0)),
        LoopCount::Fixed(_) | LoopCount::Templated(_) => None,
    }
}

/// Returns the length of the list in a variable. `None` if the plan does not define the list.
fn length(plan: &Plan, name: &str) -> Option<u64> {
    let table = plan
        .payloads
        .iter()
        .find(|table| table.all_as.as_deref() == Some(name));
    if let Some(table) = table {
        return Some(table.rows.len() as u64);
    }
    let (_, variable) = plan.variables.iter().find(|(known, _)| known == name)?;
    match variable {
        Variable::Constant(value) => value.as_array().map(|list| list.len() as u64),
        Variable::OneOf(_) => None,
    }
}
