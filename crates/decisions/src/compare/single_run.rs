//! Compares one run with another. The result is only a hint, because the variation between runs is
//! unknown.

use std::{cell::RefCell, rc::Rc};

use measure::{LabelId, TimeKind};

use super::{
    CONFIDENCE, Change, CompareConfig, Compared, ComparedRun, FigureOutcome, FigureUnit, Side,
    Subject,
    bootstrap::{self, BootstrapSamples},
    groups, judge, text,
};

pub(super) struct Pair<'a> {
    sides: [&'a Side; 2],
    drawn: [RefCell<Option<DrawnRows>>; 2],
}

type DrawnRows = ((LabelId, Option<TimeKind>), Option<Rc<BootstrapSamples>>);

impl<'a> Pair<'a> {
    pub fn new(baseline: &'a Side, candidate: &'a Side) -> Pair<'a> {
        Pair {
            sides: [baseline, candidate],
            drawn: Default::default(),
        }
    }

    pub fn compare(&self, subjects: &[Subject], config: &CompareConfig) -> Vec<Compared> {
        let [Some(first), Some(second)] = self.sides.map(|side| side.runs.first()) else {
            return Vec::new();
        };
        let compare = |subject: &Subject| {
            let values = [subject.value(first), subject.value(second)];
            let mut compared = Compared {
                subject: subject.text.clone(),
                unit: subject.unit(),
                baseline: vec![values[0]],
                candidate: vec![values[1]],
                change: self.change(subject, values, [first, second]),
                outcome: FigureOutcome::Inconclusive,
                text: String::new(),
            };
            match &compared.change {
                Some(change) => {
                    compared.outcome = judge::outcome(compared.unit, change, config);
                    compared.text = text::judged(&compared, config);
                }
                None => compared.text = text::unknown(subject, self.sides[0], self.sides[1]),
            }
            compared
        };
        subjects.iter().map(compare).collect()
    }

    fn change(
        &self,
        subject: &Subject,
        values: [Option<f64>; 2],
        runs: [&ComparedRun; 2],
    ) -> Option<Change> {
        let unit = subject.unit();
        let [first, second] = [values[0]?, values[1]?];
        if unit != FigureUnit::Share && first != second && (first <= 0.0 || second <= 0.0) {
            return None;
        }
        let interval = self
            .interval(subject, runs)
            .map(|(low, high)| (groups::unscale(unit, low), groups::unscale(unit, high)));
        Some(Change {
            estimate: match unit {
                FigureUnit::Share => second - first,
                FigureUnit::Nanoseconds | FigureUnit::PerSecond if first == second => 0.0,
                FigureUnit::Nanoseconds | FigureUnit::PerSecond => second / first - 1.0,
            },
            interval,
            confidence: CONFIDENCE,
            p: None,
            p_beyond_margin: None,
        })
    }

    /// Returns the interval. `None` if there are too few windows, or if the rank falls on an
    /// unanswered request.
    fn interval(&self, subject: &Subject, runs: [&ComparedRun; 2]) -> Option<(f64, f64)> {
        let figures = |side: usize| {
            self.drawn(side, subject, runs[side])?
                .figures(&subject.metric)
        };
        let (first, second) = (figures(0)?, figures(1)?);
        let distances = first.into_iter().zip(second).map(|(first, second)| {
            let distance = match subject.unit() {
                FigureUnit::Share => second - first,
                FigureUnit::Nanoseconds | FigureUnit::PerSecond => (second / first).ln(),
            };
            distance.is_finite().then_some(distance)
        });
        let mut distances: Vec<f64> = distances.collect::<Option<_>>()?;
        distances.sort_by(f64::total_cmp);
        let outside = ((1.0 - CONFIDENCE) / 2.0 * distances.len() as f64) as usize;
        // The grid limits the precision of times.
        let blur = match subject.unit() {
            FigureUnit::Nanoseconds => bootstrap::blur(),
            FigureUnit::Share | FigureUnit::PerSecond => 0.0,
        };
        Some((
            distances.get(outside)? - blur,
            distances.get(distances.len() - 1 - outside)? + blur,
        ))
    }

    fn drawn(
        &self,
        side: usize,
        subject: &Subject,
        run: &ComparedRun,
    ) -> Option<Rc<BootstrapSamples>> {
        let row = subject.row(run)?;
        let of = (row.id, subject.kind_in(row));
        let mut known = self.drawn[side].borrow_mut();
        match &*known {
            Some((known_of, drawn)) if *known_of == of => drawn.clone(),
            _ => {
                let drawn = BootstrapSamples::new(run, of.0, of.1, side as u64 + 1).map(Rc::new);
                *known = Some((of, drawn.clone()));
                drawn
            }
        }
    }
}
