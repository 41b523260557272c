//! The nodes' intervals, as they come, into intervals of the whole run, in order: an interval is complete when everybody who may still
//! have something to say of it has spoken. Names that came up on several nodes are one. Nothing is averaged: counts and histograms are added.

use std::collections::{BTreeMap, BTreeSet};

use measure::{Label, LabelId, label};
use record::{Ages, DecodedChunk, IntervalRecord};

/// One node's word on an interval.
struct Spoken {
    unfolded: DecodedChunk,
    under_way: Ages,
}

/// Merges what nodes say.
#[derive(Default)]
pub struct Merger {
    /// By interval, by node.
    waiting: BTreeMap<u64, BTreeMap<u64, Spoken>>,
    /// Who may still say something, and up to which interval each has spoken.
    speaking: BTreeMap<u64, Option<u64>>,
    /// By node, the whole run's number of each of its labels.
    ids: BTreeMap<u64, BTreeMap<LabelId, LabelId>>,
    labels: Vec<Label>,
    /// The first that has not been answered.
    next: u64,
}

/// An interval of the whole run.
pub struct Merged {
    /// What is in it.
    pub whole: DecodedChunk,
    /// How long requests have been under way that are so at its end.
    pub under_way: Ages,
}

impl Merger {
    /// Of so many nodes.
    #[must_use]
    pub fn new(nodes: u64) -> Merger {
        Merger {
            speaking: (0..nodes).map(|node| (node, None)).collect(),
            ..Merger::default()
        }
    }

    /// A node has spoken; answers what is complete by that. What comes for an interval that has been answered already is late: it is in
    /// the node's record, and in nothing that is shown meanwhile.
    pub fn take(&mut self, node: u64, unfolded: DecodedChunk, under_way: Ages) -> Vec<Merged> {
        let index = unfolded.frame.index;
        if let Some(spoken) = self.speaking.get_mut(&node) {
            *spoken = Some(spoken.map_or(index, |known| known.max(index)));
        }
        if index >= self.next {
            let spoken = Spoken {
                unfolded,
                under_way,
            };
            self.waiting.entry(index).or_default().insert(node, spoken);
        }
        self.complete()
    }

    /// A node has nothing more to say; answers what is complete by that.
    pub fn ends(&mut self, node: u64) -> Vec<Merged> {
        self.speaking.remove(&node);
        self.complete()
    }

    fn complete(&mut self) -> Vec<Merged> {
        // Up to there everybody has spoken who still does.
        let until = match self.speaking.values().min() {
            Some(Some(index)) => *index,
            Some(None) => return Vec::new(),
            None => u64::MAX,
        };
        let mut complete = Vec::new();
        while let Some(entry) = self.waiting.first_entry() {
            if *entry.key() > until {
                break;
            }
            self.next = entry.key() + 1;
            let of_nodes = entry.remove();
            complete.extend(self.merge(of_nodes));
        }
        complete
    }

    fn merge(&mut self, of_nodes: BTreeMap<u64, Spoken>) -> Option<Merged> {
        let mut sum: Option<Merged> = None;
        for (node, spoken) in of_nodes {
            let mut own = self.translated(node, spoken);
            match &mut sum {
                None => sum = Some(own),
                Some(sum) => {
                    sum.whole.frame.add(&own.whole.frame);
                    sum.whole.labels.append(&mut own.whole.labels);
                    let known: BTreeSet<String> = sum
                        .whole
                        .events
                        .iter()
                        .map(|event| event.text.clone())
                        .collect();
                    let new = own.whole.events.into_iter();
                    let new = new.filter(|event| !known.contains(&event.text));
                    sum.whole.events.extend(new);
                    sum.whole.door.merge(own.whole.door);
                    for (label, cells) in own.under_way {
                        sum.under_way.entry(label).or_default().extend(cells);
                    }
                }
            }
        }
        sum
    }

    /// With the whole run's numbers of labels; those that nobody has had before are its new ones.
    fn translated(&mut self, node: u64, spoken: Spoken) -> Merged {
        let Spoken {
            unfolded,
            under_way,
        } = spoken;
        let new = self.learn(node, unfolded.labels);
        let ids = self.ids.entry(node).or_default();
        let own = |label: LabelId| ids.get(&label).copied().unwrap_or(label);
        let frame = unfolded.frame;
        let parts = frame.parts.into_iter();
        let parts = parts.map(|((label, phase), part)| ((own(label), phase), part));
        let mut events = unfolded.events;
        for error in events.iter_mut().filter_map(|event| event.error.as_mut()) {
            error.label = own(error.label);
        }
        Merged {
            whole: DecodedChunk {
                frame: IntervalRecord {
                    parts: parts.collect(),
                    ..frame
                },
                labels: new,
                events,
                door: unfolded.door,
            },
            under_way: under_way
                .into_iter()
                .map(|(label, cells)| (own(label), cells))
                .collect(),
        }
    }

    fn learn(&mut self, node: u64, labels: Vec<Label>) -> Vec<Label> {
        let ids = self.ids.entry(node).or_default();
        let mut new = Vec::new();
        for label in labels {
            let (id, is_new) = label::settle(&mut self.labels, &label);
            ids.insert(label.id, id);
            if is_new {
                new.push(Label { id, ..label });
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use measure::{OutcomeClass, TimeKind, label::LabelGroup};

    use super::*;

    fn spoken(index: u64, values: &[u64], name: Option<(LabelId, &str)>) -> DecodedChunk {
        let mut unfolded = DecodedChunk::default();
        unfolded.frame.index = index;
        unfolded.frame.run.due = values.len() as u64;
        let own = name.map_or(label::ALL, |(id, _)| id);
        for value in values {
            for id in BTreeSet::from([label::ALL, own]) {
                let part = unfolded.frame.parts.entry((id, 0)).or_default();
                part.slot
                    .record(TimeKind::Service, OutcomeClass::Ok, *value);
            }
        }
        unfolded.labels.extend(name.map(|(id, name)| Label {
            id,
            group: LabelGroup::Request,
            method: "GET".into(),
            name: name.into(),
            text: name.into(),
        }));
        unfolded
    }

    fn count(merged: &Merged, id: LabelId) -> u64 {
        let part = merged.whole.frame.parts.get(&(id, 0));
        let times = part.and_then(|part| part.slot.histogram(TimeKind::Service, OutcomeClass::Ok));
        times.map_or(0, measure::Histogram::count)
    }

    #[test]
    fn an_interval_is_complete_when_everybody_has_spoken() {
        let mut merger = Merger::new(3);
        assert!(
            merger
                .take(0, spoken(0, &[1], None), Ages::new())
                .is_empty()
        );
        assert!(
            merger
                .take(0, spoken(1, &[1], None), Ages::new())
                .is_empty()
        );
        assert!(
            merger
                .take(1, spoken(0, &[2], None), Ages::new())
                .is_empty()
        );
        let done = merger.take(2, spoken(0, &[3, 4], None), Ages::new());
        assert_eq!(done.len(), 1);
        assert_eq!(
            (done[0].whole.frame.run.due, count(&done[0], label::ALL)),
            (4, 4)
        );
        // Who is gone is waited for no longer, and what it said before counts.
        assert!(
            merger
                .take(1, spoken(1, &[2], None), Ages::new())
                .is_empty()
        );
        let done = merger.ends(2);
        assert_eq!((done.len(), done[0].whole.frame.run.due), (1, 2));
        // What comes too late is in no other interval.
        assert!(
            merger
                .take(2, spoken(0, &[9], None), Ages::new())
                .is_empty()
        );
        // An interval in which one had nothing is complete when that one is further.
        assert!(
            merger
                .take(0, spoken(2, &[1], None), Ages::new())
                .is_empty()
        );
        let done = merger.take(1, spoken(3, &[1], None), Ages::new());
        assert_eq!((done.len(), done[0].whole.frame.index), (1, 2));
        merger.ends(0);
        assert_eq!(merger.ends(1).len(), 0);
    }

    #[test]
    fn names_that_come_up_are_one_whatever_their_numbers() {
        let mut merger = Merger::new(2);
        merger.take(0, spoken(0, &[1], Some((5, "/a"))), Ages::new());
        let ages = Ages::from([(5, vec![(7, 2)])]);
        let done = merger.take(1, spoken(0, &[1, 1], Some((5, "/b"))), ages);
        let names: Vec<_> = done[0]
            .whole
            .labels
            .iter()
            .map(|l| (l.id, l.name.as_str()))
            .collect();
        assert_eq!(names, [(5, "/a"), (6, "/b")]);
        assert_eq!((count(&done[0], 5), count(&done[0], 6)), (1, 2));
        assert_eq!(done[0].under_way, Ages::from([(6, vec![(7, 2)])]));
        merger.take(0, spoken(1, &[1], Some((9, "/b"))), Ages::new());
        let done = merger.take(1, spoken(1, &[1], None), Ages::new());
        assert!(done[0].whole.labels.is_empty());
        assert_eq!(count(&done[0], 6), 1);
    }
}
