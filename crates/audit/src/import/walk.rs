//! Visits each figure of a report exactly once.

use std::collections::BTreeSet;

use super::{
    figure::{Position, PrintedFigure},
    model::{LatencyStats, PrintedReport, PrintedRow},
};

#[must_use]
pub fn figures(reports: &[PrintedReport]) -> Vec<&PrintedFigure> {
    let mut walk = Walk::default();
    for report in reports {
        walk.report(report);
    }
    walk.figures
}

#[derive(Default)]
struct Walk<'a> {
    seen: BTreeSet<Position>,
    figures: Vec<&'a PrintedFigure>,
}

impl<'a> Walk<'a> {
    fn take(&mut self, figures: impl IntoIterator<Item = &'a PrintedFigure>) {
        for figure in figures {
            if self.seen.insert(figure.place) {
                self.figures.push(figure);
            }
        }
    }

    fn report(&mut self, report: &'a PrintedReport) {
        self.take(report.span.as_ref().map(|span| &span.seconds));
        self.take([&report.planned, &report.threads].into_iter().flatten());
        self.take(report.bound.as_ref().map(|bound| &bound.figure));
        self.row(&report.all);
        for row in &report.rows {
            self.row(row);
        }
        self.take([&report.bytes, &report.transfer].into_iter().flatten());
        self.latency(report.per_thread.as_ref());
        if let Some(in_flight) = &report.in_flight {
            self.take([&in_flight.mean]);
            self.take(&in_flight.times);
        }
        let sessions = &report.sessions;
        self.take(
            [&sessions.created, &sessions.completed, &sessions.failed]
                .into_iter()
                .flatten(),
        );
        self.take(&sessions.by_name);
        self.latency(sessions.length.as_ref());
        self.take(&report.counters);
        for ledger in &report.ledgers {
            self.take([&ledger.total]);
            self.take(&ledger.parts);
        }
        self.take(report.again.iter().flat_map(|(a, b)| [a, b]));
        for period in &report.periods {
            self.report(period);
        }
    }

    fn row(&mut self, row: &'a PrintedRow) {
        self.take(
            [
                &row.requests,
                &row.responses,
                &row.failures,
                &row.failed_share,
            ]
            .into_iter()
            .flatten(),
        );
        self.take(
            [&row.rate, &row.failure_rate, &row.mean_bytes]
                .into_iter()
                .flatten(),
        );
        self.take(&row.codes);
        self.take(row.errors.iter().map(|error| &error.count));
        self.latency(row.latency.as_ref());
        self.latency(row.percentiles.as_ref());
        let classes = row.by_class.iter().map(|(_, latency)| latency);
        for latency in row.others.iter().chain(classes) {
            self.latency(Some(latency));
        }
    }

    fn latency(&mut self, latency: Option<&'a LatencyStats>) {
        let Some(latency) = latency else { return };
        self.take(
            [&latency.count, &latency.min, &latency.mean, &latency.stdev]
                .into_iter()
                .flatten(),
        );
        self.take([&latency.max, &latency.within].into_iter().flatten());
        self.take(latency.percentiles.iter().map(|(_, figure)| figure));
        self.take(latency.cumulative.iter().map(|(_, figure)| figure));
    }
}
