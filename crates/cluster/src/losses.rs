//! Takes over the arrivals of a lost node, only after the node's lease has expired, so that no
//! arrival is sent twice.

use std::collections::BTreeSet;

use plan::{
    Load, Plan, Schedule, Share, Work,
    units::{MILLISECOND, SECOND},
};
use record::{Event, EventKind, NodeLost, NodeState};
use worker::clock::Zero;

use crate::{
    nodes::{Nodes, RemoteNode},
    wire::ToNode,
};

const ROOM: f64 = 0.6;
const ON_TIME_NS: u64 = 50 * MILLISECOND;
const AHEAD_NS: u64 = SECOND;
const SLOT_NS: u64 = 100 * MILLISECOND;
const TRIES: usize = 3;

pub struct Losses {
    schedule: Schedule,
    can_move: bool,
    counts: bool,
    taking: Vec<PendingTakeover>,
}

struct PendingTakeover {
    lost: NodeLost,
    shares: Vec<(Share, u64)>,
    asked: Vec<(u64, Share)>,
    tries: usize,
    by: BTreeSet<u64>,
    is_partial: bool,
    from_ns: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct TakeoverAnswer {
    pub share: Share,
    pub from_ns: u64,
    pub done: bool,
}

pub fn can_move(plan: &Plan) -> bool {
    matches!(
        (&plan.load, &plan.work),
        (Load::Open { .. }, Work::Scenarios(_))
    )
}

fn counts(plan: &Plan) -> bool {
    can_move(plan)
        || matches!(
            (&plan.load, &plan.work),
            (Load::Open { .. }, Work::Batch(_))
        )
}

impl Losses {
    pub fn new(plan: &Plan, schedule: Schedule) -> Losses {
        Losses {
            schedule,
            can_move: can_move(plan),
            counts: counts(plan),
            taking: Vec::new(),
        }
    }

    pub fn lost(
        &mut self,
        nodes: &mut Nodes,
        number: u64,
        zero: Zero,
        now_ns: u64,
        goes_on: bool,
    ) -> Event {
        let node = &nodes.all[number as usize];
        let lost = NodeLost {
            node: number,
            name: node.name.clone(),
            recorded_to_ns: node.recorded_to_ns,
            lease_ends_ns: node
                .lease_ends_ns
                .saturating_sub(zero.monotonic_ns)
                .min(self.schedule.end_ns()),
            ..NodeLost::default()
        };
        let shares = node.shares.clone();
        let from_ns = (now_ns.max(lost.lease_ends_ns) + AHEAD_NS).next_multiple_of(SLOT_NS);
        let able: Vec<u64> = nodes
            .all
            .iter()
            .filter(|node| has_room(node))
            .map(|node| node.number)
            .collect();
        if self.can_move && goes_on && from_ns < self.schedule.end_ns() && !able.is_empty() {
            let mut asked = Vec::new();
            for (share, _) in &shares {
                for (place, taker) in (0..).zip(&able) {
                    asked.push((*taker, share.part(place, able.len() as u64)));
                }
            }
            for (taker, share) in &asked {
                let message = ToNode::TakeOver {
                    share: *share,
                    from_ns,
                };
                nodes.all[*taker as usize].say(&message);
            }
            self.taking.push(PendingTakeover {
                lost: lost.clone(),
                shares: shares.clone(),
                asked,
                tries: 0,
                by: BTreeSet::new(),
                is_partial: false,
                from_ns,
            });
        }
        self.event(lost, &shares, now_ns)
    }

    pub fn answered(
        &mut self,
        nodes: &mut Nodes,
        taker: u64,
        answer: TakeoverAnswer,
        now_ns: u64,
    ) -> Option<Event> {
        let TakeoverAnswer {
            share,
            from_ns,
            done,
        } = answer;
        let place = self
            .taking
            .iter()
            .position(|taking| taking.asked.contains(&(taker, share)))?;
        let taking = &mut self.taking[place];
        if !done && taking.tries < TRIES {
            // A node was not ready at the agreed time, so try a later time.
            taking.tries += 1;
            let from_ns = (now_ns + AHEAD_NS).next_multiple_of(SLOT_NS);
            taking.from_ns = taking.from_ns.max(from_ns);
            nodes.all[taker as usize].say(&ToNode::TakeOver { share, from_ns });
            return None;
        }
        taking.asked.retain(|asked| *asked != (taker, share));
        if done {
            taking.by.insert(taker);
            nodes.all[taker as usize].shares.push((share, from_ns));
        }
        taking.is_partial |= !done;
        self.report(place, now_ns)
    }

    pub fn waits_not_for(&mut self, node: u64, now_ns: u64) -> Vec<Event> {
        for taking in &mut self.taking {
            let before = taking.asked.len();
            taking.asked.retain(|(taker, _)| *taker != node);
            taking.is_partial |= taking.asked.len() < before;
        }
        let places = (0..self.taking.len()).rev();
        places
            .collect::<Vec<_>>()
            .into_iter()
            .filter_map(|place| self.report(place, now_ns))
            .collect()
    }

    /// Returns the event of a takeover. `None` if only part of the share was taken over, which has
    /// already been reported.
    fn report(&mut self, place: usize, now_ns: u64) -> Option<Event> {
        if !self.taking[place].asked.is_empty() {
            return None;
        }
        let PendingTakeover {
            lost,
            shares,
            by,
            from_ns,
            is_partial,
            ..
        } = self.taking.remove(place);
        if by.is_empty() || is_partial {
            return None;
        }
        let lost = NodeLost {
            taken_over_from_ns: Some(from_ns),
            by: by.into_iter().collect(),
            ..lost
        };
        Some(self.event(lost, &shares, now_ns))
    }

    fn event(&self, lost: NodeLost, shares: &[(Share, u64)], at_ns: u64) -> Event {
        let counted = if self.counts { shares } else { &[] };
        let lost = lost.counted(&self.schedule, counted);
        let text = lost.text(lost.due.saturating_sub(lost.recorded));
        Event {
            lost: Some(lost),
            ..Event::new(at_ns, EventKind::NodeLost, text)
        }
    }
}

fn has_room(node: &RemoteNode) -> bool {
    let row = node.row();
    let is_on_time = row.lateness_p99_ns.is_none_or(|late| late < ON_TIME_NS);
    node.state == NodeState::Up && node.is_up() && row.cpu < ROOM && is_on_time
}
