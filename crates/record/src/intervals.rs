//! Streams the intervals of a run one at a time, merged over all processes.

use std::{collections::BTreeMap, iter::Peekable};

use measure::LabelId;

use super::{IntervalReader, IntervalRecord};

pub struct Frames {
    processes: Vec<Process>,
    until_ns: Option<u64>,
}

struct Process {
    reader: Peekable<IntervalReader>,
    ids: BTreeMap<LabelId, LabelId>,
}

impl Frames {
    pub(super) fn until(until_ns: Option<u64>) -> Frames {
        Frames {
            processes: Vec::new(),
            until_ns,
        }
    }

    pub(super) fn join(&mut self, reader: IntervalReader, ids: BTreeMap<LabelId, LabelId>) {
        let reader = reader.peekable();
        self.processes.push(Process { reader, ids });
    }
}

impl Iterator for Frames {
    type Item = IntervalRecord;

    fn next(&mut self) -> Option<IntervalRecord> {
        let heads = self.processes.iter_mut();
        let index = heads
            .filter_map(|process| process.reader.peek().map(|frame| frame.index))
            .min()?;
        let mut sum: Option<IntervalRecord> = None;
        for process in &mut self.processes {
            let Some(mut frame) = process.reader.next_if(|frame| frame.index == index) else {
                continue;
            };
            let id = |id: LabelId| process.ids.get(&id).copied().unwrap_or(id);
            let parts = std::mem::take(&mut frame.parts).into_iter();
            frame.parts = parts
                .map(|((label, phase), part)| ((id(label), phase), part))
                .collect();
            match &mut sum {
                Some(sum) => sum.add(&frame),
                None => sum = Some(frame),
            }
        }
        sum.filter(|frame| self.until_ns.is_none_or(|end| frame.span.to_ns <= end))
    }
}
