//! Nodes from the conductor's point of view: state, messages, clock offsets.

use std::{
    collections::VecDeque,
    io::Write,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    time::Duration,
};

use plan::{Share, units::SECOND};
use record::{NodeRow, NodeState, NodeSum, Replica, units};
use worker::clock;

use crate::{
    clocks::{ClockExchange, Offset},
    link::{Backend, Link},
    wire::{self, Facts, PROTOCOL, ToConductor, ToNode},
};

const MEET: Duration = Duration::from_secs(60);
const PINGS: u64 = 64;
const PING: Duration = Duration::from_secs(5);

pub enum NodeEvent {
    Said(ToConductor, Vec<u8>, u64),
    Gone,
}

pub struct RemoteNode {
    pub number: u64,
    pub name: String,
    out: Box<dyn Write + Send>,
    pub facts: Facts,
    pub offset: Option<Offset>,
    pub began: Option<Offset>,
    asked: (u64, u64),
    pub state: NodeState,
    pub gone: bool,
    pub heard_ns: u64,
    pub lease_ends_ns: u64,
    pub recorded_to_ns: u64,
    pub replica: Option<Replica>,
    pub is_whole: bool,
    pub newest: NodeSum,
    pub requests: u64,
    pub shares: Vec<(Share, u64)>,
}

impl RemoteNode {
    /// Sends a message. If sending fails, the node's silence will show it.
    pub fn say(&mut self, message: &ToNode) {
        let _ = wire::write(&mut self.out, message, &[]);
    }

    pub fn ping(&mut self) {
        let number = self.asked.0 + 1;
        self.asked = (number, clock::monotonic_ns());
        self.say(&ToNode::Ping { number });
    }

    pub fn pong(&mut self, number: u64, came_ns: u64, went_ns: u64, at_ns: u64) -> Option<Offset> {
        (number == self.asked.0).then(|| {
            let exchange = ClockExchange {
                asked_ns: self.asked.1,
                came_ns,
                went_ns,
                answered_ns: at_ns,
            };
            exchange.offset()
        })
    }

    fn untrusted(&self, ns: u64) -> String {
        format!(
            "{}: its clock jumped by {} between two readings; the run was not started",
            self.called(),
            units::time(ns)
        )
    }

    pub fn called(&self) -> String {
        format!("node {} ({})", self.number, self.name)
    }

    pub fn row(&self) -> NodeRow {
        let offset = self.offset.unwrap_or_default();
        NodeRow {
            requests: self.requests,
            offset_ns: Some(offset.ns),
            offset_error_ns: offset.error_ns,
            ..self.newest.row(self.number, self.name.clone(), self.state)
        }
    }

    pub fn is_up(&self) -> bool {
        self.state == NodeState::Up && !self.gone
    }
}

pub struct Nodes {
    pub all: Vec<RemoteNode>,
    incoming: Receiver<(u64, NodeEvent)>,
    held: VecDeque<(u64, NodeEvent)>,
    backend: Box<dyn Backend>,
}

impl Nodes {
    pub fn meet(mut backend: Box<dyn Backend>, wanted: Option<u64>) -> Result<Nodes, Vec<String>> {
        let links = backend.place(wanted).map_err(|line| vec![line])?;
        let count = links.len() as u64;
        let (sender, incoming) = mpsc::channel();
        let mut all = Vec::new();
        for (number, link) in (0..).zip(links) {
            let Link { name, out, input } = link;
            listen(number, input, sender.clone())
                .map_err(|error| vec![format!("cannot start a thread for a node: {error}")])?;
            all.push(RemoteNode {
                number,
                name,
                out,
                facts: Facts::default(),
                offset: None,
                began: None,
                asked: (0, 0),
                state: NodeState::Up,
                gone: false,
                heard_ns: 0,
                lease_ends_ns: 0,
                recorded_to_ns: 0,
                replica: None,
                is_whole: false,
                newest: NodeSum::default(),
                requests: 0,
                shares: vec![(
                    Share {
                        index: number,
                        of: count,
                    },
                    0,
                )],
            });
        }
        let mut nodes = Nodes {
            all,
            incoming,
            held: VecDeque::new(),
            backend,
        };
        let facts = nodes.gather(MEET, "sent nothing", |message| match message {
            ToConductor::Hello(facts) => Some(*facts),
            _ => None,
        })?;
        let mut wrong = Vec::new();
        for (node, facts) in nodes.all.iter_mut().zip(facts) {
            let own = env!("CARGO_PKG_VERSION");
            if facts.version != own || facts.protocol != PROTOCOL {
                wrong.push(format!(
                    "{} has Loadline {}, but this is {own}: use the same version on all nodes",
                    node.called(),
                    facts.version
                ));
            }
            if !nodes.backend.is_here() {
                node.name.clone_from(&facts.name);
            }
            node.facts = facts;
        }
        if wrong.is_empty() {
            Ok(nodes)
        } else {
            Err(wrong)
        }
    }

    pub fn set_clocks(&mut self) -> Result<(), Vec<String>> {
        for _ in 0..PINGS {
            for node in &mut self.all {
                node.ping();
            }
            let mut left = self.all.len();
            let until_ns = clock::monotonic_ns() + PING.as_nanos() as u64;
            while left > 0 {
                match self.next(until_ns) {
                    Some((
                        number,
                        NodeEvent::Said(
                            ToConductor::Pong {
                                number: ping,
                                came_ns,
                                went_ns,
                            },
                            _,
                            at_ns,
                        ),
                    )) => {
                        let node = &mut self.all[number as usize];
                        if let Some(offset) = node.pong(ping, came_ns, went_ns, at_ns) {
                            let known = node.offset;
                            if let Some(ns) = known.and_then(|known| offset.contradicts(known)) {
                                return Err(vec![node.untrusted(ns)]);
                            }
                            node.offset = Some(offset.or(node.offset));
                            left -= 1;
                        }
                    }
                    Some((number, NodeEvent::Gone)) => return Err(vec![self.gone(number)]),
                    Some(_) => {}
                    None => {
                        return Err(vec![
                            "a node did not report its time; the run was not started".into(),
                        ]);
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits for one message from each node and returns the messages in node order.
    pub fn gather<T>(
        &mut self,
        wait: Duration,
        silent: &str,
        wanted: impl Fn(ToConductor) -> Option<T>,
    ) -> Result<Vec<T>, Vec<String>> {
        let until_ns = clock::monotonic_ns() + u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        self.gather_until(until_ns, silent, wanted)
    }

    pub fn gather_until<T>(
        &mut self,
        until_ns: u64,
        silent: &str,
        wanted: impl Fn(ToConductor) -> Option<T>,
    ) -> Result<Vec<T>, Vec<String>> {
        let mut answers: Vec<Option<T>> = self.all.iter().map(|_| None).collect();
        let mut others = VecDeque::new();
        while answers.iter().any(Option::is_none) {
            let Some((number, happened)) = self.next(until_ns) else {
                let late = answers
                    .iter()
                    .zip(&self.all)
                    .filter(|(answer, _)| answer.is_none());
                return Err(late
                    .map(|(_, node)| format!("{} {silent}", node.called()))
                    .collect());
            };
            let message = match happened {
                NodeEvent::Said(ToConductor::Refused { lines, .. }, _, _) => {
                    let called = self.all[number as usize].called();
                    return Err(lines
                        .iter()
                        .map(|line| format!("{called}: {line}"))
                        .collect());
                }
                NodeEvent::Said(
                    ToConductor::Over {
                        error: Some(reason),
                    },
                    _,
                    _,
                ) => {
                    return Err(vec![format!(
                        "{}: {reason}",
                        self.all[number as usize].called()
                    )]);
                }
                NodeEvent::Gone => return Err(vec![self.gone(number)]),
                NodeEvent::Said(
                    message @ (ToConductor::Piece
                    | ToConductor::Said { .. }
                    | ToConductor::Line { .. }),
                    rest,
                    at_ns,
                ) => {
                    // Nodes that are ready may already be sending their records.
                    others.push_back((number, NodeEvent::Said(message, rest, at_ns)));
                    continue;
                }
                NodeEvent::Said(message, _, _) => message,
            };
            if let Some(answer) = wanted(message) {
                answers[number as usize] = Some(answer);
            }
        }
        self.held.extend(others);
        Ok(answers.into_iter().flatten().collect())
    }

    pub fn next(&mut self, until_ns: u64) -> Option<(u64, NodeEvent)> {
        if let Some(held) = self.held.pop_front() {
            return Some(held);
        }
        let wait = until_ns.saturating_sub(clock::monotonic_ns());
        match self.incoming.recv_timeout(Duration::from_nanos(wait)) {
            Ok((number, happened)) => {
                if let Some(node) = self
                    .all
                    .get_mut(usize::try_from(number).unwrap_or(usize::MAX))
                {
                    match &happened {
                        NodeEvent::Said(_, _, at_ns) => node.heard_ns = *at_ns,
                        NodeEvent::Gone => node.gone = true,
                    }
                }
                Some((number, happened))
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    pub fn say(&mut self, message: &ToNode) {
        for node in self.all.iter_mut().filter(|node| node.is_up()) {
            node.say(message);
        }
    }

    pub fn gone(&mut self, number: u64) -> String {
        let reason = self.why_gone(number);
        let node = &self.all[number as usize];
        format!("{} is gone: {reason}", node.called())
    }

    pub fn why_gone(&mut self, number: u64) -> String {
        if let Some(reason) = self.backend.why_gone(number) {
            return reason;
        }
        let is_closed = self.all[number as usize].gone;
        let reason = if is_closed {
            "its connection was closed"
        } else {
            "it stopped answering"
        };
        reason.to_owned()
    }

    /// Ends a node that does not respond, if its process runs on this machine.
    pub fn end(&mut self, number: u64) {
        self.backend.end(number);
    }

    pub fn are_here(&self) -> bool {
        self.backend.is_here()
    }

    pub fn worst_ns(&self) -> u64 {
        let of_each = self.all.iter().filter_map(|node| node.offset);
        of_each
            .map(|offset| 2 * offset.error_ns)
            .max()
            .unwrap_or(SECOND)
    }
}

fn listen(
    number: u64,
    mut input: Box<dyn std::io::Read + Send>,
    incoming: Sender<(u64, NodeEvent)>,
) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name(format!("node-{number}"));
    thread.spawn(move || {
        while let Ok(Some((message, rest))) = wire::read::<ToConductor>(&mut input) {
            let at_ns = clock::monotonic_ns();
            if incoming
                .send((number, NodeEvent::Said(message, rest, at_ns)))
                .is_err()
            {
                return;
            }
        }
        let _ = incoming.send((number, NodeEvent::Gone));
    })?;
    Ok(())
}
