//! Converts results of other tools to a Loadline summary and series. Missing figures remain
//! unknown, and contradictions are noted.

mod figures;
mod timeline;

use measure::label::LabelGroup;

use crate::{
    check,
    import::{Import, PrintedReport, Tool, model::PrintedRow as Printed},
};

use analysis::{
    conclusions,
    figures::share_of,
    page::Page,
    summary::{
        self, ArrivalLedger, ErrorRow, Headline, Identity, LevelStats, Requests, Row, Summary,
    },
};

use record::{
    FileFacts, Layout, LoadFacts, Manifest, Model, RunStart, RunState, SCHEMA, Tool as Writer,
    units, utc,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotARun(pub String);

impl std::fmt::Display for NotARun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotARun {}

/// Builds the report page of an imported run. The first import is the main file.
pub fn page(imports: &[(String, Import)]) -> Result<Page, NotARun> {
    let (name, first) = imports.first().ok_or_else(|| NotARun("no file".into()))?;
    let report = together(imports)?;
    let series = timeline::series(&report);
    let mut summary = blank(name, &report);
    fill(&mut summary, &report);
    summary.notes = notes(imports, first);
    summary.verdict = conclusions::headline(&summary);
    analysis::brief(&mut summary, None);
    summary.assumptions = vec![times_are(report.tool).to_owned()];
    if report.tool == Tool::Artillery {
        summary.assumptions.push(
            "Artillery does not count a request as failed because of its status. Here, answers with status 400 and above count as failed.".to_owned(),
        );
    }
    if report.periods_run_on && !timeline::has_windows(&report) {
        summary.notes.push(
            "the percentiles in this history cover the time since the start (it was written without --csv-full-history), so they are not drawn over time".to_owned(),
        );
    }
    Ok(Page {
        manifest: manifest(&summary, imports),
        series,
        summary,
    })
}

fn together(imports: &[(String, Import)]) -> Result<PrintedReport, NotARun> {
    let mut whole_number: Option<PrintedReport> = None;
    for (name, import) in imports {
        let mut runs = import.reports.iter().filter(|report| !report.is_period);
        let report = runs
            .next()
            .ok_or_else(|| NotARun(format!("{name}: contains periods of a run, but no summary")))?;
        let more = runs.count();
        if more > 0 {
            return Err(NotARun(format!(
                "{name}: the file contains {} runs, but a report shows only one: write each run to a separate file",
                more + 1
            )));
        }
        if report.tool == Tool::Loadline {
            return Err(NotARun(format!(
                "{name}: this is a Loadline summary: use the run's folder or name instead"
            )));
        }
        let mut report = report.clone();
        let periods = import.reports.iter().filter(|report| report.is_period);
        report.periods.extend(periods.cloned());
        match &mut whole_number {
            None => whole_number = Some(report),
            Some(whole_number) => join(whole_number, report),
        }
    }
    whole_number.ok_or_else(|| NotARun("no run".into()))
}

fn join(whole_number: &mut PrintedReport, other: PrintedReport) {
    if other.title == "exceptions" {
        return;
    }
    whole_number.all.errors.extend(other.all.errors);
    whole_number.periods.extend(other.periods);
    whole_number.periods_run_on |= other.periods_run_on;
    if whole_number.rows.is_empty() {
        whole_number.rows = other.rows;
    }
    if whole_number.all.requests.is_none() {
        let errors = std::mem::take(&mut whole_number.all.errors);
        whole_number.all = Printed {
            errors,
            ..other.all
        };
    }
}

fn blank(name: &str, report: &PrintedReport) -> Summary {
    let began_s = timeline::began_s(report);
    let wall_ns = began_s.map_or(0, |s| (s * 1e9) as u64);
    let elapsed_ns = timeline::elapsed_ns(report);
    Summary {
        schema: summary::SCHEMA,
        run: Identity {
            name: file_name(name).to_owned(),
            target: String::new(),
            frontend: report.tool.name().to_lowercase(),
            started_utc: began_s
                .map_or_else(|| "–".into(), |_| utc(wall_ns, "%Y-%m-%dT%H:%M:%S%.3fZ")),
            started_wall_ns: wall_ns,
            state: RunState::Complete,
            ended_by: None,
            stopped: None,
            model: model(report),
            load: load(report),
            http: None,
            elapsed_ns,
            imported_from: Some(report.tool.name().to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            workers: None,
            seed: None,
            record_ends_ns: None,
            unrecorded: None,
        },
        verdict: Headline::default(),
        criteria: Vec::new(),
        unjudged_criteria: Vec::new(),
        measurement: None,
        exit_code: 0,
        arrivals: None,
        lost: Vec::new(),
        requests: Requests::default(),
        phases: Vec::new(),
        scenarios: Vec::new(),
        workloads: Vec::new(),
        trend: None,
        steady: None,
        recovery: None,
        goodput: Vec::new(),
        custom: Vec::new(),
        traces: None,
        deliveries: Vec::new(),
        mocks: Vec::new(),
        nodes: Vec::new(),
        saturation: None,
        busy_generator: None,
        server: Vec::new(),
        all: figures::all(report, elapsed_ns),
        labels: Vec::new(),
        iterations: Vec::new(),
        transactions: Vec::new(),
        percentiles: Vec::new(),
        confidence: Vec::new(),
        lateness: None,
        script: None,
        lag: None,
        wait: None,
        connect: None,
        tls: None,
        in_flight: LevelStats::default(),
        users: LevelStats::default(),
        connections_opened: 0,
        http2: None,
        websocket: None,
        socketio: None,
        errors: Vec::new(),
        conclusions: Vec::new(),
        assumptions: Vec::new(),
        notes: Vec::new(),
        record: None,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn fill(summary: &mut Summary, report: &PrintedReport) {
    let elapsed_ns = summary.run.elapsed_ns;
    let row = |(i, printed): (usize, &Printed)| {
        let id = u16::try_from(i + 2).unwrap_or(u16::MAX);
        figures::row(
            printed,
            report.tool,
            id,
            LabelGroup::Request,
            &printed.name,
            elapsed_ns,
        )
    };
    summary.labels = report.rows.iter().enumerate().map(row).collect();
    if let Some(bytes) = &report.bytes {
        summary.all.bytes_in = bytes.value as u64;
        summary.all.unreported.retain(|name| name != "bytes_in");
    }
    summary.requests = requests(&summary.all);
    summary.arrivals = arrivals(report);
    summary.errors = report
        .all
        .errors
        .iter()
        .filter_map(|printed| error(printed, summary.all.count))
        .chain(
            figures::bad_codes(&report.all, report.tool).map(|(code, count)| {
                error_row(format!("status {code}"), "failed", count, summary.all.count)
            }),
        )
        .collect();
    summary
        .errors
        .sort_by_key(|row| std::cmp::Reverse(row.count));
    if let Some(length) = &report.sessions.length {
        let mut printed = Printed::new("virtual users", report.place);
        printed.requests.clone_from(&length.count);
        printed.latency = Some(length.clone());
        let id = u16::try_from(report.rows.len() + 2).unwrap_or(u16::MAX);
        let mut users = figures::row(
            &printed,
            report.tool,
            id,
            LabelGroup::Iteration,
            "virtual users",
            elapsed_ns,
        );
        users.iteration = users.service.take();
        summary.iterations = vec![users];
    }
}

fn requests(all: &Row) -> Requests {
    let unanswered = figures::total(all.unanswered.values().copied());
    let failed = all.errors.saturating_sub(unanswered);
    Requests {
        issued: all.count,
        ok: all.count.saturating_sub(all.errors),
        failed,
        unanswered,
        unanswered_by_class: all.unanswered.clone(),
        incomplete_streams: 0,
        redirects: 0,
        in_flight: 0,
        adds_up: true,
    }
}

fn arrivals(report: &PrintedReport) -> Option<ArrivalLedger> {
    let count =
        |figure: &Option<crate::import::PrintedFigure>| figure.as_ref().map(|f| f.value as u64);
    let sessions = &report.sessions;
    let started = count(&sessions.created)?;
    let completed = count(&sessions.completed)?;
    let failed = count(&sessions.failed).or_else(|| (completed == started).then_some(0))?;
    let ended = completed.saturating_add(failed);
    Some(ArrivalLedger {
        planned: None,
        until_stop: false,
        started,
        skipped: 0,
        exited: 0,
        unsent: None,
        unknown: 0,
        completed,
        failed,
        abandoned: started.saturating_sub(ended),
        in_flight: 0,
        adds_up: ended <= started,
    })
}

fn error(printed: &crate::import::model::Failures, requests: u64) -> Option<ErrorRow> {
    let count = printed.count.value as u64;
    let reason = printed.count.name.trim_start_matches("errors.").to_owned();
    let class = if printed.unanswered == Some(true) {
        "none"
    } else {
        "failed"
    };
    (count > 0).then(|| error_row(reason, class, count, requests))
}

fn error_row(reason: String, class: &str, count: u64, requests: u64) -> ErrorRow {
    ErrorRow {
        reason,
        class: class.to_owned(),
        count,
        share: share_of(count, requests),
        by_label: Vec::new(),
        labels: Vec::new(),
        first: None,
        last_ns: None,
    }
}

fn model(report: &PrintedReport) -> Model {
    match report.tool {
        // The files do not state the load model. By default, these tools use a closed one.
        Tool::Wrk
        | Tool::Locust
        | Tool::K6
        | Tool::JMeter
        | Tool::Oha
        | Tool::Fortio
        | Tool::Hdr => Model::Closed,
        Tool::Artillery | Tool::Wrk2 | Tool::Vegeta | Tool::Loadline => Model::Open,
    }
}

fn load(report: &PrintedReport) -> String {
    let bound = report.bound.as_ref();
    let bound = bound.map(|bound| format!("{} {}", bound.figure.render(), bound.what));
    let threads = report
        .threads
        .as_ref()
        .map(|n| format!("{} threads", n.render()));
    let parts: Vec<String> = threads.into_iter().chain(bound).collect();
    let tool = report.tool.name();
    if parts.is_empty() {
        format!("as printed by {tool}")
    } else {
        format!("{} of {tool}", parts.join(" and "))
    }
}

fn times_are(tool: Tool) -> &'static str {
    match tool {
        Tool::Artillery => {
            "Artillery measures from sending a request to the response headers, in whole milliseconds; percentiles are within 1 %. Requests without an answer are not included."
        }
        Tool::Wrk => {
            "wrk measures in a closed loop, so each connection sees a stall of the server only once. wrk adds samples afterwards. Requests without an answer are not included."
        }
        Tool::Wrk2 => "wrk2 measures from when a request was due at the rate set with -R.",
        Tool::Locust => {
            "Locust measures from sending a request to the end of its answer. The load is a closed loop, so each user sees a stall of the server only once; percentiles have two digits."
        }
        Tool::K6 => {
            "k6 measures from sending a request to the end of its response, without the wait for a connection. Its summary does not show whether the load model was open or closed."
        }
        Tool::JMeter => {
            "JMeter measures from just before a request is sent to the end of its response, including connecting, in whole milliseconds. The load is a closed loop, so each thread sees a stall only once. Unanswered requests are included."
        }
        Tool::Vegeta => {
            "Vegeta measures from sending a request to the end of its response, not from when it was due. Unanswered requests are included. The quantiles in its report come from a digest."
        }
        Tool::Oha => {
            "oha measures from sending a request to the end of its response, unless times are corrected (--latency-correction). Unanswered requests are not included."
        }
        Tool::Fortio => {
            "Fortio measures from sending a request to the end of its response, in a closed loop with pauses. Percentiles are interpolated within buckets."
        }
        Tool::Hdr => "The times are as defined by the tool that wrote the histograms.",
        Tool::Loadline => "Times are Loadline's.",
    }
}

fn notes(imports: &[(String, Import)], first: &Import) -> Vec<String> {
    let mut notes = vec![format!(
        "imported from {}: this file does not show whether the generator kept up",
        first.format
    )];
    let remarks = imports.iter().flat_map(|(_, import)| &import.reports);
    notes.extend(remarks.flat_map(|report| report.remarks.clone()));
    for (name, import) in imports {
        for report in import
            .reports
            .iter()
            .filter(|report| report.title == "exceptions")
        {
            let thrown = report
                .all
                .errors
                .iter()
                .map(|error| error.count.value as u64);
            notes.push(format!(
                "{}: {} exceptions in the test script",
                file_name(name),
                units::count(figures::total(thrown))
            ));
        }
        let audit = check::audit(import);
        let findings = audit.findings.iter();
        notes.extend(findings.map(|finding| {
            let text = finding.to_string();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("{}: {text}", file_name(name))
        }));
    }
    notes
}

fn manifest(summary: &Summary, imports: &[(String, Import)]) -> Manifest {
    Manifest {
        run_id: String::new(),
        plan_sha256: String::new(),
        share: None,
        node: None,
        processes: None,
        full_run: None,
        schema: SCHEMA,
        state: RunState::Complete,
        tool: Writer {
            name: "loadline".into(),
            version: summary.run.version.clone(),
        },
        pid: 0,
        command: Vec::new(),
        frontend: summary.run.frontend.clone(),
        name: summary.run.name.clone(),
        about: None,
        target: String::new(),
        load: LoadFacts {
            model: summary.run.model,
            text: summary.run.load.clone(),
            planned: None,
            users: None,
            iterations: None,
            end_ns: summary.run.elapsed_ns,
            changes: 0,
            by: None,
            workloads: Vec::new(),
        },
        phases: Vec::new(),
        scenarios: Vec::new(),
        criteria: Vec::new(),
        unjudged_criteria: Vec::new(),
        stop: Vec::new(),
        allow_failures: false,
        pools: Vec::new(),
        notes: Vec::new(),
        negotiated: Vec::new(),
        trace_context: None,
        trace_url: None,
        frontend_settings: serde_json::Value::Null,
        workers: 0,
        seed: 0,
        start: RunStart {
            wall_ns: summary.run.started_wall_ns,
            monotonic_ns: 0,
            utc: summary.run.started_utc.clone(),
            uncertainty_ns: 0,
        },
        end: None,
        files: imports
            .iter()
            .map(|(name, _)| FileFacts::read(name))
            .collect(),
        git: None,
        host: record::Host::default(),
        histograms: Layout::default(),
    }
}
