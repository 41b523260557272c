//! Totals of a run: by label and phase, over time, and for the evaluation of criteria.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use measure::{
    Label, LabelId, TimeKind, TimeSpan, confidence::Windows, custom::CustomMetrics, label,
    summary::KindTimes,
};
use plan::{
    criteria::{Metric, parse_criterion},
    mutant::{self, Mutant},
};

use super::{
    IntervalRecord, LabelTotals, Manifest, Rows,
    history::{CustomHistory, History},
};

/// Time kinds whose correlation is estimated.
const CORRELATED: [TimeKind; 6] = [
    TimeKind::Response,
    TimeKind::Service,
    TimeKind::Iteration,
    TimeKind::Ttft,
    TimeKind::Gap,
    TimeKind::PerToken,
];
/// Time kinds that only streamed responses have. Their unanswered samples are counted separately.
const OF_STREAMS: [TimeKind; 3] = [TimeKind::Ttft, TimeKind::Gap, TimeKind::PerToken];

#[derive(Debug, Clone, Default)]
pub struct Totals {
    pub parts: BTreeMap<(LabelId, u32), LabelTotals>,
    pub rows: Rows,
    /// Distributions in consecutive intervals, from which the correlation of samples is estimated.
    /// Processes are merged by second.
    pub windows: BTreeMap<(LabelId, TimeKind), Windows>,
    pub history: History,
    pub after_load: LabelTotals,
    load_end_ns: u64,
    pub(super) left_out: Vec<TimeSpan>,
    /// Samples outside excluded periods, by (label, phase). Empty if no period is excluded.
    outside: BTreeMap<(LabelId, u32), LabelTotals>,
    pub last_seen: BTreeMap<String, u64>,
    pub responses: Vec<measure::Histogram>,
    pub custom: CustomMetrics,
}

impl Totals {
    #[must_use]
    pub fn new(manifest: &Manifest) -> Totals {
        let mut history = History::new(manifest.start.wall_ns);
        history.custom = CustomHistory::new(judged_custom(manifest));
        Totals {
            history,
            load_end_ns: manifest.load.end_ns,
            ..Totals::default()
        }
    }

    pub fn add(&mut self, frame: &IntervalRecord, labels: &[Label]) {
        self.history.add(frame, labels);
        let is_judged = !self.left_out.is_empty() && !self.leaves_out(frame.span);
        for (key, part) in &frame.parts {
            self.parts.entry(*key).or_default().add(part);
            if is_judged {
                self.outside.entry(*key).or_default().add(part);
            }
            if key.0 == label::ALL && frame.span.from_ns >= self.load_end_ns {
                self.after_load.add(part);
            }
            for reason in part.reasons() {
                let last = self.last_seen.entry(reason).or_default();
                *last = (*last).max(frame.span.to_ns);
            }
        }
        if mutant::is(Mutant::AveragedPercentiles)
            && let Some(part) = frame.parts.get(&(measure::label::ALL, frame.phase))
        {
            let times =
                measure::summary::KindTimes::from_slot(&part.slot, measure::TimeKind::Response);
            self.responses.push(times.answered);
        }
        self.custom.add(&frame.custom);
        self.add_windows(frame);
        self.rows.add(frame.row());
    }

    fn add_windows(&mut self, frame: &IntervalRecord) {
        let second = self.history.second(frame.span.from_ns);
        for ((id, phase), part) in &frame.parts {
            let without_answer = part.slot.counters.without_answer();
            for kind in CORRELATED {
                let times = KindTimes::from_slot(&part.slot, kind);
                let answered = times.answered;
                let is_of_streams = OF_STREAMS.contains(&kind);
                let unanswered = if is_of_streams {
                    times.unanswered.count()
                } else {
                    without_answer
                };
                let of_all = *id == label::ALL && kind != TimeKind::Iteration;
                let is_wanted = of_all || kind == TimeKind::Iteration && answered.count() > 0;
                if is_wanted && answered.count() + unanswered > 0 {
                    let windows = self.windows.entry((*id, kind)).or_default();
                    windows.push(second, *phase, &answered, unanswered);
                }
            }
        }
    }

    /// Returns the variance inflation factor for quantile `q`, where 1 means independent samples.
    /// Uses all requests, or the most correlated of the wanted labels.
    #[must_use]
    pub fn inflation(
        &self,
        kind: TimeKind,
        q: f64,
        bound: u64,
        phases: Option<&[u32]>,
        wanted: impl Fn(LabelId) -> bool,
    ) -> f64 {
        let of_kind = self.windows.iter();
        let of_kind = of_kind.filter(|((id, known), _)| *known == kind && wanted(*id));
        let inflation = |((id, _), windows): (&(LabelId, TimeKind), &Windows)| {
            let wanted = |label, phase| {
                label == *id && phases.is_none_or(|phases: &[u32]| phases.contains(&phase))
            };
            let times = KindTimes::from_slot(&self.sum(wanted).slot, kind);
            let x = times.answered.quantile(q)?;
            Some(windows.conservative_inflation(x, bound, phases))
        };
        of_kind.filter_map(inflation).fold(1.0, f64::max)
    }

    /// Returns the variance inflation factor between two wall-clock seconds, for the quantile whose
    /// value is `x`. See [`Totals::inflation`].
    #[must_use]
    pub fn inflation_within(
        &self,
        kind: TimeKind,
        x: u64,
        bound: u64,
        seconds: Range<u64>,
        wanted: impl Fn(LabelId) -> bool,
    ) -> f64 {
        let of_kind = self.windows.iter();
        let of_kind = of_kind.filter(|((id, known), _)| *known == kind && wanted(*id));
        let inflation = |(_, windows): (&(LabelId, TimeKind), &Windows)| {
            windows
                .within(seconds.start, seconds.end)
                .conservative_inflation(x, bound, None)
        };
        of_kind.map(inflation).fold(1.0, f64::max)
    }

    #[must_use]
    pub fn sum(&self, wanted: impl Fn(LabelId, u32) -> bool) -> LabelTotals {
        sum(&self.parts, wanted)
    }

    #[must_use]
    pub fn judged(&self, wanted: impl Fn(LabelId, u32) -> bool) -> LabelTotals {
        if self.left_out.is_empty() {
            return self.sum(wanted);
        }
        sum(&self.outside, wanted)
    }

    #[must_use]
    pub fn left_out(&self) -> &[TimeSpan] {
        &self.left_out
    }

    #[must_use]
    pub fn leaves_out(&self, span: TimeSpan) -> bool {
        let mut left_out = self.left_out.iter();
        left_out.any(|excluded| excluded.overlaps(span))
    }

    #[must_use]
    pub fn label(&self, id: LabelId) -> LabelTotals {
        self.sum(|label, _| label == id)
    }
}

/// Returns the names of the custom metrics that criteria judge.
fn judged_custom(manifest: &Manifest) -> BTreeSet<String> {
    let criteria = manifest.criteria.iter();
    let criteria = criteria.filter_map(|text| parse_criterion(text).ok());
    let name = |metric| match metric {
        Metric::Custom(name, _) => Some(name),
        _ => None,
    };
    criteria.filter_map(|one| name(one.metric)).collect()
}

fn sum(
    parts: &BTreeMap<(LabelId, u32), LabelTotals>,
    wanted: impl Fn(LabelId, u32) -> bool,
) -> LabelTotals {
    let mut sum = LabelTotals::default();
    let parts = parts.iter();
    for (_, part) in parts.filter(|((label, phase), _)| wanted(*label, *phase)) {
        sum.add(part);
    }
    sum
}
