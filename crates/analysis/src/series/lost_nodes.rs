//! Distributes the unsent arrivals of a lost node evenly over the period in which they were due.

use measure::TimeSpan;
use record::Run;

use super::Columns;

pub(super) fn add(points: &mut Columns, run: &Run) {
    for lost in run.nodes_lost() {
        let over_ns = lost.taken_over_from_ns.unwrap_or(run.manifest.load.end_ns);
        let unknown = run.unknown_of(lost);
        let lease = TimeSpan::new(lost.recorded_to_ns, lost.lease_ends_ns);
        spread(points, lease, unknown);
        spread(
            points,
            TimeSpan::new(lost.lease_ends_ns, over_ns),
            lost.unsent,
        );
    }
}

fn spread(points: &mut Columns, span: TimeSpan, count: u64) {
    let TimeSpan {
        from_ns: from,
        to_ns: to,
    } = span;
    let until = |at: u64| {
        let passed = at.clamp(from, to) - from;
        (u128::from(count) * u128::from(passed) / u128::from((to - from).max(1))) as u64
    };
    if to <= from {
        return;
    }
    let spans = points.from_ns.iter().zip(&points.to_ns);
    for ((begin, end), due) in spans.zip(&mut points.due) {
        *due += until(*end) - until(*begin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_spread_over_the_time_of_which_it_is_known() {
        let mut points = Columns {
            from_ns: vec![0, 10, 20, 30],
            to_ns: vec![10, 20, 30, 35],
            due: vec![5, 3, 3, 2],
            ..Columns::default()
        };
        spread(&mut points, TimeSpan::new(15, 30), 7);
        assert_eq!(points.due, [5, 5, 8, 2]);
        spread(&mut points, TimeSpan::new(30, 30), 9);
        spread(&mut points, TimeSpan::new(30, 50), 8);
        assert_eq!(points.due, [5, 5, 8, 4]);
    }
}
