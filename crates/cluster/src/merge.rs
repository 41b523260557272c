//! Merges the intervals of nodes in order. An interval is complete when every node has reported it
//! or a later one.

use std::collections::{BTreeMap, BTreeSet};

use measure::{Label, LabelId, label};
use record::{Ages, DecodedChunk, IntervalRecord};

struct Spoken {
    unfolded: DecodedChunk,
    in_flight_ages: Ages,
}

#[derive(Default)]
pub struct Merger {
    waiting: BTreeMap<u64, BTreeMap<u64, Spoken>>,
    speaking: BTreeMap<u64, Option<u64>>,
    ids: BTreeMap<u64, BTreeMap<LabelId, LabelId>>,
    labels: Vec<Label>,
    next: u64,
}

pub struct Merged {
    pub decoded: DecodedChunk,
    pub in_flight_ages: Ages,
}

impl Merger {
    #[must_use]
    pub fn new(nodes: u64) -> Merger {
        Merger {
            speaking: (0..nodes).map(|node| (node, None)).collect(),
            ..Merger::default()
        }
    }

    /// Adds a chunk and returns the intervals that are now complete. Late data remains only in the
    /// node's record.
    pub fn take(&mut self, node: u64, unfolded: DecodedChunk, in_flight_ages: Ages) -> Vec<Merged> {
        let index = unfolded.frame.index;
        if let Some(spoken) = self.speaking.get_mut(&node) {
            *spoken = Some(spoken.map_or(index, |known| known.max(index)));
        }
        if index >= self.next {
            let spoken = Spoken {
                unfolded,
                in_flight_ages,
            };
            self.waiting.entry(index).or_default().insert(node, spoken);
        }
        self.complete()
    }

    pub fn ends(&mut self, node: u64) -> Vec<Merged> {
        self.speaking.remove(&node);
        self.complete()
    }

    fn complete(&mut self) -> Vec<Merged> {
        // All active nodes have reported up to this interval.
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
                    sum.decoded.frame.add(&own.decoded.frame);
                    sum.decoded.labels.append(&mut own.decoded.labels);
                    let known: BTreeSet<String> = sum
                        .decoded
                        .events
                        .iter()
                        .map(|event| event.text.clone())
                        .collect();
                    let new = own.decoded.events.into_iter();
                    let new = new.filter(|event| !known.contains(&event.text));
                    sum.decoded.events.extend(new);
                    sum.decoded.frontend.merge(own.decoded.frontend);
                    for (label, cells) in own.in_flight_ages {
                        sum.in_flight_ages.entry(label).or_default().extend(cells);
                    }
                }
            }
        }
        sum
    }

    fn translated(&mut self, node: u64, spoken: Spoken) -> Merged {
        let Spoken {
            unfolded,
            in_flight_ages,
        } = spoken;
        let new = self.learn(node, unfolded.labels);
        let ids = self.ids.entry(node).or_default();
        let own = |label: LabelId| ids.get(&label).copied().unwrap_or(label);
        let frame = unfolded.frame;
        let parts = frame.parts.into_iter();
        let parts = parts.map(|((label, phase), part)| ((own(label), phase), part));
        let mut events = unfolded.events;
        events.iter_mut().for_each(|event| event.relabel(own));
        Merged {
            decoded: DecodedChunk {
                frame: IntervalRecord {
                    parts: parts.collect(),
                    ..frame
                },
                labels: new,
                events,
                frontend: unfolded.frontend,
            },
            in_flight_ages: in_flight_ages
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
        let part = merged.decoded.frame.parts.get(&(id, 0));
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
            (done[0].decoded.frame.run.due, count(&done[0], label::ALL)),
            (4, 4)
        );
        assert!(
            merger
                .take(1, spoken(1, &[2], None), Ages::new())
                .is_empty()
        );
        let done = merger.ends(2);
        assert_eq!((done.len(), done[0].decoded.frame.run.due), (1, 2));
        assert!(
            merger
                .take(2, spoken(0, &[9], None), Ages::new())
                .is_empty()
        );
        assert!(
            merger
                .take(0, spoken(2, &[1], None), Ages::new())
                .is_empty()
        );
        let done = merger.take(1, spoken(3, &[1], None), Ages::new());
        assert_eq!((done.len(), done[0].decoded.frame.index), (1, 2));
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
            .decoded
            .labels
            .iter()
            .map(|l| (l.id, l.name.as_str()))
            .collect();
        assert_eq!(names, [(5, "/a"), (6, "/b")]);
        assert_eq!((count(&done[0], 5), count(&done[0], 6)), (1, 2));
        assert_eq!(done[0].in_flight_ages, Ages::from([(6, vec![(7, 2)])]));
        merger.take(0, spoken(1, &[1], Some((9, "/b"))), Ages::new());
        let done = merger.take(1, spoken(1, &[1], None), Ages::new());
        assert!(done[0].decoded.labels.is_empty());
        assert_eq!(count(&done[0], 6), 1);
    }
}
