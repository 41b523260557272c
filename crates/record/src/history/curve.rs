//! Points over time, up to a maximum number. When it is reached, the width of the points doubles.
//! Finished points are packed, and wide points have a lower resolution to save memory.

use std::collections::BTreeMap;

use measure::{OutcomeClass, Packed, Slot, TimeKind, TimeSpan, slot::Counters};

use crate::LabelTotals;

#[derive(Debug, Clone)]
pub struct Curve {
    most: usize,
    halvings: u32,
    width_s: u64,
    finished: BTreeMap<u64, PackedPoint>,
    open: Option<(u64, Point)>,
}

#[derive(Debug, Clone, Default)]
pub struct Point {
    pub span: TimeSpan,
    pub part: LabelTotals,
}

#[derive(Debug, Clone)]
struct PackedPoint {
    span: TimeSpan,
    counters: Counters,
    times: Vec<(TimeKind, OutcomeClass, Packed)>,
}

impl Curve {
    /// Creates a curve of at most `most` points. Halving the resolution of wide points moves
    /// percentiles by at most 0.2 % (2 halvings) or 0.8 % (4 halvings).
    #[must_use]
    pub fn new(most: usize, halvings: u32) -> Curve {
        Curve {
            most,
            halvings,
            width_s: 1,
            finished: BTreeMap::new(),
            open: None,
        }
    }

    #[must_use]
    pub fn width_ns(&self) -> u64 {
        self.width_s * 1_000_000_000
    }

    #[must_use]
    pub fn point_of(&self, second: u64) -> u64 {
        second / self.width_s
    }

    pub fn reach(&mut self, second: u64, span: TimeSpan) -> &mut Slot {
        while self.is_elsewhere(second) {
            self.pack();
            let number = self.point_of(second);
            match self.finished.remove(&number) {
                Some(known) => self.open = Some((number, known.open())),
                None if self.finished.len() < self.most => {
                    self.open = Some((number, Point::default()));
                }
                None => self.widen(),
            }
        }
        let (_, point) = self.open.get_or_insert_default();
        point.cover(span);
        &mut point.part.slot
    }

    fn is_elsewhere(&self, second: u64) -> bool {
        let open = self.open.as_ref();
        open.is_none_or(|(open, _)| *open != self.point_of(second))
    }

    pub fn points(&self) -> impl Iterator<Item = (u64, Point)> + '_ {
        // With several processes, the open point is not always the last one.
        let before = |number: u64| self.open.as_ref().is_none_or(|(open, _)| number < *open);
        let open = self
            .open
            .iter()
            .map(|(number, point)| (*number, point.clone()));
        let unpacked = |(number, packed): (&u64, &PackedPoint)| (*number, packed.open());
        let first = self
            .finished
            .iter()
            .take_while(move |(n, _)| before(**n))
            .map(unpacked);
        let last = self
            .finished
            .iter()
            .skip_while(move |(n, _)| before(**n))
            .map(unpacked);
        first.chain(open).chain(last)
    }

    fn resolution(&self) -> u32 {
        if self.width_s == 1 { 0 } else { self.halvings }
    }

    fn pack(&mut self) {
        if let Some((number, point)) = self.open.take() {
            let packed = PackedPoint::new(&point, self.resolution());
            self.finished.insert(number, packed);
        }
    }

    /// Merges pairs of points one at a time, because an open point takes much more memory than a
    /// packed one.
    fn widen(&mut self) {
        self.pack();
        self.width_s *= 2;
        for (number, packed) in std::mem::take(&mut self.finished) {
            let wide = number / 2;
            if self.open.as_ref().is_none_or(|(open, _)| *open != wide) {
                self.pack();
            }
            let narrow = packed.open();
            let (_, point) = self.open.get_or_insert_with(|| (wide, Point::default()));
            point.cover(narrow.span);
            point.part.slot.add(&narrow.part.slot);
        }
    }
}

impl Point {
    fn cover(&mut self, span: TimeSpan) {
        if self.span == TimeSpan::default() {
            self.span = span;
        }
        self.span = self.span.merged(span);
    }
}

impl PackedPoint {
    fn new(point: &Point, halvings: u32) -> PackedPoint {
        let slot = &point.part.slot;
        let packed =
            |(kind, outcome, histogram)| (kind, outcome, Packed::coarse(histogram, halvings));
        PackedPoint {
            span: point.span,
            counters: slot.counters.clone(),
            times: slot.histograms().map(packed).collect(),
        }
    }

    fn open(&self) -> Point {
        let mut point = Point {
            span: self.span,
            part: LabelTotals::default(),
        };
        point.part.slot.counters = self.counters.clone();
        for (kind, outcome, packed) in &self.times {
            packed.add_to(point.part.slot.histogram_mut(*kind, *outcome));
        }
        point
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const S: u64 = 1_000_000_000;

    fn part(values: &[u64]) -> LabelTotals {
        let mut part = LabelTotals::default();
        for value in values {
            part.slot
                .record(TimeKind::Service, OutcomeClass::Ok, *value);
            part.slot.counters.ok += 1;
        }
        part
    }

    fn add(line: &mut Curve, second: u64, span: TimeSpan, part: &LabelTotals) {
        line.reach(second, span).add(&part.slot);
    }

    #[test]
    fn intervals_of_one_second_are_one_point() {
        let mut line = Curve::new(10, 0);
        add(&mut line, 7, TimeSpan::new(S / 2, S), &part(&[5]));
        add(&mut line, 7, TimeSpan::new(S, 3 * S / 2), &part(&[7]));
        add(
            &mut line,
            8,
            TimeSpan::new(3 * S / 2, 5 * S / 2),
            &part(&[9]),
        );
        let points: Vec<_> = line.points().collect();
        assert_eq!(points.len(), 2);
        assert_eq!(
            (points[0].0, points[0].1.span),
            (7, TimeSpan::new(S / 2, 3 * S / 2))
        );
        assert_eq!(points[0].1.part.slot.counters.ok, 2);
        assert_eq!(points[1].1.span, TimeSpan::new(3 * S / 2, 5 * S / 2));
    }

    #[test]
    fn a_second_process_begins_again_at_the_first_point() {
        let mut line = Curve::new(10, 0);
        for _ in 0..2 {
            for second in 0..3 {
                add(
                    &mut line,
                    second,
                    TimeSpan::new(second * S, (second + 1) * S),
                    &part(&[second + 1]),
                );
            }
        }
        let counts: Vec<u64> = line
            .points()
            .map(|(_, p)| p.part.slot.counters.ok)
            .collect();
        assert_eq!(counts, [2, 2, 2]);
        add(&mut line, 1, TimeSpan::new(S, 2 * S), &part(&[1]));
        let numbers: Vec<u64> = line.points().map(|(number, _)| number).collect();
        assert_eq!(numbers, [0, 1, 2]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_and_nothing_is_lost(
            start in 0..100_000u64,
            seconds in prop::collection::vec(prop::collection::vec(1..10_000_000u64, 0..5), 1..300),
        ) {
            let mut line = Curve::new(16, 0);
            for (i, values) in seconds.iter().enumerate() {
                let i = i as u64;
                add(&mut line, start + i, TimeSpan::new (i * S, (i + 1) * S), &part(values));
            }
            let points: Vec<_> = line.points().collect();
            prop_assert!(points.len() <= 16);
            prop_assert!(seconds.len() < 16 || points.len() >= 8);
            prop_assert_eq!(points.first().map(|(_, p)| p.span.from_ns), Some(0));
            prop_assert_eq!(points.last().map(|(_, p)| p.span.to_ns), Some(seconds.len() as u64 * S));
            prop_assert!(points.windows(2).all(|pair| pair[0].1.span.to_ns == pair[1].1.span.from_ns));
            let mut together = LabelTotals::default();
            points.iter().for_each(|(_, point)| together.slot.add(&point.part.slot));
            let all = part(&seconds.concat());
            prop_assert_eq!(&together.slot.counters, &all.slot.counters);
            let cells = |part: &LabelTotals| part.slot.histogram(TimeKind::Service, OutcomeClass::Ok).map(|h| h.cells().collect::<Vec<_>>());
            prop_assert_eq!(cells(&together), cells(&all));
        }
    }
}
