//! Exports the intervals of a run as CSV, streamed from the record. `docs/reference/exports.md`
//! describes the format.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use measure::{
    Label, LabelId, TimeKind, TimeSpan,
    interval::Gauge,
    label,
    label::{LabelGroup, Role},
};

use record::{IntervalRecord, LabelTotals, Run, utc};

use analysis::figures::Sampled;

const HEADER: &str = "time_s,length_s,wall_utc,phase,group,label,planned,started,skipped,sent,done,ok,failed,no_answer,\
    service_p50_ms,service_p95_ms,service_p99_ms,service_max_ms,\
    response_p50_ms,response_p95_ms,response_p99_ms,response_max_ms,\
    iteration_p50_ms,iteration_p95_ms,iteration_p99_ms,iteration_max_ms,\
    in_flight_mean,in_flight_max,users_mean,connections_open,lateness_p99_ms,bytes_out,bytes_in";

/// Writes all finished intervals. Returns `false` if the run has no record.
pub fn csv(run: &Run, out: &mut dyn Write) -> io::Result<bool> {
    let Some(frames) = run.frames() else {
        return Ok(false);
    };
    writeln!(out, "{HEADER}")?;
    for frame in frames {
        let ids: BTreeSet<LabelId> = frame.parts.keys().map(|(id, _)| *id).collect();
        // Always write a row for all requests, because a gap would look like missing data.
        for id in [label::ALL]
            .into_iter()
            .chain(ids.into_iter().filter(|id| *id != label::ALL))
        {
            let part = frame.label(id);
            let row = CsvRow {
                run,
                frame: &frame,
                label: run.label(id),
                id,
                part: &part,
            };
            writeln!(out, "{}", row.cells().join(","))?;
        }
    }
    Ok(true)
}

struct CsvRow<'a> {
    run: &'a Run,
    frame: &'a IntervalRecord,
    label: Option<&'a Label>,
    id: LabelId,
    part: &'a LabelTotals,
}

impl CsvRow<'_> {
    fn cells(&self) -> Vec<String> {
        let mut cells = self.place();
        cells.extend(self.counts());
        let iteration = self.spans_requests();
        cells.extend(self.times(TimeKind::Service, !iteration));
        cells.extend(self.times(TimeKind::Response, !iteration));
        cells.extend(self.times(TimeKind::Iteration, iteration));
        cells.extend(self.levels());
        let counters = &self.part.slot.counters;
        cells.extend([counters.bytes_out, counters.bytes_in].map(|n| n.to_string()));
        cells
    }

    fn place(&self) -> Vec<String> {
        let TimeSpan {
            from_ns: from,
            to_ns: to,
        } = self.frame.span;
        let manifest = &self.run.manifest;
        let phase = self.frame.phase as usize;
        let named = manifest
            .phases
            .get(phase)
            .and_then(|phase| phase.name.clone());
        let group = match self.group() {
            _ if self.id == label::ALL => "all",
            Some(LabelGroup::Request) | None => "request",
            Some(LabelGroup::Iteration) => "iteration",
            Some(LabelGroup::Transaction) => "transaction",
            Some(LabelGroup::Mqtt) => "mqtt",
            Some(LabelGroup::WebSocket) => "websocket",
            Some(LabelGroup::SocketIo) => "socketio",
            Some(LabelGroup::Script) => "script",
            Some(LabelGroup::Custom) => "custom",
        };
        let label = self
            .label
            .map_or_else(|| self.id.to_string(), |label| label.text.clone());
        vec![
            fixed(from, 9),
            fixed(to.saturating_sub(from), 9),
            utc(
                manifest.start.wall_ns.saturating_add(from),
                "%Y-%m-%dT%H:%M:%S%.3fZ",
            ),
            quoted(&named.unwrap_or_else(|| (phase + 1).to_string())),
            group.to_owned(),
            quoted(&label),
        ]
    }

    fn counts(&self) -> [String; 8] {
        let run = &self.frame.run;
        let counters = &self.part.slot.counters;
        let of_all = |n: u64| self.of_all(n.to_string());
        // Unlike their requests, iterations and transactions are not sent.
        let sent = if self.spans_requests() {
            String::new()
        } else {
            counters.issued.to_string()
        };
        [
            of_all(run.due),
            of_all(run.started),
            of_all(run.skipped),
            sent,
            counters.ended().to_string(),
            counters.ok.to_string(),
            counters.failed.to_string(),
            counters.without_answer().to_string(),
        ]
    }

    /// Formats p50, p95, p99 and maximum in milliseconds. A percentile that falls on an unanswered
    /// request is empty or equals the time limit.
    fn times(&self, kind: TimeKind, wanted: bool) -> [String; 4] {
        let sampled = Sampled::from_totals(self.part, kind);
        [0.5, 0.95, 0.99, 1.0].map(|q| {
            let figure = sampled.quantile(q).filter(|_| wanted);
            let ns = figure.and_then(|figure| figure.ns.or(figure.at_least_ns));
            ns.map_or_else(String::new, |ns| fixed(ns, 6))
        })
    }

    fn levels(&self) -> [String; 5] {
        let run = &self.frame.run;
        let mean = |gauge: Gauge| match gauge.samples {
            0 => String::new(),
            n => format!("{:.3}", gauge.sum as f64 / n as f64),
        };
        let lateness = Sampled::from_totals(self.part, TimeKind::Lateness).quantile(0.99);
        let lateness = lateness.and_then(|figure| figure.ns);
        [
            self.of_all(mean(run.in_flight)),
            self.of_all(run.in_flight.max.to_string()),
            self.of_all(mean(run.users)),
            self.of_all(run.connections.to_string()),
            self.of_all(lateness.map_or_else(String::new, |ns| fixed(ns, 6))),
        ]
    }

    fn of_all(&self, cell: String) -> String {
        if self.id == label::ALL {
            cell
        } else {
            String::new()
        }
    }

    fn spans_requests(&self) -> bool {
        self.group()
            .is_some_and(|group| group.role() == Role::Iteration)
    }

    fn group(&self) -> Option<LabelGroup> {
        self.label.map(|label| label.group)
    }
}

fn fixed(ns: u64, digits: u32) -> String {
    let unit = 10_u64.pow(digits);
    format!(
        "{}.{:0width$}",
        ns / unit,
        ns % unit,
        width = digits as usize
    )
}

fn quoted(text: &str) -> String {
    let guarded = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if guarded.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_any_text_and_no_formula() {
        for (text, cell) in [
            ("GET /a?b=1", "GET /a?b=1"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("@cmd,x", "\"'@cmd,x\""),
        ] {
            assert_eq!(quoted(text), cell);
        }
        assert_eq!(fixed(1_234_567, 6), "1.234567");
        assert_eq!(fixed(999, 9), "0.000000999");
    }
}
