//! Evaluates each criterion at each point separately, only for display.

use std::{borrow::Cow, collections::BTreeMap};

use measure::{TimeSpan, label};
use plan::criteria::{Metric, parse_criterion};

use super::{holds, is_by_label};
use crate::{
    exclusions::ExcludedSpans,
    moments::{self, Moment},
    steady::{self, Steady},
};
use record::{Run, Totals, history::Point};

pub struct Timeline {
    pub steady: Option<Steady>,
    pub moments: Vec<Moment>,
    /// Result of each criterion at each point. `None` if the point cannot be judged.
    pub criteria: Vec<Vec<Option<bool>>>,
    /// Start of each point. The points are at least half as long as a usual point.
    starts_ns: Vec<u64>,
}

#[must_use]
pub fn build(run: &Run) -> Timeline {
    let moments = moments::collect(run);
    let texts = run.manifest.criteria.iter();
    let steady = steady::detect(run, &moments);
    let within = steady::window_of(steady.as_ref()).ok();
    let full = moments::full(run, &moments);
    let criteria = texts.map(|text| line(run, &full, within, text)).collect();
    let starts_ns = full.iter().map(|moment| moment.span.from_ns).collect();
    Timeline {
        criteria,
        starts_ns,
        steady,
        moments,
    }
}

impl Timeline {
    pub fn first_violations(&self) -> impl Iterator<Item = Option<u64>> + '_ {
        self.criteria.iter().map(|line| {
            let mut held = line.iter().zip(&self.starts_ns);
            let violated = held.find(|(held, _)| **held == Some(false));
            violated.map(|(_, start_ns)| *start_ns)
        })
    }
}

fn line(
    run: &Run,
    moments: &[Cow<Moment>],
    steady: Option<TimeSpan>,
    text: &str,
) -> Vec<Option<bool>> {
    let Ok(mut criterion) = parse_criterion(text) else {
        return vec![None; moments.len()];
    };
    // Evaluate only points within the run's steady state, because a single point has no steady
    // state.
    let left_out = ExcludedSpans::new(run, |_| true);
    let is_asked = |moment: &Cow<Moment>| {
        !left_out.has(moment.span) && (!criterion.steady || lies_in(moment, steady))
    };
    let asked: Vec<bool> = moments.iter().map(is_asked).collect();
    criterion.steady = false;
    let by_label = is_by_label(&criterion);
    let parts = if by_label {
        labels_by_start(run)
    } else {
        BTreeMap::new()
    };
    let mut alone = Run::planned(run.manifest.clone(), run.labels.clone());
    alone.manifest.load.planned = None;
    let is_of_server = matches!(criterion.metric, Metric::Server(..));
    let mut held = |moment: &Moment| {
        alone.totals = Totals::default();
        if is_of_server {
            alone.server = run.server.within(moment.span);
        }
        let phase = moment.rows.first().map_or(0, |row| row.phase);
        for row in &moment.rows {
            alone.totals.rows.add(row.clone());
        }
        let mut length_ns = if is_of_server {
            moment.span.to_ns
        } else {
            moment.length_ns()
        };
        if by_label {
            for (id, points) in &parts {
                let middle = moment.span.from_ns.midpoint(moment.span.to_ns);
                if let Some((_, point)) = points.range(..=middle).next_back() {
                    length_ns = point.span.to_ns - point.span.from_ns;
                    alone.totals.parts.insert((*id, phase), point.part.clone());
                }
            }
        } else {
            alone
                .totals
                .parts
                .insert((label::ALL, phase), moment.all.clone());
        }
        holds(&alone, &criterion, length_ns)
    };
    let judged = moments.iter().zip(asked);
    judged
        .map(|(moment, asked)| asked.then(|| held(moment)).flatten())
        .collect()
}

fn lies_in(moment: &Moment, window: Option<TimeSpan>) -> bool {
    window.is_some_and(|window| window.contains(moment.span))
}

fn labels_by_start(run: &Run) -> BTreeMap<measure::LabelId, BTreeMap<u64, Point>> {
    let lines = run.totals.history.labels.iter();
    let points = lines.map(|(id, line)| {
        let points = line.points().map(|(_, point)| (point.span.from_ns, point));
        (*id, points.collect())
    });
    points.collect()
}
