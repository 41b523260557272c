//! What becomes of the arrivals of a node that was lost: who of the others takes them over, from when on, and what is told of it. That a node is
//! lost, the conductor finds out; no two nodes ever carry out the same arrival, because nothing is taken over before the lease of the lost one has ended.

use std::collections::BTreeSet;

use engine::Zero;
use plan::{
    Load, Plan, Schedule, Share, Work,
    units::{MILLISECOND, SECOND},
};
use record::{Event, EventKind, NodeLost, NodeState};

use crate::{
    nodes::{Nodes, RemoteNode},
    wire::ToNode,
};

/// A node has room for more below this share of a core, of its busiest worker.
const ROOM: f64 = 0.6;
/// And while it keeps its own time to this.
const ON_TIME_NS: u64 = 50 * MILLISECOND;
/// Shares are taken over so long behind the word that says so.
const AHEAD_NS: u64 = SECOND;
/// From the beginning of such a slot on.
const SLOT_NS: u64 = 100 * MILLISECOND;
/// So often somebody is asked again who was held up.
const TRIES: usize = 3;

/// The losses of a run.
pub struct Losses {
    schedule: Schedule,
    /// Whether arrivals can be carried out by another.
    can_move: bool,
    /// Whether each process's arrivals are those of its share of the schedule, which so can be counted.
    counts: bool,
    taking: Vec<PendingTakeover>,
}

/// A share that is being taken over.
struct PendingTakeover {
    lost: NodeLost,
    shares: Vec<(Share, u64)>,
    /// What was asked, and of whom.
    asked: Vec<(u64, Share)>,
    tries: usize,
    by: BTreeSet<u64>,
    /// Whether a part of it was taken over by nobody.
    is_partial: bool,
    from_ns: u64,
}

/// Whether a plan's arrivals go by a schedule of which any node can carry out a part: those of scenarios do.
pub fn can_move(plan: &Plan) -> bool {
    matches!(
        (&plan.load, &plan.work),
        (Load::Open { .. }, Work::Scenarios(_))
    )
}

/// Whether what a node was to send is its share of the schedule: of raw requests it is too, though they stay on the connections that they have.
fn counts(plan: &Plan) -> bool {
    can_move(plan)
        || matches!(
            (&plan.load, &plan.work),
            (Load::Open { .. }, Work::Batch(_))
        )
}

impl Losses {
    /// Of a run with this schedule.
    pub fn new(plan: &Plan, schedule: Schedule) -> Losses {
        Losses {
            schedule,
            can_move: can_move(plan),
            counts: counts(plan),
            taking: Vec::new(),
        }
    }

    /// A node was lost; asks the others to take its shares over where they have room. Answers what is to be told of it now.
    pub fn lost(
        &mut self,
        nodes: &mut Nodes,
        number: u64,
        (zero, now_ns): (Zero, u64),
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
                let said = ToNode::Adopt {
                    share: *share,
                    from_ns,
                };
                nodes.all[*taker as usize].say(&said);
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

    /// Somebody has said whether it takes a share over; answers what is to be told once all have.
    pub fn answered(
        &mut self,
        nodes: &mut Nodes,
        taker: u64,
        (share, from_ns, done): (Share, u64, bool),
        now_ns: u64,
    ) -> Option<Event> {
        let place = self
            .taking
            .iter()
            .position(|taking| taking.asked.contains(&(taker, share)))?;
        let taking = &mut self.taking[place];
        if !done && taking.tries < TRIES {
            // Held up: from later on, then.
            taking.tries += 1;
            let from_ns = (now_ns + AHEAD_NS).next_multiple_of(SLOT_NS);
            taking.from_ns = taking.from_ns.max(from_ns);
            nodes.all[taker as usize].say(&ToNode::Adopt { share, from_ns });
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

    /// Whoever is lost takes nothing over any more; answers what is to be told because nobody else was waited for.
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

    /// What is to be told of a share once everybody has said whether he takes it; nothing of one that was not taken over as a whole, which
    /// was told to be lost.
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

/// Whether a node can take more upon itself.
fn has_room(node: &RemoteNode) -> bool {
    let row = node.row();
    let is_on_time = row.lateness_p99_ns.is_none_or(|late| late < ON_TIME_NS);
    node.state == NodeState::Up && node.is_up() && row.cpu < ROOM && is_on_time
}
