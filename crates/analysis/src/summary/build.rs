//! Builds the main part of the summary: sums, rows, ledgers, notes and results of criteria.

use std::collections::BTreeMap;

use measure::{
    Label, OutcomeClass, TimeKind, TimeSpan,
    interval::Gauge,
    label,
    label::{LabelGroup, Role},
    slot::Counters,
};
use plan::criteria::{Metric, parse_criterion};

use super::{
    Headline, Identity, LevelStats, Row, SCHEMA, Stopped, Summary, phases, recovery, scenarios,
    trend, workloads,
};
use crate::{
    figures::{self, Requests, Sampled, elapsed_ns, per_second, share_of},
    saturation,
    verdict::{self, Judged, Measurement, Timeline},
};
use record::{EventKind, LabelTotals, Model, Run, RunState, Truncation, units};

/// Groups of labels that are shown as endpoints.
const ENDPOINTS: [LabelGroup; 6] = [
    LabelGroup::Request,
    LabelGroup::Mqtt,
    LabelGroup::WebSocket,
    LabelGroup::SocketIo,
    LabelGroup::Script,
    LabelGroup::Custom,
];

pub fn summary(run: &Run, timeline: &Timeline) -> Summary {
    let all = run.totals.label(label::ALL);
    let elapsed_ns = elapsed_ns(run);
    let row = |label: &Label| row_of_label(run, label, &all, elapsed_ns);
    let rows = |groups: &[LabelGroup]| -> Vec<Row> {
        let wanted = |label: &&Label| label.id != label::ALL && groups.contains(&label.group);
        let wanted = run.labels.iter().filter(wanted);
        wanted.map(row).filter(|row| row.count > 0).collect()
    };
    let all_label = run
        .label(label::ALL)
        .cloned()
        .unwrap_or_else(|| measure::Labels::default().all()[0].clone());
    let arrivals = figures::arrivals(run);
    let has_arrivals = run.manifest.load.model != Model::Closed || arrivals.started > 0;
    let mut criteria = verdict::judge(run, timeline, elapsed_ns);
    let requests = figures::requests(run, &all.slot.counters);
    let measurement = verdict::measurement::judge(run, &arrivals, &requests);
    if let Some(measurement) = &measurement {
        verdict::despite_the_generator(run, &mut criteria, measurement, &arrivals, elapsed_ns);
    }
    let exit_code = exit_code(run, &mut criteria, measurement.as_ref(), &requests);
    let http2 = super::http2::row(run, requests.issued);
    let waited = http2.as_ref().map_or(0, |http2| http2.waited);
    let mut summary = Summary {
        schema: SCHEMA,
        run: identity(run, elapsed_ns),
        verdict: Headline::default(),
        criteria,
        unjudged_criteria: run.manifest.unjudged_criteria.clone(),
        measurement,
        exit_code,
        arrivals: has_arrivals.then_some(arrivals),
        lost: figures::losses(run),
        requests,
        phases: Vec::new(),
        scenarios: Vec::new(),
        workloads: Vec::new(),
        trend: None,
        steady: timeline.steady.clone(),
        recovery: None,
        saturation: saturation::find(run, &timeline.moments, waited),
        busy_generator: saturation::busy_generator(run),
        server: super::server::rows(run, elapsed_ns),
        goodput: Vec::new(),
        custom: super::custom::rows(run, elapsed_ns),
        deliveries: super::deliveries::rows(run),
        mocks: super::mocks::rows(run),
        nodes: run.nodes.clone(),
        all: row_of_all(run, &all_label, &all, elapsed_ns),
        labels: rows(&ENDPOINTS),
        iterations: rows(&[LabelGroup::Iteration]),
        transactions: rows(&[LabelGroup::Transaction]),
        percentiles: Vec::new(),
        confidence: figures::confidence(run),
        lateness: Sampled::from_totals(&all, TimeKind::Lateness).raw_stats(),
        wait: Sampled::from_totals(&all, TimeKind::Wait).raw_stats(),
        script: Sampled::from_totals(&all, TimeKind::Script).raw_stats(),
        lag: Sampled::from_totals(&all, TimeKind::Lag).raw_stats(),
        connect: Sampled::from_totals(&all, TimeKind::Connect).stats(),
        tls: Sampled::from_totals(&all, TimeKind::Tls).stats(),
        in_flight: level(run, elapsed_ns, |run| run.in_flight),
        users: level(run, u64::MAX, |run| run.users),
        connections_opened: run.totals.rows.opened,
        http2,
        websocket: super::websocket::row(run),
        socketio: super::socketio::row(run),
        traces: super::traces::row(run, all.slot.counters.ended()),
        errors: figures::errors(run),
        conclusions: Vec::new(),
        assumptions: Vec::new(),
        notes: Vec::new(),
        record: run.dir.as_ref().map(|dir| dir.display().to_string()),
    };
    average(&mut summary, run);
    over_time(&mut summary, run, timeline, elapsed_ns);
    summary.goodput = super::stream::goodput_rows(run, summary.arrivals.as_ref(), elapsed_ns);
    summary.percentiles = super::percentiles::rows(run, summary.rows());
    verdict::add_figure_paths(run, &mut summary);
    summary.notes = notes(run, &summary);
    summary
}

/// Returns the exit code. If the record is incomplete, criteria are undecided.
fn exit_code(
    run: &Run,
    criteria: &mut [Judged],
    measurement: Option<&Measurement>,
    requests: &Requests,
) -> u8 {
    if run.unrecorded().is_some() {
        verdict::undecided(criteria, "the record could not be written");
        return verdict::COULD_NOT_RUN;
    }
    verdict::exit_code(criteria, measurement, requests, run.manifest.allow_failures)
}

fn over_time(summary: &mut Summary, run: &Run, timeline: &Timeline, elapsed_ns: u64) {
    let headline = summary.headline();
    summary.phases = phases::rows(run, headline, elapsed_ns);
    summary.scenarios = scenarios::rows(run, summary.arrivals.as_ref(), elapsed_ns);
    summary.workloads = workloads::rows(run, summary.arrivals.as_ref(), &summary.scenarios);
    summary.trend = trend::find(run, &timeline.moments, headline);
    summary.recovery = recovery::measure(
        run,
        &timeline.moments,
        &summary.phases,
        headline,
        elapsed_ns,
    );
}

fn average(summary: &mut Summary, run: &Run) {
    use plan::mutant::{self, Mutant};
    let Some(stats) = summary
        .all
        .response
        .as_mut()
        .filter(|_| mutant::is(Mutant::AveragedPercentiles))
    else {
        return;
    };
    let filled: Vec<_> = run
        .totals
        .responses
        .iter()
        .filter(|h| h.count() > 0)
        .collect();
    let mean = |q: f64| {
        filled.iter().filter_map(|h| h.quantile(q)).sum::<u64>() / filled.len().max(1) as u64
    };
    let figures = [
        (&mut stats.p50, 0.5),
        (&mut stats.p90, 0.9),
        (&mut stats.p95, 0.95),
        (&mut stats.p99, 0.99),
        (&mut stats.p999, 0.999),
    ];
    for (figure, q) in figures {
        figure.ns = Some(mean(q));
    }
}

fn identity(run: &Run, elapsed_ns: u64) -> Identity {
    let manifest = &run.manifest;
    Identity {
        name: manifest.name.clone(),
        target: manifest.target.clone(),
        frontend: manifest.frontend.clone(),
        started_utc: manifest.start.utc.clone(),
        started_wall_ns: manifest.start.wall_ns,
        state: manifest.state,
        ended_by: manifest.end.as_ref().and_then(|end| end.reason.clone()),
        stopped: stopped(run),
        model: manifest.load.model,
        load: manifest.load.text.clone(),
        http: super::http2::negotiated(run),
        elapsed_ns,
        imported_from: None,
        version: manifest.tool.version.clone(),
        workers: Some(manifest.workers),
        seed: Some(manifest.seed),
        record_ends_ns: run.cut.map(|cut| cut.at_ns),
        unrecorded: run.unrecorded(),
    }
}

fn stopped(run: &Run) -> Option<Stopped> {
    let mut events = run.events.iter();
    let event = events.find(|event| event.event == EventKind::Stop)?;
    Some(Stopped {
        at_ns: event.at_ns,
        text: event.text.clone(),
        passes: run
            .manifest
            .end
            .as_ref()
            .and_then(|end| end.cause.as_deref())
            == Some("rule pass"),
    })
}

fn row_of_label(run: &Run, label: &Label, all: &LabelTotals, elapsed_ns: u64) -> Row {
    let part = run.totals.label(label.id);
    let ended = part.slot.counters.ended();
    let of_all = label.group == LabelGroup::Request && ended == all.slot.counters.ended();
    row_of(run, label, of_all, &part, elapsed_ns)
}

fn row_of_all(run: &Run, label: &Label, all: &LabelTotals, elapsed_ns: u64) -> Row {
    let mut labels = run.labels.iter();
    let is_mixed = labels.any(|label| is_unanswered(label, &run.totals.label(label.id)));
    let mut row = row_of(run, label, true, all, elapsed_ns);
    row.service = row.service.filter(|_| !is_mixed);
    row
}

fn row_of(run: &Run, label: &Label, of_all: bool, part: &LabelTotals, elapsed_ns: u64) -> Row {
    let counters = &part.slot.counters;
    let (count, errors) = (counters.ended(), counters.errors());
    let is_iteration = label.group.role() == Role::Iteration;
    let stats = |kind: TimeKind| {
        let sampled = Sampled::from_totals(part, kind);
        // The correlation is known only for all labels together.
        let id = if of_all { label::ALL } else { label.id };
        let stats = match run.totals.windows.get(&(id, kind)) {
            Some(windows) => sampled.stats_in(windows),
            None => sampled.stats(),
        };
        stats.filter(|_| has_times(part, kind))
    };
    Row {
        id: label.id,
        group: label.group,
        text: label.text.clone(),
        count,
        errors,
        error_share: share_of(errors, count),
        per_second: per_second(count, elapsed_ns),
        service: stats(TimeKind::Service).filter(|_| !is_iteration && !is_unanswered(label, part)),
        response: stats(TimeKind::Response).filter(|_| !is_iteration),
        first_byte: stats(TimeKind::FirstByte)
            .filter(|_| !is_iteration && !is_unanswered(label, part)),
        iteration: stats(TimeKind::Iteration).filter(|_| is_iteration),
        // Scenarios with the same name share a label, and some of them may have no pauses.
        unpaused: stats(TimeKind::Unpaused).filter(|stats| is_iteration && all_timed(part, stats)),
        stream: super::stream::row(part, stats, elapsed_ns).filter(|_| !is_iteration),
        codes: codes(counters),
        unanswered: figures::by_class(counters),
        bytes_out: counters.bytes_out,
        bytes_in: counters.bytes_in,
        unreported: Vec::new(),
        judged_percentiles: BTreeMap::new(),
        judged: Vec::new(),
    }
}

/// Returns the number of responses by status.
fn codes(counters: &Counters) -> BTreeMap<String, u64> {
    let codes = counters.codes.0.iter();
    codes.map(|(status, n)| (status.to_string(), *n)).collect()
}

fn all_timed(part: &LabelTotals, stats: &figures::Stats) -> bool {
    let timed = OutcomeClass::ALL
        .iter()
        .filter_map(|outcome| part.slot.histogram(TimeKind::Unpaused, *outcome));
    timed.map(measure::Histogram::count).sum::<u64>() == stats.count
}

/// Returns whether requests of the label have no response, like MQTT messages with QoS 0.
fn is_unanswered(label: &Label, part: &LabelTotals) -> bool {
    let mut times = OutcomeClass::ALL
        .iter()
        .filter_map(|outcome| part.slot.histogram(TimeKind::Service, *outcome))
        .peekable();
    label.group == LabelGroup::Mqtt
        && times.peek().is_some()
        && times.all(|times| times.max() == Some(0))
}

/// Returns whether the label has this time. If all requests failed before the first byte, they have
/// no service time.
fn has_times(part: &LabelTotals, kind: TimeKind) -> bool {
    OutcomeClass::ALL
        .iter()
        .any(|outcome| part.slot.histogram(kind, *outcome).is_some())
}

/// Returns the mean of a gauge until `until_ns`. Rates cover the same period.
pub(super) fn level(
    run: &Run,
    until_ns: u64,
    gauge: fn(&measure::interval::RunPart) -> Gauge,
) -> LevelStats {
    let rows = run.totals.rows.iter();
    let gauges = rows.map(|row| (row.span, gauge(&row.run)));
    let (samples, sum, max) = gauges.fold((0, 0, 0), |(n, sum, max), (span, gauge)| {
        let samples = samples_until(until_ns, span, gauge.samples);
        (n + samples, sum + gauge.sum, gauge.max.max(max))
    });
    LevelStats {
        mean: if samples == 0 {
            0.0
        } else {
            sum as f64 / samples as f64
        },
        max,
    }
}

/// Returns the number of samples before `until_ns`, assuming that samples are evenly spread.
fn samples_until(until_ns: u64, span: TimeSpan, samples: u64) -> u64 {
    if until_ns >= span.to_ns {
        return samples;
    }
    let part = until_ns.saturating_sub(span.from_ns) as f64 / span.length_ns().max(1) as f64;
    (samples as f64 * part).round() as u64
}

/// Warns if no request succeeded and there are no criteria.
fn all_failed(summary: &Summary) -> Option<String> {
    let ended = summary.requests.failed + summary.requests.unanswered;
    // A run with a single iteration prints a trace instead.
    let is_told = !summary.criteria.is_empty() || summary.run.model == Model::Once;
    let all = !is_told && summary.requests.ok == 0 && ended > 0;
    let most = summary.errors.first();
    all.then(|| {
        format!(
            "warning: none of {} requests was answered as expected{}",
            units::count(ended),
            most.map_or_else(String::new, |row| format!(
                " (most often: {}, {})",
                row.reason,
                units::times(row.count)
            ))
        )
    })
}

#[must_use]
pub fn cut_text(cut: Truncation) -> String {
    let at = units::duration(cut.at_ns);
    let run_on = cut.of_ns.map_or_else(String::new, |ns| {
        format!(", although the run continued until {}", units::duration(ns))
    });
    let how = if cut.damaged {
        "is damaged at"
    } else {
        "could not be extended and ends at"
    };
    format!("the record {how} {at}{run_on}: all figures cover only the time before")
}

fn left_out(summary: &Summary) -> impl Iterator<Item = String> + '_ {
    summary.lost.iter().map(|loss| {
        let (from, to) = (record::clock(loss.from_ns), record::clock(loss.to_ns));
        let called = record::called(loss.node, &loss.name);
        format!("from {from} to {to} the load differed from the plan because {called} was lost: criteria exclude these seconds")
    })
}

/// Warns about stop rules on metrics that no source reported, because they can never fire.
fn unwatched(run: &Run) -> Vec<String> {
    let note = |text: &String| {
        let criterion = parse_criterion(text).ok()?;
        let Metric::Server(name, _) = &criterion.metric else {
            return None;
        };
        let is_missing = verdict::server_bounds(run, name, &criterion).is_empty();
        is_missing.then(|| {
            format!("the stop rule `{text}` was never evaluated: no source reported server.{name}")
        })
    };
    run.manifest.stop.iter().filter_map(note).collect()
}

fn silent_sources(run: &Run, notes: &[String]) -> Vec<String> {
    let is_known = |source: &str| {
        let begin = format!("{source} could not be measured from ");
        notes.iter().any(|note| note.starts_with(&begin))
    };
    let silent = run.server.silent_sources();
    silent
        .filter(|source| !is_known(source))
        .map(|source| format!("{source}: no value was reported during the run"))
        .collect()
}

fn never_reported(run: &Run, notes: &[String]) -> Vec<String> {
    let mut texts = unwatched(run);
    texts.extend(silent_sources(run, notes));
    texts
}

/// Reports ledgers that do not add up, which indicates a defect in Loadline.
fn broken_ledgers(summary: &Summary) -> impl Iterator<Item = String> {
    let requests = (!summary.requests.adds_up).then_some("request");
    let arrivals = summary.arrivals.as_ref();
    let arrivals = arrivals
        .filter(|arrivals| !arrivals.adds_up)
        .map(|_| "arrivals");
    [requests, arrivals].into_iter().flatten().map(|name| {
        format!("the {name} ledger does not add up: please report this with the run's folder")
    })
}

/// Reports the results of the script's optional checks, which do not affect the verdict.
fn optional_checks(run: &Run) -> impl Iterator<Item = String> + '_ {
    let checks = run
        .events
        .iter()
        .filter_map(|event| event.threshold.as_ref());
    checks.filter(|check| check.is_optional).map(|check| {
        let result = if check.is_met { "met" } else { "not met" };
        format!(
            "an optional check of the script is {result}: {}",
            check.text
        )
    })
}

fn notes(run: &Run, summary: &Summary) -> Vec<String> {
    let found = run
        .events
        .iter()
        .filter(|event| event.event == EventKind::Finding);
    let mut notes: Vec<String> = found.map(|event| event.text.clone()).collect();
    let changes = run.events.iter().filter(|event| event.change.is_some());
    notes
        .extend(changes.map(|event| format!("at {} {}", units::duration(event.at_ns), event.text)));
    notes.extend(run.manifest.notes.iter().cloned());
    notes.extend(left_out(summary));
    notes.extend(super::custom::note(run));
    notes.extend(super::stream::notes(run, summary.all.stream.as_ref()));
    notes.extend(summary.http2.iter().flat_map(super::http2::notes));
    let negotiated = run.events.iter().filter(|event| {
        let version = event.negotiated.as_ref();
        version.is_some_and(|version| !version.is_http2())
    });
    notes.extend(negotiated.map(|event| event.text.clone()));
    notes.extend(optional_checks(run));
    let warnings = run
        .events
        .iter()
        .filter(|event| matches!(event.event, EventKind::Warning | EventKind::Unmeasured));
    notes.extend(
        warnings
            .map(|event| event.text.clone())
            .filter(|text| !run.manifest.notes.contains(text)),
    );
    if run.manifest.state != RunState::Running {
        notes.extend(never_reported(run, &notes));
    }
    let end = run.totals.rows.end_ns;
    match run.manifest.state {
        RunState::Complete => {}
        RunState::Running if run.cut.is_none() => notes.push(format!(
            "the record is incomplete because the run is still running or was killed: it covers \
            the first {}",
            units::duration(end)
        )),
        RunState::Running => {}
        RunState::Interrupted => {
            let by = summary
                .run
                .ended_by
                .clone()
                .unwrap_or_else(|| "a signal".into());
            notes.push(format!(
                "the run ended early ({by}): planned arrivals are those due before that"
            ));
        }
    }
    let unwritten = run.manifest.end.as_ref().and_then(|end| end.record_ends_ns);
    match (run.cut, unwritten) {
        (Some(cut), _) => notes.push(cut_text(cut)),
        (None, Some(lost)) => notes.push(format!(
            "the record could not be written after {}: these figures are complete, but reports rendered later will not be",
            units::duration(lost)
        )),
        (None, None) => {}
    }
    notes.extend(run.damage.iter().cloned());
    notes.extend(super::nodes::apart(&run.nodes));
    if let Some(share) = run.manifest.share {
        notes.push(format!(
            "this is part {} of {}: `loadline merge` merges all parts and judges the criteria",
            share.number(),
            share.of
        ));
    }
    notes.extend(all_failed(summary));
    notes.extend(broken_ledgers(summary));
    let lost: u64 = run.totals.rows.iter().map(|row| row.run.lines_lost).sum();
    if lost > 0 {
        notes.push(format!(
            "{} lines were not printed, because the terminal was slower than the test",
            units::count(lost)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::samples_until;

    #[test]
    fn samples_after_the_last_request_are_left_out() {
        assert_eq!(samples_until(40, measure::TimeSpan::new(0, 20), 100), 100);
        assert_eq!(samples_until(40, measure::TimeSpan::new(20, 60), 100), 50);
        assert_eq!(samples_until(40, measure::TimeSpan::new(60, 80), 100), 0);
    }
}
