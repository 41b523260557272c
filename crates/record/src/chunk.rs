//! `RecordChunk`: the data that one interval appends to each record file. Nodes without a shared
//! file system send it as bytes.

use measure::{Label, accumulator::Tally};
use serde::{Serialize, de::DeserializeOwned};

use super::{Event, IntervalReader, IntervalRecord, counters, front_end::FrontendLine, hlog};

const MARK: &str = "chunk1";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordChunk {
    pub(super) labels: String,
    pub(super) intervals: String,
    pub(super) frontend: String,
    pub(super) events: String,
    pub(super) counters: String,
}

#[derive(Debug, Clone, Default)]
pub struct DecodedChunk {
    pub frame: IntervalRecord,
    pub labels: Vec<Label>,
    pub events: Vec<Event>,
    pub frontend: Tally,
}

impl RecordChunk {
    pub(super) fn new(
        frame: &IntervalRecord,
        labels: &[Label],
        frontend: Option<&FrontendLine>,
        events: &[Event],
        encoder: &mut hlog::Encoder,
    ) -> RecordChunk {
        let mut intervals = String::new();
        encoder.write(frame, &mut intervals);
        RecordChunk {
            labels: json_lines(labels),
            intervals,
            frontend: json_lines(frontend),
            events: json_lines(events),
            counters: json_lines(&counters::lines_of(frame)),
        }
    }

    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let texts = [
            &self.labels,
            &self.intervals,
            &self.frontend,
            &self.events,
            &self.counters,
        ];
        let lengths = texts.map(|text| text.len().to_string()).join(" ");
        let texts: String = texts.into_iter().map(String::as_str).collect();
        format!("{MARK} {lengths}\n{texts}").into_bytes()
    }

    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<RecordChunk> {
        let (head, mut rest) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
        let mut lengths = head.strip_prefix(MARK)?.strip_prefix(' ')?.split(' ');
        let mut next = || {
            let (text, after) = rest.split_at_checked(lengths.next()?.parse().ok()?)?;
            rest = after;
            Some(text.to_owned())
        };
        let chunk = RecordChunk {
            labels: next()?,
            intervals: next()?,
            frontend: next()?,
            events: next()?,
            counters: next()?,
        };
        (rest.is_empty() && lengths.next().is_none()).then_some(chunk)
    }

    #[must_use]
    pub fn unfold(&self) -> Option<DecodedChunk> {
        let mut reader = IntervalReader::new(&self.counters, &self.intervals);
        let frame = reader.next()?;
        (reader.next().is_none() && !reader.is_broken()).then_some(())?;
        Some(DecodedChunk {
            frame,
            labels: things(&self.labels)?,
            events: things(&self.events)?,
            frontend: frontend_of(&self.frontend)?,
        })
    }
}

fn frontend_of(text: &str) -> Option<Tally> {
    let mut all = Tally::default();
    for line in things::<FrontendLine>(text)? {
        all.merge(line.part());
    }
    Some(all)
}

pub(super) fn json_lines<'a, T: Serialize + 'a>(items: impl IntoIterator<Item = &'a T>) -> String {
    let mut text = String::new();
    for line in items
        .into_iter()
        .filter_map(|item| serde_json::to_string(item).ok())
    {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn things<T: DeserializeOwned>(text: &str) -> Option<Vec<T>> {
    let things = text.lines().map(|line| serde_json::from_str(line).ok());
    things.collect()
}

#[cfg(test)]
mod tests {
    use measure::TimeSpan;
    use measure::{Labels, OutcomeClass, TimeKind, label};
    use proptest::prelude::*;

    use super::*;
    use crate::EventKind;

    fn chunk(index: u64, values: &[(u32, u64)], text: &str) -> RecordChunk {
        let mut frame = IntervalRecord {
            index,
            span: TimeSpan::new(500_000_000, 1_500_000_000),
            phase: 1,
            ..IntervalRecord::default()
        };
        frame.run.due = values.len() as u64;
        for (phase, value) in values {
            let part = frame.parts.entry((label::ALL, *phase)).or_default();
            part.slot
                .record(TimeKind::Service, OutcomeClass::Ok, *value);
            (part.slot.counters.issued, part.slot.counters.ok) = (1, 1);
            part.failures.insert(text.to_owned(), 3);
        }
        let events = [Event::new(index, EventKind::Warning, text)];
        let mut encoder = hlog::Encoder::new().unwrap();
        RecordChunk::new(&frame, Labels::default().all(), None, &events, &mut encoder)
    }

    proptest! {
        #[test]
        fn chunk_round_trips(
            index in 0..1_000_000u64,
            values in prop::collection::vec((0..3u32, 1..3_600_000_000_000u64), 0..50),
            text in any::<String>(),
        ) {
            let chunk = chunk(index, &values, &text);
            let bytes = chunk.to_bytes();
            let came = RecordChunk::from_bytes(&bytes).unwrap();
            prop_assert_eq!(&came, &chunk);
            let DecodedChunk { frame, labels, events, .. } = came.unfold().unwrap();
            let mut encoder = hlog::Encoder::new().unwrap();
            prop_assert_eq!(RecordChunk::new(&frame, &labels, None, &events, &mut encoder), chunk);
            prop_assert_eq!(RecordChunk::from_bytes(&bytes[..bytes.len() - 1]), None);
        }

        #[test]
        fn any_bytes_are_a_chunk_or_none(mut at in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4)) {
            let mut bytes = chunk(7, &[(1, 1_000), (0, 5_000)], "status 503").to_bytes();
            for (at, byte) in at.drain(..) {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some(unfolded) = RecordChunk::from_bytes(&bytes).and_then(|chunk| chunk.unfold()) {
                prop_assert!(unfolded.frame.span.from_ns <= unfolded.frame.span.to_ns);
            }
        }
    }

    #[test]
    fn half_an_interval_is_none_and_so_are_two() {
        let (one, two) = (chunk(1, &[(1, 5)], ""), chunk(2, &[(1, 5)], ""));
        let cut = |text: &str| text.lines().next().unwrap().to_owned() + "\n";
        let half = RecordChunk {
            counters: cut(&one.counters),
            ..one.clone()
        };
        let both = RecordChunk {
            counters: one.counters.clone() + &two.counters,
            intervals: one.intervals.clone() + &two.intervals,
            ..one
        };
        assert!(half.unfold().is_none() && both.unfold().is_none());
    }
}
