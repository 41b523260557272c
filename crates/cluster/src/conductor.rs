//! The conductor starts all nodes at the same time, merges their intervals, forwards stops, and
//! detects lost nodes.

use std::path::PathBuf;

use measure::label;
use plan::{
    ArrivalProcess, Load, Plan, Raw, Shape,
    units::{MILLISECOND, SECOND},
};
use record::{Event, EventKind, NodeState, NodeSum, RecordPiece, Replica, units};
use serde_json::Value;
use session::{
    Conducting, FinishedRun, Job, Observer, RecentIntervals, RunRefused, SharedMessageSink,
    StartError, divide,
};
use worker::{
    OutputLine,
    clock::{self, Zero},
    stop::{Cause, Urgency},
};

use crate::{
    link::Backend,
    losses::{Losses, TakeoverAnswer},
    merge::{Merged, Merger},
    nodes::{NodeEvent, Nodes, RemoteNode},
    start,
    wire::{Sort, ToConductor, ToNode},
};

const TICK_NS: u64 = SECOND;
const LOOK_NS: u64 = 50 * MILLISECOND;
/// Time without a message after which the conductor no longer contacts a node.
const SILENT_NS: u64 = 3 * SECOND;
const ABORT_NS: u64 = 2 * SECOND;
/// Maximum time for a node to respond to a stop. A node whose connection is closed gets no
/// additional time.
const ANSWER_NS: u64 = SECOND / 2;
/// Time after a stop at which a node that has not responded counts as lost.
const GIVE_UP_NS: u64 = 2 * SECOND;
const CLOCKS_NS: u64 = 10 * SECOND;
/// Maximum clock error, as a share of the gap between arrivals, at which arrivals are spaced evenly
/// over nodes.
const SPACING: f64 = 0.1;

pub struct ConductorConfig {
    pub backend: Box<dyn Backend>,
    pub nodes: Option<u64>,
    pub test: Value,
    pub keep: Option<PathBuf>,
}

/// Executes a distributed run. Calls `accepted` with the plan when everything is valid.
pub fn conduct(
    mut job: Job,
    config: ConductorConfig,
    accepted: &dyn Fn(&Plan),
    observer: &mut dyn Observer,
    sink: &SharedMessageSink,
) -> Result<FinishedRun, StartError> {
    job.conducts = true;
    let refused = |lines: Vec<String>| StartError::Refused(RunRefused::from(problems(lines)));
    let mut nodes = Nodes::meet(config.backend, config.nodes).map_err(refused)?;
    let count = nodes.all.len() as u64;
    let mut divided = divide(job, count, sink)?;
    accepted(divided.plan());
    nodes.set_clocks().map_err(refused)?;
    start::can_send(&mut nodes, divided.plan()).map_err(refused)?;
    divided.before(Some(&mut *observer))?;
    start::arm(&mut nodes, &divided, &config.test, config.keep.as_ref()).map_err(refused)?;
    let zero = start::agree(&mut nodes).map_err(refused)?;
    let seed = divided.seed();
    let parent = match divided.begin_at(zero) {
        Ok(parent) => parent,
        Err(reason) => {
            nodes.say(&ToNode::Cancel);
            return Err(reason);
        }
    };
    let window = RecentIntervals::default();
    let plan = parent.plan().clone();
    let losses = Losses::new(&plan, plan.schedule(seed));
    let dir = parent.dir().to_owned();
    for node in &mut nodes.all {
        node.replica = Some(Replica::new(&dir, node.number));
    }
    let (parent, (mut nodes, trouble)) = parent.conduct(observer, &window, |conducting| {
        let mut conducted = ConductedRun {
            merger: Merger::new(count),
            nodes,
            zero,
            plan,
            losses,
            announced: Urgency::None,
            stopped_ns: None,
            has_named_silent: false,
            trouble: None,
            ticked_ns: 0,
            aborted_ns: None,
            clocks_ns: clock::monotonic_ns(),
            conducting,
        };
        conducted.begins();
        conducted.run();
        let clocks = Event::new(conducted.now_ns(), EventKind::Note, conducted.clocks());
        conducted.conducting.event(&clocks);
        (conducted.nodes, conducted.trouble)
    });
    let ended = parent
        .finish_with_error(trouble)
        .map_err(|error| refused(vec![error.to_string()]))?;
    // Nodes whose record is incomplete here keep their own copy.
    for node in nodes.all.iter_mut().filter(|node| node.is_whole) {
        node.say(&ToNode::Bye);
    }
    Ok(ended)
}

fn problems(lines: Vec<String>) -> Vec<plan::Problem> {
    lines.into_iter().map(plan::Problem::anywhere).collect()
}

struct ConductedRun<'a, 'b> {
    nodes: Nodes,
    merger: Merger,
    conducting: &'a mut Conducting<'b>,
    zero: Zero,
    plan: Plan,
    losses: Losses,
    announced: Urgency,
    /// When the stop was announced. `None` before a stop.
    stopped_ns: Option<u64>,
    /// Whether a message has named the nodes that did not respond to the stop.
    has_named_silent: bool,
    trouble: Option<String>,
    ticked_ns: u64,
    aborted_ns: Option<u64>,
    clocks_ns: u64,
}

impl ConductedRun<'_, '_> {
    fn begins(&mut self) {
        let all: Vec<String> = self
            .nodes
            .all
            .iter()
            .map(|node| {
                let known = units::time(node.offset.unwrap_or_default().error_ns);
                let (number, name) = (node.number, &node.name);
                format!(
                    "{number} {name} ({}, clock accurate to {known})",
                    node.facts
                )
            })
            .collect();
        let text = format!("nodes: {}", all.join("; "));
        self.conducting.event(&Event::new(0, EventKind::Note, text));
        if let Some(text) = self.divided() {
            self.conducting
                .event(&Event::new(0, EventKind::Warning, text));
        }
        if let Some(text) = self.uneven() {
            self.conducting
                .event(&Event::new(0, EventKind::Warning, text));
        }
    }

    fn divided(&self) -> Option<String> {
        let Load::Open { phases, .. } = &self.plan.load else {
            return None;
        };
        let cap = phases.iter().filter_map(|phase| phase.max_users).max()?;
        let nodes = self.nodes.all.len() as u64;
        let most = u64::from(cap).div_ceil(nodes);
        Some(format!(
            "the limit of {cap} users is divided among the nodes: each of {nodes} nodes has at \
            most {most}, and one may reach its limit before the others"
        ))
    }

    /// Compares the clock offsets before and after the run. Ignores differences within the error.
    fn clocks(&self) -> String {
        let apart = self.nodes.all.iter().filter_map(|node| {
            let (before, now) = (node.began?, node.offset?);
            let ns = now.ns.saturating_sub(before.ns);
            let sign = if ns < 0 { "−" } else { "+" };
            Some(format!(
                "node {} {sign}{} (accurate to {})",
                node.number,
                units::time(ns.unsigned_abs()),
                units::time(now.error_ns.max(before.error_ns))
            ))
        });
        let apart: Vec<String> = apart.collect();
        format!(
            "clock offsets after the run, compared with before: {}",
            apart.join(", ")
        )
    }

    /// Returns a note about uneven spacing. `None` if arrivals are evenly spaced.
    fn uneven(&self) -> Option<String> {
        let Load::Open { phases, .. } = &self.plan.load else {
            return None;
        };
        let is_even = phases.iter().any(|phase| {
            phase.arrivals == ArrivalProcess::Even && !matches!(phase.shape, Shape::Pause)
        });
        let gap_ns = self
            .plan
            .peak_rate()
            .filter(|rate| *rate > 0.0)
            .map(|rate| SECOND as f64 / rate)?;
        let worst = self.nodes.worst_ns() / 2;
        (is_even && worst as f64 > SPACING * gap_ns).then(|| {
            format!(
                "arrivals are not evenly spaced across nodes: they are {} apart, but clocks are accurate only to {}. Arrivals within a node are evenly spaced",
                units::time(gap_ns as u64),
                units::time(worst)
            )
        })
    }

    fn now_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.zero.monotonic_ns)
    }

    fn run(&mut self) {
        while self
            .nodes
            .all
            .iter()
            .any(|node| !matches!(node.state, NodeState::Finished | NodeState::Lost))
        {
            let mut until_ns = clock::monotonic_ns() + LOOK_NS;
            // Handle all pending input before treating a node as silent.
            while let Some((number, happened)) = self.nodes.next(until_ns) {
                self.happened(number, happened);
                until_ns = 0;
            }
            self.pass_on();
            self.give_up_silent();
            if clock::monotonic_ns() >= self.ticked_ns + TICK_NS {
                self.ticked_ns = clock::monotonic_ns();
                self.tick();
            }
        }
    }

    fn happened(&mut self, number: u64, happened: NodeEvent) {
        let message = match happened {
            NodeEvent::Said(message, rest, at_ns) => {
                let node = &mut self.nodes.all[number as usize];
                if node.state == NodeState::Silent && clock::monotonic_ns() > node.lease_ends_ns {
                    // The node reconnected after its lease expired and has stopped its part.
                    self.lost(number);
                } else if node.state == NodeState::Silent && !node.gone {
                    node.state = NodeState::Up;
                }
                (message, rest, at_ns)
            }
            NodeEvent::Gone => return self.fell_silent(number),
        };
        match message {
            (ToConductor::Piece, bytes, _) => self.piece(number, &bytes),
            (
                ToConductor::Pong {
                    number: ping,
                    came_ns,
                    went_ns,
                },
                _,
                at_ns,
            ) => {
                let node = &mut self.nodes.all[number as usize];
                if let Some(offset) = node.pong(ping, came_ns, went_ns, at_ns) {
                    // An old offset loses accuracy because of drift.
                    node.offset = Some(offset.renewing(node.offset));
                }
            }
            (ToConductor::Line { sort, text }, _, _) => {
                self.conducting.line(Raw::new(match sort {
                    Sort::Log => OutputLine::Log {
                        text,
                        secrets: Vec::new(),
                    },
                    Sort::Text => OutputLine::Text(text),
                    Sort::ErrorText => OutputLine::ErrorText(text),
                    Sort::Trace => OutputLine::Trace(text),
                    Sort::Remark => OutputLine::Remark(text),
                }))
            }
            (ToConductor::Said { text, warning }, _, _) => {
                let line = format!("{}: {text}", self.nodes.all[number as usize].called());
                let sink = self.conducting.sink();
                if warning {
                    sink.warning(&line)
                } else {
                    sink.say(&line)
                }
            }
            (
                ToConductor::TakenOver {
                    share,
                    from_ns,
                    done,
                },
                _,
                _,
            ) => {
                let answer = TakeoverAnswer {
                    share,
                    from_ns,
                    done,
                };
                self.takeover_answered(number, answer);
            }
            (ToConductor::Over { error }, _, _) => {
                let node = &mut self.nodes.all[number as usize];
                if node.state != NodeState::Lost {
                    node.state = NodeState::Finished;
                    let called = node.called();
                    if let Some(reason) = error {
                        self.amiss(format!("{called} failed: {reason}"));
                    }
                }
                let merged = self.merger.ends(number);
                self.show(merged);
            }
            _ => {}
        }
    }

    fn takeover_answered(&mut self, node: u64, answer: TakeoverAnswer) {
        let now_ns = self.now_ns();
        let reported = self.losses.answered(&mut self.nodes, node, answer, now_ns);
        if let Some(event) = reported {
            let sink = self.conducting.sink();
            sink.say(&event.text);
            self.conducting.event(&event);
        }
    }

    fn piece(&mut self, number: u64, bytes: &[u8]) {
        let node = &mut self.nodes.all[number as usize];
        let called = node.called();
        let taken = RecordPiece::from_bytes(bytes)
            .ok_or_else(|| "a chunk of its record arrived damaged".to_owned());
        let is_lost = node.state == NodeState::Lost;
        let taken = taken.and_then(|piece| {
            if is_lost && matches!(piece, RecordPiece::Ended(_)) {
                // Intervals until the end of the node's lease belong to the run.
                return Ok((piece, None));
            }
            let replica = node.replica.as_mut().ok_or_else(String::new)?;
            let unfolded = replica.take(&piece).map_err(|error| error.to_string())?;
            Ok((piece, unfolded))
        });
        let (piece, unfolded) = match taken {
            Ok(taken) => taken,
            Err(reason) => {
                if node.replica.take().is_some() {
                    self.amiss(format!(
                        "the record of {called} is incomplete here ({reason}): use `loadline merge` with the node's own copy to complete it"
                    ));
                    let merged = self.merger.ends(number);
                    self.show(merged);
                }
                return;
            }
        };
        node.is_whole |= !is_lost && matches!(piece, RecordPiece::Ended(_));
        if let (RecordPiece::Chunk { in_flight_ages, .. }, Some(unfolded)) = (piece, unfolded) {
            node.recorded_to_ns = unfolded.frame.span.to_ns;
            node.newest = NodeSum::default();
            node.newest.add(&unfolded.frame);
            node.requests += unfolded.frame.label(label::ALL).slot.counters.issued;
            let merged = self.merger.take(number, unfolded, in_flight_ages);
            self.show(merged);
        }
    }

    fn amiss(&mut self, line: String) {
        self.conducting.sink().warning(&line);
        let event = Event::new(self.now_ns(), EventKind::Warning, line.clone());
        self.conducting.event(&event);
        self.trouble.get_or_insert(line);
    }

    fn show(&mut self, merged: Vec<Merged>) {
        if !merged.is_empty() {
            let rows = self.nodes.all.iter().map(RemoteNode::row);
            self.conducting.nodes(rows.collect());
        }
        for Merged {
            decoded,
            in_flight_ages,
        } in merged
        {
            self.conducting.interval(decoded, &in_flight_ages);
        }
    }

    fn pass_on(&mut self) {
        let stop = self.conducting.stop();
        let urgency = stop.urgency();
        if urgency <= self.announced {
            return;
        }
        self.announced = urgency;
        let text = self.cause();
        let urgent = urgency == Urgency::Abort;
        self.nodes.say(&ToNode::Stop { text, urgent });
        if self.stopped_ns.is_none() {
            self.stopped_ns = Some(clock::monotonic_ns());
            // A running node responds immediately, so its silence becomes noticeable.
            self.nodes.all.iter_mut().for_each(RemoteNode::ping);
        }
    }

    /// After a stop, names the nodes that do not respond. They soon count as lost, because a node
    /// that cannot be reached cannot be stopped before its lease ends.
    fn give_up_silent(&mut self) {
        let Some(stopped_ns) = self.stopped_ns else {
            return;
        };
        let waited_ns = clock::monotonic_ns().saturating_sub(stopped_ns);
        if waited_ns < ANSWER_NS {
            return;
        }
        let is_silent = |node: &&RemoteNode| {
            let has_ended = matches!(node.state, NodeState::Finished | NodeState::Lost);
            !has_ended && (node.gone || node.heard_ns < stopped_ns)
        };
        let silent: Vec<&RemoteNode> = self.nodes.all.iter().filter(is_silent).collect();
        let named: Vec<String> = silent.iter().map(|node| node.called()).collect();
        let is_over = |node: &&&RemoteNode| node.gone || waited_ns >= GIVE_UP_NS;
        let over: Vec<u64> = silent
            .iter()
            .filter(is_over)
            .map(|node| node.number)
            .collect();
        if !named.is_empty() && !self.has_named_silent {
            self.has_named_silent = true;
            self.conducting.sink().say(&format_args!(
                "waiting at most {} for {}: no answer to the stop",
                units::duration(GIVE_UP_NS),
                named.join(", ")
            ));
        }
        for number in over {
            self.lost(number);
            self.nodes.end(number);
        }
    }

    fn cause(&self) -> String {
        let cause = self.conducting.stop().cause();
        cause.map(ToString::to_string).unwrap_or_default()
    }

    fn tick(&mut self) {
        let now = clock::monotonic_ns();
        let asks = now >= self.clocks_ns + CLOCKS_NS;
        if self.announced > Urgency::None {
            // Also send this to nodes that were silent earlier.
            let text = self.cause();
            let urgent = self.announced == Urgency::Abort;
            self.nodes.say(&ToNode::Stop { text, urgent });
        }
        let is_given_up = self.is_given_up(now);
        for number in 0..self.nodes.all.len() {
            let node = &mut self.nodes.all[number];
            if is_given_up && !matches!(node.state, NodeState::Finished | NodeState::Lost) {
                self.lost(number as u64);
            } else if node.is_up() {
                if now > node.heard_ns.max(self.zero.monotonic_ns) + SILENT_NS {
                    self.fell_silent(number as u64);
                    continue;
                }
                let offset = node.offset.unwrap_or_default();
                let until_ns = offset.there(now + start::LEASE_NS);
                // On this machine's clock, the lease may end later by the error of the offset.
                let latest_ns = now + start::LEASE_NS + 2 * offset.error_ns;
                node.lease_ends_ns = node.lease_ends_ns.max(latest_ns);
                node.say(&ToNode::Lease { until_ns });
                if asks {
                    node.ping();
                }
            } else if node.state == NodeState::Silent && now > node.lease_ends_ns {
                self.lost(number as u64);
            }
        }
        if asks {
            self.clocks_ns = now;
        }
        self.conducting.look();
    }

    /// Returns whether the time for nodes to end after an abort is over.
    fn is_given_up(&mut self, now_ns: u64) -> bool {
        self.announced == Urgency::Abort
            && now_ns > *self.aborted_ns.get_or_insert(now_ns) + ABORT_NS
    }

    fn fell_silent(&mut self, number: u64) {
        let node = &mut self.nodes.all[number as usize];
        if node.state == NodeState::Up {
            node.state = NodeState::Silent;
        }
    }

    fn lost(&mut self, number: u64) {
        let reason = self.nodes.why_gone(number);
        let node = &mut self.nodes.all[number as usize];
        node.state = NodeState::Lost;
        let called = node.called();
        self.conducting
            .sink()
            .warning(&format_args!("{called} was lost: {reason}"));
        let merged = self.merger.ends(number);
        self.show(merged);
        if self
            .nodes
            .all
            .iter()
            .all(|node| node.state == NodeState::Lost)
        {
            self.conducting.stop().fail("the loss of all its nodes");
        } else if self.plan.policy.strict {
            let cause = Cause::Limit(format!(
                "the loss of {called}, which is not allowed with --strict"
            ));
            self.conducting.stop().stop(cause);
        }
        for reported in self.losses.waits_not_for(number, self.now_ns()) {
            self.conducting.event(&reported);
        }
        let goes_on =
            self.announced == Urgency::None && self.conducting.stop().urgency() == Urgency::None;
        let now_ns = self.now_ns();
        let reported = self
            .losses
            .lost(&mut self.nodes, number, self.zero, now_ns, goes_on);
        self.conducting.event(&reported);
    }
}
