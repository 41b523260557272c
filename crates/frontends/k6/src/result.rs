//! Thresholds during the run, and the result at the end.

use std::{io::IsTerminal as _, rc::Rc};

use k6::{
    aggregate::Aggregator,
    exit::RunError,
    options::settings::SummaryMode,
    summary::{Summary, SummaryState, number::TimeUnit},
    threshold::evaluate::{MetricThresholds, Threshold},
};
use measure::ScriptThreshold;
use script::k6::SummaryOutput;

use crate::{lifecycle::WorkerRun, samples::aggregator};

/// The result of a run.
#[derive(Default)]
pub struct RunResult {
    /// Outputs to write: those of `handleSummary`, or the text of the summary.
    pub outputs: Vec<SummaryOutput>,
    /// Names of the metrics whose thresholds failed. Empty if all thresholds passed.
    pub crossed: String,
    /// Results of all thresholds.
    pub thresholds: Vec<ScriptThreshold>,
}

/// Evaluates the thresholds with the samples that were handed in, and stops the run if one of them
/// asks for it.
pub fn evaluate_during_run(run: &WorkerRun, elapsed_ns: u64) {
    let samples = run.shared.team.samples();
    let Some(samples) = samples.as_ref() else {
        return;
    };
    let mut thresholds = run.thresholds.borrow_mut();
    let evaluation = thresholds.evaluate(&run.shared.registry, samples, elapsed_ns, false);
    if evaluation.is_abort {
        let crossed = evaluation.crossed_text();
        run.end_early(RunError::ThresholdsAborted(crossed));
    }
}

/// Evaluates the thresholds for the last time, and creates the summary. Does not call
/// `handleSummary` if the init code failed.
pub async fn conclude(run: &Rc<WorkerRun>, is_initialized: bool) {
    let shared = &run.shared;
    let duration_ns = shared.progress.elapsed_ns(run.worker.clock.now());
    run.host.samples.hand_in();
    let mode = shared.settings.summary_mode.unwrap_or(SummaryMode::Compact);
    let made = {
        let mut samples = shared.team.samples();
        let samples = samples.get_or_insert_with(|| aggregator(shared));
        make(run, samples, mode, duration_ns)
    };
    let mut outputs = match mode {
        SummaryMode::Disabled => None,
        _ if !is_initialized => None,
        _ => run.handle_summary(made.data).await,
    };
    run.host.samples.flush();
    if outputs.is_none()
        && let Some(text) = made.text
    {
        outputs = Some(vec![SummaryOutput {
            target: "stdout".to_owned(),
            content: text.into_bytes(),
        }]);
    }
    let mut outputs = outputs.unwrap_or_default();
    if let Some(path) = &shared.settings.summary_export
        && mode != SummaryMode::Disabled
    {
        outputs.push(SummaryOutput {
            target: path.clone(),
            content: made.export.into_bytes(),
        });
    }
    shared.outcome().result = Some(RunResult {
        outputs,
        crossed: made.crossed,
        thresholds: made.thresholds,
    });
}

struct Made {
    /// Names of the metrics whose thresholds have failed.
    crossed: String,
    text: Option<String>,
    /// Argument for `handleSummary`, as JSON.
    data: String,
    export: String,
    thresholds: Vec<ScriptThreshold>,
}

fn make(run: &WorkerRun, aggregator: &Aggregator, mode: SummaryMode, duration_ns: u64) -> Made {
    let shared = &run.shared;
    let mut thresholds = run.thresholds.borrow_mut();
    let evaluation = thresholds.evaluate(&shared.registry, aggregator, duration_ns, true);
    let summary = Summary {
        registry: &shared.registry,
        aggregator,
        thresholds: &thresholds,
        trend_stats: &shared.trend_stats,
        time_unit: TimeUnit::parse(shared.options.summary_time_unit.as_deref().unwrap_or("")),
        duration_ns,
    };
    let is_stdout_tty = std::io::stdout().is_terminal();
    let no_color = shared.settings.no_color == Some(true) || std::env::var_os("NO_COLOR").is_some();
    let state = SummaryState {
        is_stdout_tty,
        is_stderr_tty: std::io::stderr().is_terminal(),
        no_color,
    };
    let setup_data = shared.team.setup_data();
    let setup_data = setup_data.and_then(|data| serde_json::from_str(&data).ok());
    let setup_data: serde_json::Value = setup_data.unwrap_or_default();
    Made {
        crossed: evaluation.crossed_text(),
        text: summary.text(mode, is_stdout_tty && !no_color),
        export: summary.export(&setup_data),
        thresholds: results(&summary),
        data: summary.data(&state, setup_data).to_string(),
    }
}

/// Returns the result of each threshold, for the record.
fn results(summary: &Summary<'_>) -> Vec<ScriptThreshold> {
    let of_metric = |metric: &MetricThresholds| -> Vec<ScriptThreshold> {
        let result = |threshold: &Threshold| {
            let method = &threshold.expression.method;
            let name = &metric.selection.name;
            let has_samples = summary.aggregator.find(summary.registry, name).is_some();
            let value = summary.threshold_value(metric, method);
            ScriptThreshold {
                text: format!("{name} {}", threshold.source),
                measured: has_samples.then(|| format!("{}={value}", method.name())),
                has_samples,
                is_met: threshold.is_met,
                is_optional: false,
            }
        };
        metric.thresholds.iter().map(result).collect()
    };
    let metrics = summary.thresholds.metrics().iter();
    metrics.flat_map(of_metric).collect()
}
