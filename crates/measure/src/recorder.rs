//! Records the samples of one worker in slots. At each interval boundary, the slots become a
//! [`Snapshot`].
//!
//! The caller supplies the time of each event. An event at or after the next boundary closes the
//! current interval first.

use crate::interval::TimeSpan;
use crate::{
    LabelId, OutcomeClass, Sample, Slot, TimeKind,
    accumulator::{Accumulator, Event},
    custom::CustomRecorder,
    cuts::Cuts,
    interval::{FailureDetail, FirstSeen, RunPart, Snapshot},
    label,
    sample::{DurationSample, Intended, RequestOutcome},
    trace_context::{FAILED, SlowestRequests},
};

/// Records the samples of one worker.
pub struct Recorder {
    worker: usize,
    cuts: Cuts,
    index: u64,
    begin: u64,
    next_cut: u64,
    phase: u32,
    slots: Vec<Slot<u32>>,
    other_phases: Vec<(LabelId, u32, Slot<u32>)>,
    /// Run-wide counts and levels of the current interval, which the worker updates.
    pub run: RunPart,
    frontend: Option<Box<dyn Accumulator>>,
    custom: CustomRecorder,
    firsts: Vec<FirstSeen>,
    /// Pairs of label and outcome for which a first sample is already stored.
    seen: Vec<(LabelId, RequestOutcome)>,
    slowest: SlowestRequests,
    failed_traces: Vec<Sample>,
    arrivals_end_ns: Option<u64>,
    full: Vec<Snapshot>,
}

impl Recorder {
    /// Creates a recorder for `labels` labels. The first interval starts at 0.
    #[must_use]
    pub fn new(
        worker: usize,
        cuts: Cuts,
        labels: usize,
        frontend: Option<Box<dyn Accumulator>>,
    ) -> Recorder {
        let (next_cut, phase) = (cuts.next_after(0), cuts.phase_at(0));
        let mut slots = Vec::new();
        slots.resize_with(labels.max(2), Slot::default);
        Recorder {
            worker,
            cuts,
            index: 0,
            begin: 0,
            next_cut,
            phase,
            slots,
            other_phases: Vec::new(),
            run: RunPart::default(),
            frontend,
            custom: CustomRecorder::default(),
            firsts: Vec::new(),
            seen: Vec::new(),
            slowest: SlowestRequests::default(),
            failed_traces: Vec::new(),
            arrivals_end_ns: None,
            full: Vec::new(),
        }
    }

    /// Returns the end of the current interval.
    #[must_use]
    pub fn next_cut(&self) -> u64 {
        self.next_cut
    }

    /// Adds slots for a label that appeared during the run.
    pub fn has_label(&mut self, label: LabelId) {
        let needed = usize::from(label) + 1;
        if self.slots.len() < needed {
            self.slots.resize_with(needed, Slot::default);
        }
    }

    /// Closes every interval that ends at or before `now_ns`.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        while now_ns >= self.next_cut {
            let end = self.next_cut;
            self.cut(end, false);
        }
    }

    /// Takes the closed snapshots.
    pub fn take_full(&mut self) -> Vec<Snapshot> {
        std::mem::take(&mut self.full)
    }

    /// Returns whether there are closed snapshots.
    #[must_use]
    pub fn has_full(&self) -> bool {
        !self.full.is_empty()
    }

    /// Closes the last interval, which may be shorter than the others.
    pub fn finish(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.cut(now_ns, true);
    }

    /// Records that the worker starts no more arrivals, because the run was stopped or its arrival
    /// source ended.
    pub fn end_arrivals(&mut self, now_ns: u64) {
        self.arrivals_end_ns.get_or_insert(now_ns);
    }

    /// Returns when the worker stopped starting arrivals, in nanoseconds. See
    /// [`Recorder::end_arrivals`].
    #[must_use]
    pub fn arrivals_end_ns(&self) -> Option<u64> {
        self.arrivals_end_ns
    }

    /// Records that the worker picked up a request.
    #[inline]
    pub fn issued(&mut self, now_ns: u64, label: LabelId, intended: Intended) {
        self.advance(now_ns);
        self.slot(label, intended.ns()).counters.issued += 1;
    }

    /// Records a finished request.
    #[inline]
    pub fn sample(&mut self, sample: &Sample) {
        self.advance(sample.done_ns);
        self.run.last_end_ns = self.run.last_end_ns.max(sample.done_ns);
        if sample.trace.is_some() {
            self.run.traced += 1;
            self.slowest.offer(sample);
            if sample.ended != RequestOutcome::Ok && self.failed_traces.len() < FAILED {
                self.failed_traces.push(*sample);
            }
        }
        let all = self.slot(label::ALL, sample.intended.ns());
        if sample.intended.is_timed() {
            all.record(TimeKind::Lateness, OutcomeClass::Ok, sample.lateness_ns());
        }
        all.record(TimeKind::Wait, OutcomeClass::Ok, sample.wait_ns());
        let outcome = sample.ended.outcome();
        let slot = self.slot(sample.label, sample.intended.ns());
        slot.record(TimeKind::Response, outcome, sample.response_ns());
        if let Some(ns) = sample.service_ns() {
            slot.record(TimeKind::Service, outcome, ns);
        }
        if let (Some(write), Some(read)) = (sample.first_write_ns, sample.first_read_ns) {
            slot.record(TimeKind::FirstByte, outcome, read.saturating_sub(write));
        }
        let counters = &mut slot.counters;
        if let Some(status) = sample.status {
            counters.codes.count(status, 1);
        }
        counters.paced += u64::from(sample.intended.is_paced());
        counters.bytes_in += sample.bytes_in;
        counters.bytes_out += sample.bytes_out;
        match sample.ended {
            RequestOutcome::Ok => counters.ok += 1,
            RequestOutcome::Failed(failure) => {
                counters.failed += 1;
                counters.failures.count(failure, 1);
            }
            RequestOutcome::Unanswered(fault) => {
                counters.unanswered[fault.class() as usize] += 1;
                counters.faults.count(fault, 1);
            }
        }
    }

    /// Returns whether this is the first failure of this type under the label. If so, the caller
    /// must call [`Recorder::first`] with the details.
    #[must_use]
    pub fn is_first(&self, label: LabelId, ended: RequestOutcome) -> bool {
        !matches!(ended, RequestOutcome::Ok) && !self.seen.contains(&(label, ended))
    }

    /// Stores the details of the first failure of a type under a label.
    pub fn first(&mut self, sample: &Sample, reported: impl Into<FailureDetail>) {
        self.seen.push((sample.label, sample.ended));
        self.firsts.push(FirstSeen {
            sample: *sample,
            detail: reported.into(),
        });
    }

    /// Records a redirect that was followed.
    pub fn redirected(&mut self, now_ns: u64, label: LabelId, intended: Intended) {
        self.advance(now_ns);
        self.slot(label, intended.ns()).counters.redirects += 1;
    }

    /// Records a duration that is not the time of a request: connect, TLS, iteration.
    #[inline]
    pub fn time(&mut self, now_ns: u64, sample: DurationSample) {
        self.advance(now_ns);
        self.slot(sample.label, sample.intended.ns()).record(
            sample.kind,
            sample.outcome,
            sample.ns,
        );
    }

    /// Records a duration that does not belong to a request, such as an MQTT delivery. Its label
    /// does not count in any total.
    #[inline]
    pub fn record_untotaled(&mut self, now_ns: u64, label: LabelId, intended: Intended, ns: u64) {
        self.advance(now_ns);
        let slot = self.slot(label, intended.ns());
        slot.record(TimeKind::Response, OutcomeClass::Ok, ns);
        slot.counters.ok += 1;
        // The schedule determines the intended start of this duration, and there is no response.
        slot.counters.paced += 1;
    }

    /// Records bytes that were read outside of any request.
    pub fn received(&mut self, now_ns: u64, label: LabelId, bytes: u64) {
        self.advance(now_ns);
        self.slot(label, now_ns).counters.bytes_in += bytes;
    }

    /// Records how late the worker polled after a random time. The delay counts in the interval of
    /// that time if the interval is still open.
    pub fn stall(&mut self, at_ns: u64, late_ns: u64) {
        self.advance(at_ns);
        self.slot(label::ALL, at_ns)
            .record(TimeKind::Stall, OutcomeClass::Ok, late_ns);
    }

    /// Records a finished iteration under the label of its scenario. Its duration is measured from
    /// its intended start.
    pub fn iteration(
        &mut self,
        now_ns: u64,
        label: LabelId,
        intended: Intended,
        ended: RequestOutcome,
    ) {
        self.advance(now_ns);
        self.run.last_end_ns = self.run.last_end_ns.max(now_ns);
        let slot = self.slot(label, intended.ns());
        slot.record(
            TimeKind::Iteration,
            ended.outcome(),
            now_ns.saturating_sub(intended.ns()),
        );
        match ended {
            RequestOutcome::Ok => slot.counters.ok += 1,
            RequestOutcome::Failed(_) => slot.counters.failed += 1,
            RequestOutcome::Unanswered(fault) => {
                slot.counters.unanswered[fault.class() as usize] += 1
            }
        }
    }

    /// Records the duration of an iteration without its think times. Must be called for every
    /// iteration of a scenario with think times.
    pub fn unpaused(
        &mut self,
        now_ns: u64,
        label: LabelId,
        intended: Intended,
        paused_ns: u64,
        ended: RequestOutcome,
    ) {
        let took_ns = now_ns.saturating_sub(intended.ns());
        self.slot(label, intended.ns()).record(
            TimeKind::Unpaused,
            ended.outcome(),
            took_ns.saturating_sub(paused_ns),
        );
    }

    /// Counts custom metrics, and passes the event to the front end's accumulator if there is one.
    #[inline]
    pub fn frontend(&mut self, now_ns: u64, event: &Event<'_>) {
        if event.is_custom_metric() {
            self.advance(now_ns);
            self.custom.event(event);
        }
        self.accumulate(now_ns, event);
    }

    /// Passes the event to the front end's accumulator if there is one.
    #[inline]
    pub fn accumulate(&mut self, now_ns: u64, event: &Event<'_>) {
        if self.frontend.is_some() {
            self.advance(now_ns);
            let wall_ns = self.cuts.wall_ns(now_ns);
            if let Some(frontend) = &mut self.frontend {
                frontend.event(wall_ns, event);
            }
        }
    }

    #[inline]
    pub(crate) fn slot(&mut self, label: LabelId, intended_ns: u64) -> &mut Slot<u32> {
        if intended_ns <= self.begin && self.cuts.phase_of(intended_ns) != self.phase {
            let phase = self.cuts.phase_of(intended_ns);
            let known = self
                .other_phases
                .iter()
                .position(|(id, p, _)| (*id, *p) == (label, phase));
            let at = known.unwrap_or_else(|| {
                self.other_phases.push((label, phase, Slot::default()));
                self.other_phases.len() - 1
            });
            return &mut self.other_phases[at].2;
        }
        &mut self.slots[usize::from(label)]
    }

    fn cut(&mut self, end: u64, last: bool) {
        let filled = self
            .slots
            .iter_mut()
            .enumerate()
            .filter(|(_, slot)| !slot.is_empty());
        let slots = filled
            .map(|(id, slot)| (id as LabelId, std::mem::take(slot)))
            .collect();
        // Levels continue into the next interval, while counts restart at zero.
        let next = RunPart {
            connections: self.run.connections,
            http2: self.run.http2.next_interval(),
            websocket: self.run.websocket.level(),
            socketio: self.run.socketio.level(),
            ..RunPart::default()
        };
        self.full.push(Snapshot {
            worker: self.worker,
            index: self.index,
            span: TimeSpan::new(self.begin, end),
            phase: self.phase,
            slots,
            other_phases: std::mem::take(&mut self.other_phases),
            run: std::mem::replace(&mut self.run, next),
            frontend: self
                .frontend
                .as_mut()
                .map(|frontend| {
                    if last {
                        frontend.finish()
                    } else {
                        frontend.take()
                    }
                })
                .unwrap_or_default(),
            custom: self.custom.take(),
            firsts: std::mem::take(&mut self.firsts),
            slowest: self.slowest.take(usize::MAX),
            failed_traces: std::mem::take(&mut self.failed_traces),
            arrivals_end_ns: self.arrivals_end_ns,
            in_flight_ages: Vec::new(),
            last,
        });
        self.index += 1;
        self.begin = end;
        self.phase = self.cuts.phase_at(end);
        self.next_cut = self.cuts.next_after(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, Interval, NoAnswer, Status};

    const SECOND: u64 = 1_000_000_000;

    fn sample(intended: u64, done: u64, ended: RequestOutcome) -> Sample {
        Sample {
            label: 2,
            intended: Intended::scheduled(intended),
            started_ns: intended + 10,
            first_write_ns: Some(intended + 30),
            first_read_ns: Some(done - 5),
            done_ns: done,
            ended,
            status: Some(Status::Http(200)),
            bytes_out: 100,
            bytes_in: 200,
            trace: None,
        }
    }

    #[test]
    fn event_counts_in_the_interval_in_which_it_happens() {
        let mut recorder = Recorder::new(0, Cuts::new(0, &[10 * SECOND]), 3, None);
        recorder.issued(0, 2, Intended::scheduled(0));
        recorder.sample(&sample(0, SECOND - 1, RequestOutcome::Ok));
        recorder.issued(SECOND - 1, 2, Intended::scheduled(SECOND - 1));
        recorder.sample(&sample(
            SECOND - 1,
            SECOND,
            RequestOutcome::Unanswered(Fault::Reset),
        ));
        recorder.finish(3 * SECOND + 5);
        let full = recorder.take_full();
        assert_eq!(
            full.iter().map(|s| s.span.to_ns).collect::<Vec<_>>(),
            [SECOND, 2 * SECOND, 3 * SECOND, 3 * SECOND + 5]
        );
        let counters: Vec<_> = full
            .iter()
            .map(|s| {
                s.slots
                    .iter()
                    .find(|(id, _)| *id == 2)
                    .map(|(_, s)| s.counters.clone())
            })
            .collect();
        assert_eq!(counters[0].as_ref().map(|c| (c.issued, c.ok)), Some((2, 1)));
        assert_eq!(
            counters[1]
                .as_ref()
                .map(|c| c.unanswered[NoAnswer::Reset as usize]),
            Some(1)
        );
        assert_eq!(counters[2], None);
        assert!(full[3].last);
    }

    #[test]
    fn request_counts_in_the_phase_of_its_intended_start() {
        let mut recorder = Recorder::new(0, Cuts::new(0, &[SECOND, 2 * SECOND]), 3, None);
        recorder.sample(&sample(SECOND / 2, SECOND + 100, RequestOutcome::Ok));
        recorder.sample(&sample(SECOND + 50, SECOND + 200, RequestOutcome::Ok));
        recorder.finish(2 * SECOND);
        let mut full = recorder.take_full();
        assert_eq!(full.len(), 3);
        let interval = Interval::merge(vec![full.remove(1)], 1, |id| id == 2);
        assert_eq!(interval.slots[&(2, 0)].counters.ok, 1);
        assert_eq!(interval.slots[&(2, 1)].counters.ok, 1);
        assert_eq!(interval.label(0).counters.ok, 2);
        assert_eq!(interval.label(2).counters.ok, 2);
    }

    #[test]
    fn lateness_wait_and_service_add_up_to_response() {
        let s = sample(1_000, 9_000, RequestOutcome::Ok);
        assert_eq!(
            (s.lateness_ns(), s.wait_ns(), s.service_ns()),
            (10, 20, Some(7_970))
        );
        assert_eq!(s.response_ns(), s.done_ns - s.intended.ns());
    }
}
