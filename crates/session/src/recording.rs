//! Handles intervals and lines during a run: writes them to the record first, then passes them to
//! observers.

use std::sync::Arc;

use decisions::stop::{FiredRule, StopRules};
use engine::Sink;
use measure::{Histogram, Interval, accumulator::KeptReason};
use plan::{Raw, criteria::Ending};
use record::{
    Ages, Changed, DecodedChunk, Event, EventKind, LoadChange, RecordError, Run, Writer,
    redact::Redactor, server::SourceReading, unwritten_because,
};
use worker::{
    OutputLine,
    clock::Zero,
    load_control::{AdjustedLoad, Change, LoadControl},
    stop::{Cause, RuleVerdict, StopHandle, Urgency},
};

use crate::{
    exports::{Exporters, OpenExporter},
    host_monitor::HostMonitor,
    live::{Bound, Live, Steering},
    messages::SharedMessageSink,
    observer::Observer,
    sampling::Sampling,
    window::RecentIntervals,
};

/// Inputs that a recording needs before its run starts.
pub(crate) struct RecordingInputs<'a> {
    pub writer: Writer,
    pub observer: &'a mut dyn Observer,
    pub window: &'a RecentIntervals,
    pub redactor: Redactor,
    pub sampling: Sampling,
    pub rules: StopRules,
    pub stop: StopHandle,
    /// End of the planned load, in nanoseconds from the start of the run.
    pub load_end_ns: u64,
    pub load_control: Option<LoadControl>,
    pub steering: Steering,
    /// Ports of the live view.
    pub live: Bound,
    pub exporters: Vec<OpenExporter>,
    pub sink: SharedMessageSink,
}

/// A run in progress, in this process or in several.
pub(crate) struct Recording<'a> {
    pub writer: Writer,
    pub sampling: Sampling,
    pub live: Live,
    pub stop: StopHandle,
    /// Sink that also writes messages to the live view's log.
    pub sink: SharedMessageSink,
    observer: &'a mut dyn Observer,
    exporters: Exporters,
    redactor: Redactor,
    watch: HostMonitor,
    window: &'a RecentIntervals,
    rules: StopRules,
    load_end_ns: u64,
    load_control: Option<LoadControl>,
    changes: usize,
}

impl<'a> Recording<'a> {
    /// Starts to serve the live view, and starts the exporters, just before the load.
    pub fn start(inputs: RecordingInputs<'a>, zero: Zero) -> Recording<'a> {
        let (run, own_sink) = (inputs.writer.run(), &inputs.sink);
        let live = inputs
            .live
            .serve(zero, inputs.steering, &inputs.stop, own_sink);
        let sink = live.overheard(own_sink);
        let exporters = Exporters::start(inputs.exporters, run, &sink);
        inputs.observer.started(run);
        live.started(run);
        Recording {
            writer: inputs.writer,
            sampling: inputs.sampling,
            live,
            stop: inputs.stop,
            sink,
            observer: inputs.observer,
            exporters,
            redactor: inputs.redactor,
            watch: HostMonitor::begin(),
            window: inputs.window,
            rules: inputs.rules,
            load_end_ns: inputs.load_end_ns,
            load_control: inputs.load_control,
            changes: 0,
        }
    }

    /// Lets the exporters finish, and records which of them lost intervals. Must be called after
    /// the last interval.
    pub fn finish_exports(&mut self) {
        let exporters = std::mem::take(&mut self.exporters);
        let at_ns = self.writer.run().totals.rows.end_ns;
        for note in exporters.finish(self.writer.run()) {
            let warning = self
                .writer
                .event(&Event::new(at_ns, EventKind::Warning, note));
            self.report(warning);
        }
    }
}

impl Recording<'_> {
    fn report(&self, error: Option<RecordError>) {
        heed(error, &self.writer, &self.stop, &self.sink);
    }

    pub fn last_samples(&mut self) {
        let looks = self.sampling.end();
        self.samples(&looks);
    }

    /// Records load changes before they take effect. Drops changes after the end of the run.
    fn changes(&mut self) {
        let new = self.load_control.as_ref();
        let Some((new, load)) =
            new.and_then(|load_control| load_control.changes_since(self.changes))
        else {
            return;
        };
        self.changes += new.len();
        let ended_ns = self.stop.noticed_at().unwrap_or(u64::MAX);
        for change in new.iter().filter(|change| change.at_ns < ended_ns) {
            let event = event_of(change, self.writer.run());
            let warning = self.writer.event(&event);
            self.report(warning);
        }
        self.rules.load_changed(load);
    }

    /// Ends the run if a stop rule fires.
    fn judge(&mut self, interval: &Interval) {
        let fired = self.rules.look(interval, self.writer.run());
        let is_over =
            interval.span.to_ns > self.load_end_ns || self.stop.urgency() != Urgency::None;
        let Some(fired) = fired.filter(|_| !is_over) else {
            return;
        };
        let text = format!("`{}`: {}", fired.text, fired.measured);
        let event = Event::new(interval.span.to_ns, EventKind::Stop, text);
        let warning = self.writer.event(&event);
        self.report(warning);
        self.stop.stop(cause(&fired));
    }

    fn samples(&mut self, looks: &[SourceReading]) {
        samples(
            &mut self.writer,
            &mut self.sampling,
            looks,
            &self.stop,
            &self.sink,
        );
    }
}

pub(crate) fn samples(
    writer: &mut Writer,
    sampling: &mut Sampling,
    looks: &[SourceReading],
    stop: &StopHandle,
    sink: &SharedMessageSink,
) {
    for look in looks {
        if let Some(text) = sampling.warning(look) {
            let event = Event::new(look.at_ns, EventKind::Warning, text);
            heed(writer.event(&event), writer, stop, sink);
        }
    }
    heed(writer.server(looks), writer, stop, sink);
}

fn event_of(change: &Change, run: &Run) -> Event {
    let (planned, phases) = change.planned.clone().unzip();
    let change_event = LoadChange {
        quantity: match change.to {
            AdjustedLoad::Rate(_) => Changed::Rate,
            AdjustedLoad::Users(_) => Changed::Users,
        },
        from: change.from.figure(),
        to: change.to.figure(),
        planned,
        phases: phases.unwrap_or_default(),
    };
    let text = change_event.text("the live view", change.phase as usize, &run.manifest);
    Event {
        phase: Some(change.phase),
        change: Some(change_event),
        ..Event::new(change.at_ns, EventKind::LoadChanged, text)
    }
}

fn cause(fired: &FiredRule) -> Cause {
    Cause::Rule {
        verdict: match fired.rule.ends {
            Ending::Fail => RuleVerdict::Fail,
            Ending::Pass => RuleVerdict::Pass,
            Ending::Inconclusive => RuleVerdict::Inconclusive,
        },
        text: fired.text.clone(),
    }
}

/// Ends the run if the record cannot be written. If a copy is stored elsewhere, only warns.
/// [`Writer::failure`] is then reported at the end of the run.
pub(crate) fn heed(
    error: Option<RecordError>,
    writer: &Writer,
    stop: &StopHandle,
    sink: &SharedMessageSink,
) {
    let Some(error) = error else { return };
    if writer.failure().is_none() {
        sink.warning(&error);
        return;
    }
    let reason = match &error {
        RecordError::Stopped { source, .. } => unwritten_because(source),
        other => other.to_string(),
    };
    stop.stop(Cause::Fault(reason));
}

impl Recording<'_> {
    pub fn interval_of_parts(&mut self, decoded: DecodedChunk, in_flight_ages: &Ages) {
        self.look();
        let interval = measured(&decoded, in_flight_ages);
        self.writer.interval_of_parts(decoded);
        self.tell_all(interval);
    }

    pub fn look(&mut self) {
        let looks = self.sampling.take();
        self.samples(&looks);
    }

    fn tell_all(&mut self, interval: Interval) {
        let interval = Arc::new(interval);
        self.window.add(&interval);
        self.judge(&interval);
        self.observer.interval(&interval, self.writer.run());
        self.live.interval(&interval, self.writer.run());
        self.exporters.interval(&interval, self.writer.run());
    }
}

fn measured(decoded: &DecodedChunk, in_flight_ages: &Ages) -> Interval {
    let frame = &decoded.frame;
    let slots = frame.parts.iter();
    let ages = |cells: &Vec<(u64, u64)>| {
        let mut ages = Histogram::default();
        for (ns, n) in cells {
            ages.record_n(*ns, *n);
        }
        ages
    };
    Interval {
        index: frame.index,
        span: frame.span,
        phase: frame.phase,
        slots: slots.map(|(key, part)| (*key, part.slot.clone())).collect(),
        run: frame.run.clone(),
        frontend: decoded.frontend.clone(),
        custom: frame.custom.clone(),
        firsts: Vec::new(),
        slowest: Vec::new(),
        failed_traces: Vec::new(),
        labels: decoded.labels.clone(),
        in_flight_ages: in_flight_ages
            .iter()
            .map(|(id, cells)| (*id, ages(cells)))
            .collect(),
    }
}

impl Sink for Recording<'_> {
    fn interval(&mut self, interval: Interval) {
        self.look();
        self.changes();
        let host = self.watch.look(interval.run.cpu_ns.len());
        let warning = self.writer.interval(&interval, &host);
        self.report(warning);
        self.tell_all(interval);
    }

    fn line(&mut self, line: Raw<OutputLine>) {
        match without_secrets(&mut self.redactor, line) {
            None => {}
            Some(OutputLine::Negotiated { version, text }) => {
                let known = &self.writer.run().manifest.negotiated;
                if !known.contains(&version) {
                    let at_ns = self.writer.run().totals.rows.end_ns;
                    let mut event = Event::new(at_ns, EventKind::Negotiated, text);
                    event.negotiated = Some(version);
                    let warning = self.writer.event(&event);
                    self.report(warning);
                }
            }
            Some(OutputLine::Remark(text)) => {
                let reported = &self.writer.run().events;
                if reported.iter().all(|event| event.text != text) {
                    let at_ns = self.writer.run().totals.rows.end_ns;
                    let event = Event::new(at_ns, EventKind::Warning, text.clone());
                    let warning = self.writer.event(&event);
                    self.report(warning);
                    self.observer.line(&OutputLine::Remark(text));
                }
            }
            Some(line) => {
                self.live.line(&line);
                self.observer.line(&line);
            }
        }
    }
}

/// Removes secrets from a line. Returns `None` if the line is then empty.
pub(crate) fn without_secrets(
    redactor: &mut Redactor,
    line: Raw<OutputLine>,
) -> Option<OutputLine> {
    Some(match line.into_exposed() {
        OutputLine::Trace(text) => OutputLine::Trace(redactor.text(&text)),
        OutputLine::Log { text, secrets } => {
            let text = redactor.text_without(&text, &secrets);
            OutputLine::Log { text, secrets }
        }
        OutputLine::Error(KeptReason::Named(name)) => {
            OutputLine::Error(KeptReason::Named(redactor.text(&name)))
        }
        other @ OutputLine::Error(_) => other,
        OutputLine::Secret(secret) => {
            redactor.learn(&secret);
            return None;
        }
        OutputLine::Step(walked) => OutputLine::Step(walked.with_texts(|text| redactor.text(text))),
        OutputLine::Remark(text) => OutputLine::Remark(redactor.text(&text)),
        OutputLine::Negotiated { mut version, text } => {
            version.origin = redactor.text(&version.origin);
            OutputLine::Negotiated {
                version,
                text: redactor.text(&text),
            }
        }
        text @ (OutputLine::Text(_) | OutputLine::ErrorText(_)) => text,
    })
}
