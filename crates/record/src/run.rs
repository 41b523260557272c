//! A whole run, read from its record: manifest, labels, events, totals by label and phase, and a light row per interval.
//! Records of several processes (`parts/<n>/`) are added. Everything that tells of a run starts here.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use measure::{
    Label, LabelId, Labels, OutcomeClass, TimeKind,
    accumulator::Tally,
    label::{self, LabelGroup},
};
use plan::Share;
use serde_json::Value;

use super::{
    Event, EventKind, Frames, IntervalReader, IntervalRecord, LabelTotals, Manifest, NodeRow,
    NodeSum, RecordError, RunEnd, RunState, Totals, Truncation, agreement, files,
    front_end::DoorLine,
    location, manifest, node,
    parts::{self, RunParts},
    read::{count_things, things},
    server::{ServerLine, ServerMetrics},
};

/// No run has as many names as this: what a record says beyond them goes under `(other)`.
const MOST_LABELS: usize = 4096;

/// What every process calls the machine that it runs on.
const HOST: &str = "host";

/// What was found behind the load.
const FOUND: &str = "found.json";

/// A run as its record has it.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its folder; none when it could not be written.
    pub dir: Option<PathBuf>,
    /// What it was.
    pub manifest: Manifest,
    /// Labels that counted anything.
    pub labels: Vec<Label>,
    /// What was counted.
    pub totals: Totals,
    /// What happened.
    pub events: Vec<Event>,
    /// Where the record ends, if it does not hold the whole run. Nothing behind that is in any figure.
    pub cut: Option<Truncation>,
    /// What else of the record cannot be read, in words.
    pub damage: Vec<String>,
    /// What was measured beside the load.
    pub server: ServerMetrics,
    /// Of a run of several processes, those that left no record, by number; not those of which [`Run::nodes_lost`] tells.
    pub missing: Vec<u64>,
    /// Of a run of several processes, those that left one.
    pub processes: Vec<ProcessFacts>,
    /// Of a run that somebody has conducted, how each of its nodes did.
    pub nodes: Vec<NodeRow>,
    /// What was found behind the load, a document of whoever found it.
    pub found: Option<Value>,
    /// Whether it is being written still; of a record that is read nobody knows.
    pub live: bool,
}

/// One of a run's several processes, as its record has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Which, of how many.
    pub share: Share,
    /// Whether it came to its end.
    pub state: RunState,
    /// How it ended; none where it did not, because it was killed.
    pub end: Option<RunEnd>,
    /// The end of its last finished interval, in nanoseconds from the start.
    pub recorded_to_ns: u64,
    /// Arrivals that were due until then.
    pub due: u64,
}

impl ProcessFacts {
    fn lost_text(&self) -> String {
        format!(
            "process {} of {} did not come to its end: its record goes to {}, and whether it sent what was due after that is unknown",
            self.share.index,
            self.share.of,
            crate::units::moment(self.recorded_to_ns)
        )
    }
}

impl Run {
    /// A run before it has begun: what is known of it, and nothing measured.
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

    /// Why the record could not be written, where that ended the run.
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

    /// Whether the run came to its planned end and the record holds all of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.manifest.state == RunState::Complete && self.cut.is_none()
    }

    /// Reads a run's folder. Of a run that was killed, every finished interval is there.
    ///
    /// # Errors
    /// When the folder has no readable manifest, or a newer version wrote it.
    pub fn open(dir: &Path) -> Result<Run, RecordError> {
        let manifest = manifest::read(dir)?;
        let parts = RunParts::find(dir, &manifest)?;
        let run = Run::read(dir, &manifest, &parts, None);
        // Where one process's record ends, the others' figures are no longer those of the run.
        match run.cut {
            Some(cut) if run.totals.last_end_ns() > cut.at_ns => Ok(Run {
                cut: Some(cut),
                ..Run::read(dir, &manifest, &parts, Some(cut.at_ns))
            }),
            _ => Ok(run),
        }
    }

    /// Everything up to a moment.
    fn read(dir: &Path, manifest: &Manifest, parts: &RunParts, until_ns: Option<u64>) -> Run {
        let mut run = Run {
            dir: Some(dir.to_owned()),
            totals: Totals::new(manifest),
            missing: parts.missing.clone(),
            damage: parts.damage.clone(),
            found: found(dir),
            ..Run::planned(manifest.clone(), Vec::new())
        };
        // Before anything is counted: which seconds are not to be judged by.
        let reported = things::<Event>(&dir.join("events.jsonl")).0;
        run.totals.left_out = node::touched(&reported, manifest.load.end_ns);
        run.take(dir, manifest, until_ns);
        // Of who is told to be lost nobody says so once more.
        let missing = run.missing.iter();
        run.missing = missing
            .copied()
            .filter(|node| !run.is_lost(*node))
            .collect();
        let expected = manifest.processes.unwrap_or(0);
        run.damage.extend(run.missing.iter().map(|number| {
            format!("process {number} of {expected} left no record: whether it sent its arrivals is unknown")
        }));
        for (part, own) in &parts.found {
            let known = run.cut;
            let is_lost = own.share.is_some_and(|share| run.is_lost(share.index));
            let mut sum = NodeSum::default();
            let (recorded_to_ns, due) =
                run.take_adding(part, (own, until_ns), |frame| sum.add(frame));
            run.nodes.extend(sum.of_part(own, is_lost));
            // A run is over when all its processes are, but for those whose place others have taken.
            if own.state == RunState::Interrupted
                && run.manifest.state == RunState::Complete
                && !is_lost
            {
                run.manifest.state = RunState::Interrupted;
            }
            if is_lost {
                // The run went on without it: the others' figures are the run's also behind the end of its record.
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

    /// Finds a run by `last`, its name, the beginning of its name, or its path, and reads it.
    ///
    /// # Errors
    /// As [`super::find`] and [`Run::open`].
    pub fn find(runs: &Path, wanted: &str) -> Result<Run, RecordError> {
        Run::open(&location::find(runs, wanted)?)
    }

    /// Keeps what a front door has found behind the load: sentences that every rendering has, and a document of the door's own.
    ///
    /// # Errors
    /// When it cannot be written; it is known all the same.
    pub fn tell_found(&mut self, sentences: &[String], document: &Value) -> io::Result<()> {
        let at_ns = self.totals.last_end_ns();
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

    /// The label of a number.
    #[must_use]
    pub fn label(&self, id: LabelId) -> Option<&Label> {
        self.labels.iter().find(|label| label.id == id)
    }

    /// The numbers of a group's labels.
    pub fn labels_of(&self, group: LabelGroup) -> impl Iterator<Item = &Label> {
        self.labels.iter().filter(move |label| label.group == group)
    }

    /// The front door's own figures, by interval; only finished intervals.
    #[must_use]
    pub fn door_parts(&self) -> BTreeMap<u64, Tally> {
        let mut parts: BTreeMap<u64, Tally> = BTreeMap::new();
        let Some(dir) = &self.dir else { return parts };
        for dir in [dir.clone()].into_iter().chain(parts::dirs(dir)) {
            for line in things::<DoorLine>(&dir.join("door.jsonl")).0 {
                if self.totals.rows.contains_key(&line.i) {
                    parts.entry(line.i).or_default().merge(line.part());
                }
            }
        }
        parts
    }

    /// Its finished intervals once more, one after the other, those of several processes added up; none when it has no folder.
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

    /// Of a run that is over, the processes that did not come to their end, and nobody noticed it while it went on: they were killed. Of
    /// the others tells [`Run::nodes_lost`].
    pub fn lost(&self) -> impl Iterator<Item = &ProcessFacts> {
        let over = self.manifest.state != RunState::Running;
        let unended = move |process: &&ProcessFacts| {
            over && process.state == RunState::Running && !self.is_lost(process.share.index)
        };
        self.processes.iter().filter(unended)
    }

    /// Adds what this run's own process wrote.
    fn take(&mut self, dir: &Path, manifest: &Manifest, until_ns: Option<u64>) {
        self.take_adding(dir, (manifest, until_ns), |_| {});
    }

    /// Adds what one process wrote, interval by interval; answers how far that goes, and how many arrivals were due in it.
    fn take_adding(
        &mut self,
        dir: &Path,
        (manifest, until_ns): (&Manifest, Option<u64>),
        mut add: impl FnMut(&IntervalRecord),
    ) -> (u64, u64) {
        let (mut labels, mut unreadable) = things::<Label>(&dir.join("labels.jsonl"));
        unreadable += labels.len().saturating_sub(MOST_LABELS);
        labels.truncate(MOST_LABELS);
        let mut ids = self.add_labels(labels);
        let known = ids.len();
        let mut reader = IntervalReader::open(dir);
        let (mut last_ns, mut due) = (0, 0);
        let mut contradicting = 0u64;
        for mut frame in reader.by_ref() {
            if until_ns.is_some_and(|end| frame.span.1 > end) {
                break;
            }
            last_ns = frame.span.1;
            due += frame.run.due;
            let parts = std::mem::take(&mut frame.parts);
            for ((label, phase), part) in parts {
                let own = match ids.get(&label) {
                    Some(own) => *own,
                    None if self.labels.len() < MOST_LABELS => {
                        let added = self.add_labels(vec![nameless(label, &part)]);
                        ids.extend(&added);
                        added.get(&label).copied().unwrap_or(label)
                    }
                    None => label::OTHER,
                };
                frame.parts.entry((own, phase)).or_default().add(&part);
            }
            contradicting += u64::from(!agreement::holds(&frame, &self.labels));
            add(&frame);
            self.totals.add(&frame, &self.labels);
        }
        if let Some(cut) = Truncation::new(manifest, last_ns, reader.is_broken()) {
            self.cut = Some(cut.earlier(self.cut));
        }
        // Without their names nobody knows which figures belong together.
        let are_named = unreadable == 0 && ids.len() == known;
        if contradicting > 0 && are_named {
            let whose = manifest
                .share
                .map_or_else(String::new, |share| format!(" of part {}", share.index));
            self.damage.push(format!(
                "the record is damaged: in {contradicting} intervals{whose} the labels do not add up to all requests, or have more \
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
        let (lines, unreadable) = count_things::<DoorLine>(&dir.join("door.jsonl"));
        self.tell_damage("door.jsonl", "lines", unreadable);
        self.tell_missing(dir, "door.jsonl", lines, wanted.door);
        let lines = self.take_server(dir, until_ns);
        self.tell_missing(dir, "server.jsonl", lines, wanted.server);
        for mut event in events {
            if let Some(error) = &mut event.error {
                error.label = ids.get(&error.label).copied().unwrap_or(error.label);
            }
            if !self.events.contains(&event) {
                self.events.push(event);
            }
        }
        (last_ns, due)
    }

    /// Answers how many whole lines there are.
    fn take_server(&mut self, dir: &Path, until_ns: Option<u64>) -> usize {
        let (lines, unreadable) = things::<ServerLine>(&dir.join("server.jsonl"));
        let all = lines.len() + unreadable;
        // Each process has a machine of its own, and all call it `host`.
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

    /// Reports a file that has fewer lines than were written. Of a run without an end nobody counted them: then only a
    /// file that is not there, although intervals are, is damage.
    fn tell_missing(&mut self, dir: &Path, file: &str, lines: usize, wanted: u64) {
        let path = dir.join(file);
        let is_usual = file != "door.jsonl" && dir.join("counters.jsonl").is_file();
        let why = match fs::symlink_metadata(&path) {
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
        self.damage.push(format!("the record is damaged: {why}"));
    }

    fn tell_damage(&mut self, file: &str, what: &str, lost: usize) {
        if lost > 0 {
            self.damage.push(format!(
                "the record is damaged: {lost} {what} of {file} cannot be read"
            ));
        }
    }

    /// Adds labels of one process; says which number each has here.
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

/// The label of figures whose name cannot be read any more: no figure is lost with its name.
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

/// The document of what was found behind the load; none where there is none, or nothing that can be read.
fn found(dir: &Path) -> Option<Value> {
    let bytes = fs::read(dir.join(FOUND)).ok()?;
    serde_json::from_slice(&bytes).ok()
}
