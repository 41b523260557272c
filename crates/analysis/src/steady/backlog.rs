//! Backlog of an open load: whether requests arrive faster than they are answered.

use measure::{NoAnswer, TimeKind};
use record::{Model, Run};

use super::{Segment, SteadyState};
use crate::headline_time::headline_time;
use crate::{figures::Sampled, moments::Moment};

const FOR_A_BACKLOG: usize = 10;
/// Minimum rise of the median, from the first third to the last, that counts as slower responses.
const RISES: f64 = 1.2;
/// Minimum ratio of median to minimum that counts as slower responses. It is needed because the
/// median stops rising once requests time out.
const MIN_RATIO: f64 = 5.0;
const ALIKE: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    pub arrived: f64,
    pub answered: f64,
    /// Growth of the backlog. `None` if it is not certain that the backlog grows.
    pub grows: Option<f64>,
    pub is_judged: bool,
}

pub(super) fn overload(
    run: &Run,
    moments: &[Moment],
    within: &[&Moment],
    kind: TimeKind,
) -> Option<SteadyState> {
    // In a closed loop, requests never arrive faster than they are answered.
    let has_arrivals = matches!(run.manifest.load.model, Model::Open | Model::Mixed);
    if !has_arrivals || within.len() < FOR_A_BACKLOG {
        return None;
    }
    let (arrived, completed): (Vec<f64>, Vec<f64>) =
        within.iter().map(|moment| flow(moment)).unzip();
    let per_point = statistics::backlog(&arrived, &completed)?;
    let seconds = seconds(within);
    let per_second = |counts: &[f64]| counts.iter().sum::<f64>() / seconds;
    waits_longer(moments, within, kind)?.then(|| SteadyState::Overload {
        arrived: per_second(&arrived),
        completed: per_second(&completed),
        grows: per_point * within.len() as f64 / seconds,
    })
}

pub fn of_phase(run: &Run, moments: &[Moment], phase: usize, planned: f64) -> Option<Flow> {
    let planned_phase = run.manifest.phases.get(phase)?;
    let stretch = Segment {
        phase: Some(phase),
        from_ns: planned_phase.start_ns,
        to_ns: planned_phase.end_ns,
    };
    let within = stretch.until_now(run).points(moments);
    let n = within.len();
    if run.manifest.load.model != Model::Open || n == 0 {
        return None;
    }
    let (mut arrived, completed): (Vec<f64>, Vec<f64>) =
        within.iter().map(|moment| flow(moment)).unzip();
    let seconds = seconds(&within);
    let is_planned = is_one_request_each(&within);
    if is_planned {
        arrived = within.iter().map(|moment| due(moment)).collect();
    }
    let per_second = |counts: &[f64]| counts.iter().sum::<f64>() / seconds;
    let per_point = if is_planned {
        statistics::outpaced(planned * seconds / n as f64, &arrived, &completed)
    } else {
        statistics::backlog(&arrived, &completed)
    };
    let kind = headline_time(&run.totals.label(measure::label::ALL));
    let grows = per_point.filter(|_| waits_longer(moments, &within, kind) == Some(true));
    Some(Flow {
        arrived: per_second(&arrived),
        answered: per_second(&completed),
        grows: grows.map(|growth| growth * n as f64 / seconds),
        is_judged: n
            >= if is_planned {
                statistics::ENOUGH_OF_PLANNED
            } else {
                FOR_A_BACKLOG
            },
    })
}

fn waits_longer(moments: &[Moment], within: &[&Moment], kind: TimeKind) -> Option<bool> {
    let median = |moment: &Moment| {
        let figure = Sampled::from_totals(moment.part(kind), kind).quantile(0.5)?;
        figure.ns.or(figure.at_least_ns).map(|ns| ns as f64)
    };
    let third = within.len() / 3;
    let of = |part: &[&Moment]| {
        let medians: Vec<f64> = part.iter().filter_map(|moment| median(moment)).collect();
        statistics::median(&medians)
    };
    let (first, last) = (of(&within[..third])?, of(&within[within.len() - third..])?);
    let least = moments.iter().filter_map(median).fold(f64::MAX, f64::min);
    Some(last > RISES * first || last > MIN_RATIO * least)
}

fn seconds(within: &[&Moment]) -> f64 {
    within.iter().map(|moment| moment.length_ns()).sum::<u64>() as f64 / 1e9
}

/// Returns the number of requests that reached the service or timed out, and the number of
/// responses.
fn flow(moment: &Moment) -> (f64, f64) {
    let counters = &moment.all.slot.counters;
    let arrived = counters.issued.saturating_sub(lost(moment));
    (arrived as f64, (counters.ok + counters.failed) as f64)
}

fn lost(moment: &Moment) -> u64 {
    let counters = &moment.all.slot.counters;
    let too_long = counters.unanswered[NoAnswer::Timeout as usize]
        + counters.unanswered[NoAnswer::Unfinished as usize];
    counters.without_answer().saturating_sub(too_long)
}

/// Returns the number of due arrivals, except for those that were skipped or could not reach the
/// service.
fn due(moment: &Moment) -> f64 {
    let due = moment.sum(|row| row.run.due);
    let turned_away = moment.sum(|row| row.run.skipped) + lost(moment);
    due.saturating_sub(turned_away) as f64
}

fn is_one_request_each(within: &[&Moment]) -> bool {
    let sum = |of: &dyn Fn(&Moment) -> u64| within.iter().map(|moment| of(moment)).sum::<u64>();
    let ended = sum(&|moment| moment.all.slot.counters.ended());
    let paced = sum(&|moment| moment.all.slot.counters.paced);
    let iterations = sum(&|moment| moment.iterations.slot.counters.ended());
    let due = sum(&|moment| moment.sum(|row| row.run.due));
    ended > 0
        && due > 0
        && paced == ended
        && iterations.abs_diff(ended) as f64 <= (ALIKE * ended as f64).max(2.0)
}
