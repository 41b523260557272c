//! Finds nodes for which the target responded more slowly, because merged histograms hide such
//! differences.

use record::{NodeRow, NodeState, units};

/// Minimum factor between nodes. A test for chance must also find a difference.
const APART: f64 = 1.25;

pub(super) fn apart(rows: &[NodeRow]) -> Vec<String> {
    let of = |row: &NodeRow| row.response_p95_within_ns;
    // A lost node has only results from the beginning, when all nodes may have been slow.
    let whole = rows.iter().filter(|row| row.state != NodeState::Lost);
    let reported = whole.filter_map(|row| {
        let (low, high) = of(row)?;
        let others = rows.iter().filter(|other| other.node != row.node);
        let highest = others.filter_map(of).map(|(_, high)| high).max()?;
        (low as f64 > APART * highest as f64).then(|| {
            format!(
                "{} differs from the other nodes: the 95th percentile of its responses is between {}, while theirs are below {}: check its network path to the target, and the machine",
                record::called(row.node, &row.name),
                units::time_interval(low, "and", high, high),
                units::time(highest)
            )
        })
    });
    reported.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(node: u64, within: Option<(u64, u64)>) -> NodeRow {
        NodeRow {
            node,
            name: format!("m{node}"),
            state: NodeState::Finished,
            rate: 1.0,
            requests: 1,
            cpu: 0.0,
            lateness_p99_ns: None,
            response_p99_ns: None,
            response_p95_within_ns: within,
            offset_ns: None,
            offset_error_ns: 0,
        }
    }

    #[test]
    fn only_nodes_slower_than_all_others_are_reported() {
        let ms = |ms: u64| ms * 1_000_000;
        let rows = [
            row(0, Some((ms(9), ms(11)))),
            row(1, Some((ms(10), ms(13)))),
            row(2, Some((ms(40), ms(55)))),
        ];
        assert_eq!(
            apart(&rows),
            [
                "node 2 (m2) differs from the other nodes: the 95th percentile of its responses is between 40.0 and 55.0 ms, while theirs are below 13.0 ms: check its network path to the target, and the machine"
            ]
        );
        assert!(apart(&rows[..2]).is_empty());
        assert!(apart(&[row(0, None), rows[2].clone()]).is_empty());
        let lost = NodeRow {
            state: NodeState::Lost,
            ..rows[2].clone()
        };
        assert!(apart(&[rows[0].clone(), lost]).is_empty());
    }
}
