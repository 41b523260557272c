//! A run read from its record: manifest, labels, events, totals and rows. The records of several
//! processes are merged.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use measure::{
    Label, LabelId, Labels, OutcomeClass, ScriptThreshold, TimeKind,
    accumulator::Tally,
    label::{self, LabelGroup},
};
use plan::Share;
use serde_json::Value;

use super::{
    Event, EventKind, Frames, IntervalReader, IntervalRecord, LabelTotals, Manifest, NodeRow,
    NodeSum, RecordError, RunEnd, RunState, Totals, Truncation, agreement, ahead, files,
    front_end::FrontendLine,
    location, manifest, node,
    parts::{self, RunParts},
    read::{count_things, things},
    redact::Redactor,
    server::{ServerLine, ServerMetrics},
};

const MOST_LABELS: usize = 4096;

const HOST: &str = "host";

const FOUND: &str = "found.json";

#[derive(Debug, Clone)]
pub struct Run {
    pub dir: Option<PathBuf>,
    pub manifest: Manifest,
    pub labels: Vec<Label>,
    pub totals: Totals,
    pub events: Vec<Event>,
    pub cut: Option<Truncation>,
    pub damage: Vec<String>,
    pub server: ServerMetrics,
    /// Processes without a record, except those in [`Run::nodes_lost`].
    pub missing: Vec<u64>,
    pub processes: Vec<ProcessFacts>,
    pub nodes: Vec<NodeRow>,
    /// Document that a front end stored after the load.
    pub found: Option<Value>,
    pub live: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFacts {
    pub share: Share,
    pub state: RunState,
    /// End of the process. `None` if it was killed.
    pub end: Option<RunEnd>,
    /// End of the process's record, in nanoseconds from the start of the run.
    pub recorded_to_ns: u64,
    pub due: u64,
}

impl ProcessFacts {
    fn lost_text(&self) -> String {
        format!(
            "process {} of {} did not finish: its record ends at {}, and it is unknown whether it sent the arrivals due later",
            self.share.number(),
            self.share.of,
            crate::units::moment(self.recorded_to_ns)
        )
    }
}

impl Run {
    #[must_use]
    pub fn planned(manifest: Manifest, labels: Vec<Label>) -> Run {
        Run {
            dir: None,
            manifest,
            labels,
            totals: Totals::default(),
            events: Vec::new(),
            cut: None,
            damage: Vec::new(),
            server: ServerMetrics::default(),
            missing: Vec::new(),
            processes: Vec::new(),
            nodes: Vec::new(),
            found: None,
            live: false,
        }
    }

    #[must_use]
    pub fn unrecorded(&self) -> Option<String> {
        let end = self.manifest.end.as_ref()?;
        let is_fault = end.cause.as_deref() == Some("fault");
        (is_fault && end.record_ends_ns.is_some()).then(|| {
            end.reason
                .clone()
                .unwrap_or_else(|| "a full disk".to_owned())
        })
    }

    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.manifest.state == RunState::Complete && self.cut.is_none()
    }

    pub fn open(dir: &Path) -> Result<Run, RecordError> {
        let manifest = manifest::read(dir)?;
        let parts = RunParts::find(dir, &manifest)?;
        let run = Run::read(dir, &manifest, &parts, None);
        // After the end of one record, the other records do not cover the whole run.
        match run.cut {
            Some(cut) if run.totals.rows.end_ns > cut.at_ns => Ok(Run {
                cut: Some(cut),
                ..Run::read(dir, &manifest, &parts, Some(cut.at_ns))
            }),
            _ => Ok(run),
        }
    }

    fn read(dir: &Path, manifest: &Manifest, parts: &RunParts, until_ns: Option<u64>) -> Run {
        let mut run = Run {
            dir: Some(dir.to_owned()),
            totals: Totals::new(manifest),
            missing: parts.missing.clone(),
            damage: parts.damage.clone(),
            found: found(dir),
            ..Run::planned(manifest.clone(), Vec::new())
        };
        // Determine the excluded periods before counting.
        let reported = things::<Event>(&dir.join("events.jsonl")).0;
        run.totals.left_out = node::touched(&reported, manifest.load.end_ns);
        run.take(dir, manifest, until_ns);
        let missing = run.missing.iter();
        run.missing = missing
            .copied()
            .filter(|node| !run.is_lost(*node))
            .collect();
        let expected = manifest.processes.unwrap_or(0);
        run.damage.extend(run.missing.iter().map(|number| {
            format!("process {} of {expected} left no record: it is unknown whether it sent its arrivals", number + 1)
        }));
        for (part, own) in &parts.found {
            let known = run.cut;
            let is_lost = own.share.is_some_and(|share| run.is_lost(share.index));
            let mut sum = NodeSum::default();
            let (recorded_to_ns, due) =
                run.take_adding(part, own, until_ns, |frame| sum.add(frame));
            run.nodes.extend(sum.of_part(own, is_lost));
            // A run is complete if all processes are complete, except for those that others
            // replaced.
            if own.state == RunState::Interrupted
                && run.manifest.state == RunState::Complete
                && !is_lost
            {
                run.manifest.state = RunState::Interrupted;
            }
            if is_lost {
                run.cut = known;
            }
            run.processes.push(ProcessFacts {
                share: own.share.unwrap_or_default(),
                state: own.state,
                end: own.end.clone(),
                recorded_to_ns,
                due,
            });
        }
        if !parts.found.is_empty() {
            run.manifest.workers = parts.found.iter().map(|(_, own)| own.workers).sum();
        }
        let lost: Vec<String> = run.lost().map(ProcessFacts::lost_text).collect();
        run.damage.extend(lost);
        run.events.sort_by_key(|event| event.at_ns);
        run.manifest.apply(&run.events);
        run
    }

    pub fn find(runs: &Path, wanted: &str) -> Result<Run, RecordError> {
        Run::open(&location::find(runs, wanted)?)
    }

    /// Stores the results of the test script's thresholds.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written. The results are then only in this value.
    pub fn write_thresholds(
        &mut self,
        thresholds: Vec<ScriptThreshold>,
        redactor: &Redactor,
    ) -> io::Result<()> {
        let at_ns = self.totals.rows.end_ns;
        let event = |threshold: ScriptThreshold| {
            let result = if threshold.is_met { "met" } else { "crossed" };
            let text = format!("threshold {result}: {}", threshold.text);
            let mut event = Event::new(at_ns, EventKind::Threshold, text);
            event.threshold = Some(threshold);
            event.redacted(redactor)
        };
        let events: Vec<Event> = thresholds.into_iter().map(event).collect();
        self.events.extend(events.iter().cloned());
        match &self.dir {
            Some(dir) => files::append_events(dir, &events),
            None => Ok(()),
        }
    }

    /// Stores the results of a front end: sentences and a document.
    pub fn write_findings(&mut self, sentences: &[String], document: &Value) -> io::Result<()> {
        let at_ns = self.totals.rows.end_ns;
        let events: Vec<Event> = sentences
            .iter()
            .map(|text| Event::new(at_ns, EventKind::Finding, text.clone()))
            .collect();
        self.events.extend(events.iter().cloned());
        self.found = Some(document.clone());
        let Some(dir) = &self.dir else { return Ok(()) };
        files::append_events(dir, &events)?;
        fs::write(dir.join(FOUND), format!("{document:#}\n"))
    }

    #[must_use]
    pub fn label(&self, id: LabelId) -> Option<&Label> {
        self.labels.iter().find(|label| label.id == id)
    }

    pub fn labels_of(&self, group: LabelGroup) -> impl Iterator<Item = &Label> {
        self.labels.iter().filter(move |label| label.group == group)
    }

    #[must_use]
    pub fn frontend_parts(&self) -> BTreeMap<u64, Tally> {
        let mut parts: BTreeMap<u64, Tally> = BTreeMap::new();
        let Some(dir) = &self.dir else { return parts };
        let known: BTreeSet<u64> = self.totals.rows.iter().map(|row| row.index).collect();
        for dir in [dir.clone()].into_iter().chain(parts::dirs(dir)) {
            for line in things::<FrontendLine>(&dir.join("frontend.jsonl")).0 {
                if known.contains(&line.i) {
                    parts.entry(line.i).or_default().merge(line.part());
                }
            }
        }
        parts
    }

    #[must_use]
    pub fn frames(&self) -> Option<Frames> {
        let dir = self.dir.as_ref()?;
        let mut frames = Frames::until(self.cut.map(|cut| cut.at_ns));
        let mut labels = Run::planned(self.manifest.clone(), Vec::new());
        for dir in [dir.clone()].into_iter().chain(parts::dirs(dir)) {
            let ids = labels.add_labels(things(&dir.join("labels.jsonl")).0);
            frames.join(IntervalReader::open(&dir), ids);
        }
        Some(frames)
    }

    /// Returns the processes that were killed, which remained unnoticed during the run.
    pub fn lost(&self) -> impl Iterator<Item = &ProcessFacts> {
        let over = self.manifest.state != RunState::Running;
        let unended = move |process: &&ProcessFacts| {
            over && process.state == RunState::Running && !self.is_lost(process.share.index)
        };
        self.processes.iter().filter(unended)
    }

    fn take(&mut self, dir: &Path, manifest: &Manifest, until_ns: Option<u64>) {
        self.take_adding(dir, manifest, until_ns, |_| {});
    }

    fn take_adding(
        &mut self,
        dir: &Path,
        manifest: &Manifest,
        until_ns: Option<u64>,
        mut add: impl FnMut(&IntervalRecord),
    ) -> (u64, u64) {
        let (mut labels, mut unreadable) = things::<Label>(&dir.join("labels.jsonl"));
        unreadable += labels.len().saturating_sub(MOST_LABELS);
        labels.truncate(MOST_LABELS);
        let mut ids = self.add_labels(labels);
        let known = ids.len();
        let (mut last_ns, mut due) = (0, 0);
        let mut contradicting = 0u64;
        let is_broken = ahead::read(IntervalReader::open(dir), |mut frame| {
            if until_ns.is_some_and(|end| frame.span.to_ns > end) {
                return ControlFlow::Break(());
            }
            last_ns = frame.span.to_ns;
            due += frame.run.due;
            for ((label, phase), part) in std::mem::take(&mut frame.parts) {
                let own = match ids.get(&label) {
                    Some(own) => *own,
                    None if self.labels.len() < MOST_LABELS => {
                        let added = self.add_labels(vec![nameless(label, &part)]);
                        ids.extend(&added);
                        added.get(&label).copied().unwrap_or(label)
                    }
                    None => label::OTHER,
                };
                match frame.parts.entry((own, phase)) {
                    Entry::Vacant(vacant) => _ = vacant.insert(part),
                    Entry::Occupied(known) => known.into_mut().add(&part),
                }
            }
            contradicting += u64::from(!agreement::holds(&frame, &self.labels));
            add(&frame);
            self.totals.add(&frame, &self.labels);
            ControlFlow::Continue(())
        });
        if let Some(cut) = Truncation::new(manifest, last_ns, is_broken) {
            self.cut = Some(cut.earlier(self.cut));
        }
        let are_named = unreadable == 0 && ids.len() == known;
        if contradicting > 0 && are_named {
            let owner = manifest
                .share
                .map_or_else(String::new, |share| format!(" of part {}", share.number()));
            self.damage.push(format!(
                "the record is damaged: in {contradicting} intervals{owner} the labels do not add up to all requests, or have more \
                 times than answers"
            ));
        }
        self.tell_damage("labels.jsonl", "names", unreadable.max(ids.len() - known));
        let (events, unreadable) = things::<Event>(&dir.join("events.jsonl"));
        self.tell_damage("events.jsonl", "lines", unreadable);
        let wanted = manifest.end.as_ref().and_then(|end| end.lines);
        let wanted = wanted.unwrap_or_default();
        self.tell_missing(
            dir,
            "events.jsonl",
            events.len() + unreadable,
            wanted.events,
        );
        let (lines, unreadable) = count_things::<FrontendLine>(&dir.join("frontend.jsonl"));
        self.tell_damage("frontend.jsonl", "lines", unreadable);
        self.tell_missing(dir, "frontend.jsonl", lines, wanted.frontend);
        let lines = self.take_server(dir, until_ns);
        self.tell_missing(dir, "server.jsonl", lines, wanted.server);
        for mut event in events {
            event.relabel(|label| ids.get(&label).copied().unwrap_or(label));
            // Trace IDs are unique, and there are too many of these events to compare all.
            let is_new = event.request.is_some() || !self.events.contains(&event);
            if is_new {
                self.events.push(event);
            }
        }
        (last_ns, due)
    }

    fn take_server(&mut self, dir: &Path, until_ns: Option<u64>) -> usize {
        let (lines, unreadable) = things::<ServerLine>(&dir.join("server.jsonl"));
        let all = lines.len() + unreadable;
        // Every process calls its own machine `host`, so use the name of the part's folder.
        let part = dir
            .file_name()
            .filter(|_| Some(dir) != self.dir.as_deref())
            .map(|name| format!("-{}", name.to_string_lossy()));
        for mut line in lines {
            if until_ns.is_none_or(|end| line.t <= end) {
                if line.source == HOST {
                    line.source.extend(part.as_deref());
                }
                self.server.take(&line);
            }
        }
        self.tell_damage("server.jsonl", "lines", unreadable);
        all
    }

    /// Reports missing lines. If the end was not recorded, only a missing file counts as damage.
    fn tell_missing(&mut self, dir: &Path, file: &str, lines: usize, wanted: u64) {
        let path = dir.join(file);
        let is_usual = file != "frontend.jsonl" && dir.join("counters.jsonl").is_file();
        let failure = match fs::symlink_metadata(&path) {
            Ok(_) if path.is_file() => {
                let missing = wanted.saturating_sub(lines as u64);
                if missing == 0 {
                    return;
                }
                format!("{missing} of {wanted} lines of {file} are missing")
            }
            Ok(_) => format!("{file} is not a file"),
            Err(_) if wanted > 0 || is_usual => format!("{file} is missing"),
            Err(_) => return,
        };
        self.damage
            .push(format!("the record is damaged: {failure}"));
    }

    fn tell_damage(&mut self, file: &str, what: &str, lost: usize) {
        if lost > 0 {
            self.damage.push(format!(
                "the record is damaged: {lost} {what} of {file} cannot be read"
            ));
        }
    }

    fn add_labels(&mut self, labels: Vec<Label>) -> BTreeMap<LabelId, LabelId> {
        let settled = labels
            .iter()
            .map(|label| (label.id, label::settle(&mut self.labels, label).0));
        let ids = settled.collect();
        if self.labels.is_empty() {
            self.labels.extend(Labels::default().all().first().cloned());
        }
        ids
    }
}

fn nameless(id: LabelId, part: &LabelTotals) -> Label {
    if let Some(fixed) = Labels::default().all().iter().find(|label| label.id == id) {
        return fixed.clone();
    }
    let counts_iterations = (OutcomeClass::ALL.iter())
        .any(|outcome| part.slot.histogram(TimeKind::Iteration, *outcome).is_some());
    let name = format!("(name lost, number {id})");
    Label {
        id,
        group: if counts_iterations {
            LabelGroup::Iteration
        } else {
            LabelGroup::Request
        },
        method: String::new(),
        text: name.clone(),
        name,
    }
}

fn found(dir: &Path) -> Option<Value> {
    let bytes = fs::read(dir.join(FOUND)).ok()?;
    serde_json::from_slice(&bytes).ok()
}
