//! Text about nodes, for tables and terminals.

use record::{
    NodeRow,
    units::{self, count},
};

/// Column heads of the table. Columns with `<` contain text.
pub const HEADS: [&str; 9] = [
    "Node",
    "<Machine",
    "<State",
    "Requests",
    "Requests/s",
    "CPU",
    "Lateness p99",
    "Response p99",
    "Clock",
];
pub const MEANING: &str = "CPU: the busiest worker, as a share of a core. Lateness is measured by the clock of each node. Clock: maximum difference from the clocks of the others.";

#[must_use]
pub fn cells(row: &NodeRow) -> Vec<String> {
    vec![
        row.node.to_string(),
        row.name.clone(),
        row.state.name().to_owned(),
        count(row.requests),
        units::rate(row.rate),
        units::share(row.cpu),
        or_dash(row.lateness_p99_ns),
        or_dash(row.response_p99_ns),
        clock(row),
    ]
}

#[must_use]
pub fn lines(rows: &[NodeRow]) -> Vec<String> {
    let cells: Vec<[String; 6]> = rows.iter().map(short).collect();
    let wide = |at: usize| {
        cells
            .iter()
            .map(|row| row[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..6).map(wide).collect();
    let line = |row: &[String; 6]| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| {
            let gap = " ".repeat(width - cell.chars().count());
            format!("{cell}{gap}")
        });
        let padded: Vec<String> = padded.collect();
        padded.join("  ").trim_end().to_owned()
    };
    cells.iter().map(line).collect()
}

fn short(row: &NodeRow) -> [String; 6] {
    [
        format!("node {}", row.node),
        row.name.clone(),
        format!("{}/s", units::rate(row.rate)),
        format!("CPU {}", units::share(row.cpu)),
        format!(
            "late {}, clock {}",
            or_dash(row.lateness_p99_ns),
            clock(row)
        ),
        row.state.name().to_owned(),
    ]
}

fn clock(row: &NodeRow) -> String {
    format!("±{}", units::time(row.offset_error_ns))
}

fn or_dash(ns: Option<u64>) -> String {
    ns.map_or_else(|| "–".to_owned(), units::time)
}

#[cfg(test)]
mod tests {
    use record::NodeState;

    use super::*;

    fn row(node: u64, name: &str, state: NodeState) -> NodeRow {
        NodeRow {
            node,
            name: name.into(),
            state,
            rate: 100.0,
            requests: 2_500,
            cpu: 0.0512,
            lateness_p99_ns: Some(183_000),
            response_p99_ns: None,
            response_p95_within_ns: None,
            offset_ns: Some(-12),
            offset_error_ns: 7_050,
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_head() {
        let cells = cells(&row(1, "worker-b", NodeState::Lost));
        assert_eq!(
            cells,
            [
                "1",
                "worker-b",
                "lost",
                "2,500",
                "100",
                "5.12 %",
                "183 µs",
                "–",
                "±7.05 µs"
            ]
        );
        assert_eq!(HEADS.len(), cells.len());
    }

    #[test]
    fn lines_are_aligned() {
        let rows = [
            row(0, "a", NodeState::Up),
            row(1, "worker-b", NodeState::Lost),
        ];
        assert_eq!(
            lines(&rows),
            [
                "node 0  a         100/s  CPU 5.12 %  late 183 µs, clock ±7.05 µs  up",
                "node 1  worker-b  100/s  CPU 5.12 %  late 183 µs, clock ±7.05 µs  lost",
            ]
        );
    }
}
