//! Writes a record with one write per file and interval, histograms before counters, without
//! syncing. After an error, totals continue in memory.

use std::{collections::BTreeSet, io, path::Path};

use measure::{Interval, Label, LabelId, TimeSpan, label, trace_context::SlowestRequests};
use plan::Plan;

use super::{
    DecodedChunk, Event, EventKind, FirstError, HostSample, IntervalRecord, Manifest, NodeRow,
    RecordChunk, RecordError, Run, RunEnd, RunLocation, RunState, TracedRequest, begin,
    chunk::json_lines,
    copy::{self, Copier, Extra, RecordPiece},
    files::{self, Files, replace},
    front_end::FrontendLine,
    hlog,
    server::{ServerMetrics, SourceReading},
    totals::Totals,
};
use crate::redact::Redactor;

/// Number of intervals after which slow requests are recorded. They are also recorded at the end.
const SLOW_REQUESTS_EVERY: u64 = 10;
/// Maximum number of slow requests to record at a time, before the end of a run. If responses keep
/// getting slower, every request is one of the slowest so far.
const SLOW_REQUESTS: usize = 100;
const SLOW_REQUESTS_BEFORE_END: usize = 5_000;

#[must_use]
pub fn unwritten_because(source: &io::Error) -> String {
    format!("an error while writing the record ({source})")
}

pub struct Writer {
    redactor: Redactor,
    labels: Vec<Label>,
    run: Run,
    files: Option<Files>,
    /// End of the last interval that was written before an error. `None` if there was no error.
    lost_from_ns: Option<u64>,
    failure: Option<String>,
    seen: BTreeSet<(LabelId, String)>,
    slowest: SlowestRequests,
    slow_requests_left: usize,
    copier: Option<Box<dyn Copier>>,
    encoder: Option<hlog::Encoder>,
    of_parts: bool,
}

impl Writer {
    pub fn create(
        place: &RunLocation,
        manifest: &Manifest,
        plan: &Plan,
        labels: &[Label],
        redactor: Redactor,
    ) -> Result<Writer, RecordError> {
        let dir = place.make(manifest.start.wall_ns)?;
        let writer = Writer::in_folder(&dir, manifest, plan, labels, redactor, None)?;
        place.settle(&dir);
        Ok(writer)
    }

    pub fn create_part(
        run: &Path,
        manifest: &Manifest,
        plan: &Plan,
        labels: &[Label],
        redactor: Redactor,
        copier: Option<Box<dyn Copier>>,
    ) -> Result<Writer, RecordError> {
        let parts = run.join("parts");
        let number = manifest.share.unwrap_or_default().index;
        let dir = parts.join(number.to_string());
        let made = std::fs::create_dir_all(&parts).and_then(|()| std::fs::create_dir(&dir));
        made.map_err(|source| RecordError::NotWritable {
            path: dir.clone(),
            source,
        })?;
        Writer::in_folder(&dir, manifest, plan, labels, redactor, copier)
    }

    fn in_folder(
        dir: &Path,
        manifest: &Manifest,
        plan: &Plan,
        labels: &[Label],
        redactor: Redactor,
        copier: Option<Box<dyn Copier>>,
    ) -> Result<Writer, RecordError> {
        let mut writer = Writer::in_memory(manifest, labels, redactor);
        writer.copier = copier;
        if let Err(source) = writer.begin(dir, plan) {
            let _ = std::fs::remove_dir_all(dir);
            return Err(RecordError::NotBegun {
                path: dir.to_owned(),
                source,
            });
        }
        writer.run.dir = Some(dir.to_owned());
        Ok(writer)
    }

    #[must_use]
    pub fn in_memory(manifest: &Manifest, labels: &[Label], redactor: Redactor) -> Writer {
        let manifest = manifest.redacted(&redactor);
        let events: Vec<Event> = manifest
            .notes
            .iter()
            .map(|note| Event::new(0, EventKind::Warning, note))
            .collect();
        let run = Run {
            found: None,
            dir: None,
            labels: Vec::new(),
            totals: Totals::new(&manifest),
            manifest,
            events,
            cut: None,
            damage: Vec::new(),
            server: ServerMetrics::default(),
            missing: Vec::new(),
            processes: Vec::new(),
            nodes: Vec::new(),
            live: true,
        };
        let mut writer = Writer {
            redactor,
            labels: Vec::new(),
            run,
            files: None,
            lost_from_ns: None,
            failure: None,
            seen: BTreeSet::new(),
            slowest: SlowestRequests::default(),
            slow_requests_left: SLOW_REQUESTS_BEFORE_END,
            copier: None,
            encoder: None,
            of_parts: false,
        };
        writer.add_labels(labels);
        writer
    }

    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.run.dir.as_deref()
    }

    #[must_use]
    pub fn is_copied(&self) -> bool {
        self.copier.is_some()
    }

    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref().filter(|_| self.copier.is_none())
    }

    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn add_labels(&mut self, labels: &[Label]) {
        let hide = |label: &Label| Label {
            name: self.redactor.text(&label.name),
            text: self.redactor.text(&label.text),
            ..label.clone()
        };
        let new: Vec<Label> = labels
            .iter()
            .filter(|label| self.labels.iter().all(|known| known.id != label.id))
            .map(hide)
            .collect();
        self.labels.extend(new);
    }

    /// Appends an interval. The first write error is returned and ends writing, while totals
    /// continue in memory.
    pub fn interval(&mut self, interval: &Interval, host: &HostSample) -> Option<RecordError> {
        self.add_labels(&interval.labels);
        let mut frame = IntervalRecord::new(interval, host);
        let custom = std::mem::take(&mut frame.custom);
        frame.custom = custom.renamed(|name| self.redactor.text(name));
        let labels = self.new_labels(&frame);
        let events = self.events_of(interval);
        let frontend = (!interval.frontend.is_empty())
            .then(|| FrontendLine::new(interval.index, &interval.frontend, &self.redactor));
        let is_kept = self.files.is_some() || self.copier.is_some();
        let written = match &mut self.encoder {
            Some(encoder) if is_kept => {
                let chunk = RecordChunk::new(&frame, &labels, frontend.as_ref(), &events, encoder);
                let files = self.files.as_mut();
                let written = files.map_or(Ok(()), |files| files.interval(&chunk));
                // Continue the copy even if the disk is full here.
                self.copy(|| RecordPiece::Chunk {
                    chunk,
                    in_flight_ages: copy::ages(&interval.in_flight_ages),
                });
                written
            }
            _ => Ok(()),
        };
        let before = self.run.totals.rows.end_ns;
        self.learn(&frame, labels, events);
        written.err().map(|source| self.failed(source, before))
    }

    /// Adds an interval that other processes recorded, without writing it here.
    pub fn interval_of_parts(&mut self, unfolded: DecodedChunk) {
        self.of_parts = true;
        self.learn(&unfolded.frame, unfolded.labels, unfolded.events);
    }

    pub fn nodes(&mut self, rows: Vec<NodeRow>) {
        self.run.nodes = rows;
    }

    fn learn(&mut self, frame: &IntervalRecord, labels: Vec<Label>, events: Vec<Event>) {
        self.run.labels.extend(labels);
        self.run.events.extend(events);
        self.run.totals.add(frame, &self.run.labels);
    }

    fn copy(&mut self, piece: impl FnOnce() -> RecordPiece) {
        if let Some(copier) = &mut self.copier {
            copier.take(piece());
        }
    }

    fn copy_lines(&mut self, file: Extra, text: &str) {
        if !text.is_empty() {
            self.copy(|| RecordPiece::Lines {
                file,
                text: text.to_owned(),
            });
        }
    }

    pub fn event(&mut self, event: &Event) -> Option<RecordError> {
        let event = event.redacted(&self.redactor);
        let lines = json_lines([&event]);
        let written = match &mut self.files {
            Some(files) => files.events(&lines),
            None => Ok(()),
        };
        self.copy_lines(Extra::Events, &lines);
        let at = event.at_ns;
        self.run.events.push(event);
        self.run.manifest.apply(&self.run.events);
        written.err().map(|source| self.failed(source, at))
    }

    pub fn server(&mut self, looks: &[SourceReading]) -> Option<RecordError> {
        let server = &mut self.run.server;
        let lines = looks
            .iter()
            .filter_map(|look| server.add(look, &self.redactor));
        let lines: Vec<_> = lines.collect();
        let lines = json_lines(&lines);
        let written = match &mut self.files {
            Some(files) => files.server(&lines),
            None => Ok(()),
        };
        self.copy_lines(Extra::Server, &lines);
        let at = self.run.totals.rows.end_ns;
        written.err().map(|source| self.failed(source, at))
    }

    /// Writes the end of the record and returns the finished run. The error is set if this last
    /// write failed.
    pub fn finish(mut self, state: RunState, end: RunEnd) -> (Run, Option<RecordError>) {
        for event in self.slow_requests(usize::MAX) {
            self.event(&event);
        }
        let own_end_ns = if self.of_parts {
            0
        } else {
            self.run.totals.rows.end_ns
        };
        let end = RunEnd {
            record_ends_ns: self.lost_from_ns,
            recorded_to_ns: Some(own_end_ns),
            lines: self.files.as_ref().map(Files::lines),
            reason: end.reason.map(|reason| self.redactor.text(&reason)),
            ..end
        };
        self.run.live = false;
        self.run.manifest.state = state;
        let load = &mut self.run.manifest.load;
        if load.by.is_some() {
            load.end_ns = end.ns;
        } else if load.iterations.is_some() {
            load.end_ns = load.end_ns.min(self.run.totals.rows.last_end_ns);
        }
        self.run.manifest.end = Some(end);
        self.run.events.sort_by_key(|event| event.at_ns);
        let written = match &self.run.dir {
            Some(dir) => {
                files::release(dir);
                replace(&dir.join("manifest.json"), &self.run.manifest)
            }
            None => Ok(()),
        };
        let lost_before = self.lost_from_ns.is_some();
        let at = self.run.totals.rows.end_ns;
        let warning = written
            .err()
            .map(|source| self.failed(source, at))
            .filter(|_| !lost_before);
        let mut manifest = self.run.manifest.clone();
        if let Some(end) = &mut manifest.end {
            end.record_ends_ns = None;
        }
        self.ended_unwritten(warning.as_ref());
        self.copy(|| RecordPiece::Ended(Box::new(manifest)));
        (self.run, warning)
    }

    fn ended_unwritten(&mut self, failed: Option<&RecordError>) {
        let is_copied = self.is_copied();
        let Some(end) = &mut self.run.manifest.end else {
            return;
        };
        end.record_ends_ns = self.lost_from_ns;
        if let Some(RecordError::Stopped { source, .. }) = failed.filter(|_| !is_copied) {
            end.cause = Some("fault".to_owned());
            end.reason = Some(unwritten_because(source));
        }
    }

    fn begin(&mut self, dir: &Path, plan: &Plan) -> io::Result<()> {
        let plan = serde_json::to_value(plan).map_err(io::Error::other)?;
        let plan = self.redactor.json(&plan);
        self.run.manifest.plan_sha256 = begin::plan_sha256(&plan);
        replace(&dir.join("manifest.json"), &self.run.manifest)?;
        replace(&dir.join("plan.json"), &plan)?;
        files::reserve(dir)?;
        let manifest = &self.run.manifest;
        let encoder = hlog::Encoder::new()
            .ok_or_else(|| io::Error::other("the histogram layout was refused"))?;
        let mut files = Files::begin(dir, manifest.start.wall_ns, manifest.frontend != "run")?;
        let lines = json_lines(&self.run.events);
        files.events(&lines)?;
        self.files = Some(files);
        self.encoder = Some(encoder);
        let manifest = Box::new(manifest.clone());
        self.copy(|| RecordPiece::Begun { manifest, plan });
        self.copy_lines(Extra::Events, &lines);
        Ok(())
    }

    /// Returns the labels that are counted for the first time. Label 0 always exists.
    fn new_labels(&self, frame: &IntervalRecord) -> Vec<Label> {
        let ids: BTreeSet<LabelId> = frame
            .parts
            .keys()
            .map(|(id, _)| *id)
            .chain([label::ALL])
            .collect();
        let new = ids
            .into_iter()
            .filter(|id| self.run.labels.iter().all(|known| known.id != *id));
        new.filter_map(|id| self.labels.iter().find(|label| label.id == id).cloned())
            .collect()
    }

    fn events_of(&mut self, interval: &Interval) -> Vec<Event> {
        let TimeSpan {
            from_ns: from,
            to_ns: to,
        } = interval.span;
        let mut events = Vec::new();
        for (i, phase) in self.run.manifest.phases.iter().enumerate() {
            let mut add = |at_ns, event, word: &str| {
                let name = phase.name.clone().unwrap_or_else(|| (i + 1).to_string());
                events.push(Event {
                    phase: Some(i as u32),
                    ..Event::new(at_ns, event, format!("phase {name} {word}: {}", phase.text))
                });
            };
            if (from..to).contains(&phase.start_ns) {
                add(phase.start_ns, EventKind::PhaseStarted, "started");
            }
            if from < phase.end_ns && phase.end_ns <= to {
                add(phase.end_ns, EventKind::PhaseCompleted, "completed");
            }
        }
        let mut firsts: Vec<FirstError> = interval
            .firsts
            .iter()
            .map(|first| FirstError::new(first, &self.redactor))
            .collect();
        firsts.sort_by_key(|first| first.done_ns);
        firsts.retain(|first| self.seen.insert((first.label, first.reason.clone())));
        for first in firsts {
            let text = if first.detail.is_empty() {
                first.reason.clone()
            } else {
                format!("{}: {}", first.reason, first.detail)
            };
            events.push(Event {
                error: Some(first.clone()),
                ..Event::new(first.done_ns, EventKind::FirstError, text)
            });
        }
        let slowest = interval.slowest.iter();
        slowest.for_each(|sample| self.slowest.offer(sample));
        if interval.index % SLOW_REQUESTS_EVERY == SLOW_REQUESTS_EVERY - 1 {
            events.extend(self.slow_requests(SLOW_REQUESTS.min(self.slow_requests_left)));
        }
        events.sort_by_key(|event| event.at_ns);
        events
    }

    fn slow_requests(&mut self, most: usize) -> Vec<Event> {
        let slowest = self.slowest.take(most);
        self.slow_requests_left = self.slow_requests_left.saturating_sub(slowest.len());
        let traced = slowest.iter().filter_map(TracedRequest::new);
        let event = |request: TracedRequest| {
            let text = format!("trace {}", request.ids.trace_id);
            let event = Event::new(request.done_ns, EventKind::SlowRequest, text);
            Event {
                request: Some(request),
                ..event
            }
        };
        traced.map(event).collect()
    }

    fn failed(&mut self, source: io::Error, at_ns: u64) -> RecordError {
        self.lost_from_ns.get_or_insert(at_ns);
        let path = self
            .files
            .take()
            .map(|files| files.dir)
            .or_else(|| self.run.dir.clone())
            .unwrap_or_default();
        let error = RecordError::Stopped {
            path,
            source,
            at_ns,
        };
        self.failure.get_or_insert_with(|| error.to_string());
        error
    }
}
