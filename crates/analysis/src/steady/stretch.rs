//! Finds the longest period of constant load.

use std::collections::BTreeSet;

use measure::TimeSpan;
use record::{Model, Run, WorkloadFacts};

use crate::{exclusions::ExcludedSpans, figures, moments::Moment};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub phase: Option<usize>,
    pub from_ns: u64,
    pub to_ns: u64,
}

pub(super) fn find(run: &Run, moments: &[Moment]) -> Result<Segment, String> {
    let load = &run.manifest.load;
    if load.by.is_some() {
        return same_users(moments).ok_or_else(|| NEVER.to_owned());
    }
    if load.model == Model::Once {
        return Err("the load is a single iteration".into());
    }
    let phases = &run.manifest.phases;
    if phases.iter().any(|phase| phase.constant.is_none()) {
        return Err("the record does not show in which phases the load is constant".into());
    }
    let whole = Segment {
        phase: None,
        from_ns: 0,
        to_ns: load.end_ns,
    };
    let constant = phases.iter().enumerate();
    let constant = constant.filter(|(_, phase)| phase.constant == Some(true));
    let mut stretches: Vec<Segment> = constant
        .map(|(number, phase)| Segment {
            phase: Some(number),
            from_ns: phase.start_ns,
            to_ns: phase.end_ns,
        })
        .collect();
    if !load.workloads.is_empty() {
        stretches.extend(constant_mixes(&load.workloads, load.end_ns));
    } else if phases.is_empty() {
        stretches.push(whole);
    }
    let changes = run.events.iter().filter(|event| event.change.is_some());
    for event in changes {
        stretches = stretches
            .into_iter()
            .flat_map(|stretch| stretch.cut(event.at_ns))
            .collect();
    }
    // While a node was lost, the load was lower than planned.
    let left_out = ExcludedSpans::new(run, |_| true);
    let stretches = stretches.into_iter().flat_map(|stretch| {
        let rest = left_out
            .rest(TimeSpan::new(stretch.from_ns, stretch.to_ns))
            .into_iter();
        rest.map(move |span| Segment {
            from_ns: span.from_ns,
            to_ns: span.to_ns,
            ..stretch
        })
    });
    let longest = stretches.max_by_key(Segment::length_ns);
    longest.ok_or_else(|| NEVER.to_owned())
}

/// Returns the periods in which the load of every workload is constant or zero. Omits periods in
/// which no workload runs.
fn constant_mixes(workloads: &[WorkloadFacts], end_ns: u64) -> Vec<Segment> {
    let bounds = workloads.iter().flat_map(|workload| {
        let constant = workload
            .constant_ns
            .iter()
            .flat_map(|(from, to)| [*from, *to]);
        constant.chain([workload.start_ns, workload.end_ns])
    });
    let bounds: BTreeSet<u64> = bounds
        .chain([0, end_ns])
        .filter(|at| *at <= end_ns)
        .collect();
    let bounds: Vec<u64> = bounds.into_iter().collect();
    let segment = |pair: &[u64]| {
        let (from_ns, to_ns) = (pair[0], pair[1]);
        let runs = |one: &&WorkloadFacts| one.start_ns <= from_ns && to_ns <= one.end_ns;
        let is_within = |spans: &[(u64, u64)]| {
            let mut spans = spans.iter();
            spans.any(|(from, to)| *from <= from_ns && to_ns <= *to)
        };
        let mut running = workloads.iter().filter(runs);
        let has_load = running.clone().any(|one| !is_within(&one.idle_ns));
        let is_steady = has_load && running.all(|one| is_within(&one.constant_ns));
        is_steady.then_some(Segment {
            phase: None,
            from_ns,
            to_ns,
        })
    };
    bounds.windows(2).filter_map(segment).collect()
}

const NEVER: &str = "the load is never constant";

impl Segment {
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    pub fn until_now(self, run: &Run) -> Segment {
        let end_ns = figures::load_end_ns(run);
        Segment {
            to_ns: self.to_ns.min(end_ns).max(self.from_ns),
            ..self
        }
    }

    fn cut(self, at_ns: u64) -> Vec<Segment> {
        if at_ns <= self.from_ns || at_ns >= self.to_ns {
            return vec![self];
        }
        let before = Segment {
            to_ns: at_ns,
            ..self
        };
        let after = Segment {
            from_ns: at_ns,
            ..self
        };
        vec![before, after]
    }

    pub fn points<'m>(&self, moments: &'m [Moment]) -> Vec<&'m Moment> {
        let within = moments.iter().filter(|moment| {
            self.from_ns <= moment.span.from_ns && moment.span.to_ns <= self.to_ns
        });
        let within: Vec<&Moment> = within.collect();
        let widest = within.iter().map(|moment| moment.length_ns()).max();
        let least = widest.unwrap_or(0) / 2;
        let is_one = |moment: &&Moment| moment.length_ns() >= least;
        within.into_iter().filter(is_one).collect()
    }
}

/// Finds the longest period with a constant number of users, for loads that are controlled
/// externally.
fn same_users(moments: &[Moment]) -> Option<Segment> {
    let users = |moment: &Moment| moment.rows.last().map(|row| row.run.users.last);
    let same = moments.chunk_by(|a, b| users(a) == users(b));
    let with_users = same.filter(|part| part.first().and_then(users).is_some_and(|n| n > 0));
    let stretches = with_users.filter_map(|part| {
        Some(Segment {
            phase: None,
            from_ns: part.first()?.span.to_ns,
            to_ns: part.last()?.span.to_ns,
        })
    });
    stretches.max_by_key(Segment::length_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(start_ns: u64, end_ns: u64, constant_ns: &[(u64, u64)]) -> WorkloadFacts {
        WorkloadFacts {
            name: String::new(),
            model: Model::Open,
            text: String::new(),
            start_ns,
            end_ns,
            planned: Some(1),
            users: None,
            scenarios: Vec::new(),
            constant_ns: constant_ns.to_vec(),
            idle_ns: Vec::new(),
        }
    }

    #[test]
    fn mixes_are_constant_while_every_workload_is() {
        // The first workload ramps until 20. The second starts at 30 and ends at 60.
        let workloads = [workload(0, 90, &[(20, 90)]), workload(30, 60, &[(30, 60)])];
        let spans = constant_mixes(&workloads, 100);
        let spans: Vec<(u64, u64)> = spans.iter().map(|one| (one.from_ns, one.to_ns)).collect();
        assert_eq!(spans, [(20, 30), (30, 60), (60, 90)]);
    }

    #[test]
    fn pauses_are_no_load() {
        let mut pausing = workload(0, 90, &[(0, 30), (30, 60), (60, 90)]);
        pausing.idle_ns = vec![(30, 60)];
        let spans = |workloads: &[WorkloadFacts]| -> Vec<(u64, u64)> {
            let spans = constant_mixes(workloads, 90);
            spans.iter().map(|one| (one.from_ns, one.to_ns)).collect()
        };
        assert_eq!(spans(&[pausing.clone()]), [(0, 30), (60, 90)]);
        // The other workload continues.
        let other = workload(0, 90, &[(0, 90)]);
        assert_eq!(spans(&[pausing, other]), [(0, 30), (30, 60), (60, 90)]);
    }
}
