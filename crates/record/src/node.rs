//! Lost nodes: their events, and the effect on arrivals. The conductor decides which nodes are
//! lost.

use measure::TimeSpan;
use plan::{Schedule, Share};
use serde::{Deserialize, Serialize};

use crate::{Event, ProcessFacts, Run, units};

/// The loss of a node. Times are in nanoseconds from the start of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeLost {
    #[serde(default)]
    pub node: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default)]
    pub recorded_to_ns: u64,
    /// End of the node's lease, after which the node sends no requests.
    #[serde(default)]
    pub lease_ends_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub due: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recorded: u64,
    /// Arrivals that were not sent, because they were due between the end of the lease and the
    /// takeover or the end of the load.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent: u64,
    /// Time from which other nodes take over the share. `None` if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over_from_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<u64>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl NodeLost {
    #[must_use]
    pub fn counted(mut self, schedule: &Schedule, shares: &[(Share, u64)]) -> NodeLost {
        let until = |at_ns: u64| {
            let due =
                |(share, from_ns): &(Share, u64)| schedule.due_of_share(*share, *from_ns, at_ns);
            shares.iter().map(due).sum::<u64>()
        };
        self.due = until(self.lease_ends_ns);
        self.recorded = until(self.recorded_to_ns).min(self.due);
        let left = |(share, from_ns): &(Share, u64)| {
            let first = share.of_first(schedule.before(*from_ns));
            let next = match self.taken_over_from_ns {
                Some(at_ns) => schedule.before(at_ns),
                None => schedule.total(),
            };
            share.of_first(next).saturating_sub(first)
        };
        self.unsent = shares
            .iter()
            .map(left)
            .sum::<u64>()
            .saturating_sub(self.due);
        self
    }

    #[must_use]
    pub fn text(&self, unknown: u64) -> String {
        let lost = format!(
            "{} was lost at {}",
            called(self.node, &self.name),
            clock(self.recorded_to_ns)
        );
        let others = match self.by.len() {
            1 => "another".to_owned(),
            n => format!("{} others", units::count(n as u64)),
        };
        let taken_over = self.taken_over_from_ns.map(clock);
        if self.due + self.unsent == 0 {
            return match taken_over {
                Some(at) => format!("{lost}: {others} took over at {at}"),
                None => format!("{lost}, and its share was not taken over"),
            };
        }
        let arrivals = match self.unsent {
            1 => "1 arrival".to_owned(),
            n => format!("{} arrivals", units::count(n)),
        };
        let unknown = units::count(unknown);
        match taken_over {
            Some(at) => format!(
                "{lost}: {arrivals} unsent until {others} took over at {at}, {unknown} unknown"
            ),
            None => format!(
                "{lost}, and its share was not taken over: {arrivals} unsent, {unknown} unknown"
            ),
        }
    }

    /// Returns the period that the loss affects: from the end of the node's record to the takeover.
    #[must_use]
    pub fn touched(&self, end_ns: u64) -> TimeSpan {
        let to_ns = self.taken_over_from_ns.unwrap_or(end_ns);
        TimeSpan::new(self.recorded_to_ns, to_ns.max(self.recorded_to_ns))
    }

    fn unknown(&self, processes: &[ProcessFacts]) -> u64 {
        if processes.is_empty() {
            return self.due.saturating_sub(self.recorded);
        }
        let own = processes
            .iter()
            .find(|process| process.share.index == self.node);
        match own {
            None => self.due,
            Some(own) if own.is_whole() => 0,
            Some(own) => self.due.saturating_sub(own.due),
        }
    }
}

#[must_use]
pub fn called(node: u64, name: &str) -> String {
    if name.is_empty() {
        return format!("node {node}");
    }
    format!("node {node} ({name})")
}

#[must_use]
pub fn clock(ns: u64) -> String {
    let seconds = ns / plan::units::SECOND;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        return format!("{hours}:{minutes:02}:{seconds:02}");
    }
    format!("{minutes:02}:{seconds:02}")
}

impl ProcessFacts {
    fn is_whole(&self) -> bool {
        let closed = self.end.as_ref();
        closed.is_some_and(|end| end.recorded_to_ns.unwrap_or(end.ns) <= self.recorded_to_ns)
    }
}

impl Run {
    #[must_use]
    pub fn nodes_lost(&self) -> Vec<&NodeLost> {
        all(&self.events)
    }

    /// Returns the number of arrivals of lost nodes between the end of their record and the end of
    /// their lease.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        let lost = self.nodes_lost();
        lost.into_iter().map(|lost| self.unknown_of(lost)).sum()
    }

    #[must_use]
    pub fn unknown_of(&self, lost: &NodeLost) -> u64 {
        lost.unknown(&self.processes)
    }

    /// Returns an upper bound for the number of arrivals that losses left unsent, if the records of
    /// the lost nodes determine it.
    #[must_use]
    pub fn left_by_lost(&self) -> u64 {
        let lost = self.nodes_lost().into_iter();
        lost.map(|lost| {
            let after = lost.due.saturating_sub(lost.recorded);
            after.saturating_sub(self.unknown_of(lost))
        })
        .sum()
    }

    /// Returns the number of arrivals that a lost node recorded after its lease. Other nodes may
    /// also have sent them.
    #[must_use]
    pub fn counted_twice(&self) -> u64 {
        let lost = self.nodes_lost();
        let beyond = lost.into_iter().filter_map(|lost| {
            let mut all = self.processes.iter();
            let own = all.find(|process| process.share.index == lost.node)?;
            Some(own.due.saturating_sub(lost.due))
        });
        beyond.sum()
    }

    pub(crate) fn is_lost(&self, node: u64) -> bool {
        let mut reported = self.events.iter().filter_map(|event| event.lost.as_ref());
        reported.any(|lost| lost.node == node)
    }
}

fn all(events: &[Event]) -> Vec<&NodeLost> {
    let mut lost: Vec<&NodeLost> = Vec::new();
    for reported in events.iter().filter_map(|event| event.lost.as_ref()) {
        lost.retain(|known| known.node != reported.node);
        lost.push(reported);
    }
    lost.sort_by_key(|lost| lost.node);
    lost
}

pub(crate) fn touched(events: &[Event], end_ns: u64) -> Vec<TimeSpan> {
    let mut touched: Vec<TimeSpan> = Vec::new();
    let lost = all(events).into_iter();
    let mut spans: Vec<TimeSpan> = lost.map(|lost| lost.touched(end_ns)).collect();
    spans.retain(|span| span.from_ns < span.to_ns);
    spans.sort_unstable();
    for span in spans {
        match touched.last_mut() {
            Some(last) if span.from_ns <= last.to_ns => last.to_ns = last.to_ns.max(span.to_ns),
            _ => touched.push(span),
        }
    }
    touched
}

#[cfg(test)]
mod tests {
    use plan::{FirstArrival, Load, Phase, Rate, Shape, units::SECOND};
    use proptest::prelude::*;

    use super::*;
    use crate::EventKind;

    fn schedule(rate: u64, seconds: u64) -> Schedule {
        let phase = Phase::new(seconds * SECOND, Shape::Rate(Rate::per_second(rate)));
        let load = Load::Open {
            phases: vec![phase],
            first: FirstArrival::AtStart,
        };
        Schedule::new(&load, 1)
    }

    fn lost() -> NodeLost {
        NodeLost {
            node: 1,
            name: "worker-b".into(),
            recorded_to_ns: 20 * SECOND,
            lease_ends_ns: 25 * SECOND,
            taken_over_from_ns: Some(26 * SECOND),
            by: vec![0, 2],
            ..NodeLost::default()
        }
    }

    #[test]
    fn what_is_lost_is_counted_by_arithmetic_and_said_in_words() {
        let own = [(Share { index: 1, of: 3 }, 0)];
        let reported = lost().counted(&schedule(300, 60), &own);
        assert_eq!(
            (reported.due, reported.recorded, reported.unsent),
            (2500, 2000, 100)
        );
        assert_eq!(
            reported.text(500),
            "node 1 (worker-b) was lost at 00:20: 100 arrivals unsent until 2 others took over at 00:26, 500 unknown"
        );
        let not_taken_over = NodeLost {
            name: String::new(),
            taken_over_from_ns: None,
            by: Vec::new(),
            ..reported
        };
        let not_taken_over = not_taken_over.counted(&schedule(300, 60), &own);
        assert_eq!(not_taken_over.unsent, 3500);
        assert_eq!(
            not_taken_over.text(0),
            "node 1 was lost at 00:20, and its share was not taken over: 3,500 arrivals unsent, 0 unknown"
        );
        let closed = NodeLost {
            recorded_to_ns: 3_601 * SECOND,
            taken_over_from_ns: None,
            ..lost()
        };
        assert_eq!(
            closed.text(0),
            "node 1 (worker-b) was lost at 1:00:01, and its share was not taken over"
        );
    }

    #[test]
    fn what_is_touched_reaches_from_the_end_of_the_record_to_where_others_had_taken_over() {
        let reported = |lost: NodeLost| Event {
            lost: Some(lost),
            ..Event::new(0, EventKind::NodeLost, "")
        };
        let not_taken_over = NodeLost {
            node: 2,
            recorded_to_ns: 50 * SECOND,
            taken_over_from_ns: None,
            ..lost()
        };
        let first = NodeLost {
            taken_over_from_ns: None,
            ..lost()
        };
        let mut events = vec![reported(first), reported(not_taken_over), reported(lost())];
        let spans = |events: &[Event]| {
            let spans = touched(events, 60 * SECOND).into_iter();
            spans
                .map(|span| (span.from_ns / SECOND, span.to_ns / SECOND))
                .collect::<Vec<_>>()
        };
        assert_eq!(spans(&events), [(20, 26), (50, 60)]);
        events.push(reported(NodeLost {
            node: 3,
            recorded_to_ns: 25 * SECOND,
            taken_over_from_ns: Some(50 * SECOND),
            ..lost()
        }));
        assert_eq!(spans(&events), [(20, 60)]);
    }

    proptest! {
        #[test]
        fn each_arrival_of_a_lost_share_is_due_left_or_taken_over(
            rate in 1u64..500, of in 2u64..6, recorded in 0u64..12_000, lease in 0u64..6_000, gap in 0u64..3_000,
        ) {
            let schedule = schedule(rate, 10);
            let ms = plan::units::MILLISECOND;
            let share = Share { index: of - 1, of };
            let part = Share { index: 0, of }.part(0, of - 1);
            let shares = [(share, 0), (part, 1_500 * ms)];
            let from_ns = (recorded + lease + gap) * ms;
            let reported = NodeLost {
                recorded_to_ns: recorded * ms,
                lease_ends_ns: (recorded + lease) * ms,
                taken_over_from_ns: Some(from_ns),
                ..NodeLost::default()
            };
            let reported = reported.counted(&schedule, &shares);
            let taken: u64 = shares.iter().map(|(share, own)| schedule.due_of_share(*share, from_ns.max(*own), u64::MAX)).sum();
            let all: u64 = shares.iter().map(|(share, own)| schedule.due_of_share(*share, *own, u64::MAX)).sum();
            prop_assert_eq!(reported.due + reported.unsent + taken, all);
            prop_assert!(reported.recorded <= reported.due);
            let not_taken_over = NodeLost { taken_over_from_ns: None, ..reported.clone() }.counted(&schedule, &shares);
            prop_assert_eq!(not_taken_over.due + not_taken_over.unsent, all);
        }
    }
}
